"""Tables in CSV and Parquet files: one column of labels, all others numbers."""

import codecs
import dataclasses
import re
from pathlib import Path
from typing import Any, Literal

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
# Numbered columns whose stem means no more than "column" may come in any order.
UNORDERED = (
    *("attr", "attribute", "c", "col", "column", "comp", "component", "dim", "f", "feat"),
    *("feature", "features", "field", "gene", "input", "item", "pc", "q", "question", "v"),
    *("var", "variable", "x", "pixel", "pixels", "px"),  # pixels are those of an image
)
LEAST_SAMPLES = 8  # fewer numbered columns are no signal
DELIMITERS = (",", ";", "\t")
COLUMN_BYTES = 10_000  # memory that pyarrow takes for a column of a CSV file, however short
PIECE = 1 << 20  # bytes of text that are checked at a time


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
    # What pyarrow needs beside the text: a builder per column, and eight bytes per cell.
    cells = raw.count(delimiter.encode()) + raw.count(b"\n") + 1
    columns_bytes = (first.count(delimiter) + 1) * COLUMN_BYTES
    check_size(path, 2 * len(raw) + 8 * cells + columns_bytes, limit)
    bare = all(_number(cell) for cell in first.split(delimiter))
    notes = _numeric_header(first.split(delimiter)) if bare else []
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
    out = split_columns(path, names, columns, label, limit)
    return dataclasses.replace(out, notes=(*notes, *out.notes))


def _numeric_header(cells: list[str]) -> list[Note]:
    """A note on a first line 0, 1, 2, … or 1, 2, 3, …, which is read as a row like all others."""
    numbers = [float(cell.strip().strip('"')) for cell in cells]
    if len(cells) > 2 and numbers in (
        [float(n) for n in range(len(cells))],
        [float(n + 1) for n in range(len(cells))],
    ):
        words = "the first line holds the numbers of the columns and was read as a row"
        return [Note("numeric-header", "warning", f"{words}; remove it if it is a header")]
    return []


def _first_line(path: Path, raw: bytes) -> str:
    """The first line that is not empty; all lines must be UTF-8."""
    decoder, start = codecs.getincrementaldecoder("utf-8")(), 0
    try:
        # In pieces, so that the text is not in memory twice.
        for start in range(0, len(raw), PIECE):
            decoder.decode(raw[start : start + PIECE], final=start + PIECE >= len(raw))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, start + error.start) + 1
        raise SeparatrixError(
            f"{printable(path)} is not UTF-8 text (line {line}); save it as UTF-8"
        ) from None
    begin = len(raw) - len(raw.removeprefix(codecs.BOM_UTF8))
    while raw[begin : begin + 1] in (b"\r", b"\n"):
        begin += 1
    end = raw.find(b"\n", begin)
    return raw[begin : end if end >= 0 else len(raw)].decode("utf-8").rstrip("\r")


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
        # Text stays encoded: a word that a million rows share is in memory once.
        schema = parquet.ParquetFile(pyarrow.BufferReader(raw)).schema
        columns = [schema.column(i) for i in range(len(schema))]
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        file = parquet.ParquetFile(pyarrow.BufferReader(raw), read_dictionary=texts)
        about = file.metadata
        check_size(path, about.num_rows * max(1, about.num_columns) * 8, limit)
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        check_size(path, sum(max(0, group.total_byte_size) for group in groups), limit)
        # Lists may have any number of values per row. (The metadata of columns would say how
        # many, but pyarrow ends the process where they are damaged.)
        if nested := next((column for column in columns if column.max_repetition_level), None):
            raise SeparatrixError(
                f"column `{printable(nested.path.split('.')[0])}` of {printable(path)} holds "
                "lists; give every number a column"
            )
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
        each: _column_at(path, names, each)
        for each in (*use.drop, *filter(None, (use.group, use.split)))
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
    for i, name in enumerate(names):
        usual = name.strip().lower() in LABEL_COLUMNS[:-1]
        if usual and i != at and i not in dropped and i not in wanted.values():
            words = f"column `{printable(name)}` is an input, and its name is one of labels"
            notes.append(
                Note("perhaps-label", "warning", f"{words}; drop it if it gives them away")
            )
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
    kind, numbered = _numbered([names[i] for i in inputs_at])
    if kind != "signal":
        looks = (_looks_like(names[i], each) for i, each in zip(inputs_at, read))
        notes += [note for several in looks for note in several]
    return RawData(
        inputs,
        _labels(path, names[at], columns[at], limit),
        kind,
        columns=tuple(names[i] for i in inputs_at),
        notes=(*numbered, *notes[:6]),
        groups=_words(path, columns[wanted[use.group]], limit) if use.group else None,
        tested=_words(path, columns[wanted[use.split]], limit) if use.split else None,
        label=names[at],
        dropped=tuple(names[i] for i in dropped),
        group=use.group or "",
    )


