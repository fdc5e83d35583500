"""Whatever people hand over as labelled data, by what it can do and not by its class."""

import collections
import dataclasses
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.checks import TESTS, TRAINS, build, groups_of, tested_of
from separatrix.data.labelled import check_asked, read_labelled
from separatrix.data.readers.limits import byte_limit, check_size, printable
from separatrix.data.readers.tables import LABEL_COLUMNS, Columns, split_columns
from separatrix.data.rows import Labelled, RawData
from separatrix.errors import ParameterError, SeparatrixError, UnknownNameError, check_choice
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
    check_choice("diagnose", "kind", kind, ("auto", "image", "signal", "table", "tabular"))
    kind = {"table": "tabular"}.get(kind, kind)
    check_asked("diagnose", task, kind)
    drop = (drop,) if isinstance(drop, str) else drop
    if not isinstance(drop, Iterable) or not all(isinstance(each, str) for each in drop):
        raise ParameterError("diagnose", "drop", "names of columns", drop)
    drop = tuple(dict.fromkeys(drop))
    if not isinstance(name, str | None):
        raise ParameterError("diagnose", "name", "text", name)
    if isinstance(y, str):
        raise SeparatrixError(
            f"y is the text `{printable(y)}`, but must hold a label per row; the name of a column "
            "of labels is given as label="
        )
    shape = tuple(shape) if isinstance(shape, list) else shape
    arrays = {"groups": groups, "tested": split}
    arrays = {w: g for w, g in arrays.items() if g is not None and not isinstance(g, str)}
    named = {
        what: given if isinstance(given, str) else None
        for what, given in (("group", groups), ("split", split))
    }
    more: Any = {"kind": kind, "shape": shape, "task": task}
    try:
        arrays = {what: np.asarray(given) for what, given in arrays.items()}
        if isinstance(x, Labelled):
            return _regrouped(x, arrays)
        if isinstance(x, str | os.PathLike):
            if y is not None:
                raise SeparatrixError(
                    "a path or a name brings its own labels; leave y out and, where "
                    "they have another name than the usual ones, say label="
                )
            return _regrouped(read_labelled(x, label=label, drop=drop, **named, **more), arrays)
        raw = dataclasses.replace(_raw(x, y, label, drop, named, name or "rows"), **arrays)
        return build(name or "rows", raw, **more)
    except (SeparatrixError, KeyboardInterrupt):
        raise
    except Exception as error:  # of a class that is the user's
        words = " ".join(str(error).split())[:120]
        raise SeparatrixError(
            f"the data could not be read: {type(error).__name__}{f' ({words})' if words else ''}"
        ) from error


def _regrouped(data: Labelled, arrays: dict[str, np.ndarray]) -> Labelled:
    """The same rows with the groups and the split that the user gave as arrays."""
    checks = {"groups": groups_of, "tested": tested_of}
    checked: Any = {what: checks[what](data.name, a, len(data)) for what, a in arrays.items()}
    return dataclasses.replace(data, **checked)


def _raw(
    x: Any, y: Any, label: str | None, drop: tuple[str, ...], named: dict[str, Any], name: str
) -> RawData:
    if hasattr(x, "data") and hasattr(x, "target") and y is None:  # scikit-learn's Bunch
        inputs = x.images if hasattr(x, "images") else x.data
        classes = tuple(map(str, _listed(getattr(x, "target_names", None))))
        columns = tuple(map(str, _listed(getattr(x, "feature_names", None))))
        target, inputs = np.asarray(x.target), _numbers(inputs)
        classes = classes if target.dtype.kind in "iu" else ()
        if label is not None:
            raise ParameterError("diagnose", "label", "left out: a Bunch has its target", label)
        if drop or any(named.values()):
            import pyarrow

            if inputs.ndim != 2 or len(columns) != inputs.shape[1]:
                raise _nameless()
            table = pyarrow.table(list(inputs.T), names=list(columns))
            return dataclasses.replace(
                _frame(table, target, None, drop, named, name), classes=classes
            )
        return RawData(inputs, target, columns=columns, classes=classes)
    if _is_frame(x):
        return _frame(x, y, label, drop, named, name)
    if y is None and isinstance(x, Mapping):
        return _mapping(x, label, drop, named, name)
    if y is None and isinstance(x, tuple | list) and len(x) == 2:
        x, y = x if isinstance(x, tuple) or isinstance(x[0], np.ndarray) else (x, None)
    if y is None and x is not None and not isinstance(x, np.ndarray | bytes | int | float):
        return _rows(x, label, drop, named, name)
    if drop or any(named.values()):
        raise _nameless()
    if y is None:
        raise SeparatrixError("the data need labels: give y, or rows of (x, y)")
    if label is not None:
        raise ParameterError("diagnose", "label", "left out where y is given", label)
    return RawData(_numbers(x), np.asarray(y))


