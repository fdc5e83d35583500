"""Settings of the signal study: what they refuse, in one sentence."""

import pytest

from separatrix.errors import SeparatrixError
from separatrix.studies.signal.settings import NETWORKS, SCALES, SignalSettings
from separatrix.studies.signal.study import SignalStudy


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"shared": {"patches": (0, 4)}}, "the `patches` of signal.grid must be an integer >= 1"),
        ({"noise": 0.0}, "the `noise` of signal must be a number > 0"),
        ({"alignment": 1.2}, "the `alignment` of signal must be a number in"),
        ({"alignment": 1.0}, "the `alignment` of signal must be a number in"),
        ({"margin": -0.01}, "no learner can be asked to beat the network that knows the signal"),
        ({"regimes": ("warm",)}, "the `regimes` of signal"),
        ({"regimes": ()}, "needs a regime"),
        ({"targets": ("risk",)}, "the target `alignment`"),
        (
            {"targets": ("alignment", "risk"), "regimes": ("fixed",), "noise": 3.0},
            "no better than guessing",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(changes, words):
    with pytest.raises(SeparatrixError, match=words):
        SignalSettings().replace(**changes)


def test_regimes_scale_with_the_patches():
    s = SignalSettings()
    assert s.sigma("root", 16) == 0.25
    assert s.sigma("root-0.5", 16) == 0.125
    assert s.sigma("fixed", 16) == s.noise


@pytest.mark.parametrize("scale", ["quick", "laptop", "full"])
def test_grids_are_factorial_and_share_cells(scale):
    s = SCALES[scale]
    for regime in s.regimes:
        for network, grid in (("CNN", s.shared), ("LCN", s.local)):
            assert len(s.cells(regime, network)) == len(grid.patches) * len(grid.dimensions)
        shared, local, full = (set(s.cells(regime, network)) for network in NETWORKS)
        # Both steps of the order are seen in several cells, and one picture shows all networks.
        assert len(shared & local) >= 4
        assert len(local & full) >= (2 if scale == "quick" else 4)
        assert len(shared & local & full) >= 2
        # A bound is refuted over a factor of 4 in a size only; quick asks it of the LCN alone.
        for network in ("LCN",) if scale == "quick" else ("CNN", "LCN"):
            cells = s.cells(regime, network)
            for place in (0, 1):
                sizes = [cell[place] for cell in cells]
                assert max(sizes) >= 4 * min(sizes)


def test_full_reaches_forty_patches_on_the_fcn():
    s = SCALES["full"]
    assert max(k for k, _ in s.cells("root", "FCN")) == 40
    # Larger noise needs more samples: the same work ends at fewer patches of the same dimension.
    assert (32, 32) in s.cells("root", "FCN")
    assert (32, 32) not in s.cells("fixed", "FCN")
    for regime in s.regimes:
        assert all(
            k * k * d * s.start("FCN", regime, k, d) <= s.full_work
            for k, d in s.cells(regime, "FCN")
        )


def test_set_reads_nested_settings():
    s = SignalStudy().settings("quick", 3, {"search.trials": "9", "full.patches": "2,4"})
    assert s.search.trials == 9
    assert s.full.patches == (2, 4)
