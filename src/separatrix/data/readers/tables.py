"""Tables in CSV and Parquet files: one column of labels, all others numbers."""

from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.readers import decoders
from separatrix.data.readers.limits import check_size, decoding, printable, read_whole
from separatrix.data.rows import RawData
from separatrix.errors import SeparatrixError, UnknownNameError
from separatrix.notes import Note

LABEL_COLUMNS = ("label", "labels", "target", "class", "y")
INDEX_COLUMNS = ("", "unnamed: 0", "__index_level_0__", "index", "id")
DELIMITERS = (",", ";", "\t")


def read_csv(path: Path, limit: int, label: str | None = None) -> RawData:
    """A text table, with or without a header, separated by commas, semicolons or tabs; .gz files
    are decompressed.

    >>> read_csv(Path("no-such-file.csv"), 1000)
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: no-such-file.csv cannot be opened (No such file or directory)
    """
    import pyarrow
    from pyarrow import csv

    raw = read_whole(path, limit)
    with decoding(path, "a CSV file"):
        raw = decoders.inflate(raw, limit)
    first = _first_line(path, raw)
    delimiter = max(DELIMITERS, key=first.count)
    bare = all(_number(cell) for cell in first.split(delimiter))
    with decoding(path, "a CSV file"):
        # One block, because pyarrow infers types from the first block: a later "1.5" in a column of
        # whole numbers would be an error.
        block = min(len(raw) + 1, 2**31 - 1)
        table = csv.read_csv(
            pyarrow.BufferReader(raw),
            read_options=csv.ReadOptions(autogenerate_column_names=bare, block_size=block),
            parse_options=csv.ParseOptions(delimiter=delimiter),
        )
        names = (
            [f"column {i + 1}" for i in range(table.num_columns)]
            if bare
            else list(table.column_names)
        )
        columns = [table.column(i) for i in range(table.num_columns)]
    return _split(path, names, columns, label, limit)


def _first_line(path: Path, raw: bytes) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SeparatrixError(
            f"{printable(path)} is not UTF-8 text (line {line}); save it as UTF-8"
        ) from None
    return text.lstrip("\r\n").split("\n", 1)[0].rstrip("\r")


def _number(cell: str) -> bool:
    try:
        float(cell.strip().strip('"'))
    except ValueError:
        return False
    return True


def read_parquet(path: Path, limit: int, label: str | None = None) -> RawData:
    """A Parquet table, after a check of the size in its metadata.

    >>> read_parquet(Path("no-such-file.parquet"), 1000)
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: no-such-file.parquet cannot be opened (No such file or
        directory)
    """
    import pyarrow
    from pyarrow import parquet

    raw = read_whole(path, limit)
    if raw[:4] != b"PAR1":
        raise SeparatrixError(
            f"{printable(path)} cannot be read as a Parquet file (it does not begin like one)"
        )
    with decoding(path, "a Parquet file"):
        file = parquet.ParquetFile(pyarrow.BufferReader(raw))
        about = file.metadata
        check_size(path, about.num_rows * max(1, about.num_columns) * 8, limit)
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        check_size(path, sum(max(0, group.total_byte_size) for group in groups), limit)
        table = file.read()
        table.validate(full=True)
        names, columns = (
            list(table.column_names),
            [table.column(i) for i in range(table.num_columns)],
        )
    return _split(path, names, columns, label, limit)


