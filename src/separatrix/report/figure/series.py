"""The points of a figure as arrays that can be drawn: gaps where nothing can, places for
categories, room between labels.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.studies import Figure, Heatmap, Series

SMALLEST, LARGEST = 1e-100, 1e100  # beyond these, axis arithmetic overflows


@dataclasses.dataclass(frozen=True)
class Points:
    """A series as arrays with NaN for gaps; `hidden` counts the points that were measured but
    cannot be shown.

    >>> points_of(Series("CNN", (1, 2, 3), (0.5, None, 0.0)), log_y=True).hidden
    1
    """

    x: np.ndarray
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    hidden: int

    @property
    def shown(self) -> np.ndarray:
        """Which points can be drawn."""
        return np.isfinite(self.x) & np.isfinite(self.y)


def points_of(
    series: Series, places: dict[str, int] | None = None, log_x: bool = False, log_y: bool = False
) -> Points:
    """The arrays of a series: `places` gives the position of each category where x is text.

    >>> points_of(Series("CNN", (1, 2, 4), (0.5, None, 0.25))).y
    array([0.5 ,  nan, 0.25])
    """
    if places is None:
        x = _array(series.x, log_x)
    else:
        x = np.array(
            [math.nan if each is None else places[category(each)] for each in series.x], float
        )
    y = _array(series.y, log_y)
    low, high = (
        _array(ends, False) if ends else np.full(len(y), math.nan)
        for ends in (series.low, series.high)
    )
    given = (
        len(y) - sum(a is None or b is None for a, b in zip(series.x, series.y))
        if None in series.x or None in series.y
        else len(y)
    )
    return Points(x, y, low, high, given - int((np.isfinite(x) & np.isfinite(y)).sum()))


def hidden_points(figure: Figure | Heatmap) -> dict[str, tuple[int, int]]:
    """The series of which a figure cannot show all points (those at or below zero on a logarithmic
    axis): how many of how many.

    >>> from separatrix.studies import Axis
    >>> hidden_points(Figure("f", "F", Axis("x"), Axis("y", log=True), (Series("CNN", (1, 2), (0.0, 1.0)),)))
    {'CNN': (1, 2)}
    """
    places = places_of(figure)
    out: dict[str, tuple[int, int]] = {}
    for each in figure.series:
        points = points_of(each, places, figure.x.log and places is None, figure.y.log)
        before = out.get(each.label, (0, 0))
        out[each.label] = (
            before[0] + points.hidden,
            before[1] + points.hidden + int(points.shown.sum()),
        )
    return {label: counts for label, counts in out.items() if counts[0]}


def places_of(figure: Figure | Heatmap) -> dict[str, int] | None:
    """The positions of the categories, in order of appearance; None where x is a number.

    >>> from separatrix.studies import Axis
    >>> places_of(Figure("f", "F", Axis("x"), Axis("y"), (Series("risk", ("CNN", "FCN"), (0.1, 0.2)),)))
    {'CNN': 0, 'FCN': 1}
    """
    values = [each for series in figure.series for each in series.x if each is not None]
    if all(issubclass(kind, int | float) and kind is not bool for kind in set(map(type, values))):
        return None
    return {
        name: place for place, name in enumerate(dict.fromkeys(category(each) for each in values))
    }


def category(value: Any) -> str:
    """The name of a category.

    >>> category(True), category(3), category("CNN")
    ('True', '3', 'CNN')
    """
    return value if isinstance(value, str) else str(value)


def offsets_of(series: Sequence[Series], arrays: Sequence[Points]) -> dict[tuple[str, str], float]:
    """How far each (label, role) is moved aside in a figure of categories: series that share a
    category stand side by side.

    >>> pair = [Series("CNN", ("a",), (1.0,)), Series("FCN", ("a",), (2.0,))]
    >>> offsets_of(pair, [points_of(each, {"a": 0}) for each in pair])
    {('CNN', 'measured'): -0.09, ('FCN', 'measured'): 0.09}
    """
    taken: dict[tuple[str, str], set[float]] = {}
    for label in dict.fromkeys(each.label for each in series):
        for role in ("samples", "measured"):  # a mean stands right of its own seeds
            for each, points in zip(series, arrays):
                if (each.label, each.role) == (label, role):
                    taken.setdefault((label, role), set()).update(points.x[points.shown].tolist())
    places: dict[tuple[str, str], int] = {}
    for key, own in taken.items():  # the first place that no series has which it meets
        used = {places[other] for other in places if taken[other] & own}
        places[key] = min(set(range(len(taken))) - used)
    most = max(places.values(), default=0) + 1
    step = min(0.18, 0.8 / most)
    return {key: step * (place - (most - 1) / 2) for key, place in places.items()}


def runs(mask: np.ndarray) -> list[slice]:
    """The stretches of neighbours for which the mask holds: a line is drawn through each, a single
    point gets a marker.

    >>> runs(np.array([True, True, False, True]))
    [slice(0, 2, None), slice(3, 4, None)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2])]


def spread(
    wanted: list[float], sizes: list[float], low: float = 0.0, high: float = 1.0
) -> list[float]:
    """Middles of labels of these sizes, as near as possible to the wanted ones (least squares)
    without overlap, within bounds.

    >>> [round(each, 2) for each in spread([0.5, 0.5, 0.9], [0.1, 0.1, 0.1])]
    [0.45, 0.55, 0.9]
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    before, filled = [], 0.0  # the middle that each label would have if all were stacked from zero
    for index in order:
        before.append(filled + sizes[index] / 2)
        filled += sizes[index]
    top = max(low, high - filled)
    blocks: list[list[float]] = []  # sum, count: pool adjacent violators
    for rank, index in enumerate(order):
        blocks.append([wanted[index] - before[rank], 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    level = [
        min(max(total / count, low), top) for total, count in blocks for _ in range(int(count))
    ]
    out = [0.0] * len(wanted)
    for rank, index in enumerate(order):
        out[index] = level[rank] + before[rank]
    return out


def _array(values: tuple[Any, ...], log: bool) -> np.ndarray:
    """Every value as `_drawable` has it; at once where all are numbers, for there may be very many."""
    try:
        found = np.array(values)
    except ValueError:  # lists among them
        found = np.empty(0, object)
    if found.dtype.kind not in "fiu" or found.ndim != 1:
        return np.array([_drawable(each, log) for each in values], float)
    found = found.astype(float)
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(found) <= LARGEST)
        if log:
            bad |= found < SMALLEST
        return np.where(bad, math.nan, np.where(np.abs(found) < SMALLEST, 0.0, found))


def _drawable(value: Any, log: bool) -> float:
    """The value, or NaN where it cannot be drawn."""
    if value is None or isinstance(value, str):
        return math.nan
    try:
        value = float(value)
    except (OverflowError, TypeError, ValueError):
        return math.nan
    if not abs(value) <= LARGEST or (log and value < SMALLEST):
        return math.nan
    return 0.0 if abs(value) < SMALLEST else value
