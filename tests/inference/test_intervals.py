import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.inference import difference, mean_interval, median_interval, ratio, wilson


@given(
    st.integers(1, 200).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))
)
def test_wilson_contains_its_estimate_and_stays_a_probability(case):
    found = wilson(*case)
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert found.count == case[1]


def test_wilson_agrees_with_the_published_value():
    found = wilson(
        15, 20
    )  # Agresti and Coull's worked form, computed by hand: centre .7097, half width .1785
    assert found.low == pytest.approx(0.5313, abs=5e-4)
    assert found.high == pytest.approx(0.8881, abs=5e-4)


@given(st.lists(st.floats(-1e3, 1e3), min_size=6, max_size=40))
def test_median_interval_brackets_the_median(values):
    found = median_interval(values)
    assert min(values) <= found.low <= found.estimate <= found.high <= max(values)


def test_few_values_say_what_level_they_reach():
    assert median_interval([1.0, 2.0, 3.0, 4.0]).level == pytest.approx(0.875)
    assert mean_interval([3.0]).low == -np.inf


# 400 studies: a true 95 % covers in 95 ± 2.2 % (two standard errors); for few seeds a bootstrap of
# skewed data may lose 3 %.
@pytest.mark.parametrize("draw", [lambda rng: rng.normal(3, 1, 8), lambda rng: rng.gamma(3, 1, 8)])
@pytest.mark.parametrize(
    "interval, truth",
    [(lambda x: mean_interval(x, replicates=500), "mean"), (median_interval, "median")],
)
def test_coverage_over_seeds(draw, interval, truth):
    rng = np.random.default_rng(0)
    big = np.random.default_rng(1)
    centre = getattr(np, truth)(np.concatenate([draw(big) for _ in range(20000)]))
    rate = np.mean([interval(draw(rng)).contains(centre) for _ in range(400)])
    assert 0.89 <= rate <= 0.985


# 400 studies of normal values: a true 95 % covers in 95 ± 2.2 %, whether resampled (from six values
# on) or Student's.
@pytest.mark.parametrize("count", [3, 4, 5, 6])
def test_the_mean_of_few_seeds_is_covered(count):
    rng = np.random.default_rng(count)
    rate = np.mean(
        [mean_interval(rng.normal(3, 1, count), replicates=500).contains(3.0) for _ in range(400)]
    )
    assert 0.925 <= rate <= 0.98


def test_pairing_removes_what_the_seeds_share():
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 5, 20)
    first, second = shared + 1 + rng.normal(0, 0.1, 20), shared
    paired, unpaired = difference(first, second, paired=True), difference(first, second)
    assert paired.contains(1.0)
    assert paired.high - paired.low < 0.1 * (unpaired.high - unpaired.low)


def test_ratio_is_scale_free_and_deterministic():
    first, second = [3.0, 5.0, 4.0, 6.0], [1.0, 1.5, 2.0, 1.2]
    a, b = ratio(first, second), ratio([10 * x for x in first], [10 * x for x in second])
    assert a.low == pytest.approx(b.low)
    assert a == ratio(first, second)


def test_wrong_use_gets_one_sentence():
    with pytest.raises(ParameterError, match="`successes` of wilson must be an integer in"):
        wilson(9, 8)
    with pytest.raises(ParameterError, match="finite numbers"):
        mean_interval([1.0, float("nan")])
    with pytest.raises(ParameterError, match="numbers > 0"):
        ratio([1.0, -1.0], [1.0, 2.0])
    with pytest.raises(SeparatrixError, match="same length"):
        difference([1.0, 2.0], [1.0], paired=True)
    with pytest.raises(ParameterError, match="`level`"):
        wilson(1, 2, level=1.0)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("seeds", [3, 4, 5])
def test_contrasts_of_few_seeds_cover(seeds, paired):
    """A bootstrap covers in 75, 87 and 92 % of studies with 3, 4 and 5 seeds."""
    generator = np.random.default_rng(seeds)
    differences, ratios = 0, 0
    for _ in range(600):
        first, second = generator.normal(10.0, 1.0, size=(2, seeds))
        differences += difference(first, second, paired=paired).contains(0.0)
        ratios += ratio(first, second, paired=paired).contains(1.0)
    assert 0.92 <= differences / 600 <= 0.99
    assert 0.92 <= ratios / 600 <= 0.99
