"""Parts of the ledger: one Parquet file each, complete or absent, with checksums over everything
that is read from it.
"""

import dataclasses
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jaxtyping import Int, UInt64

from separatrix.engine import policy
from separatrix.errors import SeparatrixError, shown
from separatrix.files import is_regular, write_atomic
from separatrix.spec import digest, digest_text

FORMAT = "1"
PART = re.compile(r"part-[0-9a-f]{32}\.parquet")
_NIBBLES = np.full(256, 255, np.uint8)
_NIBBLES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
_IDENTITY = re.compile(r"[0-9a-f]{32}")

Keys = UInt64[np.ndarray, "rows 2"]


class DamagedPart(SeparatrixError):
    """A part of the ledger that cannot be read or believed.

    Args:
      file: the part.
      problem: what is wrong with it.
      others: parts that must be set aside with it.

    >>> str(DamagedPart(Path("part-0.parquet")))
    'the ledger part part-0.parquet is damaged; run the study again to repeat its trials'
    """

    def __init__(self, file: Path, problem: str = "is damaged", others: Sequence[Path] = ()):
        super().__init__(
            f"the ledger part {file.name} {problem}; run the study again to repeat its trials"
        )
        self.file, self.problem = file, problem
        self.files = (file, *others)


@dataclasses.dataclass(frozen=True)
class Part:
    """What is known of a part without reading its rows.

    Args:
      file: the Parquet file.
      columns: the digest of its columns' names and types.
      bytes: its size.
      starts: the first row of each row group, and the number of rows.
      keys: the keys of its trials.
    """

    file: Path
    columns: str
    bytes: int
    starts: tuple[int, ...]
    keys: Keys

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.starts[-1]


def part_name(trials: Iterable[str]) -> str:
    """The name of the part that holds these trials, in any order.

    >>> part_name(["b", "a"]) == part_name(["a", "b"])
    True
    """
    return f"part-{digest(sorted(trials))}.parquet"


def name_of_keys(keys: Keys) -> str:
    """The name of the part that holds the trials with these keys, as `part_name` gives it.

    >>> trials = [format(n * 7919, "032x") for n in (3, 1, 2)]
    >>> name_of_keys(key_of(trials)) == part_name(trials)
    True
    """
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    text = keys[order].astype(">u8").tobytes().hex()
    names = [text[start : start + 32] for start in range(0, len(text), 32)]
    # The text that `digest` makes of a list of names, at a tenth of its cost.
    content = '["' + '","'.join(names) + '"]' if names else "[]"
    return f"part-{digest_text(content)}.parquet"


def key_of(trials: Sequence[str]) -> Keys:
    """Identities as pairs of 64-bit numbers: 16 bytes where a Python string has 80.

    >>> key_of(["0" * 31 + "f"]).tolist()
    [[0, 15]]
    """
    # An identity of another form (no trial has one) is hashed once more.
    raw = b"".join(
        bytes.fromhex(t) if _IDENTITY.fullmatch(t) else hashlib.sha256(t.encode()).digest()[:16]
        for t in trials
    )
    return np.frombuffer(raw, ">u8").astype(np.uint64).reshape(-1, 2)


