"""Drawing figures with matplotlib: as SVG text for the page, and as files for a paper."""

import dataclasses
import functools
import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from separatrix.errors import ParameterError
from separatrix.files import write_bytes
from separatrix.report.figure.axes import clip, limits, set_categories, set_scale, set_tick_values
from separatrix.report.figure.heatmap import draw_cells, set_ticks
from separatrix.report.figure.legend import (
    MOST_LABELS,
    label_baselines,
    legend_columns,
    legend_handles,
)
from separatrix.report.figure.series import (
    Points,
    categories_of,
    draw_baseline,
    draw_floor,
    draw_line,
    draw_measured,
    draw_samples,
    jitter,
    offsets_of,
    points_in,
)
from separatrix.report.figure.style import GREY, Look, look_key, looks_of
from separatrix.report.figure.svg import (
    BLACK,
    INK,
    SERIES,
    image_address,
    inlined,
    standalone,
)
from separatrix.studies import Figure, Heatmap, Picture, Series

FORMATS = (".pdf", ".svg", ".png")
WIDTH, HEIGHT = 5.4, 3.5  # inches; small, so that letters stay readable on a phone
PANEL_HEIGHT = 1.75  # inches, of each of several panels; there are two or three in a row
STRIP = 0.36  # height of a picture's strip in inches; taller pictures get more
STRIP_LABELS = 1.5  # inches for the labels of strips
_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "separatrix",  # else the names inside an SVG would differ each time
    "svg.fonttype": "none",  # letters stay letters: small, searchable, and in the reader's script
    "pdf.fonttype": 42,
    "text.parse_math": False,  # a label with a dollar sign is a label, not a formula
    "axes.unicode_minus": True,
    "font.size": 10.0,
    "axes.labelsize": 10.0,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "legend.fontsize": 9.0,
}


@dataclasses.dataclass(frozen=True)
class Drawing:
    """A drawn figure.

    `inline` is SVG for a page, without a legend; `alone` is the text of an SVG file. `places` has
    one array of (across, down) per series, or one for the cells of a map, in the units of the
    page's SVG.
    """

    inline: str
    alone: str
    places: tuple[np.ndarray, ...]


def draw(figure: Figure | Heatmap, prefix: str = "f-") -> str:
    """Draw a figure as SVG text for a page.

    The drawing is transparent; its letters and axes have the colour of the text around it.

    Args:
      figure: a `Figure`, `Heatmap` or `Picture`.
      prefix: the start of all names inside the SVG; use a different one for each figure of a page.

    Returns:
      The text of an `<svg>` element, without a legend.

    >>> from separatrix.studies import Axis, Series
    >>> series = Series("CNN", (1, 2), (0.2, 0.1))
    >>> svg = draw(Figure("risk", "Risk", Axis("samples"), Axis("risk"), (series,)))
    >>> svg[:4], "currentColor" in svg, "<script" in svg
    ('<svg', True, False)
    """
    return drawing_of(figure, prefix).inline


def drawing_of(figure: Figure | Heatmap, prefix: str = "f-") -> Drawing:
    """Draw a figure once, for the page and for a file.

    >>> from separatrix.studies import Axis, Series
    >>> series = Series("CNN", (1, 2), (0.2, 0.1))
    >>> drawing = drawing_of(Figure("risk", "Risk", Axis("samples"), Axis("risk"), (series,)))
    >>> drawing.places[0].shape, 'data-s="0"' in drawing.inline, drawing.alone[:5]
    ((2, 2), True, '<?xml')
    """
    with _matplotlib():
        canvas, points = canvas_of(figure, INK)
        svg = _rendered(canvas, "svg", transparent=True)
        places = tuple(
            _places(canvas, array, panel) for array, panel in zip(points, _panel_numbers(figure))
        )
        top = _legend_height(canvas)
    return Drawing(
        inlined(svg, figure.title, prefix, top, _raster_series(canvas)), standalone(svg), places
    )


