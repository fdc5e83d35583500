"""Thresholds as series of a figure, with what is only a bound drawn as one."""

import math
from collections.abc import Sequence
from typing import Any

from separatrix.inference import Interval, Threshold
from separatrix.studies.outcome import Series


def bounded_series(label: str, points: Sequence[tuple[Any, Threshold | Interval]]) -> list[Series]:
    """Thresholds or ratios with their intervals as one series, with gaps where one is censored, and
    the bounds of those as short dashes.

    >>> from separatrix.inference import Tally, estimate_threshold
    >>> made = bounded_series("CNN", [("plain", estimate_threshold([Tally(64, 12, 12), Tally(128, 12, 12)]))])
    >>> [(each.label, each.role, each.x) for each in made]
    [('CNN', 'measured', ('plain',)), ('CNN', 'bound', ('plain',))]
    """
    if not points:
        return []
    known = [each if math.isfinite(each.estimate) else None for _, each in points]
    x = tuple(x for x, _ in points)
    estimate, low, high = (
        tuple(None if t is None else getattr(t, part) for t in known)
        for part in ("estimate", "low", "high")
    )
    bounds = [
        (x, each.low if each.low > 0 else each.high)
        for x, each in points
        if not math.isfinite(each.estimate)
    ]
    bounds = [(x, y) for x, y in bounds if math.isfinite(y) and y > 0]
    seeds = tuple(each.trials if isinstance(each, Threshold) else each.count for _, each in points)
    out = [Series(label, x, estimate, low, high, seeds=seeds)]
    return (
        [
            *out,
            Series(label, tuple(x for x, _ in bounds), tuple(y for _, y in bounds), role="bound"),
        ]
        if bounds
        else out
    )
