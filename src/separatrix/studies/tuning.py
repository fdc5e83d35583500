"""Tuning with the same effort for every learner, on seeds that no result uses."""

import dataclasses
import math
import typing
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from separatrix.engine import Lab, Sweep, Trial
from separatrix.inference import SearchPlan, Threshold
from separatrix.studies.cells import Row, run_cells
from separatrix.studies.outcome import TableData
from separatrix.studies.search import Query, find_thresholds

Option = TypeVar("Option", bound=Hashable)
Name = TypeVar("Name", bound=Hashable)


@dataclasses.dataclass(frozen=True)
class Tunable(Generic[Option]):
    """A learner that is to be tuned.

    Attributes:
        trial: makes a trial from an option, a sample size and a seed.
        success: whether the trial with this row succeeded.
        plan: where the rough threshold is searched.
    """

    trial: Callable[[Option, int, int], Trial]
    success: Callable[[Any], bool]
    plan: SearchPlan


@dataclasses.dataclass(frozen=True)
class Choice(Generic[Option]):
    """The option that was chosen for a learner.

    Attributes:
        option: the choice.
        scores: the mean risk of every option that was tried; empty where there was no choice.
        about: the rough threshold about which options were tried, a good start for the search that
            follows.
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
    """The best option for every learner, with the same effort for each.

    First the threshold of the untuned option is found roughly. Then every option is tried at
    `factors` times that size, on the same seeds, and the lowest mean risk wins.

    Args:
        lab: where trials run.
        learners: what is tuned.
        options: what there is to choose; the first option is the untuned one and wins ties. With a
            single option nothing is run.
        seeds: tuning seeds, which no result uses.
        factors: sizes at which options are compared, in units of the rough threshold.
        batch: trials per round of the rough searches.

    Returns:
        A choice for every learner; the untuned option where a budget ended before the grid ran.

    >>> tunable = Tunable(lambda *_: None, bool, SearchPlan(2, 64))
    >>> tune_all(Lab(), {"CNN": tunable}, ["only"], range(1), (1.0,), 8)["CNN"].option
    'only'
    """
    if len(options) == 1:
        return {name: Choice(options[0], {}) for name in learners}
    rough: dict[Any, Query] = {
        name: Query(
            lambda samples, seed, learner=learner: learner.trial(options[0], samples, seed),
            learner.success,
            dataclasses.replace(
                learner.plan, width=1.5, max_trials=min(24, learner.plan.max_trials)
            ),
            seeds[0],
        )
        for name, learner in learners.items()
    }
    starts = find_thresholds(lab, rough, "tuning: rough thresholds", batch)
    abouts = {name: scale_of(search.threshold) for name, search in starts.items()}
    grids = {
        name: grid_of(learner, options, seeds, factors, abouts[name])
        for name, learner in learners.items()
        if name in abouts
    }
    chosen = choose(mean_risks(lab, grids), list(learners), options[0])
    return {
        name: dataclasses.replace(choice, about=abouts.get(name)) for name, choice in chosen.items()
    }


Grids = Mapping[Name, Mapping[Option, Iterable[Trial]]]


def run_grids(
    lab: Lab,
    grids: "Grids[Name, Option]",
    what: str = "tuning: grid",
    columns: Iterable[str] | None = None,
) -> dict[Name, dict[Option, list[Row]]]:
    """Run the trials on which options are compared, those of all learners together.

    Returns:
        For every learner and option the rows of its trials that were run.
    """
    cells = {
        (name, option): trials for name, grid in grids.items() for option, trials in grid.items()
    }
    rows = run_cells(lab, cells, what, columns)
    return {name: {option: rows[name, option] for option in grid} for name, grid in grids.items()}


def mean_risks(lab: Lab, grids: "Grids[Name, Option]") -> dict[Name, dict[Option, float]]:
    """Run grids; the mean risk of every option of every learner (infinity without trials)."""
    return {
        name: {
            option: float(np.mean([row["risk"] for row in rows])) if rows else math.inf
            for option, rows in grid.items()
        }
        for name, grid in run_grids(lab, grids, columns=["risk"]).items()
    }


def choose(
    scores: Mapping[Name, Mapping[Option, float]],
    names: Iterable[Name],
    untuned: Option,
    together: Callable[[Name], Hashable] = lambda name: name,
) -> dict[Name, Choice[Option]]:
    """For every name the option with the lowest score.

    Args:
        scores: the scores of the options of every name that was tried.
        names: who needs a choice.
        untuned: the option that wins ties, and that names without scores get.
        together: names with the same value share one choice, that of the lowest mean score: options
            chosen one by one would differ by luck.

    >>> scores = {"few": {"slow": 0.1, "fast": 0.4}, "many": {"slow": 0.3, "fast": 0.2}}
    >>> [choice.option for choice in choose(scores, scores, "slow").values()]
    ['slow', 'fast']
    >>> [choice.option for choice in choose(scores, scores, "slow", lambda name: 0).values()]
    ['slow', 'slow']
    """
    chosen = {}
    for name in names:
        tried = [own for other, own in scores.items() if together(other) == together(name)]
        means = {
            option: float(np.mean([own[option] for own in tried]))
            for option in (tried[0] if tried else ())
        }
        best = min(means, key=lambda option: (means[option], option != untuned), default=untuned)
        chosen[name] = Choice(best, dict(scores.get(name, {})))
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
    ...     learner = sx.Learner(rate=rate, steps=5)
    ...     return sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples, seed)
    >>> tunable = Tunable(trial, bool, SearchPlan(2, 64))
    >>> grid = grid_of(tunable, [0.1, 1.0], range(3), (0.5, 1.0), about=8.0)
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


def tuning_table(
    choices: Mapping[Name, Choice[Option]],
    columns: tuple[str, ...],
    describe: Callable[[Option], str],
) -> TableData:
    """Every option that was tried, its mean risk, and the choice.

    Args:
        choices: the choices by name; a name is a tuple, whose parts are the first columns.
        columns: what the parts of a name and an option are called.
        describe: an option in words.

    >>> choices = {("CNN", 8): Choice(1.0, {1.0: 0.1, 3.0: 0.2})}
    >>> tuning_table(choices, ("network", "k", "rate"), "x{:g}".format).rows
    (('CNN', 8, 'x1', 0.1, 'chosen'), ('CNN', 8, 'x3', 0.2, ''))
    """
    rows = tuple(
        (
            *typing.cast(tuple[Any, ...], name),
            describe(option),
            round(score, 4) if math.isfinite(score) else None,
            "chosen" if option == choice.option else "",
        )
        for name, choice in choices.items()
        for option, score in choice.scores.items()
    )
    title = "Tuning: mean risk on seeds that no result uses"
    return TableData("tuning", title, (*columns, "mean risk", ""), rows)


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


def tune_until_interior(
    lab: Lab,
    names: Iterable[Name],
    start: Option,
    neighbours: Callable[[Option], Sequence[Option]],
    trials: Callable[[Name, Option], Iterable[Trial]],
    score: Callable[[Row], float],
    moves: int,
    columns: Iterable[str],
) -> dict[Name, Choice[Option]]:
    """The option of every name that is better than all of its neighbours.

    The search begins at `start`, tries the neighbours of the best option so far, and moves to the
    best of them until none is better: then the optimum is interior to what was tried.

    Args:
        lab: where trials run.
        names: who needs a choice.
        start: the untuned option, which wins ties.
        neighbours: the options next to an option; none for no tuning.
        trials: the trials on which an option of a name is judged, the same seeds for each option.
        score: the score of a trial's row; the lowest mean wins.
        moves: after so many rounds a name keeps the best option so far.
        columns: the columns that `score` needs.

    Returns:
        A choice for every name, with the scores of all that was tried.

    >>> tune_until_interior(Lab(), ["CNN"], 1.0, lambda rate: [], lambda *_: [], float, 3, [])
    {'CNN': Choice(option=1.0, scores={}, about=None)}
    """
    scores: dict[Any, dict[Option, float]] = {name: {} for name in names}
    best = dict.fromkeys(scores, start)
    for _ in range(moves + 1):
        wanted = {
            name: [o for o in (best[name], *neighbours(best[name])) if o not in tried]
            for name, tried in scores.items()
            if neighbours(best[name])
        }
        grids = {
            name: {option: tuple(trials(name, option)) for option in options}
            for name, options in wanted.items()
            if options
        }
        if not grids:
            break
        for name, grid in run_grids(lab, grids, "tuning", columns).items():
            for option, rows in grid.items():
                scores[name][option] = (
                    float(np.mean([score(row) for row in rows])) if rows else math.inf
                )
            tried = scores[name]
            best[name] = min(tried, key=lambda o: (tried[o], o != best[name]))
    return {name: Choice(best[name], scores[name]) for name in scores}


def is_interior(choice: Choice[Option], neighbours: Callable[[Option], Sequence[Option]]) -> bool:
    """Whether every neighbour of the chosen option was tried.

    >>> is_interior(Choice(2, {1: 0.3, 2: 0.1, 3: 0.2}), lambda n: [n - 1, n + 1])
    True
    """
    return all(option in choice.scores for option in neighbours(choice.option))
