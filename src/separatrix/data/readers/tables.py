"""Tables in CSV and Parquet files: one column of labels, all others numbers."""

import dataclasses
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
GROUP_WORDS = (
    *("subject", "subjects", "patient", "participant", "person", "user", "session", "group"),
    *("fold", "site", "device", "animal", "speaker", "recording", "trial", "batch", "cohort"),
)
DELIMITERS = (",", ";", "\t")


@dataclasses.dataclass(frozen=True)
class Columns:
    """What the columns of a table are for.

    Args:
        label: the column of labels; None takes the usual one, or the last.
        drop: columns that are left out.
        group: the column whose equal values keep rows together in a split.
        split: the column that says which rows are for testing.
    """

    label: str | None = None
    drop: tuple[str, ...] = ()
    group: str | None = None
    split: str | None = None


def read_csv(path: Path, limit: int, label: str | Columns | None = None) -> RawData:
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
    return split_columns(path, names, columns, label, limit)


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


def read_parquet(path: Path, limit: int, label: str | Columns | None = None) -> RawData:
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
    return split_columns(path, names, columns, label, limit)


def split_columns(
    path: Path, names: list[str], columns: list[Any], use: str | Columns | None, limit: int
) -> RawData:
    """One column for labels, optional ones for groups and the split, all others for inputs."""
    if not columns or not len(columns[0]):
        raise SeparatrixError(f"{printable(path)} has no rows")
    use = use if isinstance(use, Columns) else Columns(use)
    wanted = {
        each: _column_at(path, names, each) for each in (*use.drop, use.group, use.split) if each
    }
    at = _label_at(path, names, use.label, set(wanted.values()))
    dropped = [wanted[each] for each in use.drop]
    index = next(
        (i for i in (0, len(names) - 1) if i != at and _is_index(names[i], columns[i])), None
    )
    notes = []
    if index is not None and index not in wanted.values():
        dropped.append(index)
        words = f"column `{printable(names[index])}` counts the rows and was left out"
        notes.append(Note("index-column", "info", words))
    inputs_at = [i for i in range(len(names)) if i not in {at, *dropped, *wanted.values()}]
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
        for i, each in enumerate(read):
            inputs[:, i] = each
    notes += [note for i, each in zip(inputs_at, read) for note in _looks_like(names[i], each)]
    return RawData(
        inputs,
        _labels(path, names[at], columns[at]),
        columns=tuple(names[i] for i in inputs_at),
        notes=tuple(notes[:6]),
        groups=_words(path, columns[wanted[use.group]]) if use.group else None,
        tested=_words(path, columns[wanted[use.split]]) if use.split else None,
        label=names[at],
        dropped=tuple(names[i] for i in dropped),
    )


def _words(path: Path, column: Any) -> np.ndarray:
    with decoding(path, "a table"):
        return np.array([str(each) for each in column.to_pylist()], np.str_)


def _looks_like(name: str, values: np.ndarray) -> list[Note]:
    """A note on a column of inputs that looks like an id, or like the name of a group."""
    shown, rows = printable(name), len(values)
    if rows < 20 or values.dtype.kind not in "iuf" or not bool((values == np.rint(values)).all()):
        return []
    count, lower = len(np.unique(values)), name.strip().lower()
    named = any(word in lower.replace("-", "_").split("_") for word in GROUP_WORDS)
    blocks = 1 + int((np.diff(values) != 0).sum()) if rows > 1 else 1
    if count == rows and (named or lower.endswith("id") or bool((np.diff(values) == 1).all())):
        words = f"column `{shown}` is another number in every row and looks like an id; drop it"
        return [Note("perhaps-id", "warning", f"{words} unless it means something")]
    if 3 <= count <= rows // 5 and (named or (count >= 5 and blocks <= min(2 * count, rows // 5))):
        words = (
            f"column `{shown}` has {count} values that repeat and looks like the name of a group"
        )
        more = "say --group (group=) if rows of one value belong together, or drop it"
        return [Note("perhaps-group", "warning", f"{words}; {more}")]
    return []


def _column_at(path: Path, names: list[str], name: str) -> int:
    found = [i for i, each in enumerate(names) if each == name]
    if not found:
        raise UnknownNameError(
            f"column in {printable(path)} called",
            printable(name),
            [printable(each) for each in names],
        )
    if len(found) > 1:
        raise SeparatrixError(
            f"{printable(path)} has {len(found)} columns called `{printable(name)}`; "
            "rename all but one"
        )
    return found[0]


def _label_at(path: Path, names: list[str], label: str | None, taken: set[int]) -> int:
    if label is not None:
        found = _column_at(path, names, label)
        if found in taken:
            raise SeparatrixError(
                f"column `{printable(label)}` of {printable(path)} cannot be the labels and "
                "something else"
            )
        return found
    for usual in LABEL_COLUMNS:
        named = [i for i, name in enumerate(names) if name.strip().lower() == usual]
        if len(named) == 1 and named[0] not in taken:
            return named[0]
    left = [i for i in range(len(names)) if i not in taken]
    if not left:
        raise SeparatrixError(f"{printable(path)} has no column left for labels")
    return left[-1]


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
            f"column `{printable(name)}` of {printable(path)} holds {what}; drop it (--drop, "
            "drop=) or turn it into numbers"
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
