"""How many labels an accuracy costs: a ladder of label counts, read between its rungs.

Seeds lie much closer together than rungs do, so that counting successes rung by rung would know no
more than the spacing of the ladder. Here the mean accuracy is interpolated, linearly in the
logarithm of the number of labels; the error of each rung's mean, Student's for its few seeds, is
carried through by drawing.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np

from separatrix.errors import ParameterError
from separatrix.inference import Interval

DRAWS = 4000
METHOD = "interpolated ladder, Student's t at each rung"


@dataclasses.dataclass(frozen=True)
class Needed:
    """The labels at which the mean accuracy passes a target, as logarithms: the estimate, and draws
    that carry its error.

    Minus infinity says "below the first rung", infinity "above the last".

    >>> Needed(np.log(100.0), np.log(np.array([90.0, 110.0])), 6).interval().estimate.round(6)
    np.float64(100.0)
    """

    log_labels: float
    draws: np.ndarray
    seeds: int

    def interval(self) -> Interval:
        """The labels with their interval; an end is 0 or infinite where the ladder does not reach."""
        low, high = np.exp(_quantiles(self.draws, self.draws))
        return Interval(np.exp(self.log_labels), float(low), float(high), 0.95, METHOD, self.seeds)


def labels_needed(ladder: Mapping[int, np.ndarray], target: float, stream: int = 0) -> Needed:
    """The labels at which the mean accuracy over seeds passes `target`, from accuracies by number
    of labels.

    >>> accuracy = {100: np.array([0.39, 0.41]), 1000: np.array([0.59, 0.61])}
    >>> print(f"{labels_needed(accuracy, 0.5).interval().estimate:.0f}", labels_needed(accuracy, 0.7).log_labels)
    316 inf
    """
    rungs = sorted(ladder)
    if len(rungs) < 2 or any(np.size(ladder[rung]) < 2 for rung in rungs):
        raise ParameterError(
            "labels_needed",
            "ladder",
            "at least two rungs of at least two seeds each",
            {r: np.size(ladder[r]) for r in rungs},
        )
    means = np.array([np.mean(ladder[rung]) for rung in rungs])
    errors = np.array(
        [np.std(ladder[rung], ddof=1) / np.sqrt(np.size(ladder[rung])) for rung in rungs]
    )
    rng = np.random.default_rng([stream, len(rungs)])
    tails = np.stack([rng.standard_t(np.size(ladder[rung]) - 1, DRAWS) for rung in rungs], axis=1)
    seeds = min(np.size(ladder[rung]) for rung in rungs)
    logs = np.log(np.array(rungs, float))
    return Needed(
        float(_crossing(logs, means[None], target)[0]),
        _crossing(logs, means + errors * tails, target),
        seeds,
    )


def label_ratio(more: Needed, fewer: Needed) -> Interval:
    """How many times more labels the first needs; one-sided where a ladder does not reach, 0 to
    infinity where neither does.

    >>> error = np.linspace(-0.1, 0.1, 101)
    >>> more, fewer = Needed(np.log(1000.0), np.log(1000.0) + error, 6), Needed(np.log(100.0), np.log(100.0) - error, 6)
    >>> ratio = label_ratio(more, fewer)
    >>> round(ratio.estimate, 6), ratio.low < 10 < ratio.high
    (10.0, True)
    """
    with np.errstate(invalid="ignore"):
        gaps = more.draws - fewer.draws
        middle = more.log_labels - fewer.log_labels
    unknown = np.isnan(gaps)  # both beyond the same end: anything is possible
    low, high = np.exp(
        _quantiles(np.where(unknown, -np.inf, gaps), np.where(unknown, np.inf, gaps))
    )
    estimate = float(np.exp(middle)) if np.isfinite(middle) else float("nan")
    return Interval(estimate, float(low), float(high), 0.95, METHOD, min(more.seeds, fewer.seeds))


def _crossing(logs: np.ndarray, means: np.ndarray, target: float) -> np.ndarray:
    """Where each row of means first reaches the target, between the rungs around it."""
    rising = np.maximum.accumulate(
        means, axis=1
    )  # more labels do not hurt: a fall between rungs is noise
    reached = rising >= target
    first = np.where(reached.any(axis=1), reached.argmax(axis=1), len(logs))
    at = np.clip(first, 1, len(logs) - 1)
    row = np.arange(len(means))
    below, above = rising[row, at - 1], rising[row, at]
    share = np.clip((target - below) / np.where(above > below, above - below, 1.0), 0.0, 1.0)
    inside = logs[at - 1] + share * (logs[at] - logs[at - 1])
    return np.where(first == 0, -np.inf, np.where(first == len(logs), np.inf, inside))


def _quantiles(lower: np.ndarray, upper: np.ndarray) -> tuple[float, float]:
    # Order statistics, because infinite draws cannot be interpolated.
    return float(np.quantile(lower, 0.025, method="lower")), float(
        np.quantile(upper, 0.975, method="higher")
    )
