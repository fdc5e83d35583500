"""Measured numbers that know their interval at any level.

A report shows 95 % intervals; a verdict among many needs a higher level, so that the chance of any
wrong one stays small. So what a verdict rests on is not an interval but an *estimate*: the data,
and how an interval of a wanted level is made from them.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from scipy import special

from separatrix.errors import ParameterError, SeparatrixError, check_number
from separatrix.inference.intervals import (
    Interval,
    gap_over_seeds,
    mean_over_seeds,
    wilson,
)
from separatrix.inference.thresholds import Threshold, estimate_threshold, threshold_ratio


@runtime_checkable
class Estimate(Protocol):
    """Anything that gives an interval at a level."""

    def interval(self, level: float) -> Interval:
        """The central interval of this level."""
        ...


@dataclasses.dataclass(frozen=True)
class MeanOf:
    """The mean over seeds, with Student's interval.

    >>> print(MeanOf((0.70, 0.72, 0.71, 0.75)).interval(0.95))
    0.72 [0.6856, 0.7544]
    """

    values: tuple[float, ...]

    def __post_init__(self):
        object.__setattr__(self, "values", _seeds("the mean over seeds", self.values))

    def interval(self, level: float) -> Interval:
        """Student's interval."""
        return mean_over_seeds(self.values, level)


@dataclasses.dataclass(frozen=True)
class PairedDifference:
    """The mean of differences between two networks on the same seeds, with Student's interval.

    >>> print(PairedDifference((5.0, 6.5, 7.0), (1.0, 2.0, 3.0)).interval(0.95))
    4.167 [3.45, 4.884]
    """

    first: tuple[float, ...]
    second: tuple[float, ...]

    def __post_init__(self):
        for name in ("first", "second"):
            object.__setattr__(self, name, _seeds("a paired difference", getattr(self, name)))
        if len(self.first) != len(self.second):
            raise SeparatrixError(
                "a paired difference needs as many values on both sides, "
                f"got {len(self.first)} and {len(self.second)}"
            )

    def interval(self, level: float) -> Interval:
        """Student's interval of the mean difference."""
        return MeanOf(tuple(np.subtract(self.first, self.second))).interval(level)


@dataclasses.dataclass(frozen=True)
class MeanDifference:
    """The difference of two means over independent seeds, with Welch's interval.

    >>> print(MeanDifference((0.70, 0.72, 0.71, 0.75), (0.5, 0.51, 0.49)).interval(0.95))
    0.22 [0.1872, 0.2528]
    """

    first: tuple[float, ...]
    second: tuple[float, ...]

    def __post_init__(self):
        for name in ("first", "second"):
            object.__setattr__(self, name, _seeds("a difference of means", getattr(self, name)))

    def interval(self, level: float) -> Interval:
        """Welch's interval of the difference."""
        return gap_over_seeds(self.first, self.second, level)


@dataclasses.dataclass(frozen=True)
class RatioOf:
    """The ratio of two geometric means over seeds, from the logarithms of positive values.

    `paired` when the i-th values of both sides share a seed.

    >>> print(RatioOf((20.0, 40.0, 66.0), (2.0, 4.0, 6.0), paired=True).interval(0.95))
    10.32 [9.004, 11.83]
    """

    first: tuple[float, ...]
    second: tuple[float, ...]
    paired: bool = False

    def __post_init__(self):
        for name in ("first", "second"):
            values = _seeds("a ratio", getattr(self, name))
            if min(values) <= 0:
                raise ParameterError("a ratio", name, "numbers > 0", min(values))
            object.__setattr__(self, name, values)

    def interval(self, level: float) -> Interval:
        """Student's or Welch's interval of the log ratio, as a ratio."""
        kind = PairedDifference if self.paired else MeanDifference
        logs = kind(tuple(np.log(self.first)), tuple(np.log(self.second)))
        return _exponential(logs.interval(level))


@dataclasses.dataclass(frozen=True)
class ShareOf:
    """A share of trials, with Wilson's interval.

    >>> print(ShareOf(19, 20).interval(0.95))
    0.95 [0.7639, 0.9911]
    """

    successes: int
    trials: int

    def interval(self, level: float) -> Interval:
        """Wilson's interval."""
        return wilson(self.successes, self.trials, level)


@dataclasses.dataclass(frozen=True)
class ThresholdRatio:
    """How many times larger one threshold is than another, from the trials behind both.

    >>> from separatrix.inference.psychometric import Tally
    >>> small = estimate_threshold([Tally(8, 0, 40), Tally(16, 40, 40)])
    >>> large = estimate_threshold([Tally(64, 0, 40), Tally(128, 40, 40)])
    >>> ThresholdRatio(large, small).interval(0.99).low > 4
    True
    """

    first: Threshold
    second: Threshold

    def interval(self, level: float) -> Interval:
        """The interval of the ratio; one-sided where a threshold is censored."""
        return threshold_ratio(_at_level(self.first, level), _at_level(self.second, level))


@dataclasses.dataclass(frozen=True)
class ThresholdOver:
    """How many times a known number a threshold is, such as a floor.

    >>> from separatrix.inference.psychometric import Tally
    >>> threshold = estimate_threshold([Tally(8, 0, 40), Tally(16, 40, 40)])
    >>> ThresholdOver(threshold, 4).interval(0.95).low > 2
    True
    """

    threshold: Threshold
    unit: float

    def __post_init__(self):
        check_number("ThresholdOver", "unit", self.unit, low=0, open_low=True)

    def interval(self, level: float) -> Interval:
        """The threshold's interval over the number; one-sided where the threshold is censored."""
        found = _at_level(self.threshold, level)
        middle, low, high = (end / self.unit for end in (found.estimate, found.low, found.high))
        return Interval(middle, low, high, level, "threshold over a number", found.trials)


