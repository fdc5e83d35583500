"""Drawing figures with matplotlib: as SVG text for the page, and as files for a paper."""

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from separatrix.engine.ledger import write_whole
from separatrix.errors import ParameterError
from separatrix.report.heatmap import draw_cells, set_ticks
from separatrix.report.looks import GREY, looks_of
from separatrix.report.looks import look_key as key_of
from separatrix.report.marks import (
    MOST_LABELS,
    draw_baseline,
    draw_line,
    draw_measured,
    draw_samples,
    label_baselines,
    legend_entries,
)
from separatrix.report.picture import picture_canvas
from separatrix.report.points import Points, offsets_of, places_of, points_of
from separatrix.report.scales import clip, limits, set_categories, set_scale
from separatrix.report.svg import BLACK, INK, inlined, standalone
from separatrix.studies import Figure, Heatmap, Picture, Series

WIDTH, HEIGHT = 5.4, 3.5  # inches; small, so that letters stay readable when a phone shrinks the picture
FORMATS = (".pdf", ".svg", ".png")
MOST_ENTRIES = 30
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


def draw(figure: Figure | Heatmap, prefix: str = "f-") -> str:
    """A figure as SVG text to stand inside a page: transparent, its letters and axes in the text's colour.

    The names inside the SVG start with `prefix`, so that several figures can stand on one page.

    >>> from separatrix.studies import Axis
    >>> svg = draw(Figure("risk", "Risk", Axis("samples"), Axis("risk"), (Series("CNN", (1, 2), (0.2, 0.1)),)))
    >>> svg[:4], "currentColor" in svg, "<script" in svg
    ('<svg', True, False)
    """
    return draw_twice(figure, prefix)[0]


def draw_twice(figure: Figure | Heatmap, prefix: str = "f-") -> tuple[str, str]:
    """The same drawing as SVG text for a page and for a file of its own.

    >>> from separatrix.studies import Axis
    >>> [svg[:5] for svg in draw_twice(Figure("risk", "Risk", Axis("samples"), Axis("risk"), ()))]
    ['<svg ', '<?xml']
    """
    with _matplotlib():
        svg = _rendered(_canvas(figure, INK), "svg", transparent=True)
    return inlined(svg, figure.title, prefix), standalone(svg)


def save(figure: Figure | Heatmap, path: str | os.PathLike[str]) -> Path:
    """Draw a figure into a PDF, SVG or PNG file, as its name says.

    >>> import tempfile
    >>> from separatrix.studies import Axis
    >>> file = save(Figure("risk", "Risk", Axis("samples"), Axis("risk"), ()), Path(tempfile.mkdtemp()) / "risk.pdf")
    >>> file.read_bytes()[:4]
    b'%PDF'
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ParameterError("save", "path", f"a file name that ends in {', '.join(FORMATS)}", str(path))
    if suffix == ".svg":
        data = draw_twice(figure)[1].encode()
    else:
        with _matplotlib():
            data = _rendered(_canvas(figure, BLACK), suffix[1:])
    write_whole(path, lambda target: target.write_bytes(data) and None)
    return path


@contextmanager
def _matplotlib() -> Iterator[None]:
    """The same settings everywhere, whatever a user's matplotlibrc says."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        # The page's reader may have letters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _rendered(canvas: Canvas, kind: str, transparent: bool = False) -> bytes:
    # Neither dates nor versions: the same figure gives the same bytes.
    without: dict[str, dict[str, Any]] = {
        "svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
        "pdf": dict.fromkeys(("CreationDate", "Creator", "Producer")),
        "png": {"Software": None},
    }
    out = io.BytesIO()
    canvas.savefig(out, format=kind, metadata=without[kind], dpi=200, transparent=transparent)
    return out.getvalue()


