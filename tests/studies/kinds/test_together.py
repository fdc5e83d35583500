"""Conjunctions of kinds."""

import pytest

from separatrix.errors import ParameterError
from separatrix.inference.estimates import Known
from separatrix.studies.kinds import Comparison, Equivalence, Together

BOTH = Together(
    (
        ("grows with m", Comparison("gap", "above", 0.0)),
        ("not with d", Equivalence("gap", margin=0.1)),
    )
)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (Known(1.0, 0.1), Known(0.0, 0.01), "supported"),
        (Known(-1.0, 0.1), Known(0.0, 0.01), "refuted"),
        (Known(0.1, 0.1), Known(0.0, 0.01), "undecided"),
        (Known(1.0, 0.1), None, "undecided"),
        (None, None, "not measured"),
    ],
)
def test_a_conjunction(first, second, verdict):
    parts = {"grows with m": first and {"": first}, "not with d": second and {"": second}}
    decision = BOTH.decide(parts, 0.99)
    assert decision.verdict == verdict
    assert bool(decision.settle) == (verdict in ("undecided", "not measured"))


def test_refutation_is_corrected_over_the_parts():
    border = {"grows with m": {"": Known(-0.18, 0.1)}, "not with d": {"": Known(0.0, 0.01)}}
    assert BOTH.parts[0][1].decide(border["grows with m"], 0.95).verdict == "refuted"
    assert BOTH.decide(border, 0.95).verdict == "undecided"


def test_rules_of_all_parts_are_written():
    assert "grows with m: Supported if" in BOTH.rule_in_words()
    assert "not with d: Supported if" in BOTH.rule_in_words()


def test_parts_have_different_names():
    with pytest.raises(ParameterError, match="named kinds with different names"):
        Together((BOTH.parts[0], BOTH.parts[0]))
