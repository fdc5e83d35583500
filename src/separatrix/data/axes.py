"""The meaning of an array's axes (table rows, signals, images), and the type of its numbers."""

import math

import numpy as np
from jaxtyping import Num

from separatrix.data.readers.limits import printable
from separatrix.data.rows import Kind, KindOption, chunk_rows
from separatrix.errors import SeparatrixError
from separatrix.notes import Note

# The last axis is taken for the channels of a signal if it has at most MOST_CHANNELS entries and is
# at least LONGER times shorter than the axis before it.
MOST_CHANNELS = 16
LONGER = 4


def interpret_axes(
    name: str, x: np.ndarray, kind: KindOption = "auto", shape: tuple[int, ...] | None = None
) -> tuple[Num[np.ndarray, "rows ..."], Kind, tuple[Note, ...]]:
    """An array with rows first and channels last, its kind, and notes on guesses; without a copy.

    (rows, columns) is a table and (rows, height, width, channels) are images. (rows, a, b) are
    signals with b channels if b is at most 16 and four times smaller than a; otherwise they are
    images of one channel. `kind` and `shape` (of one row) override these rules.

    >>> interpret_axes("a", np.zeros((30, 8, 8)))[0].shape
    (30, 8, 8, 1)
    >>> interpret_axes("a", np.zeros((30, 100, 3)))[1]
    'signal'
    >>> interpret_axes("a", np.zeros((30, 12)), shape=(3, 5))
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: the rows of a have 12 values, which do not fill the shape 3 ×
        5
    """
    if x.ndim < 2:
        raise SeparatrixError(
            f"the inputs of {printable(name)} have {x.ndim} axes, but need one for rows and one "
            "or more for features"
        )
    if 0 in x.shape:
        raise SeparatrixError(
            f"the inputs of {printable(name)} are empty: their shape is {_times(x.shape)}"
        )
    if shape is not None:
        x = _reshaped(name, x, shape)
    elif x.ndim == 2 and kind == "image":
        raise SeparatrixError(
            f"the rows of {printable(name)} are {x.shape[1]} values on one axis; give the `shape` "
            "of the images they are"
        )
    axes = x.ndim - 1
    allowed = {1: ("signal", "tabular"), 2: ("image", "signal"), 3: ("image",)}.get(axes)
    if allowed is None:
        raise SeparatrixError(
            f"the rows of {printable(name)} have {axes} axes ({_times(x.shape[1:])}), but need 1, "
            "2 or 3; give their `shape`"
        )
    if kind not in ("auto", *allowed):
        raise SeparatrixError(
            f"the rows of {printable(name)}, of shape {_times(x.shape[1:])}, cannot be of the "
            f"kind {kind}; give their `shape`"
        )
    if axes == 1:
        return (
            x[..., None],
            "tabular" if kind == "tabular" or (kind == "auto" and shape is None) else "signal",
            (),
        )
    if axes == 2:
        return _two_axes(x, kind)
    return _channels_last(x, shape is not None)


def _times(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "()"


def _reshaped(name: str, x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    good = isinstance(shape, tuple) and 1 <= len(shape) <= 3
    if not good or not all(
        isinstance(n, int) and not isinstance(n, bool) and n >= 1 for n in shape
    ):
        raise SeparatrixError(
            f"the `shape` of one row must be one to three whole numbers >= 1, got {shape!r}"
        )
    have = math.prod(x.shape[1:])
    if have != math.prod(shape):
        raise SeparatrixError(
            f"the rows of {printable(name)} have {have} values, which do not fill the shape "
            f"{_times(shape)}"
        )
    return x.reshape(len(x), *shape)


def _two_axes(x: np.ndarray, kind: KindOption) -> tuple[np.ndarray, Kind, tuple[Note, ...]]:
    if kind == "image":
        return x[..., None], "image", ()
    if kind == "signal":
        return x, "signal", ()
    first, last = x.shape[1:]
    signal = last <= MOST_CHANNELS and last * LONGER <= first
    words = f"rows of {first} × {last} are taken for " + (
        f"signals of length {first} with {last} channels; say kind=image if they are pictures"
        if signal
        else f"images of {first} × {last} pixels; say kind=signal if the last axis are channels"
    )
    note = Note("axes-guessed", "info", words)
    return (x, "signal", (note,)) if signal else (x[..., None], "image", (note,))


def _channels_last(x: np.ndarray, shape_known: bool) -> tuple[np.ndarray, Kind, tuple[Note, ...]]:
    first, last = x.shape[1], x.shape[3]
    if shape_known or first not in (1, 3, 4) or last <= 4:
        return x, "image", ()
    words = f"rows of {_times(x.shape[1:])} are taken for images with their {first} channels first"
    return np.moveaxis(x, 1, 3), "image", (Note("channels-first", "info", words),)


def as_stored_numbers(name: str, x: np.ndarray) -> Num[np.ndarray, "rows ..."]:
    """Inputs as bytes if they are integers from 0 to 255, otherwise as float32.

    A memory map is returned unchanged, so that it need not fit in memory.

    >>> [as_stored_numbers("a", np.array([row])).dtype.name for row in ([0, 255], [0.5, 1])]
    ['uint8', 'float32']
    >>> as_stored_numbers("a", np.array([["x"]]))
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: the inputs of a must be numbers, but are text
    """
    words = {
        "O": "Python objects, which are not read",
        "U": "text",
        "S": "text",
        "c": "complex",
        "M": "dates",
        "m": "times",
    }
    if x.dtype.kind not in "buif":
        raise SeparatrixError(
            f"the inputs of {printable(name)} must be numbers, but are "
            f"{words.get(x.dtype.kind, f'of type {x.dtype}')}"
        )
    if isinstance(x, np.memmap) or x.dtype in (np.uint8, np.float32):
        return x
    if x.dtype.kind == "b":
        return x.astype(np.uint8)
    if x.dtype.kind in "iu" and x.size and x.min() >= 0 and x.max() <= 255:
        return x.astype(np.uint8)
    out = np.empty(x.shape, np.float32)
    step = chunk_rows(x)
    # Numbers that are too large become infinite; `scan` reports them.
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(x), step):
            out[start : start + step] = x[start : start + step]
    return out
