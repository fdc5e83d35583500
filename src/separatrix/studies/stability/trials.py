"""The rows of the stability study, cell by cell, and the numbers that are taken from them."""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import special

from separatrix.engine import Lab, Sweep
from separatrix.inference import Interval, mean_interval, ratio
from separatrix.studies.stability.recipes import CellKey, cells
from separatrix.studies.stability.settings import StabilitySettings

Rows = dict[CellKey, list[dict[str, Any]]]
GOOD = ("exhausted", "reached")


def run_cells(lab: Lab, s: StabilitySettings, what: str) -> Rows:
    """Run all trials of all parts together, and sort their rows into cells.

    >>> small = StabilitySettings(parts=("flat",), flat_seeds=1, flat_steps=5, flat_times=5, flat_width=4, flat_samples=4, test=8)
    >>> [len(rows) for rows in run_cells(Lab(workers=0), small, "demo").values()]
    [1]
    """
    wanted = cells(s)
    table = lab.run(Sweep(tuple(trial for sweep in wanted.values() for trial in sweep)), what)
    by_identity = {row["trial"]: row for row in table.arrow.to_pylist()}
    return {
        cell: [by_identity[trial.identity] for trial in sweep if trial.identity in by_identity]
        for cell, sweep in wanted.items()
    }


def good(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of runs that ended with finite numbers; the others are counted, not averaged.

    >>> len(good([{"status": "exhausted"}, {"status": "diverged"}]))
    1
    """
    return [row for row in rows if row["status"] in GOOD]


def values(rows: Iterable[dict[str, Any]], name: str) -> list[float]:
    """A column of the rows of runs that ended well.

    >>> values([{"status": "exhausted", "loss": 0.5}], "loss")
    [0.5]
    """
    return [float(row[name]) for row in good(rows)]


def interval_of(rows: Iterable[dict[str, Any]], name: str) -> Interval | None:
    """The mean of a column over seeds with its interval; None without rows.

    >>> interval_of([], "loss") is None
    True
    """
    found = values(rows, name)
    return mean_interval(found) if found else None


def ratio_of(first: list[float], second: list[float]) -> Interval | None:
    """The ratio of two means over independent seeds; None where one side has no seeds or a value is
    not positive.

    >>> ratio_of([], [1.0]) is None
    True
    """
    if not first or not second or min(first) <= 0 or min(second) <= 0:
        return None
    return ratio(first, second)


def exponent_between(low: float, high: float, found: Interval) -> Interval:
    """The exponent e with ratio = (high/low)^e, for a ratio with its interval.

    >>> exponent_between(10, 1000, Interval(100.0, 10.0, 1000.0, 0.95, "bootstrap", 5)).estimate
    1.0
    """
    base = math.log(high / low)
    bounds = [
        math.log(each) / base if 0 < each < math.inf else math.copysign(math.inf, each - 1)
        for each in (found.estimate, found.low, found.high)
    ]
    return dataclasses.replace(found, estimate=bounds[0], low=bounds[1], high=bounds[2])


def slope_interval(points: list[tuple[float, list[float]]], level: float = 0.95) -> Interval | None:
    """The slope of log(mean over seeds) against log(size): least squares over sizes, its error from
    the spread of the seeds.

    >>> found = slope_interval([(10, [1.0, 1.2, 0.9]), (100, [0.11, 0.1, 0.12]), (1000, [0.01, 0.011, 0.009])])
    >>> round(found.estimate, 2), found.low < -1 < found.high
    (-1.01, True)
    """
    usable = [(size, np.asarray(each)) for size, each in points if len(each) >= 2 and min(each) > 0]
    if len(usable) < 2:
        return None
    x = np.log([size for size, _ in usable])
    means = np.array([each.mean() for _, each in usable])
    errors = np.array([each.var(ddof=1) / len(each) for _, each in usable]) / means**2
    weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    slope = float(weights @ np.log(means))
    freedom = sum(len(each) - 1 for _, each in usable)
    half = float(special.stdtrit(freedom, 0.5 + level / 2) * np.sqrt(weights**2 @ errors))
    return Interval(
        slope,
        slope - half,
        slope + half,
        level,
        "least squares of log means",
        min(len(each) for _, each in usable),
    )


def at_edge(row: dict[str, Any], edge: float, share: float = 0.05) -> bool:
    """Whether a run ended with its sharpness within `share` of the edge, having been there before;
    not while clipping acted.

    Clipping may have helped a run over its first steps: it must have left the last tenth of them
    alone.

    >>> at_edge({"edge_step": 50, "sharpness": 9.8}, 10.0)
    True
    >>> at_edge({"edge_step": 50, "sharpness": 9.8, "clipped_last": 980, "steps": 1000}, 10.0)
    False
    """
    known = row.get("edge_step") is not None and row.get("sharpness") is not None
    acting = (row.get("clipped_last") or 0) > 0.9 * row.get("steps", 0)
    return (
        known
        and row["edge_step"] >= 0
        and abs(row["sharpness"] / edge - 1.0) <= share
        and not acting
    )
