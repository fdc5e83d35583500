"""Whatever people hand over as labelled data, by what it can do and not by its class."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.checks import build
from separatrix.data.labelled import check_asked, read_labelled
from separatrix.data.readers.limits import byte_limit, check_size, printable
from separatrix.data.readers.tables import LABEL_COLUMNS, Columns, split_columns
from separatrix.data.rows import Labelled, RawData
from separatrix.errors import ParameterError, SeparatrixError
from separatrix.notes import Note

INPUT_KEYS = ("x", "inputs", "input", "image", "images", "img", "data", "features", "pixel_values")
MOST_ROWS = 60_000  # rows that are taken out of a data set one by one


def labelled_from(
    x: Any,
    y: Any = None,
    *,
    label: str | None = None,
    groups: Any = None,
    split: Any = None,
    drop: Iterable[str] | str = (),
    kind: str = "auto",
    shape: tuple[int, ...] | None = None,
    task: str = "auto",
    name: str | None = None,
) -> Labelled:
    """Labelled data from a path, a name, arrays, a data frame, a data set, a loader, or rows.

    Args:
        x: a path or name (see `read_labelled`); an array, with `y`; a pair (x, y); a data frame;
            a mapping with inputs and labels (also scikit-learn's Bunch); anything with a length
            and rows (x, y) or dictionaries; or an iterable of rows or of batches of them.
        y: the labels, where `x` holds inputs only.
        label: the name of the labels' column or key.
        groups: one value per row, or the name of a column: rows of a group stay together.
        split: one word per row (train or test), or the name of a column.
        drop: names of columns to leave out.
        kind: "signal", "image", "table", or "auto".
        shape: the shape of one row, where it is not clear.
        task: "classification", "regression", or "auto".
        name: what the data are called in sentences.

    Returns:
        the rows, checked as every reader's are.

    Raises:
        SeparatrixError: in one sentence, whatever is wrong with the data.

    >>> labelled_from({"x": np.eye(24), "y": np.arange(24) % 2})
    Labelled(name='rows', kind='tabular', rows=24, shape=(24, 1), classes=2)
    """
    kind = {"table": "tabular"}.get(kind, kind) if isinstance(kind, str) else kind
    check_asked("diagnose", task, kind)
    if isinstance(x, Labelled):
        return x
    drop = (drop,) if isinstance(drop, str) else tuple(drop)
    by_name = {"group": groups, "split": split}
    for what, given in by_name.items():
        by_name[what] = given if isinstance(given, str) else None
    try:
        more: Any = {"kind": kind, "shape": shape, "task": task}
        if y is None and isinstance(x, str | os.PathLike):
            return read_labelled(x, label=label, drop=drop, **by_name, **more)
        raw = _raw(x, y, label, drop, by_name, name or "rows")
        for what, given in (("groups", groups), ("tested", split)):
            if given is not None and not isinstance(given, str):
                object.__setattr__(raw, what, np.asarray(given))
        return build(name or "rows", raw, **more)
    except (SeparatrixError, KeyboardInterrupt):
        raise
    except Exception as error:  # of a class that is the user's
        words = " ".join(str(error).split())[:120]
        raise SeparatrixError(
            f"the data could not be read: {type(error).__name__}{f' ({words})' if words else ''}"
        ) from error


def _raw(
    x: Any, y: Any, label: str | None, drop: tuple[str, ...], named: dict[str, Any], name: str
) -> RawData:
    if hasattr(x, "data") and hasattr(x, "target") and y is None:  # scikit-learn's Bunch
        inputs = x.images if hasattr(x, "images") else x.data
        classes = tuple(map(str, _listed(getattr(x, "target_names", None))))
        columns = tuple(map(str, _listed(getattr(x, "feature_names", None))))
        target = np.asarray(x.target)
        return RawData(
            _numbers(inputs),
            target,
            columns=columns,
            classes=classes if target.dtype.kind in "iu" else (),
        )
    if _is_frame(x):
        return _frame(x, y, label, drop, named, name)
    if drop or any(named.values()):
        raise SeparatrixError(
            "columns can be dropped, grouped by or split by in tables with named columns only"
        )
    if y is not None:
        return RawData(_numbers(x), np.asarray(y))
    if isinstance(x, Mapping):
        return _mapping(x, label)
    if isinstance(x, tuple) and len(x) == 2:
        return RawData(_numbers(x[0]), np.asarray(x[1]))
    if isinstance(x, np.ndarray | bytes | int | float) or x is None:
        raise SeparatrixError("the data need labels: give y, or rows of (x, y)")
    return _rows(x, label)


def _listed(names: Any) -> list[Any]:
    return [] if names is None else list(names)


def _numbers(x: Any) -> np.ndarray:
    return x if isinstance(x, np.ndarray) else np.asarray(x)


def _is_frame(x: Any) -> bool:
    return hasattr(x, "columns") and (
        hasattr(x, "__arrow_c_stream__") or hasattr(x, "to_arrow") or hasattr(x, "iloc")
    )


def _frame(
    x: Any, y: Any, label: str | None, drop: tuple[str, ...], named: dict[str, Any], name: str
) -> RawData:
    """A data frame of pandas, polars or pyarrow, with the checks that files get."""
    import pyarrow

    if hasattr(x, "iloc"):
        table = pyarrow.Table.from_pandas(x, preserve_index=False)
    else:
        table = x if isinstance(x, pyarrow.Table) else pyarrow.table(x)
    names = [str(each) for each in table.column_names]
    columns = [table.column(i) for i in range(table.num_columns)]
    if y is not None:
        if label is not None:
            raise ParameterError("diagnose", "label", "left out where y is given", label)
        label = next(f"{'_' * n}y" for n in range(len(names) + 1) if f"{'_' * n}y" not in names)
        names.append(label)
        columns.append(pyarrow.chunked_array([pyarrow.array(np.asarray(y))]))
        if len(columns[-1]) != table.num_rows:
            raise SeparatrixError(
                f"{printable(name)} has {table.num_rows} rows of inputs but {len(columns[-1])} "
                "labels"
            )
    use = Columns(label, drop, named["group"], named["split"])
    return split_columns(Path(name), names, columns, use, byte_limit())


def _mapping(x: Mapping[Any, Any], label: str | None) -> RawData:
    keys = [str(each) for each in x]
    found = _key(keys, (label,) if label else LABEL_COLUMNS)
    inputs = _key(keys, INPUT_KEYS)
    if found is None or inputs is None:
        raise SeparatrixError(
            f"a mapping needs inputs (such as `x`) and labels (such as `y`); it has "
            f"{printable(', '.join(keys))}"
        )
    by_text = {str(key): item for key, item in x.items()}
    return RawData(_numbers(by_text[inputs]), np.asarray(by_text[found]), label=found)


def _key(keys: list[str], wanted: Iterable[str]) -> str | None:
    return next((key for word in wanted for key in keys if key.lower() == word.lower()), None)


def _rows(x: Any, label: str | None) -> RawData:
    """Rows or batches, (x, y) or dictionaries, from a data set with a length or an iterable."""
    notes: tuple[Note, ...] = ()
    if hasattr(x, "__len__") and hasattr(x, "__getitem__"):
        count = len(x)
        chosen = np.arange(count)
        if count > MOST_ROWS:
            chosen = np.sort(np.random.default_rng(0).permutation(count)[:MOST_ROWS])
            words = f"{MOST_ROWS} of {count} rows were taken, at random"
            notes = (Note("rows-sampled", "info", words),)
        source: Iterable[Any] = (x[int(i)] for i in chosen)
    elif isinstance(x, Iterable):
        source = x
    else:
        raise SeparatrixError(
            f"an object of type {type(x).__name__} is no labelled data: give arrays x and y, a "
            "path, a data frame, or rows of (x, y)"
        )
    inputs, labels, total, limit = [], [], 0, byte_limit()
    for number, row in enumerate(source):
        pair = _pair(row, number, label)
        first, second = (np.asarray(each) for each in pair)
        batch = second.ndim >= 1 and first.ndim >= 2 and len(first) == len(second) > 0
        batch = batch and not (second.ndim == 1 and len(second) == 1 and first.shape[0] != 1)
        firsts, seconds = (
            (first, second) if batch else (first[None], second.reshape(1, *second.shape))
        )
        if inputs and firsts.shape[1:] != inputs[0].shape[1:]:
            raise SeparatrixError(
                f"row {number} has the shape {firsts.shape[1:]} and not {inputs[0].shape[1:]}, "
                "that of the first"
            )
        total += firsts.nbytes
        check_size("rows", total, limit)
        inputs.append(firsts)
        labels.append(seconds)
    if not inputs:
        raise SeparatrixError("the data have no rows")
    return RawData(np.concatenate(inputs), np.concatenate(labels), notes=notes)


def _pair(row: Any, number: int, label: str | None) -> tuple[Any, Any]:
    if isinstance(row, Mapping):
        raw = _dict_row(row, number, label)
    else:
        try:
            first, second = row
        except (TypeError, ValueError):
            raise SeparatrixError(f"row {number} is no pair (x, y) and no dictionary") from None
        raw = first, second
    return raw


def _dict_row(row: Mapping[Any, Any], number: int, label: str | None) -> tuple[Any, Any]:
    keys = [str(each) for each in row]
    found = _key(keys, (label,) if label else LABEL_COLUMNS)
    if found is None:
        raise SeparatrixError(
            f"row {number} has no labels called {label or ', '.join(LABEL_COLUMNS)}; it has "
            f"{printable(', '.join(keys))}: say label="
        )
    by_text = {str(key): item for key, item in row.items()}
    second = by_text.pop(found)
    inputs = _key(list(by_text), INPUT_KEYS)
    if inputs is not None:
        return by_text[inputs], second
    values = [np.asarray(each) for each in by_text.values()]
    if len(values) == 1:
        return values[0], second
    if values and all(each.ndim == 0 and each.dtype.kind in "buif" for each in values):
        return np.array([float(each) for each in values]), second
    raise SeparatrixError(
        f"row {number} has the keys {printable(', '.join(keys))}; which is the input? Call it `x`"
    )


def described(data: Labelled) -> str:
    """One line on what is used of the data, and as what.

    >>> described(labelled_from(np.eye(24), np.arange(24) % 2))
    'using 24 rows of 24 columns as a table, 2 classes'
    """
    *space, channels = data.shape
    size = " x ".join(map(str, space))
    words = {"image": "pixels as images", "signal": "samples as signals"}
    what = f"{size} {words[data.kind]}" if data.kind in words else f"{size} columns as a table"
    if channels > 1:
        what += f" with {channels} channels"
    parts = [f"using {len(data)} rows of {what}"]
    if data.dropped:
        parts.append(f"dropped {printable(', '.join(data.dropped), 60)}")
    if data.label:
        parts.append(f"label = {printable(data.label)}")
    parts.append(f"{len(data.classes)} classes" if data.classes else "a number to predict")
    if data.groups is not None:
        parts.append(f"{int(data.groups.max()) + 1} groups")
    if data.tested is not None:
        parts.append(f"{int(data.tested.sum())} rows kept for testing")
    return ", ".join(parts)
