"""Statistics of amounts that were cut off: bounds in the right direction, exact otherwise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.errors import SeparatrixError
from separatrix.inference.censored_medians import Amounts, censored_median, growth, median_ratio
from separatrix.inference.intervals import median_interval

INF = float("inf")


def exact(values):
    return Amounts.of(values, values)


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=20))
def test_without_cuts_the_median_is_the_plain_one(values):
    median, plain = censored_median(exact(values)), median_interval(values)
    assert median.estimate == pytest.approx(plain.estimate)
    assert median.low == pytest.approx(plain.low)
    assert median.high == pytest.approx(plain.high)


def test_a_median_beyond_the_cut_is_infinite_with_a_finite_lower_end():
    found = censored_median(Amounts.of([10, 20, 50, 50, 50], [10, 20, INF, INF, INF]))
    assert found.estimate == found.high == INF
    assert found.low == 10


def test_cutting_seeds_off_only_widens():
    rng = np.random.default_rng(0)
    slow, fast = np.exp(rng.normal(5, 0.5, 12)), np.exp(rng.normal(3, 0.5, 12))
    whole = median_ratio(exact(slow), exact(fast))
    cap = float(np.quantile(slow, 0.7))
    cut = median_ratio(
        Amounts.of(np.minimum(slow, cap), np.where(slow > cap, INF, slow)), exact(fast)
    )
    assert cut.low <= whole.low
    assert cut.high >= whole.high
    assert np.isfinite(cut.low)


def test_a_cut_off_rival_gives_no_lower_bound():
    found = median_ratio(exact([100.0] * 6), Amounts.of([50.0] * 6, [INF] * 6))
    assert found.low == 0
    assert found.high == pytest.approx(2.0)
    assert np.isnan(found.estimate) or found.estimate == 0


def test_growth_takes_bounds_by_the_sign_of_their_weight():
    def flat(value, top=None):
        return Amounts.of([value] * 5, [top or value] * 5)

    rising = [(8, flat(8), flat(1)), (16, flat(16), flat(1)), (32, flat(32), flat(1))]
    assert growth(rising).estimate == pytest.approx(1.0)
    last_cut = growth([*rising[:2], (32, flat(32, INF), flat(1))])
    assert last_cut.low == pytest.approx(1.0)
    assert last_cut.high == INF
    first_cut = growth([(8, flat(8, INF), flat(1)), *rising[1:]])
    assert first_cut.low == -INF
    assert first_cut.high == pytest.approx(1.0)


def test_the_interval_of_growth_covers_the_truth():
    rng = np.random.default_rng(1)
    hits = 0
    for trial in range(60):
        points = []
        for n in (8, 16, 32):
            first, second = n**1.0 * np.exp(rng.normal(0, 0.5, 8)), np.exp(rng.normal(0, 0.5, 8))
            points.append((n, exact(first), exact(second)))
        hits += growth(points, seed=trial).contains(1.0)
    assert hits >= 54


@pytest.mark.parametrize(
    "bounds", [([1.0], [0.5]), ([0.0], [1.0]), ([INF], [INF]), ([], []), ([1.0, 2.0], [3.0])]
)
def test_impossible_bounds_are_refused(bounds):
    with pytest.raises(SeparatrixError, match="the `lower` of Amounts must be positive"):
        Amounts.of(*bounds)
