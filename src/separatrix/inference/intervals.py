"""Numbers with their error: intervals for proportions, averages over seeds, ratios and differences.

An interval at level .95 is made by a procedure that covers the truth in about 95 of 100 repetitions
of the whole experiment; it does not say how far single seeds lie apart. Resampling is
deterministic: the same data give the same bounds.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable

import numpy as np
from scipy import special

from separatrix.errors import (
    ParameterError,
    SeparatrixError,
    check_choice,
    check_integer,
    check_number,
)

RESAMPLED = 6  # the smallest sample whose mean gets a resampled interval
_STATISTICS: dict[str, Callable[..., np.ndarray]] = {"mean": np.mean, "median": np.median}


@dataclasses.dataclass(frozen=True)
class Interval:
    """An estimate with its bounds, the level, the method and the number of values behind it.

    >>> Interval(0.5, 0.4, 0.7, 0.95, "wilson", 20).contains(0.65)
    True
    """

    estimate: float
    low: float
    high: float
    level: float
    method: str
    count: int

    def contains(self, value: float) -> bool:
        """Whether `value` lies in the closed interval."""
        return self.low <= value <= self.high

    @classmethod
    def exact(cls, value: float, count: int, method: str) -> "Interval":
        """A number that was computed from `count` cases, not sampled: an interval without width."""
        return cls(value, value, value, 1.0, method, count)

    def __str__(self) -> str:
        return f"{self:.4g}"

    def __format__(self, digits: str) -> str:
        """The estimate and its bounds in a number's format; the bounds alone where there is no
        estimate.

        >>> f"{Interval(0.5, 0.41, 0.6, 0.95, 'wilson', 20):.3f}"
        '0.500 [0.410, 0.600]'
        >>> f"{Interval(math.nan, 0.0, 0.6, 0.95, 'bounds', 20):.3f}"
        '[0.000, 0.600]'
        """
        if not digits:
            return str(self)
        bounds = f"[{self.low:{digits}}, {self.high:{digits}}]"
        return bounds if math.isnan(self.estimate) else f"{self.estimate:{digits}} {bounds}"


def wilson(successes: int, trials: int, level: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion; it holds at 0, at 1 and for few trials.

    Args:
        successes: The number of successes.
        trials: The number of trials.
        level: The level of the interval.

    >>> print(wilson(0, 8))
    0 [0, 0.3244]
    """
    check_integer("wilson", "trials", trials, low=1)
    check_integer("wilson", "successes", successes, low=0, high=trials)
    _check_level("wilson", level)
    quantile = float(special.ndtri(0.5 + level / 2))
    rate = successes / trials
    shrink = 1 + quantile**2 / trials
    centre = (rate + quantile**2 / (2 * trials)) / shrink
    half = quantile / shrink * np.sqrt(rate * (1 - rate) / trials + quantile**2 / (4 * trials**2))
    # The formula gives 0 and 1 exactly at the ends, up to rounding that would otherwise exclude the
    # estimate itself.
    low = 0.0 if successes == 0 else float(centre - half)
    high = 1.0 if successes == trials else float(centre + half)
    return Interval(rate, low, high, level, "wilson", trials)


def mean_interval(
    values: Iterable[float], level: float = 0.95, replicates: int = 2000, seed: int = 0
) -> Interval:
    """Bootstrap interval of the mean over seeds, widened for few seeds (Hesterberg's expanded
    percentiles).

    With fewer than six values a bootstrap interval covers too rarely; then this is Student's
    interval, which assumes that the values are about normal.

    Args:
        values: One value per seed.
        level: The level of the interval.
        replicates: The number of bootstrap resamples.
        seed: The seed of the resampling.

    >>> print(mean_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    3.5 [1.667, 5.167]
    >>> print(mean_interval([1.0, 2.0, 3.0]))
    2 [-0.4841, 4.484]
    """
    sample = _sample("mean_interval", "values", values)
    if 2 <= sample.size < RESAMPLED:
        _check_level("mean_interval", level)
        centre, error = float(sample.mean()), sample.std(ddof=1) / np.sqrt(sample.size)
        half = float(special.stdtrit(sample.size - 1, 0.5 + level / 2) * error)
        return Interval(centre, centre - half, centre + half, level, "Student's t", sample.size)
    return _resampled("mean_interval", sample, "mean", level, replicates, seed)


