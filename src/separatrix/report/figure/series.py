"""The series of a figure: as arrays that can be drawn, and their marks on the axes.

Measured values are lines with bands, single seeds are scattered points, laws and bounds are dashed
lines, floors are dotted lines with hatching below, baselines are thin grey lines. A measured point
of which only a bound is known is hollow.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withTickedStroke

from separatrix.report.figure.style import Look
from separatrix.studies import Figure, Heatmap, Series

SMALLEST, LARGEST = 1e-100, 1e100  # beyond these, axis arithmetic overflows
MARKER = 5.0  # size of a marker, in points
HOLLOW = 7.0  # of a hollow one, which is only a bound
# More scattered points than this become one picture: the browser could not open the page otherwise.
MOST_VECTOR_POINTS = 2000


@dataclasses.dataclass(frozen=True)
class Points:
    """A series as arrays with NaN for gaps.

    `hidden` counts the points that were measured and cannot be shown.
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
    series: Series,
    categories: dict[str, int] | None = None,
    log_x: bool = False,
    log_y: bool = False,
) -> Points:
    """The arrays of a series; `categories` gives the position of each category where x is text.

    >>> points_of(Series("CNN", (1, 2, 4), (0.5, None, 0.25))).y
    array([0.5 ,  nan, 0.25])
    """
    if categories is None:
        x = _array(series.x, log_x)
    else:
        x = np.array(
            [math.nan if value is None else categories[category(value)] for value in series.x],
            float,
        )
    y = _array(series.y, log_y)
    low, high = (
        _array(ends, False) if ends else np.full(len(y), math.nan)
        for ends in (series.low, series.high)
    )
    missing = (
        sum(x_value is None or y_value is None for x_value, y_value in zip(series.x, series.y))
        if None in series.x or None in series.y
        else 0
    )
    drawable = int((np.isfinite(x) & np.isfinite(y)).sum())
    return Points(x, y, low, high, hidden=len(y) - missing - drawable)


def points_in(figure: Figure | Heatmap, categories: dict[str, int] | None) -> list[Points]:
    """The arrays of all series of a figure, on the figure's axes."""
    log_x = figure.x.log and categories is None
    return [points_of(series, categories, log_x, figure.y.log) for series in figure.series]


def hidden_points(figure: Figure | Heatmap) -> dict[str, tuple[int, int]]:
    """By the label of a series: how many of how many points the figure cannot show.

    These are the points at or below zero on a logarithmic axis, and numbers that are too large.
    Series whose points are all shown are left out.

    >>> from separatrix.studies import Axis
    >>> series = Series("CNN", (1, 2), (0.0, 1.0))
    >>> hidden_points(Figure("f", "F", Axis("x"), Axis("y", log=True), (series,)))
    {'CNN': (1, 2)}
    """
    counts: dict[str, tuple[int, int]] = {}
    for series, points in zip(figure.series, points_in(figure, categories_of(figure))):
        hidden, total = counts.get(series.label, (0, 0))
        counts[series.label] = (
            hidden + points.hidden,
            total + points.hidden + int(points.shown.sum()),
        )
    return {label: (hidden, total) for label, (hidden, total) in counts.items() if hidden}


def categories_of(figure: Figure | Heatmap) -> dict[str, int] | None:
    """The positions of the categories, in order of appearance; None where x is a number.

    >>> from separatrix.studies import Axis
    >>> series = Series("risk", ("CNN", "FCN"), (0.1, 0.2))
    >>> categories_of(Figure("f", "F", Axis("x"), Axis("y"), (series,)))
    {'CNN': 0, 'FCN': 1}
    """
    values = [value for series in figure.series for value in series.x if value is not None]
    if all(issubclass(kind, int | float) and kind is not bool for kind in set(map(type, values))):
        return None
    names = dict.fromkeys(category(value) for value in values)
    return {name: position for position, name in enumerate(names)}


def category(value: Any) -> str:
    """The name of a category.

    >>> category(True), category(3), category("CNN")
    ('True', '3', 'CNN')
    """
    return value if isinstance(value, str) else str(value)


