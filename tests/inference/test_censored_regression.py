"""Censored regression, and thresholds as its observations."""

import math

import numpy as np
import pytest
from cells import measured_cells

from separatrix.inference import (
    Tally,
    cell_of,
    estimate_threshold,
)
from separatrix.inference.censored_regression import fit_rows, observations_of


def test_tobit_agrees_with_least_squares_without_censoring():
    cells = measured_cells(lambda k, d: k * d, error=0.1)
    rows = observations_of(cells)
    matrix = np.column_stack([np.ones(9), [math.log(c.design["k"]) for c in cells]])
    fit = fit_rows(rows, matrix, scatter=np.array([0.3]))
    expected, *_ = np.linalg.lstsq(matrix, rows.value, rcond=None)
    assert fit.coefficients[0] == pytest.approx(expected, abs=1e-4)


def test_cell_of_threshold():
    none = cell_of({"k": 1}, estimate_threshold([Tally(8, 0, 20), Tally(16, 20, 20)]))
    right = cell_of({"k": 1}, estimate_threshold([Tally(8, 0, 20)]))
    assert none is not None
    assert none.censoring == "none"
    assert math.log(8) < none.value < math.log(16)
    assert right is not None
    assert right.censoring == "right"
    assert right.value > math.log(8)
    assert cell_of({"k": 1}, estimate_threshold([Tally(8, 1, 2)])) is None
