"""Axes: limits and ticks."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from separatrix.report.figure.axes import limits


@given(st.lists(st.floats(-1e100, 1e100)), st.booleans())
def test_limits_hold_all_values(values, log):
    low, high = limits(np.array(values, float), log)
    assert low < high
    assert math.isfinite(high - low)
    for value in values:
        if not log or value > 1e-100:
            assert low <= value <= high
