"""The settings of the study `pattern-readout`."""

import pytest

from separatrix.errors import SeparatrixError
from separatrix.studies import jobs


@pytest.mark.parametrize(
    "text, words",
    [
        ("windows=11", r"the `windows` of pattern-readout must be an integer in \[1, 10\], got 11"),
        ("windows=0", "must be an integer"),
        ("bits=40", "must be an integer"),
        ("draws=0", "must be an integer >= 1"),
        ("exact_draws=0", "must be an integer >= 1"),
        ("rules=-3", "must be an integer >= 1"),
        ("delta=0", "must be a number in"),
        ("delta=1.5", "must be a number in"),
        ("seed=1", "is set with --seed"),
    ],
)
def test_impossible_settings_are_refused_before_anything_runs(text, words):
    with pytest.raises(SeparatrixError, match=words):
        jobs(["pattern-readout"], "quick", 0, [text])
