"""The settings of the study of open questions: its thresholds, and what it refuses."""

import pytest

from separatrix.errors import SeparatrixError
from separatrix.studies.signal_open.settings import SCALES, STARTS, VARIANTS, OpenSettings


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"variants": ("plain",)}, "the `variants` of signal-open must be one of 'uneven', "),
        ({"starts": ("CNN",)}, "the `starts` of signal-open must be one of 'FCN from CNN', "),
        ({"patches": (2,)}, "the `patches` of signal-open must be an integer >= 3, got 2"),
        ({"least": (2, 2)}, "the `least` of signal-open must be three numbers, for CNN, LCN and"),
        ({"product": {"margin": 0.0}}, "the `margin` of signal-open.product must be a number > 0"),
    ],
)
def test_impossible_settings_are_refused(changes, sentence):
    with pytest.raises(SeparatrixError) as error:
        OpenSettings().replace(**changes)
    assert str(error.value).startswith(sentence)


def test_the_full_scale_asks_for_every_variant_and_algorithm():
    wanted = SCALES["full"].wanted()
    assert {cell.variant for cell in wanted} == set(VARIANTS)
    assert set(STARTS) <= {cell.network for cell in wanted}
    assert len(set(wanted)) == len(wanted)


def test_algorithms_are_compared_where_the_cnn_and_the_fcn_are_measured():
    s = OpenSettings(start_patches=(10,))
    assert 10 in s.cells("plain", "CNN")
    assert 10 in s.cells("plain", "FCN")
    assert 10 not in s.cells("plain", "LCN")
    assert s.cells("uneven", STARTS[0]) == []
    assert s.cells("depth-two", "CNN") == [6]