def _nameless() -> SeparatrixError:
    return SeparatrixError(
        "columns can be dropped, grouped by or split by in tables with named columns only; "
        "give groups and split as one value per row"
    )


def _listed(names: Any) -> list[Any]:
    return [] if names is None else list(names)


def _numbers(x: Any) -> np.ndarray:
    if hasattr(x, "toarray") and hasattr(x, "nnz"):  # of scipy
        raise SeparatrixError("the inputs are a sparse matrix; give x.toarray()")
    if isinstance(x, np.ma.MaskedArray):  # what is masked is missing
        return np.ma.filled(x.astype(float), np.nan) if np.ma.is_masked(x) else x.data
    try:
        return x if isinstance(x, np.ndarray) else np.asarray(x)
    except ValueError:
        raise SeparatrixError(
            "the inputs do not make an array of numbers; all rows need the same shape"
        ) from None


def _is_frame(x: Any) -> bool:
    return hasattr(x, "columns") and (
        hasattr(x, "__arrow_c_stream__") or hasattr(x, "to_arrow") or hasattr(x, "iloc")
    )


def _frame(
    x: Any, y: Any, label: str | None, drop: tuple[str, ...], named: dict[str, Any], name: str
) -> RawData:
    """A data frame of pandas, polars or pyarrow, with the checks that files get."""
    import pyarrow

    names = [str(each) for each in getattr(x, "column_names", x.columns)]
    twice, count = collections.Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise SeparatrixError(
            f"{printable(name)} has {count} columns called `{printable(twice)}`; rename all but one"
        )
    if hasattr(x, "iloc"):
        table = pyarrow.Table.from_pandas(x, preserve_index=False)
    else:
        table = x if isinstance(x, pyarrow.Table) else pyarrow.table(x)
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


def _mapping(
    x: Mapping[Any, Any],
    label: str | None,
    drop: tuple[str, ...],
    named: dict[str, Any],
    name: str,
) -> RawData:
    """Inputs and labels, columns of a table, or parts called train and test."""
    by_text = {str(key): item for key, item in x.items()}
    parts = {key: key.lower() in TESTS for key in by_text if key.lower() in TESTS | TRAINS}
    if len(by_text) == len(parts) and len(set(parts.values())) == 2:
        raws = [_raw(by_text[key], None, label, drop, named, name) for key in parts]
        return dataclasses.replace(
            raws[0],
            inputs=np.concatenate([raw.inputs for raw in raws]),
            labels=np.concatenate([raw.labels for raw in raws]),
            tested=np.repeat(list(parts.values()), [len(raw.labels) for raw in raws]),
            groups=None
            if any(raw.groups is None for raw in raws)
            else np.concatenate([np.asarray(raw.groups) for raw in raws]),
        )
    found = _key(by_text, (label,) if label else LABEL_COLUMNS)
    if label and found is None:
        raise UnknownNameError("key", printable(label), [printable(each) for each in by_text])
    inputs = _key(by_text, INPUT_KEYS)
    if found is not None and (inputs is None or np.ndim(by_text[inputs]) == 1):
        import pyarrow

        if len(by_text) > 1 and all(np.ndim(item) == 1 for item in by_text.values()):
            return _frame(pyarrow.table(by_text), None, found, drop, named, name)
    if found is None or inputs is None:
        raise SeparatrixError(
            f"a mapping needs inputs (such as `x`) and labels (such as `y`); it has "
            f"{printable(', '.join(by_text))}"
        )
    for each in drop:
        _named(by_text, each)
    if inputs in drop or found in drop:
        raise SeparatrixError(
            f"`{printable(inputs if inputs in drop else found)}` is needed and cannot be dropped"
        )
    extra = {what: _named(by_text, key) for what, key in named.items() if key}
    return RawData(
        _numbers(by_text[inputs]),
        np.asarray(by_text[found]),
        label=found,
        groups=extra.get("group"),
        tested=extra.get("split"),
        group=named["group"] or "",
    )


def _named(values: Mapping[str, Any], key: str) -> np.ndarray:
    if key not in values:
        raise UnknownNameError("key", printable(key), [printable(each) for each in values])
    return np.asarray(values[key])


def _key(keys: Iterable[str], wanted: Iterable[str]) -> str | None:
    return next((key for word in wanted for key in keys if key.lower() == word.lower()), None)