def _canvas(figure: Figure | Heatmap, ink: str) -> Canvas:
    if isinstance(figure, Picture):
        return picture_canvas(figure, WIDTH, ink)
    if isinstance(figure, Heatmap):
        canvas = Canvas(figsize=(WIDTH, 1.2 + 0.5 * max(3, len(figure.rows))), dpi=100, layout="constrained", facecolor="white")
        axes = canvas.add_subplot()
        _dress(axes, figure, ink)
        draw_cells(axes, figure, ink)
        set_ticks(axes, figure, ink)
        return canvas
    places = places_of(figure)
    looks = looks_of(figure.series)
    arrays = [points_of(each, places, figure.x.log and places is None, figure.y.log) for each in figure.series]
    baselines = sum(each.role == "baseline" for each in figure.series)
    entries = legend_entries(figure.series, looks, baselines > MOST_LABELS)
    if len(entries) > MOST_ENTRIES:
        rest = len(entries) - MOST_ENTRIES + 1
        entries = [*entries[: MOST_ENTRIES - 1], Line2D([], [], linestyle="none", label=f"… and {rest} more")]
    columns = _columns([str(entry.get_label()) for entry in entries])
    rows = -(-len(entries) // columns)
    canvas = Canvas(figsize=(WIDTH, HEIGHT + 0.2 * max(0, rows - 1)), dpi=100, layout="constrained", facecolor="white")
    axes = canvas.add_subplot()
    _dress(axes, figure, ink)

    heights = np.concatenate([np.concatenate([each.y, each.low, each.high])[np.tile(each.shown, 3)] for each in arrays] or [[]])
    bottom, top = limits(heights, figure.y.log)
    set_scale(axes, "y", figure.y.log, (bottom, top))
    if places is None:
        set_scale(axes, "x", figure.x.log, limits(np.concatenate([each.x[each.shown] for each in arrays] or [[]]), figure.x.log))
    else:
        room = set_categories(axes, list(places), WIDTH - 1.0 - (1.3 if baselines else 0.0), ink)
        canvas.set_figheight(canvas.get_figheight() + max(0.0, room - 0.3))
    labels = _draw_series(axes, figure.series, arrays, looks, bottom, places)

    if not any(each.shown.any() for each in arrays):
        axes.text(0.5, 0.5, "no points to show", transform=axes.transAxes, ha="center", va="center", color=ink, alpha=0.7)
    if entries and (len(entries) > 1 or figure.series[0].label):
        canvas.legend(handles=entries, loc="outside upper left", ncols=columns, frameon=False, labelcolor=ink, handlelength=2.4,
                      columnspacing=1.4, borderaxespad=0.2, borderpad=0.1)  # fmt: skip
    if labels and baselines <= MOST_LABELS:
        # Labels take room beside the axes, and their places depend on the axes' height: place them, lay out, place them again.
        label_baselines(axes, labels, ink)
        engine = canvas.get_layout_engine()
        if engine is not None:
            engine.execute(canvas)
        for artist in [*axes.texts, *(line for line in axes.lines if line.get_transform() == axes.transAxes)]:
            artist.remove()
        label_baselines(axes, labels, ink)
    return canvas


def _draw_series(
    axes: Axes, series: tuple[Series, ...], arrays: list[Points], looks: dict[Any, Any], floor: float, places: dict[str, int] | None
) -> list[tuple[str, float]]:
    """Draw all series; the baselines' labels with their heights."""
    labels: list[tuple[str, float]] = []
    offsets = offsets_of(series, arrays) if places is not None else {}
    measured = [each.role for each in series].count("measured")
    drawn = 0
    for each, points in zip(series, arrays):
        look = looks[key_of(each)]
        shift = offsets.get((each.label, each.role), 0.0)
        points = Points(points.x + shift, points.y, points.low, points.high, points.hidden)
        if each.role == "measured":
            draw_measured(axes, points, look, floor, joined=places is None, order=(drawn, measured))
            drawn += 1
        elif each.role == "samples":
            draw_samples(axes, points, look, 0.0 if places is None else 0.12)
        elif each.role == "baseline":
            level = draw_baseline(axes, points, look)
            if level is not None:
                labels.append((each.label, level))
        else:
            draw_line(axes, points, look, categories=places is not None)
    return labels


def _columns(labels: list[str]) -> int:
    """The fewest legend columns that need no more rows than the most that fit.

    A letter is about 0.077 inches wide, a line and the room around it 0.6; matplotlib splits entries as `array_split` does.
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