def offsets_of(series: Sequence[Series], arrays: Sequence[Points]) -> dict[tuple[str, str], float]:
    """How far each (label, role) is moved sideways, so that series that share a category are
    side by side.

    The bounds of a measured series move with it.

    >>> pair = [Series("CNN", ("a",), (1.0,)), Series("FCN", ("a",), (2.0,))]
    >>> offsets_of(pair, [points_of(series, {"a": 0}) for series in pair])
    {('CNN', 'measured'): -0.09, ('FCN', 'measured'): 0.09}
    """
    positions: dict[tuple[str, str], set[float]] = {}
    measured = {one.label for one in series if one.role == "measured"}
    for label in dict.fromkeys(one.label for one in series):
        for role in ("samples", "measured"):  # a mean is to the right of its own seeds
            roles = ("measured", "bound") if role == "measured" and label in measured else (role,)
            for one, points in zip(series, arrays):
                if one.label == label and one.role in roles:
                    own = positions.setdefault((label, role), set())
                    own.update(points.x[points.shown].tolist())
    lanes: dict[tuple[str, str], int] = {}
    for key, own in positions.items():  # the first lane without a series of the same categories
        used = {lanes[other] for other in lanes if positions[other] & own}
        lanes[key] = min(set(range(len(positions))) - used)
    count = max(lanes.values(), default=0) + 1
    step = min(0.18, 0.8 / count)
    moved = {key: step * (lane - (count - 1) / 2) for key, lane in lanes.items()}
    return moved | {
        (one.label, one.role): moved[one.label, "measured"]
        for one in series
        if one.role == "bound" and one.label in measured
    }


def runs(mask: np.ndarray) -> list[slice]:
    """The stretches of neighbours for which the mask holds.

    A line is drawn through each stretch; a stretch of one point gets a marker.

    >>> runs(np.array([True, True, False, True]))
    [slice(0, 2, None), slice(3, 4, None)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return [slice(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2])]


def draw_measured(
    axes: Axes,
    points: Points,
    look: Look,
    floor: float,
    joined: bool,
    order: tuple[int, int] = (0, 1),
    bars: bool = False,
) -> None:
    """Draw points with their intervals, joined over stretches without gaps.

    Args:
      axes: where to draw.
      points: the points.
      look: their colour, marker and line.
      floor: where intervals that reach below the axis end.
      joined: whether a line joins neighbours.
      order: the number of this series and the number of all series. The first lines are broader and
        markers alternate, so that a reader sees a curve below another one that equals it.
      bars: whether intervals are bars although points are joined: the figure has other bands.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> nothing = np.full(2, np.nan)
    >>> points = Points(np.arange(2), np.arange(2), nothing, nothing, 0)
    >>> draw_measured(axes, points, Look("#0072b2", "o"), 0.0, True)
    >>> len(axes.lines)
    2
    """
    x, y, shown = points.x, points.y, points.shown
    low = np.where(np.isfinite(points.low), np.maximum(points.low, floor), y)
    high = np.where(np.isfinite(points.high), np.maximum(points.high, floor), y)
    wide = shown & (low < high)
    turn, turns = (order[0], max(order[1], len(y) // 12)) if joined and len(y) > 12 else (0, 1)
    marked = shown & (np.arange(len(y)) % turns == turn % turns)
    width = 1.5 + (0.5 * (order[1] - 1 - order[0]) if order[1] <= 4 else 0)
    for part in runs(shown):
        if part.stop - part.start == 1 or not joined:
            marked[part] = True
            continue
        axes.plot(
            x[part], y[part], color=look.colour, linestyle=look.line, linewidth=width, zorder=4
        )
        if wide[part].any() and not bars:
            axes.fill_between(
                x[part], low[part], high[part], color=look.colour, alpha=0.18, linewidth=0, zorder=2
            )
            wide[part] = False
    if wide.any():
        reach = [np.maximum(y - low, 0)[wide], np.maximum(high - y, 0)[wide]]
        axes.errorbar(
            x[wide],
            y[wide],
            reach,
            fmt="none",
            ecolor=look.colour,
            elinewidth=1.2,
            capsize=3,
            zorder=3,
        )
    _scatter(axes, x[marked], y[marked], look, alpha=1.0)


def draw_samples(axes: Axes, points: Points, look: Look, spread: float) -> None:
    """Draw single seeds as scattered points; those of one category are side by side in `spread`.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> nothing = np.full(2, np.nan)
    >>> points = Points(np.arange(2), np.arange(2), nothing, nothing, 0)
    >>> draw_samples(axes, points, Look("#0072b2", "o"), 0.0)
    >>> len(axes.lines)
    1
    """
    shown = points.shown
    x = points.x + jitter(len(shown), spread)
    alpha = 0.5 if shown.sum() <= MOST_VECTOR_POINTS else 0.1
    _scatter(axes, x[shown], points.y[shown], look, alpha=alpha, order=3.5)


def jitter(count: int, spread: float) -> np.ndarray:
    """How far each of many seeds is moved sideways, within `spread`.

    Multiples of the golden ratio fill an interval evenly and, unlike random numbers, are the same
    each time.

    >>> jitter(3, 0.1).round(3)
    array([-0.05 ,  0.012, -0.026])
    """
    return spread * (np.arange(count) * 0.6180339887 % 1 - 0.5)


def draw_line(axes: Axes, points: Points, look: Look, categories: bool) -> None:
    """Draw a law or bound: a dashed line over each stretch, or a short dash at each category.

    Where the look has a marker, points are hollow marks instead. Intervals are a band.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> points = Points(np.arange(2), np.arange(2), np.arange(2), np.arange(2), 0)
    >>> draw_line(axes, points, Look("#0072b2", ""), False)
    >>> len(axes.lines)
    1
    """
    x, y = points.x, points.y
    if look.marker:
        _scatter(axes, x[points.shown], y[points.shown], look, alpha=1.0, size=HOLLOW)
        return
    for part in runs(points.shown):
        if categories or part.stop - part.start == 1:
            axes.plot(
                x[part],
                y[part],
                color=look.colour,
                linestyle="none",
                marker="_",
                markersize=16,
                markeredgewidth=1.6,
                zorder=3,
            )
        else:
            axes.plot(
                x[part], y[part], color=look.colour, linestyle=look.line, linewidth=1.4, zorder=3
            )
            low, high = points.low[part], points.high[part]
            if np.isfinite(low).all() and np.isfinite(high).all() and (low < high).any():
                axes.fill_between(
                    x[part], low, high, color=look.colour, alpha=0.13, linewidth=0, zorder=1
                )


def draw_floor(axes: Axes, points: Points, look: Look) -> None:
    """Draw what nobody can be below: a dotted line with hatching on its lower side, and the word.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> points = Points(np.arange(2), np.arange(2), np.arange(2), np.arange(2), 0)
    >>> draw_floor(axes, points, Look("#0072b2", "", (0, (1, 1.2))))
    >>> [text.get_text() for text in axes.texts]
    [' floor']
    """
    x, y = points.x[points.shown], points.y[points.shown]
    if not len(x):
        return
    axes.plot(x, y, color=look.colour, linestyle=look.line, linewidth=1.8, zorder=3)
    axes.plot(
        x,
        y,
        color=look.colour,
        linewidth=0.7,
        alpha=0.6,
        zorder=2,
        # Ticks to the right of the line's direction: below a line that goes to the right.
        path_effects=[withTickedStroke(angle=-60, spacing=6, length=0.7)],
    )
    axes.text(
        x[-1],
        y[-1],
        " floor",
        rotation=_direction(axes, x, y),
        transform_rotates_text=True,
        rotation_mode="anchor",
        va="center",
        fontsize=8.5,
        fontweight="bold",
        color=look.colour,
    )


def _direction(axes: Axes, x: np.ndarray, y: np.ndarray) -> float:
    """The direction in which a line ends, in degrees of the axes' numbers."""
    if len(x) < 2:
        return 0.0
    scales = axes.get_xscale(), axes.get_yscale()
    rise = [
        float(np.log(v[-1] / v[-2]) * v[-1]) if scale == "log" else float(v[-1] - v[-2])
        for v, scale in zip((x, y), scales)
    ]
    return math.degrees(math.atan2(rise[1], rise[0]))


