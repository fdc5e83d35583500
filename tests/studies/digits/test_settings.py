"""The settings of the study `digits`."""

import pytest

from separatrix.errors import SeparatrixError
from separatrix.studies import find_study
from separatrix.studies.digits.settings import SCALES, VARIATIONS, DigitsSettings

S = DigitsSettings(source="embedded-digits")


def test_conditions_are_the_papers():
    paper = DigitsSettings(source="mnist", height=24, filters=1024)
    assert paper.outside() == ""
    assert "embedded-digits instead of MNIST" in S.outside()
    assert "48 hidden units or filters instead of 1024" in S.outside()
    full = SCALES["full"]
    assert full.steps(25) == 14063  # 30 epochs of 60,000 sequences in batches of 128
    assert full.steps(25, "fewer-sequences") == 563
    assert set(full.varied()) == set(VARIATIONS)


def test_auto_takes_mnist_where_it_is(monkeypatch):
    from separatrix.studies.digits import settings

    for there, chosen in (
        (["mnist", "embedded-digits"], "mnist"),
        (["embedded-digits"], "embedded-digits"),
    ):
        monkeypatch.setattr(settings, "available", lambda there=there: there)
        assert DigitsSettings().chosen_source() == chosen


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"digits": "3,4"}, "the `digits` of digits must be odd numbers >= 3, got 4"),
        ({"source": "minst"}, "there is no data set `minst`"),
        ({"seeds": "1"}, "the `seeds` of digits must be an integer >= 2, got 1"),
        ({"variations": "stride"}, "the `variations` of digits must be none, or names among"),
        ({"crop": "none"}, "the `crop` of digits must be one of 'tight', 'whole', got 'none'"),
    ],
)
def test_settings_are_checked(changes, words):
    with pytest.raises(SeparatrixError, match=words):
        find_study("digits").settings("quick", 0, changes)
