"""Tuning with the same effort for every learner, on seeds that no result uses."""

import dataclasses
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from separatrix.engine import Lab, Sweep, Trial
from separatrix.inference import SearchPlan, Threshold
from separatrix.studies.search import Query, find_thresholds

Option = TypeVar("Option", bound=Hashable)
Name = TypeVar("Name", bound=Hashable)


@dataclasses.dataclass(frozen=True)
class Tunable(Generic[Option]):
    """A learner that is to be tuned: how a trial is made of an option, a sample size and a seed,
    and where its threshold is searched.

    >>> Tunable(lambda option, samples, seed: None, lambda row: True, SearchPlan(2, 64)).plan.maximum
    64
    """

    trial: Callable[[Option, int, int], Trial]
    success: Callable[[Any], bool]
    plan: SearchPlan


@dataclasses.dataclass(frozen=True)
class Choice(Generic[Option]):
    """The option that was chosen, the mean risk of every option that was tried (none where there
    was nothing to choose), and the rough threshold about which they were tried: a good place for
    the search that follows to begin.

    >>> Choice("slow", {"slow": 0.1, "fast": 0.2}).option
    'slow'
    """

    option: Option
    scores: dict[Option, float]
    about: float | None = None

    def begin(self, plan: SearchPlan) -> SearchPlan:
        """The plan of the search that follows: it begins where the rough threshold is, if there is
        one.

        >>> Choice("slow", {}, about=20.0).begin(SearchPlan(2, 64)).start
        20.0
        """
        if self.about is None:
            return plan
        return dataclasses.replace(
            plan, start=float(min(max(self.about, plan.minimum), plan.maximum))
        )


def tune_all(
    lab: Lab,
    learners: Mapping[Name, Tunable[Option]],
    options: Sequence[Option],
    seeds: range,
    factors: Sequence[float],
    batch: int,
) -> dict[Name, Choice[Option]]:
    """The best option for every learner; the first option is the untuned one and wins ties.

    First the threshold of the untuned option is found roughly; then every option is tried at
    `factors` times that size, on the same seeds, and the lowest mean risk wins. With a single
    option nothing is run.

    >>> tune_all(Lab(), {"CNN": Tunable(lambda *_: None, bool, SearchPlan(2, 64))}, ["only"], range(1), (1.0,), 8)["CNN"].option
    'only'
    """
    if len(options) == 1:
        return {name: Choice(options[0], {}) for name in learners}
    rough: dict[Any, Query] = {
        name: Query(
            lambda samples, seed, each=each: each.trial(options[0], samples, seed),
            each.success,
            dataclasses.replace(each.plan, width=1.5, max_trials=min(24, each.plan.max_trials)),
            seeds[0],
        )
        for name, each in learners.items()
    }
    starts = find_thresholds(lab, rough, "tuning: rough thresholds", batch)
    grids = {
        name: grid_of(learners[name], options, seeds, factors, scale_of(starts[name].threshold))
        for name in learners
        if name in starts
    }
    table = lab.run(
        Sweep(
            tuple(trial for grid in grids.values() for sweep in grid.values() for trial in sweep)
        ),
        "tuning: grid",
    )
    risk = (
        {row["trial"]: row["risk"] for row in table.arrow.select(["trial", "risk"]).to_pylist()}
        if len(table)
        else {}
    )
    chosen = {name: Choice(options[0], {}) for name in learners}
    for name, grid in grids.items():
        scores = {}
        for option, sweep in grid.items():
            risks = [risk[trial.identity] for trial in sweep if trial.identity in risk]
            scores[option] = float(np.mean(risks)) if risks else math.inf
        chosen[name] = Choice(
            min(scores, key=lambda option: scores[option]), scores, scale_of(starts[name].threshold)
        )
    return chosen


def grid_of(
    learner: Tunable[Option],
    options: Sequence[Option],
    seeds: range,
    factors: Sequence[float],
    about: float,
) -> dict[Option, Sweep]:
    """The trials on which options are compared: sizes `factors` times `about`, kept within the
    search's range.

    >>> import separatrix as sx
    >>> def trial(rate, samples, seed):
    ...     return Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=rate, steps=5), samples, seed)
    >>> grid = grid_of(Tunable(trial, bool, SearchPlan(2, 64)), [0.1, 1.0], range(3), (0.5, 1.0), about=8.0)
    >>> [len(sweep) for sweep in grid.values()]
    [6, 6]
    """
    low, high = int(learner.plan.minimum), int(learner.plan.maximum)
    sizes = sorted({max(low, min(high, round(factor * about))) for factor in factors})
    return {
        option: Sweep(
            tuple(
                trial
                for samples in sizes
                for trial in learner.trial(option, samples, seeds[0]).at_seeds(seeds)
            )
        )
        for option in options
    }


def scale_of(threshold: Threshold) -> float:
    """A threshold as a scale, whatever censors it.

    >>> from separatrix.inference import Tally, estimate_threshold
    >>> scale_of(estimate_threshold([Tally(64, 12, 12)])) < 64
    True
    """
    return next(
        (
            value
            for value in (threshold.estimate, threshold.low, threshold.high)
            if math.isfinite(value) and value > 0
        ),
        2.0,
    )
