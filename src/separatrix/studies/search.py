"""Searching thresholds with real trials: the placement says where, the laboratory runs, the
outcomes go back.
"""

import dataclasses
from collections.abc import Callable, Hashable, Mapping
from typing import Any

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
from separatrix.studies.live import Searches


@dataclasses.dataclass(frozen=True)
class Query:
    """One threshold that is asked for: how a trial of a given resource is made, and what counts as
    success.

    >>> Query(lambda resource, seed: None, lambda row: True, SearchPlan(8, 64), first_seed=0).first_seed
    0
    """

    trial: Callable[
        [int, int], Trial
    ]  # of the resource and the seed, which must act through the trial's own `seed` alone
    success: Callable[[Any], bool]  # of the trial's row
    plan: SearchPlan
    first_seed: int = 0


@dataclasses.dataclass(frozen=True)
class Found:
    """A threshold with the rows of all trials that were spent on it.

    >>> Found(estimate_threshold([Tally(8, 0, 8), Tally(16, 8, 8)]), pd.DataFrame()).threshold.trials
    16
    """

    threshold: Threshold
    rows: pd.DataFrame

    def under(self, success: Callable[[Any], bool], resource: str = "samples") -> Threshold:
        """The threshold by another criterion, from the same trials (which were not placed for it)."""
        return estimate_threshold(
            tally(
                self.rows[resource].tolist(), [success(row) for row in self.rows.to_dict("records")]
            )
        )


def find_thresholds(
    lab: Lab,
    queries: Mapping[Hashable, Query],
    what: str,
    batch: int,
    columns: tuple[str, ...] = ("risk",),
) -> dict[Hashable, Found]:
    """Search many thresholds at once, buying trials in rounds of about `batch`, until every search
    has ended.

    Searches are deterministic: a resumed run proposes the same trials and finds them in the ledger.
    Where the laboratory's budget ends first, a threshold rests on what was run; a query without a
    single trial is missing from the answer.

    >>> find_thresholds(Lab(), {}, "thresholds", batch=8)
    {}
    """
    rows: dict[Hashable, list[dict[str, Any]]] = {name: [] for name in queries}
    tallies: dict[Hashable, list[Tally]] = {name: [] for name in queries}
    plans = {name: query.plan for name, query in queries.items()}
    keep = ["trial", "samples", "seed", "status", "steps", "run.seconds", *columns]
    live = Searches(lab, what)

    def show(last: bool = False) -> None:
        counts = {name: sum(entry.trials for entry in tallies[name]) for name in queries}
        live.show(
            counts,
            lambda name: estimate_threshold(tallies[name]),
            lambda name: stop_reason(tallies[name], plans[name]),
            last,
        )

    while proposals := propose_batch(tallies, batch, plans):
        owner: dict[str, list[Hashable]] = {}
        trials = []
        for name, resource, repetitions in proposals:
            query = queries[name]
            used = sum(entry.trials for entry in tallies[name] if entry.resource == resource)
            first = query.first_seed + used
            for trial in query.trial(int(resource), first).at_seeds(
                range(first, first + repetitions)
            ):
                owner.setdefault(trial.identity, []).append(name)
                trials.append(trial)
        sweep = Sweep(tuple(trials))
        table = lab.run(sweep, what)
        for row in table.arrow.select(
            [name for name in keep if name in table.arrow.column_names]
        ).to_pylist():
            for name in owner[row["trial"]]:
                rows[name].append(row)
        for name in {proposal.cell for proposal in proposals}:
            mine = rows[name]
            tallies[name] = (
                list(
                    tally(
                        [row["samples"] for row in mine],
                        [queries[name].success(row) for row in mine],
                    )
                )
                if mine
                else []
            )
        show()
        if len(table) < len(sweep):  # the budget ended
            break
    show(last=True)
    return {
        name: Found(estimate_threshold(tallies[name]), pd.DataFrame(rows[name]))
        for name in queries
        if rows[name]
    }