def median_interval(values: Iterable[float], level: float = 0.95) -> Interval:
    """Interval of the median from order statistics, without assumptions on the distribution.

    Two order statistics bracket the median with a binomial probability; the bounds interpolate
    between neighbouring pairs (Hettmansperger and Sheather) to meet the level. With fewer than six
    values even the extremes do not reach 95 %; then the result is the whole range, with the level
    that it does reach.

    Args:
        values: One value per seed.
        level: The level of the interval.

    >>> print(median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]))
    5 [2.228, 7.772]
    >>> median_interval([1.0, 2.0, 3.0]).level
    0.75
    """
    sample = np.sort(_sample("median_interval", "values", values))
    _check_level("median_interval", level)
    count = sample.size
    centre = float(np.median(sample))

    def covered(depth: int) -> float:
        # Probability that the median lies between the `depth`-th smallest and the `depth`-th
        # largest value.
        return float(1 - 2 * special.bdtr(depth - 1, count, 0.5))

    if count < 2 or covered(1) <= level:
        reached = max(covered(1), 0.0)
        return Interval(
            centre,
            float(sample[0]),
            float(sample[-1]),
            min(level, reached),
            "order statistics",
            count,
        )
    depth = 1
    while depth + 1 <= count // 2 and covered(depth + 1) >= level:
        depth += 1
    outer, inner = covered(depth), covered(depth + 1)
    share = (outer - level) / (outer - inner)
    weight = (count - depth) * share / (depth + (count - 2 * depth) * share)
    low = (1 - weight) * sample[depth - 1] + weight * sample[depth]
    high = (1 - weight) * sample[count - depth] + weight * sample[count - depth - 1]
    return Interval(centre, float(low), float(high), level, "order statistics", count)


def difference(
    first: Iterable[float],
    second: Iterable[float],
    paired: bool = False,
    statistic: str = "mean",
    level: float = 0.95,
    replicates: int = 2000,
    seed: int = 0,
) -> Interval:
    """Interval of statistic(first) - statistic(second): Student's or Welch's for means of fewer
    than six values, else a bootstrap.

    Args:
        first: One value per seed.
        second: One value per seed.
        paired: Whether entries at the same place share a seed.
        statistic: `mean` or `median`.
        level: The level of the interval.
        replicates: The number of bootstrap resamples.
        seed: The seed of the resampling.

    >>> difference([5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], paired=True).low
    4.0
    """
    return _contrast(
        "difference", np.subtract, first, second, paired, statistic, level, replicates, seed
    )


def ratio(
    first: Iterable[float],
    second: Iterable[float],
    paired: bool = False,
    statistic: str = "mean",
    level: float = 0.95,
    replicates: int = 2000,
    seed: int = 0,
) -> Interval:
    """Interval of statistic(first) / statistic(second) for positive values, computed on the log
    scale: Student's or Welch's for means of fewer than six values, else a bootstrap.

    Args:
        first: One positive value per seed.
        second: One positive value per seed.
        paired: Whether entries at the same place share a seed.
        statistic: `mean` or `median`.
        level: The level of the interval.
        replicates: The number of bootstrap resamples.
        seed: The seed of the resampling.

    >>> ratio([20.0, 40.0, 60.0], [2.0, 4.0, 6.0], paired=True).high
    10.0
    """
    first, second = _sample("ratio", "first", first), _sample("ratio", "second", second)
    for name, sample in (("first", first), ("second", second)):
        if sample.min() <= 0:
            raise ParameterError("ratio", name, "numbers > 0", float(sample.min()))
    interval = _contrast(
        "ratio", _log_ratio, first, second, paired, statistic, level, replicates, seed
    )
    bounds = [
        float(np.round(np.exp(value), 12))
        for value in (interval.estimate, interval.low, interval.high)
    ]
    return dataclasses.replace(interval, estimate=bounds[0], low=bounds[1], high=bounds[2])


