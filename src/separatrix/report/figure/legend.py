"""Legends: the page's own, the one in a figure's file, and the labels of baselines at the edge."""

import dataclasses
import textwrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from scipy.optimize import isotonic_regression

from separatrix.report.figure.axes import clip
from separatrix.report.figure.series import MARKER, categories_of, points_in
from separatrix.report.figure.style import GREY, Look, look_key, looks_of
from separatrix.report.figure.svg import SERIES
from separatrix.studies import Figure, Heatmap, Series

MOST_ENTRIES = 30  # of the legend in a file
LABEL_SIZE = 8.5  # points
LABEL_WIDTH = 20  # characters per line of a baseline's label
MOST_LABELS = 10  # baselines with a label at the edge; more of them go into the legend
# Markers as matplotlib draws them, in a box of 8 by 8 around (14, 6).
_SHAPES = {
    "s": "M10.5 2.5h7v7h-7z",
    "^": "M14 2l4 8h-8z",
    "v": "M14 10l4 -8h-8z",
    "<": "M10 6l8 -4v8z",
    ">": "M18 6l-8 -4v8z",
    "D": "M14 1.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
    "o": "M10 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "P": "M12.7 2h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z",
    "X": "M12 2l2 2l2 -2l2 2l-2 2l2 2l-2 2l-2 -2l-2 2l-2 -2l2 -2l-2 -2z",
}
_ORDER = {"measured": 0, "samples": 1, "law": 2, "bound": 3, "floor": 4, "baseline": 5}
_FILE_ORDER = _ORDER | {"bound": _ORDER["law"]}  # laws and bounds in the order of the figure


@dataclasses.dataclass(frozen=True)
class Entry:
    """An entry of the page's legend, which switches its series on and off.

    `series` are the numbers of the series in the figure, `swatch` is a small drawing as SVG.
    """

    label: str
    series: tuple[int, ...]
    role: str
    swatch: str


def entries_of(figure: Figure | Heatmap) -> tuple[Entry, ...]:
    """The entries of a figure's legend on the page, the measured ones first.

    A single series without a name has no legend.

    >>> from separatrix.studies import Axis
    >>> measured, law = Series("CNN", (1,), (0.5,)), Series("k+d", (1,), (0.5,), role="law")
    >>> seeds = Series("CNN", (1, 1), (0.4, 0.6), role="samples")
    >>> figure = Figure("f", "F", Axis("m"), Axis("risk"), (measured, seeds, law))
    >>> [entry.label for entry in entries_of(figure)]
    ['CNN', 'CNN (single seeds)', 'k+d']
    """
    looks = looks_of(figure.series)
    categories = categories_of(figure)
    empty = {
        index
        for index, points in enumerate(points_in(figure, categories))
        if not points.shown.any()
    }
    grouped: dict[tuple[str, str], list[int]] = {}
    for index, series in enumerate(figure.series):
        grouped.setdefault((series.label, series.role), []).append(index)
    entries = []
    for (label, role), members in sorted(grouped.items(), key=lambda item: _ORDER[item[0][1]]):
        first = figure.series[members[0]]
        text = clip(label, 80) or "not named"
        if role != "measured" and (label, "measured") in grouped:
            text += f" ({'single seeds' if role == 'samples' else role})"
        if empty.issuperset(members):
            text += " – no points"
        drawing = swatch(first, looks[look_key(first)], joined=categories is None)
        entries.append(Entry(text, tuple(members), role, drawing))
    return () if len(entries) == 1 and not figure.series[0].label else tuple(entries)


def swatch(series: Series, look: Look, joined: bool = True) -> str:
    """A small drawing of a series' line and marker, as SVG.

    Measured points that are not `joined` have no line.

    >>> swatch(Series("CNN", (), (), role="law"), Look("#0072b2", "", (0, (5, 2))))
    '<svg class="swatch" viewBox="0 0 28 12" aria-hidden="true"><path d="M0 6h28" ...
    stroke-dasharray="8 3.2"/></svg>'
    """
    parts = []
    line = look.line != "none" and series.role != "samples"
    if line and (joined or series.role != "measured"):
        width = 1.2 if series.role == "baseline" else 2
        parts.append(
            f'<path d="M0 6h28" fill="none" stroke="{look.colour}" stroke-width="{width}"'
            f"{_dashes(look.line)}/>"
        )
    if look.marker in _SHAPES:
        inside = look.colour if look.fill == "full" else "none"
        opacity = ' opacity="0.6"' if series.role == "samples" else ""
        parts.append(
            f'<path d="{_SHAPES[look.marker]}" fill="{inside}" stroke="{look.colour}"{opacity}/>'
        )
        if look.fill in ("left", "bottom"):  # half filled
            box = "M10 2h4v8h-4z" if look.fill == "left" else "M10 6h8v4h-8z"
            parts.append(f'<path d="{box}" fill="{look.colour}"/>')
    return f'<svg class="swatch" viewBox="0 0 28 12" aria-hidden="true">{"".join(parts)}</svg>'


def _dashes(line: Any) -> str:
    if line == "-":
        return ""
    return f' stroke-dasharray="{" ".join(f"{1.6 * length:g}" for length in line[1])}"'


