"""Schedules: values at every step."""

import jax
import numpy as np
import pytest

import separatrix as sx
from separatrix.learners import as_schedule


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
