"""Labelled data of the user, from arrays, files, folders or by name, as checked rows."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.checks import build
from separatrix.data.readers.arrays import (
    IDX_NAME,
    find_arrays,
    read_idx_pair,
    read_npy_pair,
    read_npz,
)
from separatrix.data.readers.limits import byte_limit, check_size, printable
from separatrix.data.readers.pictures import read_pictures
from separatrix.data.readers.tables import Columns, read_csv, read_parquet
from separatrix.data.rows import KindOption, Labelled, RawData, TaskOption, batches, moments
from separatrix.data.store import load
from separatrix.errors import ParameterError, SeparatrixError, UnknownNameError, check_choice

__all__ = ["NAMED", "Labelled", "as_labelled", "batches", "moments", "read_labelled"]

READERS = {
    ".npz": read_npz,
    ".npy": read_npy_pair,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".pq": read_parquet,
}
TABLE = re.compile(r"\.(csv|tsv|parquet|pq)(\.gz)?$", re.IGNORECASE)
PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".joblib", ".dill")
_TEN = tuple(map(str, range(10)))
_CLOTHES = (
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)
_THINGS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_IMAGES = {
    "digits": ("embedded-digits", _TEN),
    "embedded-digits": ("embedded-digits", _TEN),
    "mnist": ("mnist", _TEN),
    "fashion-mnist": ("fashion-mnist", _CLOTHES),
    "cifar10": ("cifar10", _THINGS),
}
_TABLES = {
    "breast-cancer": "load_breast_cancer",
    "wine": "load_wine",
    "iris": "load_iris",
    "diabetes": "load_diabetes",
}

NAMED = (*_IMAGES, *_TABLES)


def as_labelled(
    x: Any,
    y: Any = None,
    *,
    name: str = "arrays",
    task: TaskOption = "auto",
    kind: KindOption = "auto",
    shape: tuple[int, ...] | None = None,
    max_bytes: int | None = None,
    groups: Any = None,
    tested: Any = None,
) -> Labelled:
    """Check arrays, or an iterable of (x, y) pairs, and return them as labelled data.

    Args:
        x: Inputs of shape (rows, features), (rows, length, channels), (rows, height, width) or
            (rows, height, width, channels); a data frame; or an iterable of (x, y) pairs.
        y: The labels, one per row; None if `x` is an iterable of pairs.
        name: The name of the data, for messages.
        task: `classification`, `regression`, or `auto` to infer it from the labels.
        kind: `image`, `signal`, `tabular`, or `auto` to infer it from the shape.
        shape: The shape of one row, if the rows are flattened.
        groups: One value per row; rows of the same group belong together in a split.
        tested: One flag or word (train, test) per row: which rows are for testing.
        max_bytes: The most memory that pairs may take (see `read_labelled`).

    Returns:
        The data, with notes on what was guessed and what is unusual.

    Raises:
        SeparatrixError: If the data are not usable.

    >>> as_labelled(np.random.default_rng(0).random((40, 8, 8)), ["a", "b"] * 20)
    Labelled(name='arrays', kind='image', rows=40, shape=(8, 8, 1), classes=2)
    >>> as_labelled((([i, i + 1, 3], 0.5 * i) for i in range(30)), name="pairs")
    Labelled(name='pairs', kind='tabular', rows=30, shape=(3, 1), regression)
    >>> as_labelled(np.zeros((30, 4)), np.arange(29))
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: arrays has 30 rows of inputs but 29 labels
    """
    check_asked("as_labelled", task, kind)
    if not isinstance(name, str):
        raise ParameterError("as_labelled", "name", "text", name)
    columns: tuple[str, ...] = ()
    if y is None:
        inputs, labels = _stacked(x, name, byte_limit(max_bytes))
    else:
        names = getattr(x, "columns", None)  # of a data frame
        columns = tuple(map(str, names)) if names is not None else ()
        inputs, labels = _array(x, name, "inputs"), _array(y, name, "labels")
    raw = RawData(
        inputs,
        labels,
        columns=columns,
        groups=None if groups is None else _array(groups, name, "groups"),
        tested=None if tested is None else _array(tested, name, "split"),
    )
    return build(name, raw, task, kind, shape)


def _array(values: Any, name: str, what: str) -> np.ndarray:
    if isinstance(values, np.ndarray):
        return values
    try:
        return np.asarray(values)
    except Exception:  # rows of different lengths, or an unknown class of the user
        raise SeparatrixError(
            f"the {what} of {printable(name)} do not make an array; all rows need the same shape"
        ) from None


def _stacked(pairs: Iterable[Any], name: str, limit: int) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(pairs, (str, bytes, np.ndarray)) or not isinstance(pairs, Iterable):
        raise SeparatrixError(
            f"{printable(name)} needs labels: give y, or an iterable of (x, y) pairs"
        )
    xs, ys, total = [], [], 0
    for row, pair in enumerate(pairs):
        try:
            x, y = pair
        except (TypeError, ValueError):
            raise SeparatrixError(f"row {row} of {printable(name)} is no (x, y) pair") from None
        x = _array(x, name, "inputs")
        if xs and x.shape != xs[0].shape:
            raise SeparatrixError(
                f"row {row} of {printable(name)} has the shape {x.shape} and not {xs[0].shape}, "
                "that of the first"
            )
        total += x.nbytes
        check_size(name, total, limit)
        xs.append(x)
        ys.append(y)
    if not xs:
        raise SeparatrixError(f"{printable(name)} has no rows")
    return np.stack(xs), _array(ys, name, "labels")


def read_labelled(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    drop: tuple[str, ...] = (),
    group: str | None = None,
    split: str | None = None,
    task: TaskOption = "auto",
    shape: tuple[int, ...] | None = None,
    kind: KindOption = "auto",
    max_bytes: int | None = None,
) -> Labelled:
    """Read labelled data from a file, a folder, or by name.

    Files are .npz (arrays x and y), .npy (x.npy beside y.npy; memory-mapped), idx, and .csv, .tsv
    and .parquet (one column of labels; all others numbers). A folder has either arrays or one
    subfolder of PNG or JPEG pictures per class. Nothing is unpickled.

    Args:
        path: A file, a folder, or a name of `NAMED`. Files and folders take precedence over names.
        label: The array, file or column of the labels; None for the usual names or, in a table, the
            last column.
        drop: Columns of a table to leave out.
        group: The column of a table whose equal values belong together in a split.
        split: The column of a table that says which rows are for testing.
        task: `classification`, `regression`, or `auto` to infer it from the labels.
        shape: The shape of one row, if the rows are flattened.
        kind: `image`, `signal`, `tabular`, or `auto` to infer it from the shape.
        max_bytes: The most memory that a file may take; None for SEPARATRIX_MAX_BYTES, or 4 GiB. A
            memory map has no limit.

    Returns:
        The data, with notes on what was guessed and what is unusual.

    Raises:
        SeparatrixError: If the file does not exist, cannot be read, or its data are not usable.

    >>> read_labelled("digits")
    Labelled(name='digits', kind='image', rows=1797, shape=(8, 8, 1), classes=10)
    >>> read_labelled("weights.pt")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: there is no file or folder weights.pt
    """
    check_asked("read_labelled", task, kind)
    limit = byte_limit(max_bytes)
    if label is not None and not isinstance(label, str):
        raise ParameterError("read_labelled", "label", "a name", label)
    try:
        place = Path(path).expanduser()
        exists = os.path.lexists(place)
    # Not a path, a NUL character, or an unknown home folder.
    except (TypeError, ValueError, RuntimeError):
        raise ParameterError(
            "read_labelled", "path", "a path or the name of a data set", path
        ) from None
    name = place.name or str(path)
    use: str | Columns | None = label
    if drop or group or split:
        if not TABLE.search(place.name):
            raise SeparatrixError(
                f"{printable(str(path))} is no table with named columns, so that there is nothing "
                "to drop, to group by or to split by"
            )
        use = Columns(label, tuple(drop), group, split)
    if not exists or not str(path):
        # No name of a data set has a suffix or a folder.
        if not isinstance(path, str) or place.suffix or place.name != path:
            raise SeparatrixError(f"there is no file or folder {printable(str(path))}")
        name, raw = path, read_named(path)
    elif place.is_dir():
        name = place.resolve().name or name
        raw = _folder(place, limit, label)
    elif place.is_file():
        raw = _file(place, limit, use)
    else:
        raise SeparatrixError(f"{printable(place)} is neither a file nor a folder")
    return build(name, raw, task, kind, shape)


def _folder(place: Path, limit: int, label: str | None) -> RawData:
    try:
        arrays = find_arrays(place, limit, label)
        return read_pictures(place, limit) if arrays is None else arrays
    except OSError as error:
        raise SeparatrixError(
            f"{printable(place)} cannot be read ({error.strerror or error})"
        ) from None


def _file(place: Path, limit: int, label: Any) -> RawData:
    ending = place.suffix.lower()
    if IDX_NAME.search(place.name):
        return read_idx_pair(place, limit, label)
    if ending == ".gz":
        ending = Path(place.stem).suffix.lower()
        if ending in (".csv", ".tsv"):
            return read_csv(place, limit, label)
    elif ending in READERS:
        return READERS[ending](place, limit, label)
    if ending in PICKLES:
        raise SeparatrixError(
            f"{printable(place)} is made of pickles, which can run code and are not read; save "
            "arrays x and y with numpy.savez"
        )
    known = ", ".join((*READERS, ".csv.gz", "idx"))
    raise SeparatrixError(
        f"{printable(place)} is of no form that can be read; known are {known}, and folders of "
        "pictures"
    )


def read_named(name: str) -> RawData:
    """A data set by its name, with training and test rows together; data sets of the catalogue must
    have been downloaded.

    >>> read_named("digits").inputs.shape, read_named("wine").inputs.shape
    ((1797, 8, 8), (178, 13))
    >>> read_named("irsi")
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no file, folder or data set `irsi`; did you mean
        `iris`?
    """
    if name in _IMAGES:
        source, classes = _IMAGES[name]
        data = load(source)
        inputs, labels = (
            np.concatenate([data.train_x, data.test_x]),
            np.concatenate([data.train_y, data.test_y]),
        )
        return RawData(inputs, labels, "image", classes=classes)
    if name in _TABLES:
        from sklearn import datasets  # slow to import

        table = getattr(datasets, _TABLES[name])()
        classes = tuple(map(str, getattr(table, "target_names", ())))
        return RawData(
            table.data,
            table.target,
            "tabular",
            columns=tuple(map(str, table.feature_names)),
            classes=classes,
        )
    raise UnknownNameError("file, folder or data set", printable(name), NAMED)


def check_asked(owner: str, task: str, kind: str) -> None:
    """Raise an error for an unknown task or kind.

    >>> check_asked("as_labelled", "ranking", "auto")
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `task` of as_labelled must be one of 'auto',
        'classification', 'regression', got 'ranking'
    """
    check_choice(owner, "task", task, ("auto", "classification", "regression"))
    check_choice(owner, "kind", kind, ("auto", "image", "signal", "tabular"))