def _rows(
    x: Any, label: str | None, drop: tuple[str, ...], named: dict[str, Any], name: str
) -> RawData:
    """Rows or batches, (x, y) or dictionaries, from a data set with a length or an iterable."""
    source, notes = _source(x)
    first = next(source, None)
    if first is None:
        raise SeparatrixError("the data have no rows")
    source = itertools.chain([first], source)
    if isinstance(first, Mapping):
        found = _label_key(first, 0, label)
        if len(first) > 1 and all(np.ndim(each) == 0 for each in first.values()):
            table = _table_of(source)
            return _with_notes(_frame(table, None, found, drop, named, name), notes)
    elif drop or label is not None or any(named.values()):
        raise SeparatrixError(
            "rows that are pairs (x, y) have no names: leave label and drop out, and give groups "
            "and split as one value per row"
        )
    inputs, labels, total, limit = [], [], 0, byte_limit()
    extra: dict[str, list[Any]] = {what: [] for what, key in named.items() if key}
    for number, row in enumerate(source):
        pair = _pair(row, number, label, drop)
        one, two = (np.asarray(each) for each in pair)
        batch = two.ndim >= 1 and one.ndim >= 2 and len(one) == len(two) > 0
        batch = batch and not (two.ndim == 1 and len(two) == 1 and one.shape[0] != 1)
        ones, twos = (one, two) if batch else (one[None], two.reshape(1, *two.shape))
        if inputs and ones.shape[1:] != inputs[0].shape[1:]:
            raise SeparatrixError(
                f"row {number} has the shape {ones.shape[1:]} and not {inputs[0].shape[1:]}, "
                "that of the first"
            )
        total += ones.nbytes
        check_size("rows", total, limit)
        inputs.append(ones)
        labels.append(twos)
        for what, values in extra.items():
            values.append(np.atleast_1d(_named({str(k): v for k, v in row.items()}, named[what])))
    joined = {what: np.concatenate(values) for what, values in extra.items()}
    return RawData(
        np.concatenate(inputs),
        np.concatenate(labels),
        notes=notes,
        groups=joined.get("group"),
        tested=joined.get("split"),
        group=named["group"] or "",
    )


def _source(x: Any) -> tuple[Iterator[Any], tuple[Note, ...]]:
    """The rows of a data set with a length, or of an iterable; of a large one, some of them."""
    if hasattr(x, "__len__") and hasattr(x, "__getitem__"):
        count, notes = len(x), ()
        chosen = np.arange(count)
        if count > MOST_ROWS:
            chosen = np.sort(np.random.default_rng(0).permutation(count)[:MOST_ROWS])
            words = f"{MOST_ROWS} of {count} rows were taken, at random"
            notes = (Note("rows-sampled", "info", words),)
        return (x[int(i)] for i in chosen), notes
    if isinstance(x, Iterable):
        return iter(x), ()
    raise SeparatrixError(
        f"an object of type {type(x).__name__} is no labelled data: give arrays x and y, a "
        "path, a data frame, or rows of (x, y)"
    )


def _table_of(rows: Iterable[Any]) -> Any:
    """Dictionaries of single values as a table, which gets the checks of tables."""
    import pyarrow

    plain, total, limit = [], 0, byte_limit()
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise SeparatrixError(f"row {number} is no dictionary, but the first row is one")
        plain.append({str(k): v.item() if hasattr(v, "item") else v for k, v in row.items()})
        total += 8 * len(row)
        check_size("rows", total, limit)
    return pyarrow.Table.from_pylist(plain)


def _with_notes(raw: RawData, notes: tuple[Note, ...]) -> RawData:
    return dataclasses.replace(raw, notes=(*notes, *raw.notes))


def _pair(row: Any, number: int, label: str | None, drop: tuple[str, ...]) -> tuple[Any, Any]:
    if isinstance(row, Mapping):
        return _dict_row(row, number, label, drop)
    try:
        first, second = row
    except (TypeError, ValueError):
        raise SeparatrixError(f"row {number} is no pair (x, y) and no dictionary") from None
    return first, second


def _label_key(row: Mapping[Any, Any], number: int, label: str | None) -> str:
    keys = [str(each) for each in row]
    found = _key(keys, (label,) if label else LABEL_COLUMNS)
    if found is None:
        raise SeparatrixError(
            f"row {number} has no labels called {label or ', '.join(LABEL_COLUMNS)}; it has "
            f"{printable(', '.join(keys))}: say label="
        )
    return found


def _dict_row(
    row: Mapping[Any, Any], number: int, label: str | None, drop: tuple[str, ...]
) -> tuple[Any, Any]:
    by_text = {str(key): item for key, item in row.items()}
    for each in drop:
        _named(by_text, each)
    second = by_text.pop(_label_key(row, number, label))
    by_text = {key: item for key, item in by_text.items() if key not in drop}
    inputs = _key(by_text, INPUT_KEYS)
    if inputs is None and len(by_text) == 1:
        inputs = next(iter(by_text))
    if inputs is None:
        raise SeparatrixError(
            f"row {number} has the keys {printable(', '.join(map(str, row)))}; which is the "
            "input? Call it `x`"
        )
    return by_text[inputs], second


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
        count = int(data.groups.max()) + 1
        groups = f"groups = {printable(data.group)} ({count})" if data.group else f"{count} groups"
        parts.append(groups)
    if data.tested is not None:
        parts.append(f"{int(data.tested.sum())} rows kept for testing")
    return ", ".join(parts)
