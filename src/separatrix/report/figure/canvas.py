"""Figures on matplotlib's canvas: series with their looks, axes that hold everything, labels that
do not overlap.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from separatrix.report.figure.axes import clip, limits, set_categories, set_places, set_scale
from separatrix.report.figure.heatmap import draw_cells, set_ticks
from separatrix.report.figure.marks import (
    MOST_LABELS,
    asides,
    draw_baseline,
    draw_line,
    draw_measured,
    draw_samples,
    label_baselines,
    legend_entries,
)
from separatrix.report.figure.picture import picture_canvas
from separatrix.report.figure.series import Points, offsets_of, places_of, points_of
from separatrix.report.figure.style import GREY, looks_of
from separatrix.report.figure.style import look_key as key_of
from separatrix.report.figure.svg import SERIES
from separatrix.studies import Figure, Heatmap, Picture, Series

WIDTH, HEIGHT = (
    5.4,
    3.5,
)  # inches; small, so that letters stay readable when a phone shrinks the picture
MOST_ENTRIES = 30


def canvas_of(figure: Figure | Heatmap, ink: str) -> tuple[Canvas, list[np.ndarray]]:
    """The figure, drawn, and the points of each series (or of a map's cells) in the numbers of its
    axes.

    >>> from separatrix.studies import Axis
    >>> canvas, points = canvas_of(Figure("risk", "Risk", Axis("m"), Axis("risk"), (Series("CNN", (1, 2), (0.2, 0.1)),)), "black")
    >>> points[0].tolist()
    [[1.0, 0.2], [2.0, 0.1]]
    """
    if isinstance(figure, Picture):
        return picture_canvas(figure, WIDTH, ink), []
    if isinstance(figure, Heatmap):
        canvas = Canvas(
            figsize=(WIDTH, 1.2 + 0.5 * max(3, len(figure.rows))),
            dpi=100,
            layout="constrained",
            facecolor="white",
        )
        axes = canvas.add_subplot()
        _dress(axes, figure, ink)
        draw_cells(axes, figure, ink)
        set_ticks(axes, figure, ink)
        return canvas, [
            np.array(
                [
                    (column, row)
                    for row in range(len(figure.rows))
                    for column in range(len(figure.columns))
                ],
                float,
            )
        ]
    places = places_of(figure)
    looks = looks_of(figure.series)
    arrays = [
        points_of(each, places, figure.x.log and places is None, figure.y.log)
        for each in figure.series
    ]
    baselines = sum(each.role == "baseline" for each in figure.series)
    entries = legend_entries(figure.series, looks, baselines > MOST_LABELS)
    if len(entries) > MOST_ENTRIES:
        rest = len(entries) - MOST_ENTRIES + 1
        entries = [
            *entries[: MOST_ENTRIES - 1],
            Line2D([], [], linestyle="none", label=f"… and {rest} more"),
        ]
    columns = _columns([str(entry.get_label()) for entry in entries])
    rows = -(-len(entries) // columns)
    canvas = Canvas(
        figsize=(WIDTH, HEIGHT + 0.2 * max(0, rows - 1)),
        dpi=100,
        layout="constrained",
        facecolor="white",
    )
    axes = canvas.add_subplot()
    _dress(axes, figure, ink)

    heights = np.concatenate(
        [np.concatenate([each.y, each.low, each.high])[np.tile(each.shown, 3)] for each in arrays]
        or [[]]
    )
    bottom, top = limits(heights, figure.y.log)
    set_scale(axes, "y", figure.y.log, (bottom, top))
    if places is None:
        set_scale(
            axes,
            "x",
            figure.x.log,
            limits(np.concatenate([each.x[each.shown] for each in arrays] or [[]]), figure.x.log),
        )
        if figure.x.log:
            drawn_at = [
                points.x[points.shown]
                for each, points in zip(figure.series, arrays)
                if each.role == "measured"
            ]
            set_places(
                axes, np.concatenate(drawn_at or [[]]), WIDTH - 1.0 - (1.3 if baselines else 0.0)
            )
    else:
        room = set_categories(axes, list(places), WIDTH - 1.0 - (1.3 if baselines else 0.0), ink)
        canvas.set_figheight(canvas.get_figheight() + max(0.0, room - 0.3))
    drawn, labels = _draw_series(axes, figure.series, arrays, looks, bottom, places)

    if not any(each.shown.any() for each in arrays):
        axes.text(
            0.5,
            0.5,
            "no points to show",
            transform=axes.transAxes,
            ha="center",
            va="center",
            color=ink,
            alpha=0.7,
        )
    if entries and (len(entries) > 1 or figure.series[0].label):
        canvas.legend(
            handles=entries,
            loc="outside upper left",
            ncols=columns,
            frameon=False,
            labelcolor=ink,
            handlelength=2.4,
            columnspacing=1.4,
            borderaxespad=0.2,
            borderpad=0.1,
        )
    if labels and baselines <= MOST_LABELS:
        # Labels take room beside the axes, and their places depend on the axes' height: place them,
        # lay out, place them again.
        label_baselines(axes, list(labels.values()), ink)
        engine = canvas.get_layout_engine()
        if engine is not None:
            engine.execute(canvas)
        for artist in [
            *axes.texts,
            *(line for line in axes.lines if line.get_transform() == axes.transAxes),
        ]:
            artist.remove()
        label_baselines(axes, list(labels.values()), ink)
        leaders = [line for line in axes.lines if line.get_transform() == axes.transAxes]
        for index, leader, text in zip(labels, leaders, axes.texts):
            leader.set_gid(f"{SERIES}-{index}-leader")
            text.set_gid(f"{SERIES}-{index}-label")
    return canvas, drawn


def _draw_series(
    axes: Axes,
    series: tuple[Series, ...],
    arrays: list[Points],
    looks: dict[Any, Any],
    floor: float,
    places: dict[str, int] | None,
) -> tuple[list[np.ndarray], dict[int, tuple[str, float]]]:
    """Draw all series; where their points lie, and the labels of baselines with their heights, by
    the number of their series.
    """
    labels: dict[int, tuple[str, float]] = {}
    drawn: list[np.ndarray] = []
    offsets = offsets_of(series, arrays) if places is not None else {}
    spread_x = 0.0 if places is None else 0.12
    measured = [each.role for each in series].count("measured")
    count = 0
    for index, (each, points) in enumerate(zip(series, arrays)):
        before = set(axes.get_children())
        look = looks[key_of(each)]
        shift = offsets.get((each.label, each.role), 0.0)
        points = Points(points.x + shift, points.y, points.low, points.high, points.hidden)
        aside = 0.0
        if each.role == "measured":
            draw_measured(axes, points, look, floor, joined=places is None, order=(count, measured))
            count += 1
        elif each.role == "samples":
            draw_samples(axes, points, look, spread_x)
            aside = asides(len(points.x), spread_x)
        elif each.role == "baseline":
            level = draw_baseline(axes, points, look)
            if level is not None:
                labels[index] = (each.label, level)
        else:
            draw_line(axes, points, look, categories=places is not None)
        drawn.append(np.stack([points.x + aside, points.y], axis=1))
        for number, artist in enumerate(each for each in axes.get_children() if each not in before):
            artist.set_gid(f"{SERIES}-{index}-{number}")
    return drawn, labels


def _columns(labels: list[str]) -> int:
    """The fewest legend columns that need no more rows than the most that fit.

    A letter is about 0.077 inches wide, a line and the room around it 0.6; matplotlib splits
    entries as `array_split` does.
    """

    def fits(columns: int) -> bool:
        widths = [max(len(label) for label in part) for part in np.array_split(labels, columns)]
        return columns == 1 or sum(0.077 * width + 0.6 for width in widths) <= WIDTH

    fitting = [columns for columns in range(1, min(len(labels), 6) + 1) if fits(columns)] or [1]
    return min(fitting, key=lambda columns: (-(-len(labels) // columns), columns))


def _dress(axes: Axes, figure: Figure | Heatmap, ink: str) -> None:
    axes.set_facecolor("none")
    axes.set_xlabel(clip(figure.x.label, 70), color=ink)
    axes.set_ylabel(clip(figure.y.label, 44), color=ink)
    axes.tick_params(which="both", colors=ink, labelcolor=ink)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(ink)
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_offset_text().set_color(ink)
    axes.grid(True, color=GREY, alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
