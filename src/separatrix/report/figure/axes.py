"""Axes: limits that include all points, and ticks that can be read, whatever the data."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    ScalarFormatter,
)

from separatrix.report.numbers import tick

MARGIN = 0.04  # of an axis' length, on both sides
TINY = 1e-300  # a margin below the smallest floating-point numbers would underflow
LETTER = 0.083  # width of a letter on an axis, in inches


def limits(values: np.ndarray, log: bool) -> tuple[float, float]:
    """The ends of an axis that shows all values with a margin.

    There may be no values, and all values may be equal.

    >>> limits(np.array([1.0, 3.0]), False), limits(np.array([5.0]), False)
    ((0.92, 3.08), (4.5, 5.5))
    >>> limits(np.array([]), True)
    (0.1, 1.0)
    """
    values = values[np.isfinite(values)]
    if log:
        values = values[values > 0]
        if not len(values):
            return 0.1, 1.0
        low, high = (math.log10(max(float(end), TINY)) for end in (values.min(), values.max()))
        margin = max(MARGIN * (high - low), 0.01) if high - low > 0.02 else 0.15
        return min(10 ** (low - margin), float(values.min())), 10 ** (high + margin)
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # equal but for rounding
        margin = 0.1 * abs(high) or 0.5
    else:
        margin = MARGIN * (high - low)
    return low - margin, high + margin


def set_scale(axes: Axes, which: str, log: bool, ends: tuple[float, float]) -> None:
    """Set the scale, limits and ticks of one axis ("x" or "y").

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> set_scale(axes, "y", True, (0.01, 1.0))
    >>> axes.get_yscale()
    'log'
    """
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log" if log else "linear")
    (axes.set_xlim if which == "x" else axes.set_ylim)(*ends)
    axis.set_minor_formatter(NullFormatter())
    if not log:
        formatter = ScalarFormatter(useMathText=False)
        formatter.set_powerlimits((-4, 6))
        axis.set_major_formatter(formatter)
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        axis.set_minor_locator(NullLocator())
        return
    decades = math.log10(ends[1] / ends[0])
    powers = ends[0] < 4e-5 or ends[1] > 2e5
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick(value, powers)))
    axis.set_minor_locator(NullLocator())
    # Ticks at powers of ten only would leave an axis from 20 to 900 with a single tick.
    inside = math.floor(math.log10(ends[1])) - math.ceil(math.log10(ends[0])) + 1
    if decades >= 1.5 and inside >= 3:
        axis.set_major_locator(LogLocator(10, numticks=7))
        if decades <= 6:
            axis.set_minor_locator(LogLocator(10, subs=list(range(2, 10)), numticks=100))
    elif decades >= 0.6:
        axis.set_major_locator(LogLocator(10, subs=[1, 2, 5], numticks=10))
    else:
        axis.set_major_locator(MaxNLocator(5))


def set_tick_values(axes: Axes, values: np.ndarray, width: float) -> None:
    """Put the ticks of a logarithmic x axis at the measured values, if they are few and their
    labels fit into `width` inches.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> set_scale(axes, "x", True, (5.0, 14.0))
    >>> set_tick_values(axes, np.array([6.0, 8.0, 12.0]), 4.0)
    >>> axes.get_xticks().tolist()
    [6.0, 8.0, 12.0]
    """
    low, high = (math.log10(end) for end in axes.get_xlim())
    ticks = np.unique(values[np.isfinite(values) & (values > 0)])
    if not 2 <= len(ticks) <= 10 or high - low <= 0 or ticks[0] < 4e-5 or ticks[-1] > 2e5:
        return
    sizes = np.array([(len(tick(value)) + 1.5) * LETTER for value in ticks.tolist()])  # inches
    gaps = np.diff(np.log10(ticks)) / (high - low) * width
    if (gaps >= (sizes[1:] + sizes[:-1]) / 2).all():
        axes.xaxis.set_major_locator(FixedLocator(ticks.tolist()))
        axes.xaxis.set_minor_locator(NullLocator())


def set_categories(axes: Axes, names: Sequence[str], width: float, ink: Any) -> float:
    """Put the names of categories on the x axis, slanted where they would overlap.

    Returns the height that they need, in inches.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> set_categories(axes, ["CNN", "FCN"], 4.0, "black")
    0.15
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['CNN', 'FCN']
    """
    step = math.ceil(len(names) / 40)  # more names cannot be read
    shown = [clip(name, 28) for name in names[::step]]
    share = width / max(1, len(shown))  # inches
    wrapped = [
        "\n".join(textwrap.wrap(name, max(6, int(share / LETTER)), break_long_words=False)) or " "
        for name in shown
    ]
    lines = max((name.count("\n") for name in wrapped), default=0) + 1
    slanted = (
        max((len(line) for name in wrapped for line in name.split("\n")), default=0) * LETTER
        > share
        or lines > 3
    )
    axes.set_xlim(-0.6, max(0, len(names) - 1) + 0.6)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(range(0, len(names), step), shown if slanted else wrapped, color=ink)
    if not slanted:
        return 0.15 * lines
    steep, small = share <= 0.28, share <= 0.18
    for label in axes.get_xticklabels():
        label.set(
            rotation=90 if steep else 35,
            rotation_mode="anchor",
            ha="right",
            va="center" if steep else "top",
            fontsize=6.5 if small else 8.5,
        )
    longest = max(len(name) for name in shown)
    return longest * LETTER * (0.7 if small else 0.9) * (1.0 if steep else 0.6)


def clip(text: str, size: int) -> str:
    """Text on one line, cut to a length.

    >>> clip("a  long" + chr(10) + "label", 8)
    'a long …'
    """
    text = " ".join(text.split())
    return text if len(text) <= size else text[: size - 1] + "…"
