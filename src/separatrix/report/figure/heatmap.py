"""The cells of a map: coloured by value, with their numbers, hatched where a value is a bound."""

import math

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from separatrix.report.figure.axes import clip
from separatrix.studies import Heatmap

COLOURS = "cividis"  # the same to readers with and without colour blindness, and in grey
UNKNOWN = "#b0b0b0"  # a cell without a value
_DARK_TEXT, _LIGHT_TEXT = "#000000", "#ffffff"
_MOST_TICKS = 40  # on an axis


def shares_of(figure: Heatmap) -> np.ndarray:
    """Each value's position between the ends of the map's colours, 0 to 1, on the scale of the map.

    Without ends of its own, a map begins at its smallest value and ends at its largest one. A cell
    without a value has NaN.

    >>> from separatrix.studies import Axis
    >>> axis, values = Axis("m*", log=True), ((1.0, 10.0, 100.0),)
    >>> texts, hatched = (("",) * 3,), ((False,) * 3,)
    >>> figure = Heatmap("m", "M", axis, axis, axis, (1, 2, 3), (1,), values, texts, hatched)
    >>> shares_of(figure).tolist()
    [[0.0, 0.5, 1.0]]
    >>> from dataclasses import replace
    >>> shares_of(replace(figure, ends=(1.0, 10_000.0))).tolist()
    [[0.0, 0.25, 0.5]]
    """
    shape = len(figure.rows), len(figure.columns)
    raw = np.array(
        [math.nan if value is None else float(value) for row in figure.values for value in row],
        float,
    ).reshape(shape)
    if figure.z.log:
        raw = np.log(np.where(raw > 0, raw, math.nan))
    if not np.isfinite(raw).any():
        return raw
    low, high = (np.nanmin(raw), np.nanmax(raw)) if figure.ends is None else figure.ends
    if figure.ends is not None and figure.z.log:
        low, high = math.log(low), math.log(high)
    if high > low:
        return np.clip((raw - low) / (high - low), 0.0, 1.0)
    return np.where(np.isfinite(raw), 0.5, math.nan)


def draw_cells(axes: Axes, figure: Heatmap, ink: str) -> None:
    """Draw every cell with its text; dark text on light cells and light text on dark ones.

    >>> from matplotlib.figure import Figure
    >>> from separatrix.studies import Axis
    >>> axes, axis = Figure().add_subplot(), Axis("m*")
    >>> cells = ((1.0, None),), (("1", "?"),), ((False, True),)
    >>> draw_cells(axes, Heatmap("m", "M", axis, axis, axis, (1, 2), (1,), *cells), "black")
    >>> len(axes.patches), [text.get_text() for text in axes.texts]
    (2, ['1', '?'])
    """
    colours = matplotlib.colormaps[COLOURS]
    size = min(9.0, 42.0 / max(1, len(figure.columns)))
    for row, shares in enumerate(shares_of(figure)):
        for column, share in enumerate(shares):
            face = colours(1.0 - share) if math.isfinite(share) else UNKNOWN  # larger is darker
            dark = math.isfinite(share) and share > 0.5
            letters = _LIGHT_TEXT if dark else _DARK_TEXT
            hatch = "///" if figure.hatched[row][column] else None
            box = Rectangle(
                (column - 0.5, row - 0.5),
                1,
                1,
                facecolor=face,
                hatch=hatch,
                edgecolor="#7f7f7f",
                linewidth=0.6,
            )
            axes.add_patch(box)
            text = clip(figure.texts[row][column], 60).replace(" [", "\n[")
            behind = {"facecolor": face, "edgecolor": "none", "pad": 0.6} if hatch else None
            axes.text(
                column,
                row,
                text,
                ha="center",
                va="center",
                color=letters,
                fontsize=size,
                linespacing=1.1,
                bbox=behind,
            )
    if not figure.rows or not figure.columns:
        axes.text(
            0.5,
            0.5,
            "no cells to show",
            transform=axes.transAxes,
            ha="center",
            va="center",
            color=ink,
            alpha=0.7,
        )


def set_ticks(axes: Axes, figure: Heatmap, ink: str) -> None:
    """Name the rows and columns, without grid lines.

    >>> from matplotlib.figure import Figure
    >>> from separatrix.studies import Axis
    >>> axes, axis = Figure().add_subplot(), Axis("m*")
    >>> cells = ((1.0, 2.0),), (("", ""),), ((False, False),)
    >>> set_ticks(axes, Heatmap("m", "M", axis, axis, axis, (1, 2), ("all",), *cells), "black")
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['all']
    """
    axes.grid(False)
    axes.set_xlim(-0.5, max(1, len(figure.columns)) - 0.5)
    axes.set_ylim(-0.5, max(1, len(figure.rows)) - 0.5)
    axes.tick_params(length=0)
    for names, set_labels in ((figure.columns, axes.set_xticks), (figure.rows, axes.set_yticks)):
        step = math.ceil(len(names) / _MOST_TICKS) or 1
        labels = [clip(str(name), 16) for name in names[::step]]
        set_labels(range(0, len(names), step), labels, color=ink)