def draw_baseline(axes: Axes, points: Points, look: Look) -> float | None:
    """Draw a thin grey line, from edge to edge where it is level; return its height at the right.

    >>> from matplotlib.figure import Figure
    >>> level = np.array([0.5, 0.5])
    >>> points = Points(np.array([0.0, 1.0]), level, level, level, 0)
    >>> draw_baseline(Figure().add_subplot(), points, Look("#808080", ""))
    0.5
    """
    y = points.y[points.shown]
    if not len(y):
        return None
    if np.all(y == y[0]):
        axes.axhline(float(y[0]), color=look.colour, linewidth=0.9, zorder=1)
    else:
        for part in runs(points.shown):
            axes.plot(points.x[part], points.y[part], color=look.colour, linewidth=0.9, zorder=1)
    return float(y[-1])


def _scatter(
    axes: Axes,
    x: np.ndarray,
    y: np.ndarray,
    look: Look,
    alpha: float,
    order: float = 5,
    size: float = MARKER,
) -> None:
    many = len(x) > MOST_VECTOR_POINTS
    axes.plot(
        x,
        y,
        linestyle="none",
        marker=look.marker,
        markersize=size,
        color=look.colour,
        fillstyle=look.fill,
        alpha=alpha,
        zorder=order,
        rasterized=many,
    )
    if many:
        # Matplotlib merges neighbouring pictures; an empty line keeps this one and the next apart.
        axes.plot([], [], zorder=order)


def _array(values: tuple[Any, ...], log: bool) -> np.ndarray:
    """Every value as `_drawable` gives it, in one step where all are numbers: there may be many."""
    try:
        array = np.array(values)
    except ValueError:  # some values are lists
        array = np.empty(0, object)
    if array.dtype.kind not in "fiu" or array.ndim != 1:
        return np.array([_drawable(value, log) for value in values], float)
    array = array.astype(float)
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(array) <= LARGEST)
        if log:
            bad |= array < SMALLEST
        return np.where(bad, math.nan, np.where(np.abs(array) < SMALLEST, 0.0, array))


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
