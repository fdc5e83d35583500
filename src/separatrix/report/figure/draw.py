"""Drawing figures with matplotlib: as SVG text for the page, and as files for a paper."""

import dataclasses
import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure as Canvas

from separatrix.errors import ParameterError
from separatrix.files import write_bytes
from separatrix.report.figure.canvas import canvas_of
from separatrix.report.figure.svg import BLACK, INK, inlined, standalone
from separatrix.studies import Figure, Heatmap

FORMATS = (".pdf", ".svg", ".png")
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
    """A figure as SVG text to stand inside a page: transparent, its letters and axes in the text's
    colour.

    The names inside the SVG start with `prefix`, so that several figures can stand on one page.

    >>> from separatrix.studies import Axis, Series
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
    drawing = drawing_of(figure, prefix)
    return drawing.inline, drawing.alone


@dataclasses.dataclass(frozen=True)
class Drawing:
    """A figure as drawn: SVG for a page (without legend) and for a file, and where its points lie.

    `places` holds an array of (across, down) for each series, or one for the cells of a map, in the
    units of the page's SVG.

    >>> Drawing("<svg></svg>", "<svg/>", ()).places
    ()
    """

    inline: str
    alone: str
    places: tuple[np.ndarray, ...]


def drawing_of(figure: Figure | Heatmap, prefix: str = "f-") -> Drawing:
    """Draw a figure once, for all uses on the page.

    >>> from separatrix.studies import Axis, Series
    >>> drawing = drawing_of(Figure("risk", "Risk", Axis("samples"), Axis("risk"), (Series("CNN", (1, 2), (0.2, 0.1)),)))
    >>> drawing.places[0].shape, 'data-s="0"' in drawing.inline
    ((2, 2), True)
    """
    with _matplotlib():
        canvas, points = canvas_of(figure, INK)
        svg = _rendered(canvas, "svg", transparent=True)
        places = tuple(_places(canvas, each) for each in points)
        top = _room_of_legend(canvas)
    return Drawing(
        inlined(svg, figure.title, prefix, top, _pictures(canvas)), standalone(svg), places
    )


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
        raise ParameterError(
            "save", "path", f"a file name that ends in {', '.join(FORMATS)}", str(path)
        )
    if suffix == ".svg":
        data = draw_twice(figure)[1].encode()
    else:
        with _matplotlib():
            data = _rendered(canvas_of(figure, BLACK)[0], suffix[1:])
    write_bytes(path, data)
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


def _places(canvas: Canvas, points: np.ndarray) -> np.ndarray:
    """Where points lie in the SVG: across from the left and down from the top, in points of 1/72
    inch; NaN where not drawn.
    """
    with np.errstate(invalid="ignore"):
        shares = canvas.transFigure.inverted().transform(
            canvas.axes[0].transData.transform(points.reshape(-1, 2))
        )
    size = 72.0 * canvas.get_size_inches()
    return np.stack([shares[:, 0] * size[0], (1.0 - shares[:, 1]) * size[1]], axis=1)


def _room_of_legend(canvas: Canvas) -> float:
    """The height in points that the legend takes at the top."""
    if not canvas.legends:
        return 0.0
    below = canvas.transFigure.inverted().transform(canvas.legends[0].get_window_extent())[0, 1]
    return max(0.0, (1.0 - below) * 72.0 * canvas.get_figheight())


def _pictures(canvas: Canvas) -> list[str]:
    """The series of the scattered points that became pictures, in the order in which they are
    drawn.
    """
    lines = [line for axes in canvas.axes for line in axes.lines if line.get_rasterized()]
    return [
        str(line.get_gid()).split("-")[1]
        for line in sorted(lines, key=lambda line: line.get_zorder())
    ]
