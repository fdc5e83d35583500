"""Gains: paired differences between two networks over the same splits, with an interval that knows
what splits share.

Splits of a small data set overlap. Rows that two splits both test on carry the same luck twice, and
so do rows that both learn from; the interval takes the shares of rows in common as correlations of
the two parts of the variance (test rows, training). Without overlap it is Student's. It does not
cover other data of another origin, other recipes, or other widths.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy import special

from separatrix.inference.intervals import Interval

Decision = Literal["pays", "does not pay", "cannot tell"]


@dataclasses.dataclass(frozen=True)
class Paired:
    """Differences of one split, row by row of its test rows (the mean over the ladder's sizes), and
    the accuracies they come from.

    >>> Paired(np.array([1.0, 0.0]), 0.75, 0.25).mean
    0.5
    """

    rows: Float[np.ndarray, " rows"]
    first: float
    second: float

    @classmethod
    def of(cls, mean: float, noise: float) -> "Paired":
        """A pair of which only the mean difference and the noise of that mean are known: two rows
        that have both.

        >>> pair = Paired.of(0.2, 0.01)
        >>> round(pair.mean, 9), round(pair.noise, 9)
        (0.2, 0.01)
        """
        away = math.sqrt(noise)
        return cls(np.array([mean - away, mean + away]), mean, 0.0)

    @property
    def mean(self) -> float:
        """The mean difference of this split."""
        return float(self.rows.mean())

    @property
    def noise(self) -> float:
        """The variance of that mean that comes from having drawn these test rows."""
        return float(self.rows.var(ddof=1) / len(self.rows)) if len(self.rows) > 1 else 0.0


def spread_of(pairs: Sequence[Paired], overlap: tuple[float, float]) -> float:
    """The variance of the mean over splits that share the fractions `overlap` of their test rows
    and of their training rows.

    >>> pairs = [Paired(np.array([d, d]), d, 0.0) for d in (0.1, 0.2, 0.3)]
    >>> round(spread_of(pairs, (0.0, 0.0)), 6), round(spread_of(pairs, (0.0, 0.5)), 6)  # s²/3, and s²/3 + s²
    (0.003333, 0.013333)
    """
    tests, trains = min(overlap[0], 1.0), min(overlap[1], 0.9)
    noise = float(np.mean([pair.noise for pair in pairs]))
    # A handful of splits can lie together by chance; what the test rows alone must contribute is
    # known.
    seen = max(float(np.var([pair.mean for pair in pairs], ddof=1)), (1 - tests) * noise)
    training = max(0.0, (seen - (1 - tests) * noise) / (1 - trains))
    return seen / len(pairs) + tests * noise + trains * training


def gain_interval(pairs: Sequence[Paired], overlap: tuple[float, float], level: float) -> Interval:
    """The mean difference with its interval.

    >>> print(gain_interval([Paired(np.array([d, d]), d, 0.0) for d in (0.1, 0.2, 0.3)], (0.0, 0.0), 0.95))
    0.2 [-0.04841, 0.4484]
    """
    estimate = float(np.mean([pair.mean for pair in pairs]))
    half = float(special.stdtrit(len(pairs) - 1, 0.5 + level / 2)) * math.sqrt(
        spread_of(pairs, overlap)
    )
    return Interval(
        estimate,
        estimate - half,
        estimate + half,
        level,
        "paired splits, Student's t with overlap",
        len(pairs),
    )


def luck_of(pairs: Sequence[Paired]) -> float:
    """The variance between random arrangements beyond that between splits: how lucky one
    arrangement may be.

    >>> round(luck_of([Paired(np.zeros(2), 0.9, second) for second in (0.5, 0.6, 0.7)]), 3)
    0.01
    """
    first, second = (
        np.var([getattr(pair, side) for pair in pairs], ddof=1) for side in ("first", "second")
    )
    return max(0.0, float(second - first))


def decide(
    pairs: Sequence[Paired],
    overlap: tuple[float, float],
    margin: float,
    sure: float,
    random: bool = False,
) -> Decision:
    """Whether a gain pays: surely above 0 and at least the margin; or surely below the margin; or
    neither.

    With `random`, the second network sees a random arrangement, and the first could be a lucky draw
    of the same kind: then the gain must exceed what such luck explains.

    >>> pairs = [Paired(np.array([d, d]), d, 0.0) for d in (0.19, 0.2, 0.21)]
    >>> decide(pairs, (0.0, 0.0), 0.02, 0.98), decide(pairs, (0.0, 0.0), 0.5, 0.98)
    ('pays', 'does not pay')
    """
    if len(pairs) < 2:
        return "cannot tell"
    found = gain_interval(pairs, overlap, sure)
    half = found.high - found.estimate
    if random:
        half = math.hypot(
            half, float(special.stdtrit(len(pairs) - 1, 0.5 + sure / 2)) * math.sqrt(luck_of(pairs))
        )
    if found.estimate >= margin and found.estimate - half > 0:
        return "pays"
    return "does not pay" if found.high < margin else "cannot tell"


def overlaps(parts: Sequence[np.ndarray]) -> float:
    """The mean share of rows that two of the parts have in common.

    >>> overlaps([np.array([1, 2]), np.array([2, 3]), np.array([4, 5])])
    0.16666666666666666
    """
    if len(parts) < 2:
        return 0.0
    sets = [set(part.tolist()) for part in parts]
    shares = [
        len(a & b) / max(1, min(len(a), len(b))) for i, a in enumerate(sets) for b in sets[:i]
    ]
    return float(np.mean(shares))
