"""The settings of the sample-complexity study: its lines of cells, and what it refuses."""

import pytest

from separatrix.errors import SeparatrixError
from separatrix.studies.signal.settings import SCALES, Lines, SignalSettings


def test_cells_are_on_two_lines_and_the_full_network_has_its_own():
    s = SignalSettings(
        patches=(4, 6), dimensions=(5, 8), full=Lines(patches=(3,), dimensions=(7,), base_patches=3)
    )
    assert s.cells("CNN") == s.cells("LCN") == [(4, 8), (6, 8), (8, 5), (8, 8)]
    assert s.cells("FCN") == [(3, 8), (3, 7)]
    assert s.tuned_cell("CNN", 6) == (4, 8)
    assert s.replace(tune={"each": True}).tuned_cell("CNN", 6) == (6, 8)


def test_the_full_scale_gives_every_network_the_same_cells():
    assert SCALES["full"].cells("FCN") == SCALES["full"].cells("CNN")


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"regimes": ("loud",)}, "the `regimes` of signal must be one of 'fixed', 'root', 'half-r"),
        ({"full": {"width": 0.01}}, "the `width` of signal.full must be a number >= 0.05, got"),
        ({"margin": 0.0}, "the `margin` of signal must be > 0: no learner can be asked to beat"),
        ({"noise": 3.0}, "at k = 8 and σ = 3 the target 0.503 is no better than guessing"),
    ],
)
def test_impossible_settings_are_refused(changes, sentence):
    with pytest.raises(SeparatrixError) as error:
        SignalSettings().replace(**changes)
    assert str(error.value).startswith(sentence)
