"""The verdicts of the study `pattern-width`, from made-up phase diagrams."""

import math

import pytest

from separatrix.errors import ParameterError
from separatrix.inference.intervals import wilson
from separatrix.studies.pattern_width.figures import phase_maps
from separatrix.studies.pattern_width.settings import PatternWidthSettings
from separatrix.studies.pattern_width.trials import (
    WidthCell,
    WidthResult,
    boundary,
    cells_of,
    gradients_of,
)
from separatrix.studies.pattern_width.verdicts import ShareDifference, findings

S = PatternWidthSettings(
    sizes=(16, 24, 32, 48, 64, 96),
    widths=tuple(4**p for p in range(11) if 4**p <= 65536),
    noisy_sizes=(64,),
    noisy_width=256,
    noises=(0.1,),
)
SEEDS = 40


def subsets(n):
    k = math.ceil(math.log2(n))
    return math.comb(n - 1, k - 1) / n


def diagram(boundaries, noisy=(40, 0)):
    """Seeds leave chance with a probability that rises with width about each boundary."""
    cells = {}
    for name, half in boundaries.items():
        for n in S.sizes:
            for q in S.widths:
                share = 1 / (1 + (half(n) / q) ** 3)
                cells[WidthCell(name, n, q)] = WidthResult(0.01, round(SEEDS * share), SEEDS)
    for name, left in zip(("CNN", "FCN"), noisy):
        for gradient in gradients_of(S):
            cells[WidthCell(name, 64, 256, gradient)] = WidthResult(0.01, left, SEEDS)
    return cells


def verdicts(cells):
    return {each.claim.id.split(".")[-1]: each for each in findings(S, cells)}


POLYNOMIAL = {"CNN": lambda n: n / 16, "LCN": lambda n: n / 16}


def test_the_papers_picture_is_supported():
    found = verdicts(diagram(POLYNOMIAL | {"FCN": lambda n: n * subsets(n) / 100}))
    assert {name: each.verdict for name, each in found.items()} == {
        "fcn-superpolynomial": "supported",
        "cnn-polynomial": "supported",
        "lcn-polynomial": "supported",
        "cnn-ahead": "supported",
        "noise": "supported",
    }
    assert found["fcn-superpolynomial"].conditions_met is False


def test_a_narrow_network_that_learns_refutes_nothing_outside_the_conditions():
    found = verdicts(diagram({"FCN": lambda n: n / 4, "CNN": lambda n: 16 * n}))
    assert found["fcn-superpolynomial"].verdict == "undecided"
    assert "outside the paper's conditions" in found["fcn-superpolynomial"].reason
    assert found["cnn-ahead"].verdict == "refuted"


@pytest.mark.parametrize("network", ["CNN", "LCN"])
def test_a_boundary_that_grows_faster_than_the_bound_is_the_contrary(network):
    # From 1 to 47,000 filters; the bound grows as n³ ln² n.
    steep = POLYNOMIAL | {"FCN": lambda n: n, network: lambda n: (n / 16) ** 6}
    found = verdicts(diagram(steep, noisy=(0, 0)))[f"{network.lower()}-polynomial"]
    assert found.verdict == "undecided"
    assert "outside the paper's conditions" in found.reason
    shallow = steep | {network: lambda n: 4 * (n / 16) ** 2}
    assert verdicts(diagram(shallow))[f"{network.lower()}-polynomial"].verdict == "supported"


def test_a_network_that_learns_at_every_width_is_within_its_bound():
    found = verdicts(diagram(POLYNOMIAL | {"LCN": lambda n: 1e-3, "FCN": lambda n: n}))
    assert found["lcn-polynomial"].verdict == "supported"


def test_equal_shares_leave_the_noise_undecided_and_opposite_ones_refute_it():
    same = POLYNOMIAL | {"FCN": lambda n: n}
    assert verdicts(diagram(same, noisy=(20, 20)))["noise"].verdict == "undecided"
    assert verdicts(diagram(same, noisy=(0, 40)))["noise"].verdict == "refuted"


def test_where_no_width_suffices_nothing_is_decided():
    far = verdicts(diagram({name: lambda n: 1e9 for name in ("CNN", "LCN", "FCN")}))
    assert far["cnn-ahead"].verdict == "undecided"
    assert far["cnn-polynomial"].verdict == "not measured"


@pytest.mark.parametrize(
    "first, second", [((12, 12), (0, 12)), ((5, 20), (5, 20)), ((0, 9), (9, 9))]
)
def test_newcombes_interval_lies_between_the_extremes(first, second):
    interval = ShareDifference(first, second).interval(0.95)
    a, b = wilson(*first), wilson(*second)
    assert a.low - b.high <= interval.low <= interval.estimate <= interval.high <= a.high - b.low


def test_only_the_full_network_has_the_further_widths_and_its_boundary_may_lie_there():
    s = S.replace(widths=(1, 16, 256), full_widths=(4096, 65536), noisy_sizes=())
    widths = {name: {c.width for c in cells_of(s) if c.network == name} for name in ("CNN", "FCN")}
    assert widths == {"CNN": {1, 16, 256}, "FCN": {1, 16, 256, 4096, 65536}}
    learns = {cell: WidthResult(0.01, SEEDS * (cell.width > 2048), SEEDS) for cell in cells_of(s)}
    assert 256 < boundary(s, learns, "FCN", 64).estimate < 4096
    assert boundary(s, learns, "CNN", 64).censoring == "right"
    maps = {figure.name: figure.rows for figure in phase_maps(s, learns)}
    assert maps["phase-CNN"] == s.widths
    assert maps["phase-FCN"] == s.every_full_width


@pytest.mark.parametrize("wide", [(256, 4096), (16,), (4096, 1024)])
def test_further_widths_that_do_not_go_on_from_the_common_ones_are_refused(wide):
    with pytest.raises(ParameterError, match="full_widths"):
        S.replace(widths=(1, 16, 256), full_widths=wide)