def _log_ratio(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.log(first) - np.log(second)


def _contrast(
    owner, combine, first, second, paired, statistic, level, replicates, seed
) -> Interval:
    first, second = _sample(owner, "first", first), _sample(owner, "second", second)
    check_choice(owner, "statistic", statistic, _STATISTICS)
    _check_level(owner, level)
    check_integer(owner, "replicates", replicates, low=100)
    if paired and first.size != second.size:
        raise SeparatrixError(
            f"paired samples of {owner} must have the same length, got {first.size} and "
            f"{second.size} values"
        )
    if statistic == "mean" and 2 <= min(first.size, second.size) < RESAMPLED:
        return _few_seeds(combine, first, second, paired, level)
    reduce = _STATISTICS[statistic]
    generator = np.random.default_rng(seed)
    rows = generator.integers(first.size, size=(replicates, first.size))
    columns = rows if paired else generator.integers(second.size, size=(replicates, second.size))
    draws = combine(reduce(first[rows], axis=1), reduce(second[columns], axis=1))
    estimate = float(combine(reduce(first), reduce(second)))
    count = min(first.size, second.size)
    low, high = _expanded(draws, level, count)
    return Interval(
        estimate,
        low,
        high,
        level,
        f"{'paired ' if paired else ''}bootstrap of the {statistic}",
        count,
    )


def _few_seeds(
    combine: Callable[..., np.ndarray],
    first: np.ndarray,
    second: np.ndarray,
    paired: bool,
    level: float,
) -> Interval:
    """Student's or Welch's interval of a contrast of means: of so few values a bootstrap covers too
    rarely.

    For ratios each value is replaced by its influence on the logarithm of the mean.
    """
    if combine is _log_ratio:
        first, second = (
            sample / sample.mean() - 1 + np.log(sample.mean()) for sample in (first, second)
        )
    return (
        mean_over_seeds(first - second, level) if paired else gap_over_seeds(first, second, level)
    )


def _resampled(
    owner: str, sample: np.ndarray, statistic: str, level: float, replicates: int, seed: int
) -> Interval:
    _check_level(owner, level)
    check_integer(owner, "replicates", replicates, low=100)
    rows = np.random.default_rng(seed).integers(sample.size, size=(replicates, sample.size))
    reduce = _STATISTICS[statistic]
    low, high = _expanded(reduce(sample[rows], axis=1), level, sample.size)
    return Interval(
        float(reduce(sample)), low, high, level, f"bootstrap of the {statistic}", sample.size
    )


def _expanded(draws: np.ndarray, level: float, count: int) -> tuple[float, float]:
    """Percentiles further out than nominal, because bootstrap samples have variance (n-1)/n and
    normal instead of t tails.
    """
    if count < 2:
        return float("-inf"), float("inf")  # one seed carries no information about its own error
    quantile = special.stdtrit(count - 1, 0.5 + level / 2) * np.sqrt(count / (count - 1))
    tail = float(special.ndtr(-quantile))
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(low), float(high)


def _sample(owner: str, name: str, values: Iterable[float]) -> np.ndarray:
    sample = np.asarray(list(values), dtype=float)
    if sample.ndim != 1 or sample.size == 0 or not np.all(np.isfinite(sample)):
        raise ParameterError(owner, name, "a non-empty list of finite numbers", values)
    return sample


def _check_level(owner: str, level: float) -> None:
    check_number(owner, "level", level, low=0.5, high=0.999999)


# Over a handful of seeds a bootstrap never leaves the range of its sample, and four seeds all lie
# on one side of the truth in one case of eight. Student's t knows how little few seeds say; it is
# exact for normal values, and accuracies on thousands of test rows are close to normal.


def mean_over_seeds(values: Iterable[float], level: float = 0.95) -> Interval:
    """The mean over a handful of seeds with Student's interval.

    >>> print(mean_over_seeds([0.70, 0.72, 0.71, 0.75]))
    0.72 [0.6856, 0.7544]
    """
    sample = _seeds("values", values)
    quantile = special.stdtrit(sample.size - 1, 0.5 + level / 2)
    half = quantile * sample.std(ddof=1) / np.sqrt(sample.size)
    return _around(float(sample.mean()), float(half), level, "Student's t", sample.size)


def accuracy_over_seeds(values: Iterable[float], level: float = 0.95) -> Interval:
    """The mean over a handful of seeds of a share: Student's interval, cut to [0, 1].

    >>> print(accuracy_over_seeds([0.98, 0.9, 1.0]))
    0.96 [0.8286, 1]
    """
    mean = mean_over_seeds(values, level)
    return dataclasses.replace(mean, low=max(mean.low, 0.0), high=min(mean.high, 1.0))


def gap_over_seeds(
    first: Iterable[float], second: Iterable[float], level: float = 0.95
) -> Interval:
    """The difference of two means over independent seeds, with Welch's interval.

    >>> print(gap_over_seeds([0.70, 0.72, 0.71, 0.75], [0.5, 0.51, 0.49]))
    0.22 [0.1872, 0.2528]
    """
    a, b = _seeds("first", first), _seeds("second", second)
    parts = np.array([a.var(ddof=1) / a.size, b.var(ddof=1) / b.size])
    estimate, total = float(a.mean() - b.mean()), float(parts.sum())
    if total == 0:
        return _around(estimate, 0.0, level, "Welch's t", min(a.size, b.size))
    freedom = total**2 / (parts**2 / np.array([a.size - 1, b.size - 1])).sum()
    half = float(special.stdtrit(freedom, 0.5 + level / 2) * np.sqrt(total))
    return _around(estimate, half, level, "Welch's t", min(a.size, b.size))


def _around(estimate: float, half: float, level: float, method: str, count: int) -> Interval:
    return Interval(estimate, estimate - half, estimate + half, level, method, count)


def _seeds(name: str, values: Iterable[float]) -> np.ndarray:
    sample = np.asarray(values, float)
    if sample.ndim != 1 or sample.size < 2 or not np.isfinite(sample).all():
        raise ParameterError("an interval over seeds", name, "at least two finite numbers", values)
    return sample
