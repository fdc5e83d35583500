"""Symmetries: what commutes with training does so to rounding, what does not is far from it,
whatever the readout.
"""

import numpy as np
import pytest

import separatrix as sx
from separatrix.errors import ParameterError
from separatrix.studies.symmetry import EQUIVARIANT, GROUPS, draw_element, equivariance_gaps

TASK = sx.SignalTask(4, 3, 0.3)
DESCENT = sx.Learner(rate=0.5, steps=20)


@pytest.mark.parametrize("group", GROUPS)
def test_elements_are_orthogonal_and_of_their_group(group):
    q = draw_element(group, 4, 3, np.random.default_rng(0))
    np.testing.assert_allclose(q @ q.T, np.eye(12), atol=1e-12)
    blocks = np.square(q.reshape(4, 3, 4, 3)).sum(
        (1, 3)
    )  # an orthogonal block has 3 rows of norm 1
    if group == "shared":
        np.testing.assert_allclose(blocks, 3 * np.eye(4), atol=1e-12)
    if group == "patchwise":
        np.testing.assert_allclose(np.sort(blocks, axis=1)[:, -1], 3, atol=1e-12)
    if group == "permutation":
        assert set(np.unique(q)) == {0.0, 1.0}


# Trained biases and readouts must be carried along with the patches: a forgotten one shows as a gap
# of order one.
@pytest.mark.parametrize("readout", ["positions", "pooled", "sum"])
@pytest.mark.parametrize(
    ("network", "group"), [("full", "orthogonal"), ("local", "patchwise"), ("shared", "shared")]
)
def test_descent_commutes_with_each_networks_own_group(network, group, readout):
    made = {
        "full": sx.FCN(width=5, readout=readout),
        "local": sx.LCN(1, 2, readout=readout),
        "shared": sx.CNN(1, 2, readout=readout),
    }
    gaps = equivariance_gaps(TASK, made[network], DESCENT, samples=40, seeds=[0, 1], groups=[group])
    assert max(gaps[group]) < 1e-11  # float64 rounding over 20 steps


def test_adam_commutes_with_permutations_alone():
    adam = sx.Learner(rate=0.05, steps=20, optimizer="adam")
    gaps = equivariance_gaps(TASK, sx.FCN(width=5), adam, samples=40, seeds=[0, 1])
    assert max(gaps["permutation"]) < EQUIVARIANT < min(gaps["orthogonal"])


def test_local_networks_do_not_commute_with_all_orthogonal_maps():
    for network in (sx.LCN(1, 2), sx.CNN(1, 2)):
        assert (
            min(equivariance_gaps(TASK, network, DESCENT, samples=40, seeds=[0, 1])["orthogonal"])
            > 0.1
        )


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"network": sx.CNN(2)}, "field"),
        (
            {"learner": sx.Learner(rate=1.0, steps=2, oracle="online", batch=4)},
            "whole training set",
        ),
        ({"groups": ["unitary"]}, "orthogonal"),
        ({"samples": 0}, "samples"),
    ],
)
def test_what_cannot_be_audited_is_one_sentence(changes, word):
    given = {
        "task": TASK,
        "network": sx.FCN(width=2),
        "learner": DESCENT,
        "samples": 8,
        "seeds": [0],
    }
    with pytest.raises(ParameterError, match=word):
        equivariance_gaps(**(given | changes))