def legend_handles(
    series: tuple[Series, ...], looks: dict[tuple[str, str], Look], baselines: bool
) -> list[Line2D]:
    """The entries of the legend in a file: one per look, the measured ones first.

    Baselines have an entry if `baselines` says so: when there are too many to label at the edge.

    >>> baseline, look = Series("Bayes", (), (), role="baseline"), Look("#808080", "")
    >>> legend_handles((baseline,), {("Bayes", "baseline"): look}, baselines=False)
    []
    """
    handles: dict[tuple[str, str], Line2D] = {}
    measured = {one.label for one in series if one.role == "measured"}
    for one in sorted(series, key=lambda one: _FILE_ORDER[one.role]):
        if one.role != "baseline" or baselines:
            key = look_key(one)
            bound = one.role == "bound" and one.label in measured
            text = clip(one.label, 60) + (" (bound)" if bound else "")
            handles.setdefault(key, _handle(one, looks[key], text))
    entries = list(handles.values())
    if len(entries) > MOST_ENTRIES:
        more = len(entries) - MOST_ENTRIES + 1
        rest = Line2D([], [], linestyle="none", label=f"… and {more} more")
        entries = [*entries[: MOST_ENTRIES - 1], rest]
    return entries


def _handle(series: Series, look: Look, text: str) -> Line2D:
    return Line2D(
        [],
        [],
        color=look.colour,
        linestyle="none" if series.role == "samples" else look.line,
        linewidth=0.9 if series.role == "baseline" else 1.6,
        marker=look.marker or "none",
        markersize=MARKER,
        fillstyle=look.fill,  # pyright: ignore[reportArgumentType]
        label=text,
    )


def legend_columns(labels: list[str], width: float) -> int:
    """The fewest columns that need no more rows than the most columns that fit into `width` inches.

    >>> legend_columns(["CNN", "LCN", "FCN"], 5.4)
    3
    """

    # A letter is about 0.077 inches wide, a line and the space around it 0.6; matplotlib splits
    # entries as `array_split` does.
    def fits(columns: int) -> bool:
        letters = [max(len(label) for label in part) for part in np.array_split(labels, columns)]
        return columns == 1 or sum(0.077 * count + 0.6 for count in letters) <= width

    fitting = [columns for columns in range(1, min(len(labels), 6) + 1) if fits(columns)] or [1]
    return min(fitting, key=lambda columns: (-(-len(labels) // columns), columns))


def label_baselines(
    canvas: Canvas, axes: Axes, labels: dict[int, tuple[str, float]], ink: str
) -> None:
    """Name baselines at the right edge; `labels` holds text and height by the number of the series.

    >>> canvas = Canvas()
    >>> axes = canvas.add_subplot()
    >>> label_baselines(canvas, axes, {0: ("Bayes", 0.5), 1: ("linear", 0.5)}, "black")
    >>> [text.get_text() for text in axes.texts]
    ['Bayes', 'linear']
    """
    # Labels need space beside the axes, and their positions depend on the height of the axes: place
    # them, run the layout, place them again.
    first = _place_labels(axes, list(labels.values()), ink)
    engine = canvas.get_layout_engine()
    if engine is not None:
        engine.execute(canvas)
    for leader, text in first:
        leader.remove()
        text.remove()
    for index, (leader, text) in zip(labels, _place_labels(axes, list(labels.values()), ink)):
        leader.set_gid(f"{SERIES}-{index}-leader")
        text.set_gid(f"{SERIES}-{index}-label")


def _place_labels(axes: Axes, labels: list[tuple[str, float]], ink: str) -> list[tuple[Any, Any]]:
    """Each label with a line from its baseline, moved apart where labels would overlap."""
    texts = [
        "\n".join(textwrap.wrap(clip(label, 3 * LABEL_WIDTH), LABEL_WIDTH)[:3]) or " "
        for label, _ in labels
    ]
    heights = [
        float(axes.transAxes.inverted().transform(axes.transData.transform((1, level)))[1])
        for _, level in labels
    ]
    axes_height = axes.get_window_extent().height * 72.0 / axes.figure.dpi  # in points
    sizes = [(1.2 * (text.count("\n") + 1) + 0.45) * LABEL_SIZE / axes_height for text in texts]
    pairs = []
    for text, height, middle in zip(texts, heights, spread(heights, sizes, -0.05, 1.05)):
        # Not an arrow: it would end at the label's nearest corner and cross its letters.
        (leader,) = axes.plot(
            [1.0, 1.02, 1.05],
            [height, height, middle],
            color=GREY,
            linewidth=0.8,
            transform=axes.transAxes,
            clip_on=False,
        )
        label = axes.text(
            1.06,
            middle,
            text,
            transform=axes.transAxes,
            va="center",
            fontsize=LABEL_SIZE,
            color=ink,
            alpha=0.85,
            linespacing=1.1,
        )
        pairs.append((leader, label))
    return pairs


def spread(
    wanted: list[float], sizes: list[float], low: float = 0.0, high: float = 1.0
) -> list[float]:
    """Middles of labels of these sizes, without overlap, within bounds, and as near as possible to
    the wanted ones (least squares).

    >>> [round(middle, 2) for middle in spread([0.5, 0.5, 0.9], [0.1, 0.1, 0.1])]
    [0.45, 0.55, 0.9]
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    stacked, filled = [], 0.0  # the middle that each label would have if all were stacked from zero
    for index in order:
        stacked.append(filled + sizes[index] / 2)
        filled += sizes[index]
    top = max(low, high - filled)
    if not order:
        return []
    shifts = np.array([wanted[index] for index in order]) - stacked
    level = np.clip(isotonic_regression(shifts).x, low, top)
    middles = [0.0] * len(wanted)
    for rank, index in enumerate(order):
        middles[index] = float(level[rank]) + stacked[rank]
    return middles
