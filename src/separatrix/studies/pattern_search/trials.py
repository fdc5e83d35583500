"""What the study `pattern-search` runs: exact learners, an architecture search over random orders,
and the counts of statistical queries.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.inference.censored_medians import Amounts
from separatrix.learners import Learner, Stop
from separatrix.networks import CNN
from separatrix.studies.cells import Row, run_cells
from separatrix.studies.pattern_search.settings import PatternSearchSettings
from separatrix.studies.study import seeds_from
from separatrix.tasks import PatternTask
from separatrix.theory.patterns import (
    hidden_below,
    junta_search,
    log_window,
    low_degree,
    low_degree_and_linear,
    samples_per_query,
    sq_dimension,
    sq_queries,
    window_search,
)
from separatrix.theory.patterns.junta import search_once

WINDOWS, SETS, LOW, LINEAR = (
    "window search",
    "junta search",
    "low degree",
    "low degree and linear",
)
LEARNERS: dict[str, Callable[..., Any]] = {
    WINDOWS: window_search,
    SETS: junta_search,
    LOW: low_degree,
    LINEAR: low_degree_and_linear,
}
SMALLEST = 16  # rows of the first training set


def measure_search(lab: Lab, s: PatternSearchSettings) -> list[list[dict[str, Any]]]:
    """For every size, one row of `search_once` per repetition; remembered by the laboratory."""
    search_once(8, 64, 0)  # the first call pays for loading code
    out = []
    for bits in s.sizes:
        rows = []
        for seed in seeds_from(s.seed, s.repeats):
            inputs = {"bits": bits, "samples": s.samples, "seed": seed}
            rows.append(lab.remember("search", inputs, lambda inputs=inputs: search_once(**inputs)))
        out.append(rows)
    return out


def work_of(learner: str, bits: int, window: int) -> float:
    """How many candidates a learner looks at, at most.

    >>> [work_of(name, 16, 4) for name in LEARNERS]
    [13.0, 1820.0, 2516.0, 713.0]
    """
    if learner == WINDOWS:
        return float(bits - window + 1)
    if learner == SETS:
        return float(math.comb(bits, window))
    most = window if learner == LOW else max((3 * window) // 4, 1)
    sets = sum(math.comb(bits, size) for size in range(1, most + 1))
    if learner == LINEAR:
        degree = max(window - (3 * window) // 4, 1)
        sets += sum(math.comb(bits, size) for size in range(degree + 1))
    return float(sets)


def learn_once(
    learner: str, bits: int, most_samples: int, most_work: float, seed: int
) -> dict[str, Any]:
    """The fewest rows, among 16, 32, 64, …, from which a learner names the k bits of a parity.

    The bits are permuted, but for window search, which needs their order.

    Args:
        learner: one of `LEARNERS`.
        bits: the paper's n; k = ⌈log2 n⌉.
        most_samples: the largest training set.
        most_work: candidates times rows beyond which the learner is not tried.
        seed: of the rows and of the order.

    Returns:
        `samples` (None where it was not found), the largest training set `below` from which it was
        not found, the candidates looked at and the seconds of the last attempt.

    >>> row = learn_once("low degree and linear", 16, 4096, 1e9, seed=0)
    >>> row["found"], row["candidates"]
    (True, 713)
    """
    window = log_window(bits)
    rng = np.random.default_rng([seed, bits, window])
    x = 2 * rng.integers(0, 2, (most_samples, bits), np.int8) - 1
    start = int(rng.integers(0, bits - window + 1))
    y = x[:, start : start + window].prod(1)
    right = tuple(range(start, start + window))
    if learner != WINDOWS:
        order = rng.permutation(bits)
        x, right = x[:, order], tuple(sorted(np.argsort(order)[list(right)].tolist()))
    row: dict[str, Any] = {"learner": learner, "bits": bits, "window": window, "found": False}
    row |= {"samples": None, "below": 1, "candidates": None, "seconds": None}
    rows = SMALLEST
    while rows <= most_samples and work_of(learner, bits, window) * rows <= most_work:
        found = LEARNERS[learner](x[:rows], y[:rows], window)
        supports = getattr(found, "supports", None)
        named = found.support if supports is None else supports[0] if found.unique else ()
        row |= {"candidates": found.candidates, "seconds": found.seconds}
        if named == right:
            return row | {"found": True, "samples": rows}
        row["below"] = rows
        rows *= 2
    return row


Learnt = dict[tuple[str, int], list[dict[str, Any]]]  # by learner and n, one row per repetition


def measure_learners(lab: Lab, s: PatternSearchSettings) -> Learnt:
    """`learn_once` for every learner, size and repetition, remembered by the laboratory."""
    out: Learnt = {}
    for learner in LEARNERS:
        for bits in s.learner_sizes:
            rows = []
            for seed in seeds_from(s.seed, s.repeats):
                inputs = {
                    "learner": learner,
                    "bits": bits,
                    "most_samples": s.most_samples,
                    "most_work": s.most_work,
                    "seed": seed,
                }
                row = lab.remember("junta-learner", inputs, lambda i=inputs: learn_once(**i))
                rows.append(row)
            out[learner, bits] = rows
        lab.report_progress("learners", len(out), len(LEARNERS) * len(s.learner_sizes))
    return out


def samples_of(rows: list[dict[str, Any]]) -> Amounts | None:
    """The rows that the repetitions of a learner needed; None where it was not tried.

    >>> samples_of([{"candidates": None, "below": 1, "samples": None}]) is None
    True
    """
    tried = [row for row in rows if row["candidates"] is not None]
    if not tried:
        return None
    upper = [math.inf if row["samples"] is None else row["samples"] for row in tried]
    return Amounts.of([max(row["below"], 1) for row in tried], upper)


def query_rows(s: PatternSearchSettings) -> list[dict[str, float]]:
    """Per n: how many parities there are, the queries of tolerance 1/n that an unknown order takes
    at least, the queries that suffice in order, and the tolerance that hides a parity.

    >>> row = query_rows(PatternSearchSettings())[2]
    >>> row["bits"], row["windows"], round(row["queries"])
    (64, 59.0, 18304)
    """
    out = []
    for bits in s.query_sizes:
        window, tolerance = log_window(bits), 1.0 / bits
        sets = sq_dimension(bits, window, ordered=False)
        out.append(
            {
                "bits": bits,
                "window": window,
                "windows": float(sq_dimension(bits, window)),
                "sets": float(sets),
                "queries": float(sq_queries(sets, tolerance)),
                "rows_per_query": float(samples_per_query(tolerance)),
                "hidden_below": float(hidden_below(bits, window)),
            }
        )
    return out


@dataclasses.dataclass(frozen=True)
class OrderCell:
    """Networks on one size, with random orders of the bits or (`control`) in order."""

    bits: int
    control: bool = False


@dataclasses.dataclass(frozen=True)
class OrdersTried:
    """How many orders a network learnt, and how many rows and seconds all of them took."""

    learnt: int
    orders: int
    rows: float
    seconds: float

    @classmethod
    def of(cls, s: PatternSearchSettings, members: list[Row]) -> "OrdersTried":
        """From the rows of the trials; every step reads a batch of fresh rows."""
        learnt = sum(row["status"] == "reached" for row in members)
        rows = float(sum(row["steps"] for row in members) * s.orders.batch)
        seconds = float(sum(row["run.seconds"] for row in members))
        return cls(learnt, len(members), rows, seconds)


def order_trials(s: PatternSearchSettings) -> dict[OrderCell, list[Trial]]:
    """The trials of the architecture search and of its controls.

    A hidden order followed by a random one is a random order, so each trial hides the bits by an
    order of its own.

    >>> [len(trials) for trials in order_trials(PatternSearchSettings()).values()]
    [640, 8]
    """
    part, out = s.orders, {}
    learner = Learner(
        part.rate,
        part.steps,
        loss="hinge",
        oracle="online",
        batch=part.batch,
        optimizer="adam",
        stop=Stop(target=part.target),
    )
    measure = Measure(test=part.test, times=part.times)
    for bits in part.sizes:
        window = log_window(bits)
        for control, count in ((False, part.count), (True, part.controls)):
            task = PatternTask(bits, window, start=(bits - window) // 2, hidden=not control)
            trial = Trial(task, CNN(window, part.filters), learner, 0, 0, measure)
            out[OrderCell(bits, control)] = trial.at_seeds(seeds_from(s.seed, count))
    return out


def sweep_of(s: PatternSearchSettings) -> Sweep:
    """All trials of the architecture search.

    >>> len(sweep_of(PatternSearchSettings()))
    648
    """
    return Sweep(tuple(trial for trials in order_trials(s).values() for trial in trials))


def measure_orders(lab: Lab, s: PatternSearchSettings) -> dict[OrderCell, OrdersTried]:
    """Run the architecture search; cells without a finished trial are missing."""
    rows = run_cells(lab, order_trials(s), "pattern-search")
    return {cell: OrdersTried.of(s, members) for cell, members in rows.items() if members}
