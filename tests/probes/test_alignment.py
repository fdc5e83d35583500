"""Alignment probes on padded networks."""

import jax
import jax.numpy as jnp
import pytest

import separatrix as sx
from moments import moment
from separatrix.networks import Frame, Params


def test_padding_never_wins_the_best_patch():
    # Every real patch points away from the signal; a padded one, whose inner product is 0, must not
    # be taken for the best.
    network, direction = sx.FCN(1, readout="sum", bias=False), jnp.array([1.0, 0.0])
    weights = jnp.array([[[-0.6, 0.0, -0.8, 0.0]]])
    padded = jnp.concatenate([weights, jnp.zeros((1, 1, 2))], -1)
    gradient = Params(
        jnp.concatenate([jnp.array([[[0.5, 0.0, 0.25, 0.0]]]), jnp.full((1, 1, 2), 9.0)], -1)
    )
    exact = moment(Params(weights), network, (2, 2), direction)
    wide = moment(Params(padded), network, (2, 2), direction, Frame((3, 2), 1), gradient)
    names = ("alignment", "drift", "signal_gradient")
    alone, framed = jax.jit(
        lambda: [[sx.PROBES[name].measure(m) for name in names] for m in (exact, wide)]
    )()
    # The best patch is the first: inner product -0.6, the other -0.8 is drift, and a step of
    # -gradient moves it by -0.5.
    assert [float(v) for v in framed] == pytest.approx([-0.6, 0.8, -0.5])
    assert [float(v) for v in alone[:2]] == pytest.approx([-0.6, 0.8])


def patch_alignment(weights, network, patches, frame=None):
    task = sx.SignalTask(patches, 2, 0.3)
    direction = jnp.array([1.0, 0.0])
    made = moment(Params(weights), network, (patches, 2), direction, frame)._replace(task=task)
    return float(jax.jit(lambda: sx.PROBES["patch_alignment"].measure(made))())


def test_patch_alignment_takes_the_unit_that_sees_each_patch_best():
    network = sx.FCN(2, readout="sum", bias=False)
    # Both units point to the first patch: the mean over units is 1, and the second patch, which no
    # unit covers, has alignment 0.
    both_first = jnp.array([[[3.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]])
    one_each = jnp.array([[[3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]]])
    assert patch_alignment(both_first, network, 2) == pytest.approx(0.5)
    assert patch_alignment(one_each, network, 2) == pytest.approx((0.6 + 1.0) / 2)


def test_patch_alignment_of_local_and_shared_filters():
    local = jnp.array([[[1.0, 0.0]], [[-3.0, 4.0]]])
    assert patch_alignment(local, sx.LCN(1, readout="sum", bias=False), 2) == pytest.approx(0.2)
    shared = jnp.array([[[3.0, 4.0]]])
    assert patch_alignment(shared, sx.CNN(1, readout="sum", bias=False), 2) == pytest.approx(0.6)


def test_padding_changes_no_patch_alignment():
    away = jnp.array([[[-0.6, 0.0, -0.8, 0.0]]])
    padded = jnp.concatenate([away, jnp.zeros((1, 1, 2))], -1)
    padded = jnp.concatenate([padded, jnp.ones((1, 1, 6))], 1)  # a second unit that is not real
    network = sx.FCN(1, readout="sum", bias=False)
    wide = patch_alignment(padded, network, 2, Frame((3, 2), 2))
    assert wide == pytest.approx(patch_alignment(away, network, 2)) == pytest.approx(-0.7)