def _numbered(names: list[str]) -> tuple[Literal["auto", "signal"], list[Note]]:
    """Whether columns such as t0, t1, … t63 are samples in order, and a note that says so."""
    found = [re.fullmatch(r"(.*\D)(\d{1,9})", name.strip()) for name in names]
    stems = {each[1] if each else "" for each in found}
    stem = next(iter(stems)).strip(" _-.:[(").lower() if len(stems) == 1 else ""
    numbers = [int(each[2]) for each in found if each]
    steps = set(np.diff(numbers).tolist())
    if len(names) < LEAST_SAMPLES or not stem or stem in UNORDERED:
        return "auto", []
    if len(steps) > 1 or min(steps) < 1:
        return "auto", []
    words = (
        f"columns `{printable(names[0])}` to `{printable(names[-1])}` are numbered in order and "
        "read as a signal; say --kind table (kind=) if their order means nothing"
    )
    return "signal", [Note("numbered-columns", "info", words)]


def _words(path: Path, column: Any, limit: int) -> np.ndarray:
    with decoding(path, "a table"):
        words = [str(each) for each in _unpacked(column)]
        longest = max((len(word) for word in words), default=0)
        check_size(path, 4 * longest * len(words), limit)
        return np.array(words, np.str_)


def _unpacked(column: Any) -> Any:
    """The values of a column; equal texts of an encoded column are one object."""
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        return column.to_pylist()
    out: list[Any] = []
    for chunk in column.chunks:
        words = chunk.dictionary.to_pylist()
        codes = chunk.indices.to_pylist()
        out += [None if code is None else words[code] for code in codes]
    return out


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
    lower = [name.strip().lower() for name in names]
    # Beside an x, a y is a coordinate.
    usual = [word for word in LABEL_COLUMNS if word != "y" or "x" not in lower]
    named = [i for word in usual for i, name in enumerate(lower) if name == word and i not in taken]
    if len(named) > 1:
        both = " and ".join(f"`{printable(names[i])}`" for i in named[:3])
        raise SeparatrixError(
            f"{printable(path)} has several columns that may be the labels, {both}: say which "
            "(--label, label=) and drop the others, or a network learns the labels from them"
        )
    if named:
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
    if pyarrow.types.is_dictionary(kind) and len(column):
        first = next((c.dictionary[i.as_py()] for c in column.chunks for i in c.indices[:1]), None)
        if first is not None and pyarrow.types.is_string(kind.value_type):
            column, kind = pyarrow.chunked_array([[first.as_py()]]), kind.value_type
    numeric = (
        pyarrow.types.is_integer(kind)
        or pyarrow.types.is_floating(kind)
        or pyarrow.types.is_boolean(kind)
    )
    if not numeric and not pyarrow.types.is_decimal(kind) and not pyarrow.types.is_null(kind):
        text = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
        value = printable(str(column[0].as_py()) if text else str(kind), 30)
        what = f"text such as `{value}`" if text else f"values of type {value}"
        raise SeparatrixError(
            f"column `{printable(name)}` of {printable(path)} holds {what}; say what it is "
            "(--label, --group, --split), drop it (--drop, drop=) or turn it into numbers"
        )
    _missing(path, name, column)
    with decoding(path, f"a table (column `{printable(name)}`)"):
        return (
            column.cast(pyarrow.float64()) if pyarrow.types.is_decimal(kind) else column
        ).to_numpy()


def _text_labels(path: Path, words: list[str], limit: int) -> np.ndarray:
    """Labels that are words, if an array of them has room."""
    check_size(path, 4 * max(map(len, words)) * len(words), limit)
    return np.array(words, np.object_)


def _labels(path: Path, name: str, column: Any, limit: int) -> np.ndarray:
    import pyarrow

    _missing(path, name, column)
    with decoding(path, f"a table (labels `{printable(name)}`)"):
        kind = column.type
        if pyarrow.types.is_dictionary(kind):
            if pyarrow.types.is_string(kind.value_type):
                return _text_labels(path, _unpacked(column), limit)
            column = column.cast(kind.value_type)
            kind = column.type
        if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
            return _text_labels(path, column.to_pylist(), limit)
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
