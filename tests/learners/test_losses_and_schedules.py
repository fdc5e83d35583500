"""Losses and schedules: values, slopes, ends."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import numpy_reference as reference
import separatrix as sx
from separatrix.learners import LOSSES, as_schedule


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


def test_schedules_have_their_values_at_every_step():
    steps = np.arange(11)

    def values(schedule):
        return np.array([float(schedule(int(step), 10)) for step in steps])

    np.testing.assert_allclose(values(sx.Constant(0.3)), 0.3, rtol=1e-6)
    np.testing.assert_allclose(
        values(sx.Ramp(1.0, 3.0, share=0.4)), 1.0 + 2.0 * np.minimum(steps / 4, 1.0), rtol=1e-6
    )
    np.testing.assert_allclose(values(sx.Ramp(1.0, 0.0, share=1.0)), 1.0 - steps / 10, atol=1e-6)
    np.testing.assert_allclose(values(sx.Stages(5.0, 0.5)), np.where(steps < 1, 5.0, 0.5))
    traced = jax.jit(lambda ramp, step: ramp(step, 10))(sx.Ramp(1.0, 3.0, share=0.4), 2)
    assert float(traced) == pytest.approx(2.0)


def test_numbers_become_constant_schedules_and_other_things_are_left_to_the_check():
    assert as_schedule(2) == as_schedule(np.float32(2)) == sx.Constant(2.0)
    ramp = sx.Ramp(0.0, 1.0)
    assert as_schedule(ramp) is ramp
    assert as_schedule("x") == "x"
    assert as_schedule(True) is True
    assert as_schedule(None) is None
