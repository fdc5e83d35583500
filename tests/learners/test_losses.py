"""Losses: values and slopes, also of several outputs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import numpy_reference as reference
from separatrix.learners import LOSSES
from separatrix.learners.losses import logistic, squared


@pytest.mark.parametrize("name", LOSSES)
def test_losses_have_their_values_and_slopes(name):
    scores = np.array([-30.0, -1.5, -0.2, 0.0, 0.3, 0.99, 1.01, 2.5, 30.0])
    for y in (-1.0, 1.0):
        value, slope = reference.LOSSES[name]
        labels = jnp.full(len(scores), y)
        np.testing.assert_allclose(
            LOSSES[name](jnp.asarray(scores), labels), value(scores, y), rtol=1e-5, atol=1e-7
        )
        measured = jax.grad(lambda s, labels=labels: LOSSES[name](s, labels).sum())(
            jnp.asarray(scores)
        )
        np.testing.assert_allclose(
            measured, slope(scores, y) * np.ones(len(scores)), rtol=1e-5, atol=1e-7
        )
    assert set(LOSSES) == set(reference.LOSSES)


def test_losses_stay_finite_for_large_scores():
    for name in ("hinge", "logistic", "correlation"):
        assert np.isfinite(LOSSES[name](jnp.array([-1e30, 1e30]), jnp.ones(2))).all()
    assert float(LOSSES["logistic"](jnp.array([-1e4]), jnp.ones(1))[0]) == pytest.approx(1e4)


def test_losses_of_several_outputs_against_numpy():
    rng = np.random.default_rng(0)
    scores, y = rng.standard_normal((20, 5)) * 3, rng.integers(0, 5, 20)
    softmax = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    given = jnp.asarray(scores, jnp.float32), jnp.asarray(y, jnp.float32)
    np.testing.assert_allclose(
        logistic(*given), -np.log(softmax[np.arange(20), y]), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(squared(*given), ((scores - np.eye(5)[y]) ** 2).sum(1), rtol=1e-5)
    # The gradient of the cross-entropy is softmax minus the label's unit vector.
    slope = jax.grad(lambda s: logistic(s, given[1]).sum())(given[0])
    np.testing.assert_allclose(slope, softmax - np.eye(5)[y], rtol=1e-4, atol=1e-6)
    # Two classes with scores (0, h) are the logistic loss of h with the label ±1.
    h, sign = jnp.asarray(scores[:, 0], jnp.float32), jnp.asarray(2.0 * (y > 1) - 1, jnp.float32)
    pair = jnp.stack([jnp.zeros(20), h], 1)
    np.testing.assert_allclose(
        logistic(pair, (sign + 1) / 2), logistic(h, sign), rtol=1e-5, atol=1e-6
    )
