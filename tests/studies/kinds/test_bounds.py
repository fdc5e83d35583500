"""Upper and lower bounds: doctored cells that must be supported, refuted, undecided, unmeasured."""

import math

import numpy as np
import pytest

from separatrix.errors import ParameterError
from separatrix.inference.censored_regression import Cell
from separatrix.inference.laws import Law
from separatrix.studies.kinds import LowerBound, UpperBound

SQUARE = [(k, d) for k in (10, 20, 40, 80) for d in (10, 20, 40, 80)]
NARROW = [(k, d) for k in (10, 15, 20, 30) for d in (10, 15, 20, 30)]
LAW = Law(
    "k+d",
    "k + d",
    lambda design: design["k"] + design["d"],
    terms=(Law("k", "k", lambda design: design["k"]), Law("d", "d", lambda design: design["d"])),
)
UPPER, LOWER = UpperBound("m*", LAW, ("k", "d")), LowerBound("m*", LAW, ("k", "d"))


def cells_of(size, pairs=SQUARE, error=0.03):
    generator = np.random.default_rng(0)
    return [
        Cell({"k": k, "d": d}, math.log(size(k, d)) + error * generator.normal(), error)
        for k, d in pairs
    ]


@pytest.mark.parametrize(
    ("kind", "size", "verdict"),
    [
        (UPPER, lambda k, d: 0.9 * (k + d), "supported"),
        (UPPER, lambda k, d: k + d + 20, "supported"),
        (UPPER, lambda k, d: 2 * d, "supported"),
        (UPPER, lambda k, d: k * d, "refuted"),
        (UPPER, lambda k, d: (k + d) * k**0.5, "refuted"),
        (LOWER, lambda k, d: 0.9 * (k + d), "supported"),
        (LOWER, lambda k, d: k + d + 20, "supported"),
        (LOWER, lambda k, d: k * d, "supported"),
        (LOWER, lambda k, d: (k + d) ** 0.5, "refuted"),
    ],
)
def test_planted_truths(kind, size, verdict):
    decision = kind.decide(cells_of(size), 0.998)
    assert decision.verdict == verdict
    assert decision.level == 0.998
    assert not decision.settle


def test_a_narrow_range_refutes_nothing_and_says_what_would():
    decision = UPPER.decide(cells_of(lambda k, d: k * d, NARROW), 0.998)
    assert decision.verdict == "undecided"
    assert "over a factor of 4" in decision.settle


def test_noise_leaves_it_undecided_and_says_how_many_trials_would_settle_it():
    decision = UPPER.decide(cells_of(lambda k, d: k + d, error=0.4), 0.998)
    assert decision.verdict == "undecided"
    assert decision.effort is not None
    assert decision.effort > 1
    assert "times as many trials per cell" in decision.settle


def test_cells_that_do_not_vary_a_size_are_not_a_measurement():
    line = [(k, 20) for k in (10, 20, 40, 80)]
    decision = UPPER.decide(cells_of(lambda k, d: k + d, line))
    assert decision.verdict == "not measured"
    assert "vary k and d independently" in decision.settle
    assert UPPER.decide([]).verdict == "not measured"


def test_the_constant_is_always_reported():
    decision = UPPER.decide(cells_of(lambda k, d: 0.9 * (k + d)))
    constant = decision.evidence[-1]
    assert constant.name == "smallest C with m* ≤ C·f in all cells"
    assert constant.low < 0.9 < constant.high
    names = [each.name for each in decision.evidence]
    assert "drift exponent of m*/f in k" in names
    assert "drift exponent of m*/f in k, against the finite-size form" in names


def test_the_rule_is_written_from_the_object_that_decides():
    strict = UpperBound("m*", LAW, ("k", "d"), margin=0.25, range_factor=8)
    words = strict.rule_in_words()
    for part in ("at most +0.25", "above +0.25", "a factor of 8", "m* / (k + d)", "k and d"):
        assert part in words
    assert "m* ≤ C·f, f = k + d" in strict.formula()
    assert "at least -0.10" in LOWER.rule_in_words()
    assert "below -0.10" in LOWER.rule_in_words()


def test_a_bound_without_a_margin_is_refused():
    with pytest.raises(ParameterError, match="`margin` of UpperBound must be a number > 0"):
        UpperBound("m*", LAW, ("k",), margin=None)
    with pytest.raises(ParameterError, match="at least one size"):
        UpperBound("m*", LAW, ())


def test_verdicts_at_several_levels_come_from_one_fit():
    cells = cells_of(lambda k, d: k + d)
    assert UPPER.verdicts(cells, (0.95, 0.998)) == ("supported", "supported")