@dataclasses.dataclass(frozen=True)
class GeometricMean:
    """The geometric mean of ratios, as a ratio, with Student's interval of the mean logarithm.

    >>> print(GeometricMean((2.0, 4.0, 8.0)).interval(0.95))
    4 [0.7149, 22.38]
    """

    ratios: tuple[float, ...]

    def interval(self, level: float) -> Interval:
        """Student's interval."""
        return _exponential(MeanOf(tuple(np.log(self.ratios))).interval(level))


@dataclasses.dataclass(frozen=True)
class QuotientOf:
    """One ratio over another, from independent estimates of both.

    Where both have values, the distances from estimate to bound of their intervals are combined on
    the log scale (the MOVER method). Where one has only bounds, so has the quotient; the two bounds
    share the chance of an error.

    >>> print(QuotientOf(Exact(6.0, 0.0), Exact(2.0, 0.0)).interval(0.95))
    3 [3, 3]
    """

    first: Estimate
    second: Estimate

    def interval(self, level: float) -> Interval:
        """The interval of the quotient."""
        a, b = self.first.interval(level), self.second.interval(level)
        count = a.count + b.count
        ends = [end for each in (a, b) for end in (each.estimate, each.low, each.high)]
        if all(math.isfinite(end) and end > 0 for end in ends):
            logs = [math.log(end) for end in ends]
            middle = logs[0] - logs[3]
            low = middle - math.hypot(logs[0] - logs[1], logs[5] - logs[3])
            high = middle + math.hypot(logs[2] - logs[0], logs[3] - logs[4])
            made = Interval(middle, low, high, level, "ratio of ratios", count)
            return _exponential(made)
        a, b = (each.interval(1 - (1 - level) / 2) for each in (self.first, self.second))
        low = a.low / b.high if a.low > 0 and math.isfinite(b.high) else 0.0
        high = a.high / b.low if math.isfinite(a.high) and b.low > 0 else math.inf
        return Interval(math.nan, low, high, level, "bounds of a ratio of ratios", count)


@dataclasses.dataclass(frozen=True)
class Known:
    """An estimate with a standard error, about normal or with few degrees of freedom.

    >>> print(Known(0.5, 0.1).interval(0.95))
    0.5 [0.304, 0.696]
    """

    value: float
    error: float
    freedom: float = math.inf
    count: int = 1
    method: str = "standard error"

    def __post_init__(self):
        check_number("Known", "value", self.value)
        check_number("Known", "error", self.error, low=0)

    def interval(self, level: float) -> Interval:
        """The estimate and a quantile of its errors on either side."""
        return student(self.value, self.error, self.freedom, level, self.count, self.method)


@dataclasses.dataclass(frozen=True)
class Exact:
    """A computed number with a bound on its numerical error: the same interval at every level.

    >>> print(Exact(2.0, 0.5).interval(0.99))
    2 [1.5, 2.5]
    """

    value: float
    error: float = 0.0

    def interval(self, level: float) -> Interval:
        """The value and its numerical error on either side."""
        low, high = self.value - self.error, self.value + self.error
        return Interval(self.value, low, high, level, "computed", 1)


def student(
    centre: float,
    error: float,
    freedom: float,
    level: float,
    count: int,
    method: str = "Student's t",
) -> Interval:
    """An interval from a standard error and its degrees of freedom (infinite for a normal one).

    >>> print(student(0.0, 1.0, math.inf, 0.95, 9))
    0 [-1.96, 1.96]
    """
    check_number("an interval", "level", level, low=0.5, high=0.999999)
    share = 0.5 + level / 2
    far = special.ndtri(share) if math.isinf(freedom) else special.stdtrit(freedom, share)
    half = float(far * error)
    return Interval(centre, centre - half, centre + half, level, method, count)


def steps_of(
    samples: Sequence[Sequence[float]], paired: bool
) -> list[PairedDifference | MeanDifference]:
    """The differences between neighbours of an ordered list of samples: the steps of a trend.

    >>> [step.interval(0.95).estimate for step in steps_of([(1.0, 2.0), (2.0, 4.0)], paired=True)]
    [1.5]
    """
    kind = PairedDifference if paired else MeanDifference
    return [kind(tuple(after), tuple(before)) for before, after in itertools.pairwise(samples)]


def _at_level(threshold: Threshold, level: float) -> Threshold:
    if threshold.level == level:
        return threshold
    return estimate_threshold(threshold.evidence, threshold.probability, level)


def _exponential(logs: Interval) -> Interval:
    ends = [math.exp(min(value, 700.0)) for value in (logs.estimate, logs.low, logs.high)]
    return dataclasses.replace(logs, estimate=ends[0], low=ends[1], high=ends[2])


def _seeds(owner: str, values: Iterable[float]) -> tuple[float, ...]:
    sample = tuple(float(value) for value in values)
    if len(sample) < 2 or not all(math.isfinite(value) for value in sample):
        raise ParameterError(owner, "values", "at least two finite numbers, one per seed", sample)
    return sample
