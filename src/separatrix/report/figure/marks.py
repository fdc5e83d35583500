"""The marks of a figure: lines with bands, scattered seeds, dashed laws and thin baselines."""

import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from separatrix.report.figure.axes import clip
from separatrix.report.figure.series import Points, runs, spread
from separatrix.report.figure.style import GREY, Look, look_key
from separatrix.studies import Series

MARKER = 5.0
MANY = 2000  # scattered points beyond this number become one picture, or the page would not open
LABEL_SIZE = 8.5
LABEL_WIDTH = 20  # characters of a baseline's label in one line
MOST_LABELS = 10


def draw_measured(
    axes: Axes,
    points: Points,
    look: Look,
    floor: float,
    joined: bool,
    order: tuple[int, int] = (0, 1),
) -> None:
    """Points with their intervals, joined over stretches without gaps; `floor` is where lower ends
    below the axis stop.

    `order` is the number of this series and how many there are: the first lines are broader and
    markers take turns, so that a curve is seen under another that equals it.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> nothing = np.full(2, np.nan)
    >>> draw_measured(axes, Points(np.arange(2), np.arange(2), nothing, nothing, 0), Look("#0072b2", "o"), 0.0, True)
    >>> len(axes.lines)
    2
    """
    x, y, shown = points.x, points.y, points.shown
    low = np.where(np.isfinite(points.low), np.maximum(points.low, floor), y)
    high = np.where(np.isfinite(points.high), np.maximum(points.high, floor), y)
    wide = shown & (low < high)
    turn, turns = (order[0], max(order[1], len(y) // 12)) if joined and len(y) > 12 else (0, 1)
    marked = shown & (np.arange(len(y)) % turns == turn % turns)
    thick = 1.5 + (0.5 * (order[1] - 1 - order[0]) if order[1] <= 4 else 0)
    for part in runs(shown):
        if part.stop - part.start == 1 or not joined:
            marked[part] = True
            continue
        axes.plot(
            x[part], y[part], color=look.colour, linestyle=look.line, linewidth=thick, zorder=4
        )
        if wide[part].any():
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
    _scatter(axes, x[marked], y[marked], look, 1.0)


def draw_samples(axes: Axes, points: Points, look: Look, spread_x: float) -> None:
    """Single seeds, scattered; in a figure of categories they lie side by side within `spread_x`.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> nothing = np.full(2, np.nan)
    >>> draw_samples(axes, Points(np.arange(2), np.arange(2), nothing, nothing, 0), Look("#0072b2", "o"), 0.0)
    >>> len(axes.lines)
    1
    """
    shown = points.shown
    x = points.x + asides(len(shown), spread_x)
    _scatter(axes, x[shown], points.y[shown], look, 0.5 if shown.sum() <= MANY else 0.1, order=3.5)


def asides(count: int, spread_x: float) -> np.ndarray:
    """How far each of many seeds is moved aside, within `spread_x`.

    The golden ratio's multiples fill an interval evenly and are the same each time, unlike random
    jitter.

    >>> asides(3, 0.1).round(3)
    array([-0.05 ,  0.012, -0.026])
    """
    return spread_x * (np.arange(count) * 0.6180339887 % 1 - 0.5)


def draw_line(axes: Axes, points: Points, look: Look, categories: bool) -> None:
    """A law or bound: dashed over its stretches; a short dash at each category.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> draw_line(axes, Points(np.arange(2), np.arange(2), np.arange(2), np.arange(2), 0), Look("#0072b2", ""), False)
    >>> len(axes.lines)
    1
    """
    x, y = points.x, points.y
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


def draw_baseline(axes: Axes, points: Points, look: Look) -> float | None:
    """A thin grey line, from edge to edge where it is level; the height at its right end.

    >>> from matplotlib.figure import Figure
    >>> level = np.array([0.5, 0.5])
    >>> draw_baseline(Figure().add_subplot(), Points(np.array([0.0, 1.0]), level, level, level, 0), Look("#808080", ""))
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


def label_baselines(axes: Axes, labels: list[tuple[str, float]], ink: str) -> None:
    """Name baselines at the right edge, moved apart where they would overlap.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> label_baselines(axes, [("Bayes", 0.5), ("linear", 0.5)], "black")
    >>> [text.get_text() for text in axes.texts]
    ['Bayes', 'linear']
    """
    texts = [
        "\n".join(textwrap.wrap(clip(label, 3 * LABEL_WIDTH), LABEL_WIDTH)[:3]) or " "
        for label, _ in labels
    ]
    heights = [
        float(axes.transAxes.inverted().transform(axes.transData.transform((1, level)))[1])
        for _, level in labels
    ]
    size = axes.get_window_extent().height * 72.0 / axes.figure.dpi  # the axes' height in points
    sizes = [(1.2 * (text.count("\n") + 1) + 0.45) * LABEL_SIZE / size for text in texts]
    for text, height, place in zip(texts, heights, spread(heights, sizes, -0.05, 1.05)):
        # A line of our own: an arrow would end at the label's nearest corner and cross its letters.
        axes.plot(
            [1.0, 1.02, 1.05],
            [height, height, place],
            color=GREY,
            linewidth=0.8,
            transform=axes.transAxes,
            clip_on=False,
        )
        axes.text(
            1.06,
            place,
            text,
            transform=axes.transAxes,
            va="center",
            fontsize=LABEL_SIZE,
            color=ink,
            alpha=0.85,
            linespacing=1.1,
        )


def handle_of(series: Series, look: Look) -> Line2D:
    """The legend's entry of a series.

    >>> handle_of(Series("CNN", (), (), role="samples"), Look("#0072b2", "o")).get_linestyle()
    'None'
    """
    width = 0.9 if series.role == "baseline" else 1.6
    line = "none" if series.role == "samples" else look.line
    return Line2D(
        [],
        [],
        color=look.colour,
        linestyle=line,
        linewidth=width,
        marker=look.marker or "none",
        markersize=MARKER,
        fillstyle=look.fill,
        label=clip(series.label, 60),  # pyright: ignore[reportArgumentType]
    )


def legend_entries(
    series: tuple[Series, ...], looks: dict[tuple[str, str], Look], baselines: bool
) -> list[Line2D]:
    """One entry per look, the measured ones first; the labels of `baselines` stand here when there
    are too many to stand beside.

    >>> legend_entries((Series("Bayes", (), (), role="baseline"),), {("Bayes", "baseline"): Look("#808080", "")}, False)
    []
    """
    order = {"measured": 0, "samples": 1, "law": 2, "bound": 2, "baseline": 3}
    entries: dict[tuple[str, str], Line2D] = {}
    for each in sorted(series, key=lambda each: order[each.role]):
        if each.role != "baseline" or baselines:
            entries.setdefault(look_key(each), handle_of(each, looks[look_key(each)]))
    return list(entries.values())


def _scatter(
    axes: Axes, x: np.ndarray, y: np.ndarray, look: Look, alpha: float, order: float = 5
) -> None:
    axes.plot(
        x,
        y,
        linestyle="none",
        marker=look.marker,
        markersize=MARKER,
        color=look.colour,
        fillstyle=look.fill,
        alpha=alpha,
        zorder=order,
        rasterized=len(x) > MANY,
    )
    if len(x) > MANY:
        axes.plot(
            [], [], zorder=order
        )  # parts this picture from the next series', with which it would become one
