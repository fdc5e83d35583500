"""Figures of the sphere, from made-up rows."""

import numpy as np
from made_up import S, sphere

from separatrix.studies.stability.sphere_figures import FULL, gap_figures


def test_the_headline_has_a_panel_per_dimension_and_the_full_network_first():
    rows = sphere(lambda d, m, n: m / n, wide=1e-6) | sphere(lambda d, m, n: 1.5, network="FCN")
    headline, excess = gap_figures(S, rows)
    assert headline.headline
    assert headline.panels == tuple(f"d = {d}" for d in S.sphere.dimensions) == excess.panels
    measured = [series for series in headline.series if series.role == "measured"]
    order = list(dict.fromkeys(series.label for series in measured))
    assert order == [FULL, "m = 20", "m = 10", "m = 5"]
    (five,) = (s for s in measured if (s.label, s.panel) == ("m = 5", "d = 80"))
    assert np.allclose(np.multiply(five.y, five.x), 5, rtol=1e-4)
    levels = [series for series in headline.series if series.role == "baseline"]
    assert [series.y for series in levels] == [(0.5, 0.5)] * 3, "half of the noise in every panel"


def test_controls_stand_beside_the_shared_network_with_the_same_field():
    rows = sphere(lambda d, m, n: m / n) | sphere(lambda d, m, n: 1.0, network="LCN")
    figures = {figure.name: figure for figure in gap_figures(S, rows)}
    controls = figures["gap-controls"]
    assert controls.panels == tuple(f"d = {d}, m = 10" for d in S.sphere.dimensions)
    assert {series.label for series in controls.series} == {"CNN (shared)", "LCN (unshared)"}
    sizes = S.sphere.samples[: S.sphere.control_samples]
    assert all(series.x == sizes for series in controls.series)
