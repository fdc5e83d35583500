"""Two runs compared: by their intervals, with the rule told."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_run import write_run

from separatrix.errors import SeparatrixError
from separatrix.report import compare_runs, write_evidence
from separatrix.report.compare import Move, Quantity, expected_by_chance, rule_of

ends = st.none() | st.floats(-10, 10)


@st.composite
def quantities(draw):
    low, estimate, high = sorted(draw(st.tuples(*[st.floats(-10, 10)] * 3)))
    return Quantity(
        draw(st.sampled_from([estimate, estimate, None])),
        draw(st.sampled_from([low, low, None])),
        draw(st.sampled_from([high, high, None])),
    )


@given(quantities(), quantities())
def test_the_rule_does_not_depend_on_the_order_and_a_number_never_moves_from_itself(a, b):
    assert rule_of(a, b) == rule_of(b, a)
    assert rule_of(a, a) in ("within", "equal")


@pytest.mark.parametrize(
    "a, b, rule",
    [
        ((1, 0, 2), (5, 4, 6), "apart"),
        ((1, 0, 2), (3, 2, 4), "outside"),
        ((1, 0, 2.5), (2, 0.5, 3), "within"),
        ((1, 0, 3), (2, 1.5, 4), "outside"),
        ((None, 64, None), (10, 8, 12), "apart"),
        ((None, 64, None), (100, 80, 120), "within"),
        ((1, None, None), (2, 1, 3), "differs"),
        ((1, None, None), (1, None, None), "equal"),
        ((1, None, None), (None, None, None), "differs"),
        ((None, None, None), (None, None, None), "equal"),
        ((0.1 + 0.2, None, None), (0.3, None, None), "equal"),
    ],
)
def test_rules(a, b, rule):
    assert rule_of(Quantity(*a), Quantity(*b)) == rule


def test_what_chance_alone_would_move_is_what_it_moves():
    """20,000 pairs of normal estimates of the same number: the counts are binomial, so five
    standard deviations are never exceeded.
    """
    rng = np.random.default_rng(1)
    pairs = rng.normal(size=(20_000, 2))
    moves = [
        [Quantity(each, each - 1.959964, each + 1.959964) for each in pair]
        for pair in pairs.tolist()
    ]
    found = [Move("claim", "c", "x", a, b, rule_of(a, b)) for a, b in moves]
    for rule, expected in expected_by_chance(tuple(found)).items():
        count = sum(move.rule == rule for move in found)
        assert abs(count - expected) < 5 * math.sqrt(expected)
        assert count > 0


def shift(by):
    def change(claims, outcome):
        claims[0]["verdict"] = "refuted" if by else "supported"
        for key in ("estimate", "low", "high"):
            claims[0]["evidence"][0][key] += by
        series = outcome["figures"][0]["series"][0]
        for key in ("y", "low", "high"):
            series[key][1] += by
        outcome["settings"]["task"]["noise"] += by

    return change


def test_verdicts_numbers_and_settings_that_moved_are_found_and_no_others(tmp_path):
    a, b = write_run(tmp_path / "a"), write_run(tmp_path / "b", change=shift(0.5))
    found = compare_runs(a, b)
    assert found.verdicts == (("lahoti.first", "supported", "refuted"),)
    assert found.settings == (("sample.task.noise", "0.1", "0.6"),)
    assert [(move.kind, move.where, move.name, move.rule) for move in found.moved] == [
        ("claim", "lahoti.first", "risk: CNN minus FCN", "apart"),
        ("figure", "sample: Risk", "CNN, samples m = 64.0", "apart"),
    ]
    # Three claims with one number each; measured points with intervals: three and two of the curves
    # (one was not measured), two bars.
    assert found.counts == {"apart": 2, "outside": 0, "differs": 0, "within": 8, "equal": 0}
    assert compare_runs(a, a).moved == ()


def test_evidence_is_compared_by_its_claims(tmp_path):
    kept = write_evidence(write_run(tmp_path / "a"), tmp_path / "kept").parent
    found = compare_runs(kept, write_run(tmp_path / "b", change=shift(0.5)))
    assert [move.kind for move in found.numbers] == ["claim"] * 3
    assert [move.where for move in found.moved] == ["lahoti.first"]
    assert found.only_b == (), "a folder without figures lacks nothing"


def test_what_only_one_run_has_is_told(tmp_path):
    def fewer(claims, outcome):
        del claims[2]
        del outcome["figures"][1]

    found = compare_runs(write_run(tmp_path / "a"), write_run(tmp_path / "b", change=fewer))
    assert found.only_b == ()
    assert found.only_a[0] == "malach.third: risk: CNN minus FCN"
    assert len(found.only_a) == 3


def test_a_folder_without_claims_is_named(tmp_path):
    with pytest.raises(SeparatrixError, match=r"holds no claims\.json"):
        compare_runs(tmp_path, tmp_path)
