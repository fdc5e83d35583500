"""Real images that need no download: the 8x8 digits and the two photographs inside scikit-learn.

They are read as files of that package, without importing scikit-learn, which is slow.
"""

import functools
import gzip
import importlib.util
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from separatrix.errors import SeparatrixError

EMBEDDED = {
    "embedded-digits": (
        "handwritten digits, 8x8, 10 classes (UCI's optdigits, from scikit-learn): "
        "small, real, always there"
    ),
    "embedded-photographs": (
        "32x32 pieces of two photographs, 2 classes (from scikit-learn): small, real, always there"
    ),
}
TEST_DIGITS = 500  # the last of 1797 digits: mostly by other writers than the training digits
PIECE, STEP = 32, 8  # the side of a piece of a photograph, and the step from one to the next
# Training pieces come from the left of a photograph, test pieces from the right, without overlap.
TRAIN_SHARE = 0.7


def _shipped(*path: str) -> Path:
    package = importlib.util.find_spec("sklearn")
    folders = list(package.submodule_search_locations or []) if package else []
    file = Path(folders[0], "datasets", *path) if folders else None
    if file is None or not file.is_file():
        raise SeparatrixError(
            f"scikit-learn's {path[-1]} is missing; install scikit-learn again, or fetch data "
            "with `separatrix data get`"
        )
    return file


def embedded_digits() -> dict[str, np.ndarray]:
    """The 8x8 digits, with grey levels 0 to 16 scaled to 0 to 255.

    >>> embedded_digits()["train_x"].shape
    (1297, 8, 8)
    """
    with gzip.open(_shipped("data", "digits.csv.gz"), "rt", encoding="ascii") as file:
        rows = np.loadtxt(file, delimiter=",")
    x = np.rint(rows[:, :-1].reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    y = rows[:, -1].astype(np.uint8)
    cut = len(x) - TEST_DIGITS
    return {"train_x": x[:cut], "train_y": y[:cut], "test_x": x[cut:], "test_y": y[cut:]}


@functools.lru_cache(maxsize=1)
def photographs() -> dict[str, UInt8[np.ndarray, "height width 3"]]:
    """The two photographs: a temple and a flower.

    >>> sorted((name, image.shape) for name, image in photographs().items())
    [('china', (427, 640, 3)), ('flower', (427, 640, 3))]
    """
    from PIL import Image

    out = {}
    for name in ("china", "flower"):
        with Image.open(_shipped("images", f"{name}.jpg")) as picture:
            out[name] = np.asarray(picture.convert("RGB"))
    return out


def embedded_photographs() -> dict[str, np.ndarray]:
    """Pieces of the photographs; the class is the photograph.

    >>> {part: array.shape for part, array in embedded_photographs().items() if part.endswith("x")}
    {'train_x': (5300, 32, 32, 3), 'test_x': (2100, 32, 32, 3)}
    """
    out: dict[str, np.ndarray] = {}
    images = list(photographs().values())
    edge = int(TRAIN_SHARE * images[0].shape[1])
    for split, columns in (("train", slice(0, edge)), ("test", slice(edge, None))):
        pieces = [_pieces(image[:, columns]) for image in images]
        out[f"{split}_x"] = np.concatenate(pieces)
        out[f"{split}_y"] = np.repeat(
            np.arange(len(pieces), dtype=np.uint8), [len(part) for part in pieces]
        )
    return out


def _pieces(image: UInt8[np.ndarray, "height width 3"]) -> UInt8[np.ndarray, "pieces 32 32 3"]:
    windows = np.lib.stride_tricks.sliding_window_view(image, (PIECE, PIECE), axis=(0, 1))[
        ::STEP, ::STEP
    ]
    return np.ascontiguousarray(
        windows.transpose(0, 1, 3, 4, 2).reshape(-1, PIECE, PIECE, image.shape[2])
    )