def save(figure: Figure | Heatmap, path: str | os.PathLike[str]) -> Path:
    """Draw a figure into a file.

    Args:
      figure: a `Figure`, `Heatmap` or `Picture`.
      path: the file; its name ends in `.pdf`, `.svg` or `.png`.

    Returns:
      The path of the file.

    Raises:
      ParameterError: for another ending.
      SeparatrixError: where the file cannot be written.

    >>> import tempfile
    >>> from separatrix.studies import Axis
    >>> figure = Figure("risk", "Risk", Axis("samples"), Axis("risk"), ())
    >>> save(figure, Path(tempfile.mkdtemp()) / "risk.pdf").read_bytes()[:4]
    b'%PDF'
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ParameterError(
            "save", "path", f"a file name that ends in {', '.join(FORMATS)}", str(path)
        )
    if suffix == ".svg":
        data = drawing_of(figure).alone.encode()
    else:
        with _matplotlib():
            data = _rendered(canvas_of(figure, BLACK)[0], suffix[1:])
    write_bytes(path, data)
    return path


@dataclasses.dataclass(frozen=True)
class Shown:
    """A drawn figure that a notebook shows; `svg` is the text of an SVG file."""

    title: str
    svg: str

    def __repr__(self) -> str:
        return f"a figure: {self.title} (a notebook shows it; give a file name to save it)"

    def _repr_html_(self) -> str:
        return f'<img alt="{escape(self.title)}" src="{image_address(self.svg)}">'


def show_or_save(figure: Figure | Heatmap, path: str | os.PathLike[str] | None) -> Shown | Path:
    """A figure for a notebook; with a path, the file that it was saved to.

    >>> from separatrix.studies import Axis
    >>> show_or_save(Figure("risk", "Risk", Axis("samples"), Axis("risk"), ()), None)
    a figure: Risk (a notebook shows it; give a file name to save it)
    """
    return save(figure, path) if path is not None else Shown(figure.title, drawing_of(figure).alone)


def canvas_of(figure: Figure | Heatmap, ink: str) -> tuple[Canvas, list[np.ndarray]]:
    """The drawn figure, and the points of each series (or of a map's cells) in axis numbers.

    >>> from separatrix.studies import Axis
    >>> series = Series("CNN", (1, 2), (0.2, 0.1))
    >>> figure = Figure("risk", "Risk", Axis("m"), Axis("risk"), (series,))
    >>> canvas, points = canvas_of(figure, "black")
    >>> points[0].tolist()
    [[1.0, 0.2], [2.0, 0.1]]
    """
    if isinstance(figure, Picture):
        return _picture_canvas(figure, ink), []
    if isinstance(figure, Heatmap):
        return _heatmap_canvas(figure, ink)
    return _series_canvas(figure, ink)


def _picture_canvas(figure: Picture, ink: str) -> Canvas:
    """Strips of pixels below each other, with their labels on the left.

    A pixel has the same size in all strips that fit into the width.
    """
    strips = [np.array(strip, np.uint8) for strip in figure.strips]
    room = WIDTH - STRIP_LABELS
    # Strips of patches fill the width; a picture that is not a strip is at most three strips high.
    heights = [
        max(STRIP, min(3 * STRIP, room * strip.shape[0] / max(1, strip.shape[1])))
        for strip in strips
    ]
    total = sum(heights) + 0.08 * (len(heights) + 1)
    canvas = Canvas(figsize=(WIDTH, max(total, STRIP)), dpi=100, facecolor="white")
    top = total
    for label, strip, height in zip(figure.labels, strips, heights):
        top -= height + 0.08
        axes = canvas.add_axes((STRIP_LABELS / WIDTH, top / total, room / WIDTH, height / total))
        axes.imshow(strip, interpolation="none", aspect="equal")
        axes.set_anchor("W")
        axes.set_axis_off()
        canvas.text(
            (STRIP_LABELS - 0.08) / WIDTH,
            (top + height / 2) / total,
            clip(label, 26),
            ha="right",
            va="center",
            fontsize=8.5,
            color=ink,
        )
    return canvas


def _heatmap_canvas(figure: Heatmap, ink: str) -> tuple[Canvas, list[np.ndarray]]:
    height = 1.2 + 0.5 * max(3, len(figure.rows))
    canvas, (axes,) = _canvas_with_panels(figure, height, ink, ("",), 1)
    draw_cells(axes, figure, ink)
    set_ticks(axes, figure, ink)
    rows, columns = range(len(figure.rows)), range(len(figure.columns))
    return canvas, [np.array([(column, row) for row in rows for column in columns], float)]


def _series_canvas(figure: Figure, ink: str) -> tuple[Canvas, list[np.ndarray]]:
    categories = categories_of(figure)
    looks = looks_of(figure.series)
    arrays = points_in(figure, categories)
    panels = figure.panels
    across = min(len(panels), 2 if len(panels) in (2, 4) else 3)
    down = -(-len(panels) // across)
    baselines = sum(series.role == "baseline" for series in figure.series)
    beside = 0 < baselines <= MOST_LABELS and len(panels) == 1  # baselines named at the edge
    # The word stands beside a floor's line; categories have no lines.
    listed = tuple(s for s in figure.series if s.role != "floor" or categories is not None)
    handles = legend_handles(listed, looks, not beside)
    columns = legend_columns([str(handle.get_label()) for handle in handles], WIDTH)
    rows = -(-len(handles) // columns)
    height = HEIGHT if len(panels) == 1 else 0.9 + PANEL_HEIGHT * down
    canvas, grid = _canvas_with_panels(figure, height + 0.2 * max(0, rows - 1), ink, panels, across)

    bottom, top = limits(_joined([_heights(points) for points in arrays]), figure.y.log)
    axes_width = (WIDTH - 1.0 - (1.3 if beside else 0.0)) / across
    room = 0.0
    drawn: list[np.ndarray] = [np.empty((0, 2))] * len(arrays)
    labels: dict[int, tuple[str, float]] = {}
    for panel, axes in zip(panels, grid):
        members = [i for i, series in enumerate(figure.series) if series.panel == panel]
        set_scale(axes, "y", figure.y.log, (bottom, top))
        if categories is not None:
            room = set_categories(axes, list(categories), axes_width, ink)
        else:
            on_axis = members if figure.x.per_panel else range(len(arrays))
            across_of = {i: arrays[i].x[arrays[i].shown] for i in on_axis}
            shown = _joined(list(across_of.values()))
            set_scale(axes, "x", figure.x.log, limits(shown, figure.x.log))
            if figure.x.log:
                measured = [x for i, x in across_of.items() if figure.series[i].role == "measured"]
                set_tick_values(axes, _joined(measured), axes_width)
        _draw_series(axes, figure.series, arrays, looks, bottom, categories, members, drawn, labels)
        if not any(arrays[i].shown.any() for i in members):
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
    canvas.set_figheight(canvas.get_figheight() + down * max(0.0, room - 0.3))
    if handles and (len(handles) > 1 or figure.series[0].label):
        canvas.legend(
            handles=handles,
            loc="outside upper left",
            ncols=columns,
            frameon=False,
            labelcolor=ink,
            handlelength=2.4,
            columnspacing=1.4,
            borderaxespad=0.2,
            borderpad=0.1,
        )
    if labels and beside:
        label_baselines(canvas, grid[0], labels, ink)
    return canvas, drawn


def _draw_series(
    axes: Axes,
    series: tuple[Series, ...],
    arrays: list[Points],
    looks: dict[tuple[str, str], Look],
    floor: float,
    categories: dict[str, int] | None,
    members: list[int],
    drawn: list[np.ndarray],
    labels: dict[int, tuple[str, float]],
) -> None:
    """Draw the series of one panel, whose numbers are `members`.

    Writes into `drawn` where their points are, and into `labels` the labels of baselines with their
    heights, both by the number of the series.
    """
    own, own_arrays = [series[i] for i in members], [arrays[i] for i in members]
    offsets = {} if categories is None else offsets_of(own, own_arrays)
    spread = 0.0 if categories is None else 0.12
    measured = list(dict.fromkeys(one.label for one in series if one.role == "measured"))
    # Bands of laws and bands of measured points would hide each other.
    bars = any(one.low and one.role in ("law", "bound") for one in series)
    for index, one, points in zip(members, own, own_arrays):
        before = set(axes.get_children())
        look = looks[look_key(one)]
        offset = offsets.get((one.label, one.role), 0.0)
        points = dataclasses.replace(points, x=points.x + offset)
        x = points.x
        if one.role == "measured":
            order, joined = (measured.index(one.label), len(measured)), categories is None
            draw_measured(axes, points, look, floor, joined, order, bars)
        elif one.role == "samples":
            draw_samples(axes, points, look, spread)
            x = x + jitter(len(x), spread)
        elif one.role == "baseline":
            level = draw_baseline(axes, points, look)
            if level is not None:
                labels[index] = (one.label, level)
        elif one.role == "floor" and categories is None:
            draw_floor(axes, points, look)
        else:
            draw_line(axes, points, look, categories=categories is not None)
        drawn[index] = np.stack([x, points.y], axis=1)
        added = [artist for artist in axes.get_children() if artist not in before]
        for number, artist in enumerate(added):
            artist.set_gid(f"{SERIES}-{index}-{number}")


def _heights(points: Points) -> np.ndarray:
    """The values and interval ends of the points that are shown."""
    return np.concatenate([points.y, points.low, points.high])[np.tile(points.shown, 3)]


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(arrays or [np.empty(0)])


def _canvas_with_panels(
    figure: Figure | Heatmap, height: float, ink: str, panels: tuple[str, ...], across: int
) -> tuple[Canvas, list[Axes]]:
    """A canvas with one pair of axes per panel; they are alike, so inner ones have no labels."""
    canvas = Canvas(figsize=(WIDTH, height), dpi=100, layout="constrained", facecolor="white")
    down = -(-len(panels) // across)
    grid = [canvas.add_subplot(down, across, number + 1) for number in range(len(panels))]
    for number, (panel, axes) in enumerate(zip(panels, grid)):
        axes.set_facecolor("none")
        axes.tick_params(which="both", colors=ink, labelcolor=ink)
        for side, spine in axes.spines.items():
            spine.set_visible(side in ("left", "bottom"))
            spine.set_color(ink)
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_offset_text().set_color(ink)
        axes.grid(True, color=GREY, alpha=0.25, linewidth=0.6)
        axes.set_axisbelow(True)
        if panel:
            axes.set_title(clip(panel, 70 // across), color=ink, fontsize=10.0)
        if number + across >= len(panels):
            axes.set_xlabel(clip(figure.x.label, 70 // across), color=ink)
        else:
            axes.tick_params(which="both", labelbottom=False)
        if number % across == 0:
            axes.set_ylabel(clip(figure.y.label, 44 // down), color=ink)
        else:
            axes.tick_params(which="both", labelleft=False)
    return canvas, grid


@contextmanager
def _matplotlib() -> Iterator[None]:
    """The same settings everywhere, whatever a user's matplotlibrc says."""
    with matplotlib.rc_context(_settings()), warnings.catch_warnings():
        # The page's reader may have letters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


@functools.cache
def _settings() -> dict[Any, Any]:
    """matplotlib's own settings with ours; the backend is the user's to choose."""
    own = {key: value for key, value in matplotlib.rcParamsDefault.items() if key != "backend"}
    return own | _SETTINGS


def _rendered(canvas: Canvas, kind: str, transparent: bool = False) -> bytes:
    # Neither dates nor versions: the same figure gives the same bytes.
    without: dict[str, dict[str, Any]] = {
        "svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
        "pdf": dict.fromkeys(("CreationDate", "Creator", "Producer")),
        "png": {"Software": None},
    }
    # With a layout engine, savefig would draw twice, the first time for the layout alone.
    engine = canvas.get_layout_engine()
    if engine is not None:
        engine.execute(canvas)
        canvas.set_layout_engine("none")
    out = io.BytesIO()
    canvas.savefig(out, format=kind, metadata=without[kind], dpi=200, transparent=transparent)
    return out.getvalue()


def _panel_numbers(figure: Figure | Heatmap) -> list[int]:
    """The number of the panel of each series; a map has one panel."""
    if not isinstance(figure, Figure):
        return [0]
    return [figure.panels.index(series.panel) for series in figure.series]


def _places(canvas: Canvas, points: np.ndarray, panel: int) -> np.ndarray:
    """Where points are in the SVG: (from the left, from the top) in 1/72 inch; NaN if not drawn."""
    with np.errstate(invalid="ignore"):
        shares = canvas.transFigure.inverted().transform(
            canvas.axes[panel].transData.transform(points.reshape(-1, 2))
        )
    size = 72.0 * canvas.get_size_inches()
    return np.stack([shares[:, 0] * size[0], (1.0 - shares[:, 1]) * size[1]], axis=1)


def _legend_height(canvas: Canvas) -> float:
    """The height of the legend at the top, in points."""
    if not canvas.legends:
        return 0.0
    bottom = canvas.transFigure.inverted().transform(canvas.legends[0].get_window_extent())[0, 1]
    return max(0.0, (1.0 - bottom) * 72.0 * canvas.get_figheight())


def _raster_series(canvas: Canvas) -> list[str]:
    """The numbers of the series that became pictures, in the order in which they are drawn."""
    lines = [line for axes in canvas.axes for line in axes.lines if line.get_rasterized()]
    return [
        str(line.get_gid()).split("-")[1]
        for line in sorted(lines, key=lambda line: line.get_zorder())
    ]
