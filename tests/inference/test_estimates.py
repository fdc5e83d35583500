"""Estimates give intervals at any level, and cover as often as they say."""

import numpy as np
import pytest

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.inference.estimates import (
    Estimate,
    Exact,
    GeometricMean,
    Known,
    MeanDifference,
    MeanOf,
    PairedDifference,
    QuotientOf,
    RatioOf,
    ShareOf,
    ThresholdRatio,
    steps_of,
)
from separatrix.inference.psychometric import Tally
from separatrix.inference.thresholds import estimate_threshold


@pytest.mark.parametrize("seeds", [3, 4, 5])
def test_paired_differences_of_few_seeds_cover(seeds):
    """A bootstrap covers 75, 87 and 92 % here."""
    generator = np.random.default_rng(seeds)
    hits = 0
    for _ in range(1000):
        first, second = generator.normal(size=(2, seeds))
        hits += PairedDifference(tuple(first), tuple(second)).interval(0.95).contains(0.0)
    assert 0.93 <= hits / 1000 <= 0.97


def test_a_higher_level_is_wider():
    small = estimate_threshold([Tally(8, 0, 40), Tally(16, 40, 40)])
    large = estimate_threshold([Tally(64, 2, 40), Tally(128, 39, 40)])
    estimates = [
        MeanOf((1.0, 2.0, 3.0)),
        PairedDifference((1.0, 2.0, 4.0), (0.0, 1.0, 1.0)),
        MeanDifference((1.0, 2.0, 4.0), (0.0, 1.0)),
        RatioOf((2.0, 3.0), (1.0, 1.1)),
        ShareOf(3, 10),
        ThresholdRatio(large, small),
        Known(1.0, 0.1),
    ]
    for estimate in estimates:
        assert isinstance(estimate, Estimate)
        shown, strict = estimate.interval(0.95), estimate.interval(0.998)
        assert strict.low < shown.low < shown.high < strict.high
        assert strict.level == 0.998


def test_a_computed_number_has_the_same_interval_at_every_level():
    assert Exact(2.0, 0.5).interval(0.9).low == Exact(2.0, 0.5).interval(0.999).low == 1.5


def test_steps_are_differences_of_neighbours():
    steps = steps_of([(1.0, 2.0), (2.0, 4.0), (2.0, 4.5)], paired=True)
    assert [step.interval(0.95).estimate for step in steps] == [1.5, 0.25]


def test_what_cannot_be_estimated_is_refused():
    with pytest.raises(ParameterError, match="at least two finite numbers"):
        MeanOf((1.0,))
    with pytest.raises(SeparatrixError, match="as many values on both sides, got 2 and 3"):
        PairedDifference((1.0, 2.0), (1.0, 2.0, 3.0))
    with pytest.raises(ParameterError, match=r"numbers > 0, got 0\.0"):
        RatioOf((1.0, 2.0), (0.0, 1.0))


def test_a_ratio_of_ratios_covers_and_keeps_bounds():
    """Log-normal ratios with known errors: the interval's half width is the errors' hypotenuse."""
    a, b = RatioOf((7.0, 8.0, 9.0), (1.0, 1.1, 0.9)), RatioOf((2.0, 2.2, 1.9), (1.0, 1.1, 0.9))
    inner, outer = a.interval(0.95), b.interval(0.95)
    both = QuotientOf(a, b).interval(0.95)
    assert both.estimate == pytest.approx(inner.estimate / outer.estimate)
    width = np.hypot(np.log(inner.estimate / inner.low), np.log(outer.high / outer.estimate))
    assert np.log(both.estimate / both.low) == pytest.approx(width)
    small = estimate_threshold([Tally(8, 0, 40), Tally(16, 40, 40)])
    large = estimate_threshold([Tally(512, 0, 400)])
    known, at_least = ThresholdRatio(small, small), ThresholdRatio(large, small)
    up, down = QuotientOf(at_least, known), QuotientOf(known, at_least)
    assert up.interval(0.95).low > 10
    assert np.isinf(up.interval(0.95).high)
    assert down.interval(0.95).high < 0.1
    assert down.interval(0.95).low == 0
    assert QuotientOf(at_least, at_least).interval(0.95).low == 0


def test_the_geometric_mean_of_ratios():
    assert GeometricMean((2.0, 8.0)).interval(0.95).estimate == pytest.approx(4.0)
    equal = GeometricMean((3.0, 3.0, 3.0)).interval(0.99)
    assert (equal.low, equal.high) == pytest.approx((3.0, 3.0))
