"""Labelled rows as one value, and batches and moments of them in bounded memory."""

import dataclasses
from collections.abc import Iterator
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float32, Int, Num

from separatrix.errors import ParameterError, check_integer
from separatrix.notes import Note

Kind = Literal["image", "signal", "tabular"]
KindOption = Literal["auto", "image", "signal", "tabular"]
TaskOption = Literal["auto", "classification", "regression"]
CHUNK = 1 << 22  # bytes of inputs that are processed at a time


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Labelled:
    """Rows of data with one label per row, checked. `as_labelled` and `read_labelled` build it.

    Args:
        name: The name of the data, for messages.
        inputs: (rows, height, width, channels) for images, (rows, length, channels) for signals,
            (rows, columns, 1) for tables; uint8 or float32, or the type of the file if it is a
            memory map.
        labels: Indices into `classes` (int32), or numbers (float32) in a regression.
        classes: The names of the classes; empty in a regression.
        kind: `image`, `signal` or `tabular`.
        notes: Remarks on the data.
        duplicate_groups: For each row, the index of the first row with the same inputs. A fair
            split has each group on one side.
        digest: The identity of inputs and labels, independent of the file format.
        columns: The names of a table's columns, if they have names.
        groups: For each row, the number of the group that the user named; None without groups.
        tested: Which rows the user keeps for testing; None where nothing was said.
        label: The name of the column of labels, if it has one.
        dropped: The names of columns that were left out.
        group: The name of the column of groups, if it has one.

    >>> from separatrix.data import as_labelled
    >>> data = as_labelled(np.arange(120.0).reshape(30, 4), ["cat", "dog", "cat"] * 10)
    >>> data
    Labelled(name='arrays', kind='tabular', rows=30, shape=(4, 1), classes=2)
    >>> data.classes, data.labels[:3].tolist(), data.task
    (('cat', 'dog'), [0, 1, 0], 'classification')
    """

    name: str
    inputs: Num[np.ndarray, "rows ..."]
    labels: Num[np.ndarray, " rows"]
    classes: tuple[str, ...]
    kind: Kind
    notes: tuple[Note, ...]
    duplicate_groups: Int[np.ndarray, " rows"]
    digest: str
    columns: tuple[str, ...] = ()
    groups: Int[np.ndarray, " rows"] | None = None
    tested: Bool[np.ndarray, " rows"] | None = None
    label: str = ""
    dropped: tuple[str, ...] = ()
    group: str = ""

    @property
    def task(self) -> Literal["classification", "regression"]:
        """`classification` or `regression`."""
        return "classification" if self.classes else "regression"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one row, with channels last."""
        return self.inputs.shape[1:]

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        last = f", classes={len(self.classes)}" if self.classes else ", regression"
        return (
            f"Labelled(name={self.name!r}, kind={self.kind!r}, rows={len(self)}, "
            f"shape={self.shape}{last})"
        )


@dataclasses.dataclass(frozen=True, eq=False)
class RawData:
    """Inputs and labels as a reader returns them, before any check, with its remarks on them."""

    inputs: np.ndarray
    labels: np.ndarray
    kind: KindOption = "auto"
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()  # names of the labels 0, 1, … where the labels are numbers
    notes: tuple[Note, ...] = ()
    groups: np.ndarray | None = None
    tested: np.ndarray | None = None
    label: str = ""
    dropped: tuple[str, ...] = ()
    group: str = ""


def chunk_rows(inputs: Num[np.ndarray, "rows ..."]) -> int:
    """The number of rows that are processed at a time.

    >>> chunk_rows(np.zeros((10, 1024), np.float32))
    1024
    """
    return max(
        1, CHUNK // max(1, int(np.prod(inputs.shape[1:], dtype=np.int64)) * max(4, inputs.itemsize))
    )


def _checked(
    labelled: Labelled, indices: Int[np.ndarray, " chosen"] | None
) -> Int[np.ndarray, " chosen"]:
    if indices is None:
        return np.arange(len(labelled))
    chosen = np.asarray(indices)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise ParameterError(repr(labelled.name), "indices", "whole numbers on one axis", indices)
    if chosen.size and (chosen.min() < 0 or chosen.max() >= len(labelled)):
        wrong = int(chosen.min() if chosen.min() < 0 else chosen.max())
        raise ParameterError(
            repr(labelled.name), "indices", f"rows in [0, {len(labelled) - 1}]", wrong
        )
    return chosen.astype(np.int64)


def _gathered(
    inputs: Num[np.ndarray, "rows ..."], chosen: Int[np.ndarray, " chosen"]
) -> Num[np.ndarray, "chosen ..."]:
    """The chosen rows; they are read in the order of the file, which is faster."""
    order = np.argsort(chosen, kind="stable")
    rows = inputs[chosen[order]]
    out = np.empty(rows.shape, rows.dtype)
    out[order] = rows
    return out


def batches(
    labelled: Labelled,
    indices: Int[np.ndarray, " chosen"] | None,
    size: int,
    standard: tuple[Float32[np.ndarray, "..."], Float32[np.ndarray, "..."]] | None = None,
) -> Iterator[tuple[Float32[np.ndarray, "batch ..."], Num[np.ndarray, " batch"]]]:
    """Iterate over batches of inputs (float32) and labels.

    Only the rows of one batch are in memory at a time.

    Args:
        labelled: The data.
        indices: The rows, in this order; None for all rows.
        size: The number of rows per batch; the last batch may be smaller.
        standard: The mean and the scale that `moments` returns, to standardise inputs; None to
            leave them as they are.

    >>> from separatrix.data import as_labelled
    >>> data = as_labelled(np.arange(120).reshape(30, 4), np.arange(30) % 3)
    >>> [(x[:, 0, 0].tolist(), y.tolist()) for x, y in batches(data, np.array([7, 0, 2]), 2)]
    [([28.0, 0.0], [1, 0]), ([8.0], [2])]
    """
    check_integer("batches", "size", size, low=1)
    chosen = _checked(labelled, indices)
    # A second function: a generator would check its arguments only at the first batch.
    return _batches(labelled, chosen, size, standard)


def _batches(labelled, chosen, size, standard):
    for start in range(0, len(chosen), size):
        part = chosen[start : start + size]
        x = _gathered(labelled.inputs, part).astype(np.float32)
        if standard is not None:
            x = (x - standard[0]) / standard[1]
        yield x, labelled.labels[part]


def moments(
    labelled: Labelled, indices: Int[np.ndarray, " chosen"] | None = None
) -> tuple[Float32[np.ndarray, "..."], Float32[np.ndarray, "..."]]:
    """Mean and standard deviation of each channel of images and signals, or of each column of a
    table, computed in chunks.

    Args:
        labelled: The data.
        indices: The rows; None for all rows.

    Returns:
        Two arrays that broadcast over rows. The scale of constant channels or columns is 1.

    >>> from separatrix.data import as_labelled
    >>> data = as_labelled(np.arange(120).reshape(30, 4), np.arange(30) % 3)
    >>> mean, scale = moments(data)
    >>> mean[:, 0].tolist(), scale.shape
    ([58.0, 59.0, 60.0, 61.0], (4, 1))
    """
    chosen = _checked(labelled, indices)
    if not chosen.size:
        raise ParameterError(repr(labelled.name), "indices", "at least one row", [])
    features = int(np.prod(labelled.shape))
    count, mean, squares = 0, np.zeros(features), np.zeros(features)
    step = chunk_rows(labelled.inputs)
    for start in range(0, len(chosen), step):
        part = (
            _gathered(labelled.inputs, chosen[start : start + step])
            .astype(np.float64)
            .reshape(-1, features)
        )
        centre = part.mean(0)
        part -= centre
        # Chan, Golub & LeVeque: moments of two sets from those of each, without the cancellation of
        # Σx² - (Σx)².
        shift, total = centre - mean, count + len(part)
        squares += np.einsum("nf,nf->f", part, part) + shift**2 * (count * len(part) / total)
        mean += shift * (len(part) / total)
        count = total
    mean, variance = mean.reshape(labelled.shape), squares.reshape(labelled.shape) / count
    if labelled.kind != "tabular":  # all positions of an image or signal share the moments
        axes = tuple(range(mean.ndim - 1))
        mean, variance = mean.mean(axes), variance.mean(axes) + mean.var(axes)
    spread = np.sqrt(variance)
    # A spread at the level of rounding counts as none: dividing by it would amplify rounding.
    flat = spread <= 1e-7 * np.maximum(np.abs(mean), 1e-30)
    return mean.astype(np.float32), np.where(flat, 1.0, spread).astype(np.float32)
