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
