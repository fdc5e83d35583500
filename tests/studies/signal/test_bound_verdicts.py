"""Conditions are computed, and only cells that carry a growth are used for one.

The verdicts of the bounds on planted thresholds are in test_verdicts.
"""

from separatrix.inference import Cell
from separatrix.studies.signal import bound_verdicts as c
from separatrix.studies.signal.settings import SignalSettings
from separatrix.studies.signal.trials import SignalCell
from sharp_searches import sharp_search

S = SignalSettings()


def test_conditions_are_computed():
    cell = SignalCell("root", "FCN", 10, 10)
    assert c.outside_of(S, [cell]) == ""
    assert "final bias" in c.outside_of(S.replace(bias=0.001), [cell])
    assert "exponential" in c.outside_of(S, [SignalCell("root", "FCN", 30, 2)])
    assert "σ exceeds" in c.outside_of(S, [SignalCell("fixed", "FCN", 40, 10)])


def test_a_regime_needs_four_cells_that_vary_both_sizes():
    def cells(pairs):
        return [Cell({"regime": 0.0, "k": k, "d": d}, 1.0, 0.1) for k, d in pairs]

    assert len(c.with_enough(cells([(2, 2), (2, 4), (4, 2), (4, 4)]))) == 4
    assert c.with_enough(cells([(2, 2), (2, 4), (4, 2)])) == []
    assert c.with_enough(cells([(2, 2), (2, 4), (2, 8), (2, 16)])) == []


def test_small_cells_carry_no_growth():
    thresholds = {
        SignalCell("root", "CNN", k, d): sharp_search(size).threshold
        for (k, d), size in {(3, 6): 5.0, (3, 12): 20.0, (6, 6): 20.0, (6, 12): 40.0}.items()
    }
    assert c.growth_cells(S, thresholds, "CNN", inside=True) == []  # three are left
    thresholds[SignalCell("root", "CNN", 12, 12)] = sharp_search(80.0).threshold
    assert len(c.growth_cells(S, thresholds, "CNN", inside=True)) == 4


def test_ratios_are_compared_along_lines_of_one_shape():
    thresholds = {
        SignalCell("root", network, k, d): sharp_search(size).threshold
        for network, size in (("CNN", 20.0), ("LCN", 200.0))
        for k, d in ((3, 6), (6, 12), (6, 6))
    }
    cells = c.ratio_cells(S, thresholds, "LCN", "CNN")
    assert len(cells) == 2  # the shape d = k has a single cell
    assert len({cell.design["shape"] for cell in cells}) == 1
