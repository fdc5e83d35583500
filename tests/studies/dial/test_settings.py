"""The settings of the study `dial`."""

import pytest

from separatrix.errors import SeparatrixError
from separatrix.studies import find_study
from separatrix.studies.dial.settings import DialSettings

SOURCE = "embedded-digits"


def test_settings_are_checked():
    for changes, words in [
        ({"sources": "mnistt"}, "there is no data set `mnistt`"),
        (
            {"sources": "auto,mnist"},
            "the `sources` of dial must be auto, or different names of data sets",
        ),
        ({"depths": "0"}, r"the `depths` of dial must be an integer in \[1, 6\], got 0"),
        ({"seeds": "1"}, "the `seeds` of dial must be an integer >= 2, got 1"),
        ({"rates": "0.0"}, "the `rates` of dial must be a number > 0, got 0.0"),
    ]:
        with pytest.raises(SeparatrixError, match=words):
            find_study("dial").settings("quick", 0, changes)


def test_auto_takes_what_is_there(monkeypatch):
    from separatrix.studies.dial import settings

    for there, chosen in (
        (["mnist", "cifar10"], ["cifar10", "mnist"]),
        (["mnist"], ["mnist"]),
        ([], [SOURCE]),
    ):
        monkeypatch.setattr(settings, "available", lambda there=there: there)
        assert DialSettings().chosen_sources() == chosen
