"""Searching thresholds: the placement says where to try, the laboratory runs the trials, and their
outcomes decide where to try next.
"""

import dataclasses
from collections.abc import Callable, Generator, Hashable, Mapping
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from separatrix.engine import Lab, Sweep, Trial
from separatrix.inference import (
    SearchPlan,
    Tally,
    Threshold,
    estimate_threshold,
    propose_batch,
    stop_reason,
    tally,
)
from separatrix.notes import Note
from separatrix.studies.live import LiveSearches

Name = TypeVar("Name", bound=Hashable)


@dataclasses.dataclass(frozen=True)
class Query:
    """One threshold that is asked for.

    Attributes:
        trial: makes a trial from the resource and the seed, which must act through the trial's own
            `seed` alone.
        success: whether the trial with this row succeeded.
        plan: the range, the precision and the start of the search.
        first_seed: the seed of the first trial at every resource.
    """

    trial: Callable[[int, int], Trial]
    success: Callable[[Any], bool]
    plan: SearchPlan
    first_seed: int = 0


@dataclasses.dataclass(frozen=True)
class SearchResult:
    """A threshold with the rows of all trials that were spent on it."""

    threshold: Threshold
    rows: pd.DataFrame

    def under(self, success: Callable[[Any], bool], resource: str = "samples") -> Threshold:
        """The threshold by another criterion, from the same trials (not placed for it)."""
        successes = [success(row) for row in self.rows.to_dict("records")]
        return estimate_threshold(tally(self.rows[resource].tolist(), successes))

    def failed_to_train(self, limit: float) -> bool:
        """Whether the search failed for want of training: no size reached the target, and at the
        largest one the mean training risk is no better than `limit`, the best linear rule's risk.

        That is a failed recipe and says nothing about samples. Rows without a training risk cannot
        tell: they count as trained.

        >>> rows = pd.DataFrame({"samples": [64] * 9, "train_risk": [0.4] * 9})
        >>> SearchResult(estimate_threshold([Tally(64, 0, 9)]), rows).failed_to_train(0.2)
        True
        """
        if self.threshold.censoring != "right" or "train_risk" not in self.rows:
            return False
        rows = self.rows[self.rows["samples"] == self.rows["samples"].max()]
        return bool(rows["train_risk"].mean() >= limit)

    def warnings(self, where: str) -> list[Note]:
        """The notes on the threshold that a reader must see, each beginning with `where`."""
        return [
            dataclasses.replace(note, message=f"{where}: {note.message}")
            for note in self.threshold.notes
            if note.severity != "info"
        ]


def find_thresholds(
    lab: Lab,
    queries: Mapping[Name, Query],
    what: str,
    batch: int,
    columns: tuple[str, ...] = ("risk",),
) -> dict[Name, SearchResult]:
    """Search many thresholds at once, buying trials in rounds, until every search has ended.

    Searches are deterministic: a resumed run proposes the same trials and finds them in the ledger.

    Args:
        lab: where trials run.
        queries: the thresholds that are asked for, by name.
        what: what the progress line calls the searches.
        batch: about how many trials a round has.
        columns: the columns of the rows that success needs, or that the results should have.

    Returns:
        The thresholds by name. Where the laboratory's budget ends first, a threshold rests on what
        was run; a query without a single trial is missing.

    >>> find_thresholds(Lab(), {}, "thresholds", batch=8)
    {}
    """
    asked: Mapping[Any, Query] = queries
    rows: dict[Any, list[dict[str, Any]]] = {name: [] for name in queries}
    tallies: dict[Any, list[Tally]] = {name: [] for name in queries}
    plans: dict[Any, SearchPlan] = {name: query.plan for name, query in queries.items()}
    keep = ["trial", "samples", "seed", "status", "steps", "run.seconds", *columns]
    live = LiveSearches(lab, what)

    def show(last: bool = False) -> None:
        live.show(
            {name: sum(entry.trials for entry in tallies[name]) for name in queries},
            lambda name: estimate_threshold(tallies[name]),
            lambda name: stop_reason(tallies[name], plans[name]),
            last,
        )

    while proposals := propose_batch(tallies, batch, plans):
        owners: dict[str, list[Any]] = {}
        trials = []
        for name, resource, repetitions in proposals:
            query = asked[name]
            used = sum(entry.trials for entry in tallies[name] if entry.resource == resource)
            first = query.first_seed + used
            seeds = range(first, first + repetitions)
            for trial in query.trial(int(resource), first).at_seeds(seeds):
                owners.setdefault(trial.identity, []).append(name)
                trials.append(trial)
        sweep = Sweep(tuple(trials))  # a trial of two queries is run once
        table = lab.run(sweep, what)
        present = [name for name in keep if name in table.arrow.column_names]
        for row in table.arrow.select(present).to_pylist():
            for name in owners[row["trial"]]:
                rows[name].append(row)
        for name in {proposal.cell for proposal in proposals}:
            tallies[name] = _tallied(rows[name], asked[name])
        show()
        if len(table) < len(sweep):  # the budget ended
            break
    show(last=True)
    return {
        name: SearchResult(estimate_threshold(tallies[name]), pd.DataFrame(rows[name]))
        for name in queries
        if rows[name]
    }


