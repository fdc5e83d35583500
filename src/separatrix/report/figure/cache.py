"""Figures that were drawn before: kept in the user's cache by what they show and by what draws
them, so that nothing is drawn twice.

They do not lie in a run's folder, because a page trusts them: a folder may come from somebody else.
"""

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

import matplotlib
import numpy as np

from separatrix import __version__
from separatrix.errors import SeparatrixError
from separatrix.files import cache_folder, write_bytes
from separatrix.report.figure.draw import Drawing, drawing_of
from separatrix.studies import Figure, Heatmap

MOST = 1000  # drawings that are kept, the newest


def drawings_of(figures: Mapping[str, tuple[Figure | Heatmap, str]]) -> dict[str, Drawing]:
    """The drawings of figures, each with the prefix of the names inside it, by the same keys.

    >>> from separatrix.studies import Axis
    >>> figure = Figure("risk", "Risk", Axis("m"), Axis("risk"), ())
    >>> drawings_of({"a": (figure, "f0-")})["a"] == drawing_of(figure, "f0-")
    True
    """
    folder = cache_folder() / "drawings"
    out, new = {}, False
    for key, (figure, prefix) in figures.items():
        file = folder / f"{digest_of(figure, prefix)}.json"
        found = _read(file)
        if found is None:
            found = drawing_of(figure, prefix)
            new |= _write(file, found)
        out[key] = found
    if new:
        _forget(folder)
    return out


def digest_of(figure: Figure | Heatmap, prefix: str) -> str:
    """What decides a drawing: the figure, the prefix, and the program that draws.

    >>> from separatrix.studies import Axis
    >>> figure = Figure("risk", "Risk", Axis("m"), Axis("risk"), ())
    >>> digest_of(figure, "a-") == digest_of(figure, "a-"), digest_of(figure, "a-") == digest_of(figure, "b-")
    (True, False)
    """
    # ASCII: half a pair of surrogates, which UTF-8 cannot write, may stand in a name.
    shown = json.dumps([type(figure).__name__, dataclasses.asdict(figure), prefix], default=str)
    return hashlib.sha256(f"{program()} {shown}".encode()).hexdigest()


@functools.cache
def program() -> str:
    """The digest of this package's drawing code, with the versions of it and of matplotlib.

    >>> len(program())
    64
    """
    own = [file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(
        b"\0".join([__version__.encode(), matplotlib.__version__.encode(), *own])
    ).hexdigest()


def _read(file: Path) -> Drawing | None:
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
        places = tuple(
            np.array([[np.nan if x is None else x for x in pair] for pair in each], float).reshape(
                -1, 2
            )
            for each in plain["places"]
        )
        return Drawing(str(plain["inline"]), str(plain["alone"]), places)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _write(file: Path, drawing: Drawing) -> bool:
    places = [
        [[float(x) if np.isfinite(x) else None for x in pair] for pair in each]
        for each in drawing.places
    ]
    text = json.dumps({"inline": drawing.inline, "alone": drawing.alone, "places": places})
    with contextlib.suppress(OSError, SeparatrixError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, text)
        return True
    return False


def _forget(folder: Path) -> None:
    """Keep the newest drawings only."""
    with contextlib.suppress(OSError):
        files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
        for file in files[MOST:]:
            os.unlink(file)
