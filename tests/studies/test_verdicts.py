"""Claims and verdicts: what an interval says, and that it can be written down."""

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.errors import SeparatrixError, UnknownNameError
from separatrix.notes import Note
from separatrix.studies import (
    Axis,
    Claim,
    Evidence,
    Figure,
    Finding,
    Outcome,
    Series,
    TableData,
    all_of,
    decide_above,
    decide_below,
    figure_from,
)

CLAIM = Claim("lahoti.example", "CNNs need fewer samples.", "Theorem 1", "σ at most 1/√k")
FLIPPED = {"supported": "refuted", "refuted": "supported", "undecided": "undecided"}
numbers = st.floats(-1e6, 1e6)


def between(low, high):
    return Evidence("x", (low + high) / 2, low, high, count=9)


@given(numbers, numbers, numbers)
def test_an_interval_decides_only_as_a_whole(a, b, reference):
    low, high = min(a, b), max(a, b)
    verdict = decide_above(between(low, high), reference)
    assert verdict == (
        "supported" if low > reference else "refuted" if high < reference else "undecided"
    )
    assert decide_below(between(low, high), reference) == FLIPPED[verdict]
    # The mirror image says the same of "below".
    assert decide_below(between(-high, -low), -reference) == verdict
    # A wider interval never decides what a narrower one leaves open, and never turns a verdict
    # round.
    assert decide_above(between(low - 1, high + 1), reference) in (verdict, "undecided")


@pytest.mark.parametrize(
    "low, high",
    [(math.nan, 1.0), (0.0, math.nan), (-math.inf, 1.0), (2.0, math.inf), (math.nan, math.nan)],
)
def test_an_interval_without_ends_decides_nothing(low, high):
    for reference in (-5.0, 0.5, 5.0):
        assert (
            decide_above(between(low, high), reference)
            == decide_below(between(low, high), reference)
            == "undecided"
        )


@given(st.lists(st.sampled_from(["supported", "refuted", "undecided"]), min_size=1))
def test_a_conjunction_is_refuted_by_one_part_and_supported_by_all(verdicts):
    said = all_of(verdicts)
    assert (said == "refuted") == ("refuted" in verdicts)
    assert (said == "supported") == all(verdict == "supported" for verdict in verdicts)
    assert all_of(iter(verdicts)) == said


def test_a_conjunction_of_nothing_is_no_verdict():
    with pytest.raises(SeparatrixError, match="at least one part"):
        all_of([])


def test_a_claim_names_a_known_paper():
    assert CLAIM.paper == "lahoti"
    with pytest.raises(UnknownNameError, match="did you mean `lahoti`"):
        Claim("lahotti.example", "x", "y", "z")


def test_an_outcome_is_json_without_nan_and_its_figures_come_back():
    odd = (math.nan, math.inf, -math.inf, 1.0)
    figure = Figure(
        "f",
        "F",
        Axis("x", log=True),
        Axis("y"),
        (Series("s", ("a", "b", "c", "d"), odd, odd, odd, "law"),),
        "caption",
    )
    finding = Finding(
        CLAIM,
        "undecided",
        "why",
        None,
        (Evidence("e", math.nan, -math.inf, math.inf, 2, baselines={"b": math.nan}),),
        "out",
    )
    table = TableData("t", "T", ("a", "b"), ((math.nan, "x"), (1, None)))
    plain = Outcome((finding,), (figure,), (table,), (Note("code", "info", "words"),)).plain()
    text = json.dumps(plain, allow_nan=False)
    assert json.loads(text) == plain
    for key in ("id", "paper", "statement", "verdict", "conditions_met", "evidence"):
        assert key in plain["findings"][0]
    assert plain["findings"][0]["evidence"][0]["baselines"] == {"b": None}
    back = figure_from(json.loads(text)["figures"][0])
    assert back == dataclasses.replace(
        figure,
        series=(Series("s", ("a", "b", "c", "d"), *[(None, None, None, 1.0)] * 3, role="law"),),
    )
