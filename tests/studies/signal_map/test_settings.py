"""The settings of the map study: its places, and what it refuses."""

import pytest

from separatrix.errors import SeparatrixError
from separatrix.studies.signal_map.settings import SCALES, MapRecipe, MapSettings, Spot


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"fields": (1, 9)}, "the `fields` of signal-map must be an integer in [1, 6], got 9"),
        ({"groups": (1, 1)}, "the `groups` of signal-map must be at least two different numbers"),
        ({"tune": {"rates": (0.0,)}}, "the `rates` of signal-map.tune must be a number > 0, got"),
        ({"noise": 4.0}, "the `margin` of signal-map must be such that the target"),
    ],
)
def test_impossible_settings_are_refused(changes, sentence):
    with pytest.raises(SeparatrixError) as error:
        MapSettings().replace(**changes)
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize("scale", SCALES)
def test_every_scale_has_the_corners_and_begins_with_the_untuned_recipe(scale):
    s = SCALES[scale]
    assert {Spot(1, 1), Spot(1, s.patches), Spot(s.patches, s.patches)} <= set(s.spots())
    assert s.recipes()[0] == MapRecipe()
