"""Medians, ratios of medians and their growth, for amounts known only to lie between two bounds.

A run is measured now and then. One that has reached its target did so after the measurement before;
one that used up its steps needs at least those. So every amount is an interval [lower, upper],
upper infinite where the run was cut off. The bounds of a statistic take the lower ends or the upper
ends, whichever make it smallest and largest.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from separatrix.errors import ParameterError
from separatrix.inference.intervals import Interval, median_interval

REPLICATES = 2000


@dataclasses.dataclass(frozen=True)
class Amounts:
    """What several seeds needed, each somewhere in [lower, upper].

    >>> Amounts.of([9.0, 50.0], [10.0, float("inf")]).censored
    1
    """

    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, lower: ArrayLike, upper: ArrayLike) -> "Amounts":
        """From two lists of equal length; all lower ends are positive and finite."""
        low, high = np.asarray(lower, float), np.asarray(upper, float)
        if (
            low.shape != high.shape
            or not low.size
            or not np.all(np.isfinite(low))
            or np.any(low <= 0)
            or np.any(high < low)
        ):
            raise ParameterError(
                "Amounts", "lower", "positive, finite and at most `upper`", (lower, upper)
            )
        return cls(low, high)

    @property
    def count(self) -> int:
        """How many seeds there are."""
        return self.lower.size

    @property
    def censored(self) -> int:
        """How many seeds were cut off."""
        return int(np.isinf(self.upper).sum())

    def times(self, factor: float) -> "Amounts":
        """The same in another unit.

        >>> Amounts.of([2.0], [4.0]).times(3.0).upper.tolist()
        [12.0]
        """
        return Amounts(self.lower * factor, self.upper * factor)


def censored_median(amounts: Amounts) -> Interval:
    """The median with an interval from order statistics; infinite where half of the seeds were cut
    off.

    >>> print(censored_median(Amounts.of([1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, float("inf")])))
    4 [1.733, inf]
    """
    places = median_interval(np.arange(amounts.count))
    low, high = (
        _between(np.sort(side), place)
        for side, place in ((amounts.lower, places.low), (amounts.upper, places.high))
    )
    middle = _between(np.sort(amounts.upper), places.estimate)
    return Interval(middle, low, high, places.level, "order statistics, censored", amounts.count)


def _between(ordered: np.ndarray, place: float) -> float:
    """The value at a fractional place of ordered values; infinite between a finite and an infinite
    one.
    """
    left = int(np.floor(place + 1e-12))
    share = place - left
    if share < 1e-9:
        return float(ordered[left])
    return (
        float(ordered[left] + share * (ordered[left + 1] - ordered[left]))
        if np.isfinite(ordered[left + 1])
        else float("inf")
    )


def median_ratio(first: Amounts, second: Amounts, seed: int = 0, level: float = 0.95) -> Interval:
    """The ratio of medians with a bootstrap interval; one-sided where seeds were cut off.

    >>> slow, fast = Amounts.of([90] * 4, [100] * 4), Amounts.of([9] * 4, [10] * 4)
    >>> print(median_ratio(slow, fast))
    10 [9, 11.11]
    """
    log_ratio = growth([(1.0, first, second)], seed, level)
    low, middle, high = (
        float(np.exp(end)) for end in (log_ratio.low, log_ratio.estimate, log_ratio.high)
    )
    method = "bootstrap of the median, censored"
    return Interval(middle, low, high, log_ratio.level, method, log_ratio.count)


@dataclasses.dataclass(frozen=True)
class MedianRatio:
    """The ratio of two medians as an estimate: it gives its interval at any level.

    >>> slow, fast = Amounts.of([90] * 9, [100] * 9), Amounts.of([9] * 9, [10] * 9)
    >>> round(MedianRatio(slow, fast).interval(0.99).low, 6)
    9.0
    """

    first: Amounts
    second: Amounts
    seed: int = 0

    def interval(self, level: float) -> Interval:
        """The bootstrap interval of this level; one-sided where seeds were cut off."""
        return median_ratio(self.first, self.second, self.seed, level)


@dataclasses.dataclass(frozen=True)
class MedianGrowth:
    """How a ratio of medians grows with a size, as an estimate; see `growth`."""

    points: tuple[tuple[float, Amounts, Amounts], ...]
    seed: int = 0

    def interval(self, level: float) -> Interval:
        """The bootstrap interval of the exponent."""
        return growth(self.points, self.seed, level)


def growth(
    points: Sequence[tuple[float, Amounts, Amounts]], seed: int = 0, level: float = 0.95
) -> Interval:
    """The slope of log(median of first / median of second) against log(size); with one point, that
    logarithm itself.

    `points` are (size, first, second). Seeds are resampled within each cell; percentiles are
    widened for few seeds (Hesterberg).

    >>> def cell(amount):
    ...     return Amounts.of([amount] * 5, [amount] * 5)
    >>> print(growth([(8, cell(16), cell(4)), (16, cell(64), cell(8)), (32, cell(256), cell(16))]))
    1 [1, 1]
    >>> cut_off = Amounts.of([64] * 5, [float("inf")] * 5)
    >>> print(growth([(8, cell(16), cell(4)), (16, cut_off, cell(8))]))
    [1, inf]
    """
    logs = np.log([size for size, _, _ in points])
    spread = logs - logs.mean()
    weights = spread / (spread @ spread) if len(points) > 1 else np.ones(1)
    generator = np.random.default_rng(seed)
    low, high, middle = np.zeros(REPLICATES), np.zeros(REPLICATES), 0.0
    for weight, (_, first, second) in zip(weights, points):
        rows = generator.integers(first.count, size=(REPLICATES, first.count))
        columns = generator.integers(second.count, size=(REPLICATES, second.count))
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.log(np.median(first.lower[rows], 1)) - np.log(
                np.median(second.upper[columns], 1)
            )
            most = np.log(np.median(first.upper[rows], 1)) - np.log(
                np.median(second.lower[columns], 1)
            )
            centre = float(np.log(np.median(first.upper)) - np.log(np.median(second.upper)))
        low += weight * (least if weight >= 0 else most)
        high += weight * (most if weight >= 0 else least)
        middle += weight * centre if np.isfinite(centre) else float("nan")
    count = min(min(first.count, second.count) for _, first, second in points)
    bounds = _percentiles(low, high, level, count)
    return Interval(middle, *bounds, level, "bootstrap of medians, censored", count)


def _percentiles(
    low: np.ndarray, high: np.ndarray, level: float, count: int
) -> tuple[float, float]:
    if count < 2:
        return float("-inf"), float("inf")
    tail = float(
        special.ndtr(-special.stdtrit(count - 1, 0.5 + level / 2) * np.sqrt(count / (count - 1)))
    )
    ordered = np.sort(low), np.sort(high)
    # Order statistics rather than interpolated quantiles: these may be infinite.
    place = int(np.floor(tail * (low.size - 1)))
    return float(ordered[0][place]), float(ordered[1][-1 - place])
