"""Exponents of power laws: recovered, weighted by errors, with censored cells and clusters."""

import math

import numpy as np
import pytest
from cells import measured_cells

from separatrix.inference import (
    Cell,
    fit_exponents,
)


@pytest.mark.parametrize("method", ["bootstrap", "likelihood"])
def test_exponents_of_a_known_power_law(method):
    fitted = fit_exponents(measured_cells(lambda k, d: 3 * k**2 * d), method=method)
    assert fitted.exponents["k"].contains(2.0)
    assert fitted.exponents["d"].contains(1.0)
    assert fitted.constant == pytest.approx(3, rel=0.5)
    assert fitted.exponents["k"].high - fitted.exponents["k"].low < 0.5


def test_weighting_follows_the_errors():
    cells = [Cell({"k": k}, math.log(k), 0.02) for k in (4, 8, 16, 32)] + [
        Cell({"k": 64}, math.log(640), 3.0)
    ]
    assert fit_exponents(cells, ["k"], method="likelihood").exponents[
        "k"
    ].estimate == pytest.approx(1.0, abs=0.1)


def test_censored_cells_are_used_as_censored():
    rng = np.random.default_rng(3)
    honest, naive = [], []
    for k in (4, 8, 16, 32, 64, 128):
        value = math.log(k) + 0.05 * rng.normal()
        floor = math.log(16)
        honest.append(Cell({"k": k}, max(value, floor), 0.05, "left" if value < floor else "none"))
        naive.append(Cell({"k": k}, max(value, floor), 0.05))
    assert fit_exponents(honest, ["k"]).exponents["k"].contains(1.0)
    # The very mistake that this is about: a grid's first value read as a threshold flattens the
    # law.
    assert fit_exponents(naive, ["k"]).exponents["k"].estimate < 0.8
    assert fit_exponents(honest, ["k"]).censored == 2


def test_a_bound_that_contradicts_the_fit_pulls_it():
    cells = [Cell({"k": k}, math.log(k), 0.05) for k in (4, 8, 16)]
    high = [*cells, Cell({"k": 32}, math.log(300), 0.05, "right")]
    harmless = [*cells, Cell({"k": 32}, math.log(3), 0.05, "right")]
    slope = {
        name: fit_exponents(c, ["k"]).exponents["k"].estimate
        for name, c in (("a", high), ("b", harmless))
    }
    assert slope["a"] > 1.3
    assert slope["b"] == pytest.approx(1.0, abs=0.05)


def test_clusters_widen_the_interval_when_cells_err_together():
    rng = np.random.default_rng(5)
    cells, alone = [], []
    for k in (4, 8, 16, 32, 64, 128):
        shift = 0.3 * rng.normal()
        for _ in range(4):
            value = math.log(k) + shift + 0.02 * rng.normal()
            cells.append(Cell({"k": k}, value, 0.02, cluster=k))
            alone.append(Cell({"k": k}, value, 0.02))
    wide, narrow = (fit_exponents(c, ["k"]).exponents["k"] for c in (cells, alone))
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)
