"""Searching thresholds: the placement says where to try, the laboratory runs the trials, and their
outcomes decide where to try next.
"""

import dataclasses
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

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
