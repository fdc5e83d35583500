"""The cells of the study `stability`, and the numbers taken from rows."""

import numpy as np
import pytest

from separatrix.studies.stability.settings import SCALES
from separatrix.studies.stability.trials import (
    cells,
    exponent_between,
    matched,
    ratio_of,
    slope_interval,
)


def test_slopes_and_exponents():
    exact = slope_interval([(n, [2.0 * n**-0.4] * 3) for n in (10, 100, 1000)])
    assert exact.estimate == pytest.approx(-0.4)
    # Coverage: 300 repetitions with true slope -0.5; the 95 % interval must hold it in at least 90
    # % (binomial, 4 standard errors).
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        found = slope_interval(
            [(n, (n**-0.5 * (1 + 0.2 * rng.standard_normal(5))).tolist()) for n in (10, 30, 90)]
        )
        held += found.contains(-0.5)
    assert held / 300 >= 0.90
    assert slope_interval([(10, [1.0])]) is None
    assert ratio_of([1.0, 0.0], [1.0]) is None
    doubled = exponent_between(2, 8, ratio_of([4.0] * 3, [1.0] * 3))
    assert (doubled.estimate, doubled.low, doubled.high) == pytest.approx((1.0, 1.0, 1.0))


def test_cells_and_matched_networks():
    full = matched(50, 10, 10_500)
    counts = [network.parameter_count((500, 1)) for network in full.values()]
    assert max(counts) / min(counts) < 1.02
    for scale, settings in SCALES.items():
        chosen = cells(settings.replace(images={"source": "embedded-photographs"}))
        assert {cell.part for cell in chosen} == set(settings.parts) - {"geometry"}, scale
        assert all(len(sweep) >= 4 for sweep in chosen.values())  # never one seed
    # The networks of the paper have the paper's numbers of parameters.
    image = {
        cell.network: sweep.trials[0].network
        for cell, sweep in cells(SCALES["full"]).items()
        if cell.part == "images"
    }
    assert image["CNN"].parameter_count((32, 32, 3)) == 29_697
    assert image["FCN"].parameter_count((32, 32, 3)) == 3_147_777
