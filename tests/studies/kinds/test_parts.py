"""Comparisons, trends, equivalences and existences on doctored estimates."""

import pytest

from separatrix.errors import ParameterError
from separatrix.inference.estimates import Known
from separatrix.studies.kinds import Comparison, Equivalence, Existence, Trend

ORDER = Comparison("samples, LCN over CNN", "above", 1.0)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([3.0, 2.0], "supported"),
        ([3.0, 1.1], "undecided"),
        ([3.0, 0.2], "refuted"),
        ([], "not measured"),
    ],
)
def test_a_comparison(values, verdict):
    parts = {f"k = {i}": Known(value, 0.1) for i, value in enumerate(values)}
    assert ORDER.decide(parts, 0.99).verdict == verdict


def test_support_needs_no_correction_and_refutation_has_holms():
    border = 2.2  # standard errors: significant for one part, not for one of fifty
    parts = {f"{i}": Known(1 + border * 0.1, 0.1) for i in range(50)}
    assert ORDER.decide(parts, 0.95).verdict == "supported"
    parts["0"] = Known(1 - border * 0.1, 0.1)
    assert ORDER.decide(parts, 0.95).verdict == "undecided"
    assert ORDER.decide({"0": parts["0"]}, 0.95).verdict == "refuted"


def test_holm_refutes_further_parts_once_the_worst_is_out():
    parts = {"a": Known(0.0, 0.1), "b": Known(1 - 0.205, 0.1), "c": Known(2.0, 0.1)}
    decision = ORDER.decide(parts, 0.95)
    assert decision.verdict == "refuted"
    assert "2 the contrary: a, b" in decision.reason


def test_a_part_that_was_not_measured_withholds_support():
    decision = ORDER.decide({"k = 10": Known(3.0, 0.1), "k = 20": None})
    assert decision.verdict == "undecided"
    assert "measuring k = 20" in decision.settle
    assert ORDER.decide({"k = 10": None}).verdict == "not measured"


def test_an_undecided_part_says_how_many_trials_would_settle_it():
    decision = ORDER.decide({"k = 10": Known(1.1, 0.1)}, 0.95)
    assert decision.verdict == "undecided"
    assert decision.effort == 3.0
    assert "about 3 times as many trials for k = 10" in decision.settle


def test_intervals_that_are_shown_are_95_percent_ones():
    decision = ORDER.decide({"k = 10": Known(3.0, 0.1)}, 0.999)
    assert decision.level == 0.999
    assert decision.evidence[0].level == 0.95
    assert decision.evidence[0].reference == 1.0


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [
        (0.0, 0.01, "supported"),
        (0.04, 0.01, "undecided"),
        (0.2, 0.01, "refuted"),
        (0.0, 0.1, "undecided"),
    ],
)
def test_an_equivalence(value, error, verdict):
    kind = Equivalence("accuracy, A minus B", margin=0.05)
    assert kind.decide({"": Known(value, error)}, 0.99).verdict == verdict


def test_an_equivalence_of_a_ratio_has_a_margin_either_way():
    kind = Equivalence("samples, A over B", margin=0.25, reference=1.0, ratio=True)
    assert kind.range == pytest.approx((0.8, 1.25))
    assert "between 0.8 and 1.25" in kind.rule_in_words()


def test_an_equivalence_without_a_margin_is_refused():
    with pytest.raises(
        ParameterError, match="`margin` of Equivalence must be a number > 0 that is"
    ):
        Equivalence("accuracy, A minus B")


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [([1.0, 0.5], "supported"), ([1.0, 0.0], "undecided"), ([1.0, -1.0], "refuted")],
)
def test_a_trend(steps, verdict):
    kind = Trend("gap", "m", "rising")
    parts = {f"{i}": Known(step, 0.05) for i, step in enumerate(steps)}
    assert kind.decide(parts, 0.99).verdict == verdict
    falling = Trend("gap", "m", "falling")
    turned = {name: Known(-each.value, each.error) for name, each in parts.items()}
    assert falling.decide(turned, 0.99).verdict == verdict


def test_an_existence_is_never_refuted():
    kind = Existence("accuracy of some recipe", "above", 0.9)
    assert kind.decide({"Adam": Known(0.99, 0.01)}).verdict == "supported"
    decision = kind.decide({"Adam": Known(0.5, 0.01), "SGD": Known(0.4, 0.01)})
    assert decision.verdict == "undecided"
    assert "cannot be refuted" in decision.settle
    assert kind.decide({}).verdict == "not measured"
    assert "Never refuted" in kind.rule_in_words()


@pytest.mark.parametrize(
    "kind", [ORDER, Trend("gap", "m", "falling"), Existence("q", "below", 2.0)]
)
def test_rules_name_their_reference_and_side(kind):
    reference = getattr(kind, "reference", 0.0)
    assert f"{reference:g}" in kind.rule_in_words()
    assert f"{reference:g}" in kind.formula()
