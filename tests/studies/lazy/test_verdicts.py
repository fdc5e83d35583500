"""The verdicts of the study `lazy`, from made-up learning curves."""

import numpy as np
import pytest

from separatrix.studies.lazy.settings import LazySettings
from separatrix.studies.lazy.trials import NETWORKS, LazyCell
from separatrix.studies.lazy.verdicts import findings

S = LazySettings(
    bits=(16,),
    patches=(8,),
    sphere=(16,),
    samples=tuple(16 * 2**i for i in range(10)),
    networks=True,
)
SEEDS = 12


def curves(needed):
    """Every seed learns from `needed` samples on, give or take a factor of two."""
    wanted = needed * 2.0 ** np.resize([-1, 0, 0, 1], SEEDS)
    return np.where(np.array(S.samples) >= wanted[:, None], 0.0, 0.5)


def results(cnn, lcn, fcn, trained=64.0):
    needs = dict(zip(NETWORKS, (cnn, lcn, fcn)))
    cells = {}
    for task, size in (("cube", 16), ("signal", 8), ("sphere", 16)):
        for name, needed in needs.items():
            cells[LazyCell(task, size, name)] = curves(needed)
            cells[LazyCell(task, size, name, trained=True)] = curves(needed / trained)
    return cells


def verdicts(cells, gaps=None):
    found = findings(S, cells, {"n = 16": 0.0} if gaps is None else gaps)
    return {each.claim.id.removeprefix("ours.lazy."): each.verdict for each in found}


def test_planted_orders_are_found():
    assert set(verdicts(results(120, 1200, 12000)).values()) == {"supported"}


@pytest.mark.parametrize(
    "needs, claim, verdict",
    [
        ((20, 900, 20), "signal.locality", "refuted"),
        ((900, 20, 900), "sphere.sharing", "refuted"),
        ((90, 90, 90), "cube.locality", "undecided"),
        ((90, 90, 90), "signal.sharing", "undecided"),
        ((20, 90, 1e9), "cube.locality", "supported"),  # the FCN's kernel never learns
        ((1e9, 1e9, 1e9), "cube.locality", "not measured"),  # none does
    ],
)
def test_verdicts_follow_the_samples(needs, claim, verdict):
    assert verdicts(results(*needs))[claim] == verdict


def test_networks_that_need_more_than_their_kernel_refute_features():
    for task in ("cube", "signal"):
        assert verdicts(results(40, 60, 90, trained=1 / 16))[f"{task}.features"] == "refuted"
        assert verdicts(results(40, 60, 90, trained=1.0))[f"{task}.features"] == "undecided"


def test_kernels_that_differ_refute_the_identity():
    assert verdicts({}, {"n = 16": 0.1})["cube.no-sharing"] == "refuted"