def _split(
    path: Path, names: list[str], columns: list[Any], label: str | None, limit: int
) -> RawData:
    """One column for labels, the others for inputs."""
    if not columns or not len(columns[0]):
        raise SeparatrixError(f"{printable(path)} has no rows")
    at = _label_at(path, names, label)
    notes = ()
    dropped = next(
        (i for i in (0, len(names) - 1) if i != at and _is_index(names[i], columns[i])), None
    )
    if dropped is not None:
        notes = (
            Note(
                "index-column",
                "info",
                f"column `{printable(names[dropped])}` counts the rows and was left out",
            ),
        )
    inputs_at = [i for i in range(len(names)) if i not in (at, dropped)]
    if not inputs_at:
        raise SeparatrixError(
            f"{printable(path)} has no columns beside the labels `{printable(names[at])}`"
        )
    check_size(path, len(columns[0]) * len(inputs_at) * 4, limit)
    read = [_numbers(path, names[i], columns[i]) for i in inputs_at]
    whole = all(
        column.dtype.kind in "biu" and column.min() >= 0 and column.max() <= 255 for column in read
    )
    inputs = np.empty((len(read[0]), len(read)), np.uint8 if whole else np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for i, column in enumerate(read):
            inputs[:, i] = column
    return RawData(
        inputs,
        _labels(path, names[at], columns[at]),
        columns=tuple(names[i] for i in inputs_at),
        notes=notes,
    )


def _label_at(path: Path, names: list[str], label: str | None) -> int:
    if label is not None:
        matches = [i for i, name in enumerate(names) if name == label]
        if not matches:
            raise UnknownNameError(
                f"column in {printable(path)} called",
                printable(label),
                [printable(name) for name in names],
            )
        if len(matches) > 1:
            raise SeparatrixError(
                f"{printable(path)} has {len(matches)} columns called `{printable(label)}`; "
                "rename all but one"
            )
        return matches[0]
    for usual in LABEL_COLUMNS:
        matches = [i for i, name in enumerate(names) if name.strip().lower() == usual]
        if len(matches) == 1:
            return matches[0]
    return len(names) - 1


def _is_index(name: str, column: Any) -> bool:
    import pyarrow

    if (
        name.strip().lower() not in INDEX_COLUMNS
        or not pyarrow.types.is_integer(column.type)
        or column.null_count
    ):
        return False
    values = column.to_numpy()
    return int(values[0]) in (0, 1) and bool((np.diff(values) == 1).all())


def _missing(path: Path, name: str, column: Any) -> None:
    if column.null_count:
        what = (
            "is empty"
            if column.null_count == len(column)
            else f"has {column.null_count} missing values"
        )
        raise SeparatrixError(
            f"column `{printable(name)}` of {printable(path)} {what}; remove these rows or fill "
            "them"
        )


def _numbers(path: Path, name: str, column: Any) -> np.ndarray:
    import pyarrow

    kind = column.type
    numeric = (
        pyarrow.types.is_integer(kind)
        or pyarrow.types.is_floating(kind)
        or pyarrow.types.is_boolean(kind)
    )
    if not numeric and not pyarrow.types.is_decimal(kind) and not pyarrow.types.is_null(kind):
        value = printable(
            str(column[0].as_py()) if pyarrow.types.is_string(kind) else str(kind), 30
        )
        what = (
            f"text such as `{value}`"
            if pyarrow.types.is_string(kind)
            else f"values of type {value}"
        )
        raise SeparatrixError(
            f"column `{printable(name)}` of {printable(path)} holds {what}; leave it out or turn "
            "it into numbers"
        )
    _missing(path, name, column)
    with decoding(path, f"a table (column `{printable(name)}`)"):
        return (
            column.cast(pyarrow.float64()) if pyarrow.types.is_decimal(kind) else column
        ).to_numpy()


def _labels(path: Path, name: str, column: Any) -> np.ndarray:
    import pyarrow

    _missing(path, name, column)
    with decoding(path, f"a table (labels `{printable(name)}`)"):
        kind = column.type
        if pyarrow.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
            kind = column.type
        if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
            return np.array(column.to_pylist(), np.object_)
        if pyarrow.types.is_decimal(kind):
            column = column.cast(pyarrow.float64())
        elif not (
            pyarrow.types.is_integer(kind)
            or pyarrow.types.is_floating(kind)
            or pyarrow.types.is_boolean(kind)
        ):
            raise SeparatrixError(
                f"the labels `{printable(name)}` of {printable(path)} are of type "
                f"{printable(str(kind), 30)}, but must be text or numbers"
            )
        return column.to_numpy()