def _tallied(rows: list[dict[str, Any]], query: Query) -> list[Tally]:
    if not rows:
        return []
    return list(tally([row["samples"] for row in rows], [query.success(row) for row in rows]))


class Ask(NamedTuple):
    """Trials of a calculation that a search asks for: a count at one size from an index on."""

    samples: int
    first: int
    trials: int


Ladder = Generator[list[Ask], list[int], list[Tally]]
BRACKET = (0.2, 0.8)  # shares of successes below and above which a size is clearly on one side
BRACKET_STEPS = 30  # of widening; the ladder is then a factor of thousands long


def climb_ladder(start: float, ratio: float, few: int, more: int) -> Ladder:
    """A threshold search for calculations that are cheap: sizes on a ladder until one clearly fails
    and one clearly succeeds, then more trials at the six sizes around the crossing.

    Many such searches go forward together (`climb_together`), so that their trials share batches.

    Args:
        start: where the ladder begins, the expected threshold.
        ratio: of neighbouring sizes.
        few: trials per size while it widens, at every other size.
        more: trials per size around the crossing.

    Yields:
        What to try next; send the number of successes of each.

    Returns:
        The tallies of all sizes.

    >>> ladder, asked = climb_ladder(10.0, 1.5, few=4, more=6), []
    >>> asks = next(ladder)
    >>> try:
    ...     while True:
    ...         asked += [ask.samples for ask in asks]
    ...         asks = ladder.send([ask.trials * (ask.samples > 40) for ask in asks])
    ... except StopIteration as end:
    ...     tallies = end.value
    >>> asked[:4], [tally.resource for tally in tallies if tally.successes][0]
    ([4, 10, 22, 51], 51)
    """
    done: dict[int, list[int]] = {}

    def ask(places: list[int], count: int) -> list[Ask]:
        sizes = dict.fromkeys(max(1, round(start * ratio**place)) for place in places)
        return [Ask(size, done.get(size, [0, 0])[1], count) for size in sizes]

    def add(asks: list[Ask], successes: list[int]) -> None:
        for one, good in zip(asks, successes, strict=True):
            before = done.get(one.samples, [0, 0])
            done[one.samples] = [before[0] + good, before[1] + one.trials]

    def share(place: int) -> float:
        good, count = done[max(1, round(start * ratio**place))]
        return good / count

    asks = ask([-2, 0, 2, 4], few)
    add(asks, (yield asks))
    lowest, highest = -2, 4
    for _ in range(BRACKET_STEPS):
        wider = []
        if share(lowest) > BRACKET[0] and start * ratio**lowest > 1:
            wider += [lowest - 4, lowest - 2]
        if share(highest) < BRACKET[1]:
            wider += [highest + 2, highest + 4]
        if not wider:
            break
        lowest, highest = min(lowest, *wider), max(highest, *wider)
        asks = ask(wider, few)
        add(asks, (yield asks))
    tried = range(lowest, highest + 1, 2)
    crossing = next((place for place in tried if share(place) >= 0.5), highest)
    asks = ask(list(range(crossing - 3, crossing + 3)), more)
    add(asks, (yield asks))
    return [Tally(size, *counts) for size, counts in sorted(done.items())]


def climb_together(
    ladders: Mapping[Name, Ladder],
    answer: Callable[[list[tuple[Name, Ask]]], list[int] | None],
) -> dict[Name, list[Tally]]:
    """Let many ladders go forward in step, so that what they ask for in a round runs together.

    Args:
        ladders: the searches by name.
        answer: the successes of every ask of a round, in their order; None where time is up.

    Returns:
        The tallies of the searches that ended; when time is up the others are missing.

    >>> ladders = {"a": climb_ladder(8.0, 1.5, 4, 6)}
    >>> found = climb_together(ladders, lambda asks: [a.trials * (a.samples > 9) for _, a in asks])
    >>> [tally.resource for tally in found["a"] if tally.successes][0]
    12
    """
    waiting: dict[Any, list[Ask]] = {name: next(ladder) for name, ladder in ladders.items()}
    found: dict[Any, list[Tally]] = {}
    climbing: Mapping[Any, Ladder] = ladders
    while waiting:
        answers = answer([(name, one) for name, asks in waiting.items() for one in asks])
        if answers is None:
            break
        rest = iter(answers)
        going: dict[Any, list[Ask]] = {}
        for name, asks in waiting.items():
            try:
                going[name] = climbing[name].send([next(rest) for _ in asks])
            except StopIteration as end:
                found[name] = end.value
        waiting = going
    return found
