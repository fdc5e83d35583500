"""Drift exponents and constants of bounds, on cells whose truth is known."""

import math

import numpy as np
import pytest

from separatrix.errors import SeparatrixError
from separatrix.inference.bounds import (
    Mixture,
    bend_along,
    fit_drift,
    largest_constant,
    smallest_constant,
)
from separatrix.inference.censored_regression import Cell
from separatrix.inference.laws import Law

SQUARE = [(k, d) for k in (10, 20, 40, 80) for d in (10, 20, 40, 80)]
K = Law("k", "k", lambda design: design["k"])
D = Law("d", "d", lambda design: design["d"])
SUM = Law("k+d", "k+d", lambda design: design["k"] + design["d"], terms=(K, D))


def cells_of(size, error=0.03, pairs=SQUARE, seed=0):
    generator = np.random.default_rng(seed)
    return [
        Cell({"k": k, "d": d}, math.log(size(k, d)) + error * generator.normal(), error)
        for k, d in pairs
    ]


def test_a_power_beyond_the_law_is_its_drift():
    drift = fit_drift(cells_of(lambda k, d: 3 * (k + d) * k**0.4), SUM, ("k", "d"))
    assert drift.plain["k"].interval(0.99).contains(0.4)
    assert drift.plain["d"].interval(0.99).contains(0.0)
    assert not drift.finite_size
    assert drift.ranges == pytest.approx({"k": 8.0, "d": 8.0})
    assert drift.no_drift(0.1, 1.0, 4.0) < 1e-3
    assert drift.no_drift(0.1, 1.0, 10.0) == 1.0  # no size varies by a factor of ten


@pytest.mark.parametrize("size", [lambda k, d: k + d + 30, lambda k, d: d, lambda k, d: k + 4 * d])
def test_the_finite_size_form_absorbs_constants_and_terms(size):
    drift = fit_drift(cells_of(size), SUM, ("k", "d"))
    assert drift.finite_size
    assert abs(drift.plain["d"].estimate) > 0.1
    for name in ("k", "d"):
        assert drift.corrected[name].interval(0.99).contains(0.0)
    assert drift.no_drift(0.1, 1.0, 4.0) > 0.01


def test_censored_cells_count_as_bounds():
    cells = cells_of(lambda k, d: k + d)
    cut = [
        Cell(cell.design, math.log(100), 0.03, "right") if cell.value > math.log(100) else cell
        for cell in cells
    ]
    drift = fit_drift(cut, SUM, ("k", "d"))
    assert drift.censored == 4
    assert drift.plain["k"].interval(0.99).contains(0.0)


def test_a_group_has_a_constant_of_its_own():
    cells = [
        Cell({"n": n, "d": d}, math.log(d**2 / math.sqrt(n)), 0.02)
        for n in (64, 256, 1024)
        for d in (10, 40)
    ]
    one = Law("1", "1", lambda design: np.ones_like(design["n"]))
    drift = fit_drift(cells, one, ("n",), group="d")
    assert drift.plain["n"].estimate == pytest.approx(-0.5, abs=1e-3)


def test_lack_of_fit_widens_an_exponent():
    smooth = fit_drift(cells_of(lambda k, d: k + d, 0.02), SUM, ("k", "d"))
    generator = np.random.default_rng(1)
    rough = [
        Cell(cell.design, cell.value + 0.3 * generator.normal(), cell.error)
        for cell in cells_of(lambda k, d: k + d, 0.02)
    ]
    rough = fit_drift(rough, SUM, ("k", "d"))
    width = [
        each.plain["k"].interval(0.95).high - each.plain["k"].interval(0.95).low
        for each in (smooth, rough)
    ]
    assert width[1] > 5 * width[0]
    assert rough.scatter > 0.15


def test_designs_that_cannot_tell_are_refused():
    diagonal = cells_of(lambda k, d: k + d, pairs=[(k, k) for k in (5, 10, 20, 40)])
    with pytest.raises(SeparatrixError, match="do not vary k and d independently"):
        fit_drift(diagonal, SUM, ("k", "d"))
    with pytest.raises(SeparatrixError, match="needs cells, got none"):
        fit_drift([], SUM, ("k", "d"))
    with pytest.raises(SeparatrixError, match="no size `m`"):
        fit_drift(cells_of(lambda k, d: k), SUM, ("m",))


def test_constants_cover_every_cell():
    ratios = {4: 2.0, 8: 3.0, 16: 0.5}
    cells = [Cell({"k": k}, math.log(c * k), 0.1) for k, c in ratios.items()]
    most, least = smallest_constant(cells, K), largest_constant(cells, K)
    assert most.estimate == pytest.approx(3.0)
    assert least.estimate == pytest.approx(0.5)
    assert most.low < 3.0 < most.high
    assert least.low < 0.5 < least.high
    open_above = smallest_constant([*cells, Cell({"k": 4}, math.log(4.0), 0.1, "right")], K)
    assert open_above.high == math.inf
    open_below = largest_constant([*cells, Cell({"k": 4}, math.log(4.0), 0.1, "left")], K)
    assert open_below.low == 0.0


def test_simultaneous_constants_hold_as_often_as_they_say():
    generator = np.random.default_rng(0)
    truth, hits = np.linspace(1.0, 1.2, 12), 0
    for _ in range(400):
        cells = [
            Cell({"k": 1.0 + i}, math.log(c * (1.0 + i)) + 0.1 * generator.normal(), 0.1)
            for i, c in enumerate(truth)
        ]
        hits += smallest_constant(cells, K).contains(1.2)
    assert hits >= 0.95 * 400


def test_bends():
    straight = [Cell({"k": k}, math.log(5 + 2 * k), 0.02) for k in (10, 20, 40, 60, 80)]
    bent = [Cell({"k": k}, math.log(k * k), 0.02) for k in (10, 20, 40, 60, 80)]
    assert bend_along(straight, "k").estimate == pytest.approx(0.0, abs=1e-6)
    assert bend_along(bent, "k").interval(0.99).high < -0.15
    lines = cells_of(lambda k, d: d + k, 0.01)
    assert bend_along(lines, "k", "d").interval(0.99).contains(0.0)
    with pytest.raises(SeparatrixError, match="four values of `k`"):
        bend_along(straight[:3], "k")


def test_a_mixture_of_one_normal_is_that_normal():
    normal = Mixture(np.array([1.0]), np.array([2.0]), np.array([1.0]), 5, "")
    interval = normal.interval(0.95)
    assert interval.low == pytest.approx(1 - 1.959964 * 2, abs=1e-5)
    assert normal.above(1.0) == pytest.approx(0.5)
