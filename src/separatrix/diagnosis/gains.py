"""Gains: paired differences of two models over the same splits, with an interval that knows what
splits share.

Splits of a small data set overlap. Rows that two splits both test on carry the same luck twice, and
so do rows that both learn from; the interval takes the shares of rows in common as correlations of
the two parts of the variance (test rows, training). Without overlap it is Student's. It does not
cover data of another origin, other recipes or other widths.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from scipy import special

from separatrix.inference.intervals import Interval

LUCK = 0.95  # one-sided level at which a gain must exceed what a lucky arrangement explains
METHOD = "paired splits, Student's t with overlap"


@dataclasses.dataclass(frozen=True)
class Gain:
    """The difference of two models: its estimate, the variance of it, and the number of splits."""

    estimate: float
    variance: float
    splits: int
    luck: float = 0.0  # the variance between random arrangements beyond that between splits

    def interval(self, level: float) -> Interval:
        """The two-sided interval at a level."""
        half = self._quantile(0.5 + level / 2) * math.sqrt(self.variance)
        return Interval(
            self.estimate, self.estimate - half, self.estimate + half, level, METHOD, self.splits
        )

    def low(self, level: float) -> float:
        """The lower end at a one-sided level; the luck of a random arrangement counts."""
        sure = self._quantile(level) * math.sqrt(self.variance)
        return self.estimate - math.hypot(sure, self._quantile(LUCK) * math.sqrt(self.luck))

    def high(self, level: float) -> float:
        """The upper end at a one-sided level."""
        return self.estimate + self._quantile(level) * math.sqrt(self.variance)

    def pays(self, margin: float, level: float) -> bool:
        """Whether it is at least the margin, and surely above 0."""
        return self.estimate >= margin and self.low(level) > 0

    def fails(self, margin: float, level: float) -> bool:
        """Whether it is surely below the margin."""
        return self.high(level) < margin

    def _quantile(self, level: float) -> float:
        return float(special.stdtrit(self.splits - 1, level))


def spread_of(
    means: Float[np.ndarray, " splits"],
    noises: Float[np.ndarray, " splits"],
    shared: float,
    trained: float,
) -> float:
    """The variance of the mean over splits.

    Args:
        means: the mean difference of every split.
        noises: the variance of each that comes from having drawn its test rows.
        shared: the share of test rows that two splits have in common.
        trained: the share of training rows that two splits have in common.

    >>> round(spread_of(np.array([0.1, 0.2, 0.3]), np.zeros(3), 0.0, 0.0), 6)
    0.003333
    """
    trained, noise = min(trained, 0.9), float(noises.mean())
    # A few splits can agree by chance; what the test rows alone must contribute is known.
    seen = max(float(means.var(ddof=1)), (1 - shared) * noise)
    training = max(0.0, (seen - (1 - shared) * noise) / (1 - trained))
    return seen / len(means) + shared * noise + trained * training


def gain_of(
    first: Mapping[int, Float[np.ndarray, " rows"]],
    second: Mapping[int, Float[np.ndarray, " rows"]],
    shared: float,
    trained: float,
    random: bool = False,
) -> Gain | None:
    """The gain of the first model over the second, from what test rows add to their metrics.

    Args:
        first: for every split, what each of its test rows adds.
        second: the same of the second model.
        shared: the share of test rows that two splits have in common.
        trained: the share of training rows that two splits have in common.
        random: whether the second model sees a random arrangement, of which the first could be a
            lucky draw.

    Returns:
        None where fewer than two splits have both.

    >>> rows = {0: np.array([1.0, 1.0]), 1: np.array([1.0, 0.0])}
    >>> gain_of(rows, {0: np.zeros(2), 1: np.zeros(2)}, 0.0, 0.0).estimate
    0.75
    """
    splits = [split for split in first if split in second]
    if len(splits) < 2:
        return None
    rows = [first[split] - second[split] for split in splits]
    means = np.array([each.mean() for each in rows])
    noises = np.array([each.var(ddof=1) / len(each) for each in rows])
    luck = 0.0
    if random:
        a, b = (np.var([arm[s].mean() for s in splits], ddof=1) for arm in (first, second))
        luck = max(0.0, float(b - a))
    variance = spread_of(means, noises, shared, trained)
    return Gain(float(means.mean()), variance, len(splits), luck)


def common_share(parts: Sequence[np.ndarray]) -> float:
    """The mean share of rows that two of the parts have in common.

    >>> common_share([np.array([1, 2]), np.array([2, 3]), np.array([4, 5])])
    0.16666666666666666
    """
    if len(parts) < 2:
        return 0.0
    sets = [set(part.tolist()) for part in parts]
    pairs = [(a, b) for i, a in enumerate(sets) for b in sets[:i]]
    return float(np.mean([len(a & b) / max(1, min(len(a), len(b))) for a, b in pairs]))
