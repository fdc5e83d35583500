"""A cache of drawn figures, so that no figure is drawn twice.

The key is what a figure shows and the code that draws it. Equal figures of a report are drawn once;
the names inside their SVGs differ, and are put in afterwards. Drawings are in the user's cache and
not in a run's folder: the page trusts them, and a run's folder may come from somebody else.
"""

import contextlib
import dataclasses
import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import matplotlib
import numpy as np

from separatrix import __version__
from separatrix.errors import SeparatrixError
from separatrix.files import cache_folder, read_json, write_bytes
from separatrix.report import numbers
from separatrix.report.figure.draw import Drawing, drawing_of
from separatrix.studies import Figure, Heatmap

MOST_DRAWINGS = 1000  # the oldest ones beyond this number are deleted


def drawings_of(figures: Mapping[str, tuple[Figure | Heatmap, str]]) -> dict[str, Drawing]:
    """The drawings of figures, by the same keys.

    Args:
      figures: each figure with the prefix of the names inside its SVG.

    >>> from separatrix.studies import Axis
    >>> figure = Figure("risk", "Risk", Axis("m"), Axis("risk"), ())
    >>> drawings_of({"a": (figure, "f0-")})["a"] == drawing_of(figure, "f0-")
    True
    """
    folder = cache_folder() / "drawings"
    drawings, written = {}, False
    known: dict[str, Drawing] = {}
    for key, (figure, prefix) in figures.items():
        name = cache_key(figure)
        file, stand_in = folder / f"{name}.json", f"f{name}-"
        drawing = known.get(name) or _read(file)
        if drawing is None:
            drawing = drawing_of(figure, stand_in)
            written |= _write(file, drawing)
        known[name] = drawing
        # No label contains the digest of what it is a part of.
        inline = drawing.inline.replace(stand_in, prefix)
        drawings[key] = dataclasses.replace(drawing, inline=inline)
    if written:
        _delete_oldest(folder)
    return drawings


def cache_key(figure: Figure | Heatmap) -> str:
    """The digest of what decides a drawing: the figure and the drawing code.

    >>> from separatrix.studies import Axis
    >>> one, other = (Figure("risk", title, Axis("m"), Axis("risk"), ()) for title in "ab")
    >>> cache_key(one) == cache_key(other)
    False
    """
    # ASCII, because a name may contain half a surrogate pair, which UTF-8 cannot write.
    shown = json.dumps([type(figure).__name__, dataclasses.asdict(figure)], default=str)
    return hashlib.sha256(f"{code_digest()} {shown}".encode()).hexdigest()


@functools.cache
def code_digest() -> str:
    """The digest of the drawing code, of its version and of matplotlib's version.

    The drawing code is this folder and `report/numbers.py`, which writes the ticks.

    >>> len(code_digest())
    64
    """
    files = [*sorted(Path(__file__).parent.glob("*.py")), Path(numbers.__file__)]
    parts = [__version__.encode(), matplotlib.__version__.encode()]
    return hashlib.sha256(b"\0".join([*parts, *(file.read_bytes() for file in files)])).hexdigest()


def _read(file: Path) -> Drawing | None:
    """The drawing in a file; None where there is none, or the file is damaged."""
    try:
        plain = read_json(file)
        places = tuple(
            np.array(
                [[np.nan if x is None else x for x in pair] for pair in series], float
            ).reshape(-1, 2)
            for series in plain["places"]
        )
        return Drawing(str(plain["inline"]), str(plain["alone"]), places)
    except (ValueError, KeyError, TypeError):
        return None


def _write(file: Path, drawing: Drawing) -> bool:
    """Whether the drawing could be written."""
    places = [
        [[float(x) if np.isfinite(x) else None for x in pair] for pair in series]
        for series in drawing.places
    ]
    text = json.dumps({"inline": drawing.inline, "alone": drawing.alone, "places": places})
    with contextlib.suppress(OSError, SeparatrixError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, text, sync=False)
        return True
    return False


def _delete_oldest(folder: Path) -> None:
    with contextlib.suppress(OSError):
        files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
        for file in files[MOST_DRAWINGS:]:
            file.unlink()