def _keys_of_column(column: pa.ChunkedArray) -> Keys:
    """The keys of a column of identities, without making Python strings of millions of them."""
    out = [np.zeros((0, 2), np.uint64)]
    for chunk in column.chunks:
        _, ends, letters = chunk.buffers()
        if chunk.null_count or len(chunk) == 0 or letters is None:
            out.append(key_of([str(trial) for trial in chunk.to_pylist()]))
            continue
        bounds = np.frombuffer(ends, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        values = None
        if (np.diff(bounds) == 32).all():
            values = _NIBBLES[np.frombuffer(letters, np.uint8)[bounds[0] : bounds[-1]]].reshape(
                -1, 32
            )
        if values is None or values.max() > 15:
            out.append(key_of(chunk.to_pylist()))
        else:
            out.append(
                np.ascontiguousarray(values[:, ::2] << 4 | values[:, 1::2])
                .view(">u8")
                .astype(np.uint64)
            )
    return np.concatenate(out)


def _columns(schema: pa.Schema) -> str:
    return digest([[field.name, _kind(field.type)] for field in schema])


def _kind(kind: pa.DataType) -> str:
    # Parquet calls the parts of a list by another name, so a list is known by the type of its
    # parts. Text is text, also while it is read with each word once.
    if pa.types.is_list(kind):
        return f"list of {kind.value_type}"
    return str(kind.value_type if pa.types.is_dictionary(kind) else kind)


def write_part(
    folder: Path, table: pa.Table, written: float | None = None, level: int | None = None
) -> Path:
    """Write rows as one part.

    Args:
      folder: the folder of parts.
      table: the rows; the column `trial` has identities.
      written: the time of the file, in seconds since 1970; now by default.
      level: how hard to compress; zstd's default by default.

    Returns:
      The file.

    >>> import tempfile
    >>> file = write_part(Path(tempfile.mkdtemp()), pa.table({"trial": ["a" * 32]}))
    >>> scan_part(file).rows
    1
    """
    about = {"separatrix": FORMAT, "columns": _columns(table.schema), "rows": str(table.num_rows)}
    table = table.replace_schema_metadata(about)
    path = folder / part_name(table["trial"].to_pylist())

    def write(target: Path) -> None:
        pq.write_table(
            table,
            target,
            compression="zstd",
            compression_level=level,
            write_page_checksum=True,
            row_group_size=policy.ROW_GROUP,
        )
        if written is not None:
            os.utime(target, (written, written))

    write_atomic(path, write)
    return path


def _open_part(file: Path, columns: Sequence[str] | None = None) -> pq.ParquetFile:
    """A reader that keeps each word of a text column once, until `_unpacked` has counted."""
    if os.path.lexists(file) and not is_regular(file):
        raise DamagedPart(file, "is not a regular file")
    reader = pq.ParquetFile(file, page_checksum_verification=True, read_dictionary=columns)
    about = reader.metadata
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    size = max(
        sum(max(0, group.total_byte_size) for group in groups),
        about.num_rows * max(1, about.num_columns),
    )
    if size > policy.PART_BYTES or about.num_columns > policy.PART_COLUMNS:
        raise DamagedPart(file, f"would take {size} bytes in memory, more than any part has")
    about = reader.schema_arrow.metadata or {}
    if about.get(b"separatrix") != FORMAT.encode():
        raise SeparatrixError(
            f"the ledger part {file.name} was not written by separatrix; move that file away"
        )
    # Parquet has checksums for its pages, and none for the names and types of columns or the number
    # of rows.
    if (
        about.get(b"columns") != _columns(reader.schema_arrow).encode()
        or "trial" not in reader.schema_arrow.names
    ):
        raise DamagedPart(file)
    names = reader.schema_arrow.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DamagedPart(file, f"has two columns {shown(twice)}")
    if strange := next((f for f in reader.schema_arrow if not _is_cell(f.type)), None):
        raise DamagedPart(file, f"has a column {shown(strange.name)} of type {strange.type}")
    texts = [field.name for field in reader.schema_arrow if pa.types.is_string(field.type)]
    if columns is None and texts:
        return pq.ParquetFile(
            file, metadata=reader.metadata, page_checksum_verification=True, read_dictionary=texts
        )
    return reader


def _is_cell(kind: pa.DataType) -> bool:
    """Whether a column may have this type: text, or numbers, or lists of numbers."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind):
        return True
    while pa.types.is_list(kind):
        kind = kind.value_type
    return pa.types.is_null(kind) or pa.types.is_primitive(kind)


def _unpacked(file: Path, table: pa.Table) -> pa.Table:
    """A table whose text columns were read with each word once, with the texts written out.

    Raises:
      DamagedPart: if they would take too much memory: a few kilobytes can say that a word of
        megabytes is in every row.
    """
    encoded = [name for name in table.column_names if pa.types.is_dictionary(table[name].type)]
    size = sum(
        len(chunk) * _longest(chunk.dictionary) for name in encoded for chunk in table[name].chunks
    )
    if size > policy.TEXT_BYTES:
        raise DamagedPart(file, f"would take {size} bytes in memory, more than any part has")
    for name in encoded:
        column = table[name].cast(table[name].type.value_type)
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _longest(words: pa.Array) -> int:
    lengths = pc.call_function("binary_length", [words])
    return pc.call_function("max", [lengths]).as_py() or 0


def read_columns(file: Path, columns: Sequence[str]) -> pa.Table:
    """Some columns of a part, of those that it has.

    Raises:
      DamagedPart: if it cannot be read.
      FileNotFoundError: if another process has merged the part into another.

    >>> import tempfile
    >>> file = write_part(Path(tempfile.mkdtemp()), pa.table({"trial": ["a" * 32]}))
    >>> read_columns(file, ["trial", "status"]).column_names
    ['trial']
    """
    try:
        reader = _open_part(file)
        there = [name for name in columns if name in reader.schema_arrow.names]
        return _unpacked(file, reader.read(columns=there, use_threads=False))
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise DamagedPart(file) from error


def scan_part(file: Path) -> Part:
    """Read which trials a part holds.

    Raises:
      DamagedPart: if a checksum is wrong.
      FileNotFoundError: if another process has merged the part into another.

    >>> scan_part(Path("part-0.parquet"))
    Traceback (most recent call last):
    FileNotFoundError: ...
    """
    try:
        reader = _open_part(file, ["trial"])
        table = reader.read(columns=["trial"], use_threads=False)
        trials = _unpacked(file, table)["trial"]
        about = reader.schema_arrow.metadata or {}
        stated = about.get(b"rows")
        if not pa.types.is_string(trials.type) or (
            stated is not None and stated != str(len(trials)).encode()
        ):
            raise DamagedPart(file)
        meta = reader.metadata
        starts = np.cumsum([0, *(meta.row_group(i).num_rows for i in range(meta.num_row_groups))])
        if starts[-1] != len(trials):
            raise DamagedPart(file)
        keys = _keys_of_column(trials)
        if not _is_named(file, trials, keys):
            raise DamagedPart(file, "holds other trials than its name says")
        return Part(
            file,
            about[b"columns"].decode(),
            file.stat().st_size,
            tuple(starts.tolist()),
            keys,
        )
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise DamagedPart(file) from error


def _is_named(file: Path, trials: pa.ChunkedArray, keys: Keys) -> bool:
    """Whether the name of a part is the hash of its trials."""
    if file.name == name_of_keys(keys):
        return True
    # Identities of another form, which only tests have, are no keys.
    return len(trials) <= policy.NAMED_ROWS and file.name == part_name(
        str(trial) for trial in trials.to_pylist()
    )


def read_groups(part: Part, groups: Sequence[int] | None = None) -> list[pa.Table]:
    """Read row groups of a part; all by default.

    Raises:
      DamagedPart: if a checksum is wrong.
      FileNotFoundError: if another process has merged the part into another, or written it again;
        then it must be scanned again.

    >>> import tempfile
    >>> table = pa.table({"trial": ["a" * 32], "risk": [0.5]})
    >>> part = scan_part(write_part(Path(tempfile.mkdtemp()), table))
    >>> read_groups(part)[0]["risk"].to_pylist()
    [0.5]
    """
    try:
        reader = _open_part(part.file)
        wanted = range(len(part.starts) - 1) if groups is None else groups
        tables = [
            _unpacked(part.file, reader.read_row_group(group)).replace_schema_metadata()
            for group in wanted
        ]
        for group, table in zip(wanted, tables):
            begin, end = part.starts[group : group + 2]
            if table.num_rows != end - begin:
                raise DamagedPart(part.file)
            if not np.array_equal(_keys_of_column(table["trial"]), part.keys[begin:end]):
                raise FileNotFoundError(
                    f"{part.file.name} was written again, with its trials in another order"
                )
        empty = reader.schema_arrow.empty_table().replace_schema_metadata()
        return tables or [_unpacked(part.file, empty)]
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise DamagedPart(part.file) from error


def group_of(part: Part, rows: Int[np.ndarray, " wanted"]) -> Int[np.ndarray, " wanted"]:
    """The row group of each row.

    >>> part = Part(Path("p"), "", 0, (0, 2, 5), np.zeros((5, 2), np.uint64))
    >>> group_of(part, np.array([1, 2, 4])).tolist()
    [0, 1, 1]
    """
    return np.searchsorted(np.asarray(part.starts), rows, side="right") - 1
