"""The settings of the study `patterns`."""

import pytest

from separatrix.errors import SeparatrixError
from separatrix.studies.patterns import Patterns
from separatrix.studies.patterns.trials import all_cases


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"variants": "sideways"}, "must be among random, hidden"),
        ({"learning.full_steps": "5"}, "as many numbers as `sizes` has"),
        ({"certificate.bits": "4,6,40"}, "an integer in [2, 12], got 40"),
        ({"certificate_windows": "2,2,9"}, "an integer in [1, 8], got 9"),
        ({"seeds": "1"}, "an integer >= 2, got 1"),
        ({"adam_rates": "0.1,-1"}, "a number > 0, got -1.0"),
        ({"ceiling": "0"}, "a number > 0, got 0.0"),
        ({"delta": "2"}, "a number in (0, 1], got 2.0"),
        ({"probability": "1.5"}, "a number in (0, 1], got 1.5"),
    ],
)
def test_bad_settings_get_one_sentence(changes, words):
    with pytest.raises(SeparatrixError) as caught:
        Patterns().settings("quick", 0, changes)
    assert words in str(caught.value)


def test_full_and_laptop_settings_hold_together():
    for scale in ("laptop", "full"):
        s = Patterns().settings(scale)
        assert s.learning.optimizers == ("adam", "sgd")
        assert len(all_cases(s)) * s.learning.seeds > 500
