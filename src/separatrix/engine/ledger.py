"""The ledger: a folder that remembers every finished trial by the hash of what it was.

One Parquet part per finished chunk, named by the hash of its trials, written under a temporary name, synced and renamed. So a
part is either whole or absent, writing it twice is harmless, and resuming is a set difference.
"""

import contextlib
import dataclasses
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from separatrix.errors import SeparatrixError
from separatrix.spec import digest

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "1"
MARK = "separatrix.json"
PART = re.compile(r"part-[0-9a-f]{32}\.parquet")
TEMPORARY_MARK = re.compile(rf"\.{re.escape(MARK)}\.[0-9a-f]+\.tmp")


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of finished trials.

    >>> table = Table(pa.table({"risk": [0.1, 0.2]}))
    >>> len(table), table.to_pandas().risk.mean().round(2)
    (2, np.float64(0.15))
    """

    arrow: pa.Table

    def __len__(self) -> int:
        return self.arrow.num_rows

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a pandas frame."""
        return self.arrow.to_pandas()


def table_of(rows: Iterable[dict[str, Any]]) -> Table:
    """A table from rows whose columns may differ.

    >>> table_of([{"a": 1}, {"b": 2.0}]).arrow.column_names
    ['a', 'b']
    """
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Table(pa.table({name: _column([row.get(name) for row in rows]) for name in names}))


def _column(items: list[Any]) -> pa.Array:
    try:
        return pa.array(items)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # a field of 3 in one trial and of (3, 3), which is text, in another
        return pa.array([item if item is None or isinstance(item, str) else json.dumps(item) for item in items])


def _part_name(trials: Iterable[str]) -> str:
    return f"part-{digest(sorted(trials))}.parquet"


def _columns(schema: pa.Schema) -> str:
    # Parquet calls the parts of a list by another name, so a list is known by the type of its parts.
    kinds = [f"list of {field.type.value_type}" if pa.types.is_list(field.type) else str(field.type) for field in schema]
    return digest([[field.name, kind] for field, kind in zip(schema, kinds)])


def _joined(tables: list[pa.Table]) -> pa.Table:
    """Tables on top of each other; a column that is text in some of them is text in all."""
    text = {field.name for table in tables for field in table.schema if pa.types.is_string(field.type)}
    for index, table in enumerate(tables):
        for place, field in enumerate(table.schema):
            if field.name in text and not pa.types.is_string(field.type):
                table = table.set_column(place, field.name, table[field.name].cast(pa.string()))
        tables[index] = table
    return pa.concat_tables(tables, promote_options="permissive")


@contextlib.contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turn an operating-system error into one sentence.

    >>> with explained("write the report"):
    ...     open("/no/such/folder/file", "w")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: cannot write the report: No such file or directory (/no/such/folder/file)
    """
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise SeparatrixError(f"cannot {doing}: {error.strerror or error}{where}") from error


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Have `write` make a file under a temporary name, then put it in place: readers see the old file or the new one, whole.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_whole(folder / "note.txt", lambda path: path.write_text("hello"))
    >>> [file.name for file in folder.iterdir()]
    ['note.txt']
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with explained(f"write {path.name}"):
            write(temporary)
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_json(path: Path, value: Any) -> None:
    """Write plain values as JSON, whole or not at all.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "value.json"
    >>> write_json(file, {"a": 1})
    >>> json.loads(file.read_text())
    {'a': 1}
    """
    text = json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    write_whole(path, lambda target: target.write_text(text, encoding="utf-8"))


class Ledger:
    """Remembers finished trials in a folder.

    >>> import tempfile
    >>> ledger = Ledger(tempfile.mkdtemp())
    >>> ledger.write([{"trial": "a" * 32, "risk": 0.1}])
    >>> ledger.done() == {"a" * 32}
    True
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = Path(folder)
        self.parts = self.folder / "ledger"
        self.calculations = self.folder / "calculations"
        self._loaded: dict[str, pa.Table] = {}  # parts never change, so each is read once

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> "Ledger":
        """Use a folder that a run made before, or make one; refuse a folder that belongs to something else."""
        path = Path(folder)
        with explained(f"use the output folder {path}"):
            if path.exists() and not path.is_dir():
                raise SeparatrixError(f"the output folder {path} is a file; choose another with --out")
            # A run that was killed before it had marked its folder leaves at most a mark under a temporary name.
            foreign = path.is_dir() and any(not TEMPORARY_MARK.fullmatch(file.name) for file in path.iterdir())
            if foreign and not (path / MARK).exists():
                raise SeparatrixError(f"the output folder {path} is not empty and was not made by separatrix; choose another with --out")
            path.mkdir(parents=True, exist_ok=True)
        ledger = cls(path)
        if not (path / MARK).exists():
            write_json(path / MARK, {"format": FORMAT, "what": "results of separatrix"})
        ledger._check_format()
        with explained(f"write to the output folder {path}"):
            ledger.parts.mkdir(exist_ok=True)
            ledger.calculations.mkdir(exist_ok=True)
        return ledger

    def _check_format(self) -> None:
        try:
            mark = json.loads((self.folder / MARK).read_text(encoding="utf-8"))
            found = mark.get("format") if isinstance(mark, dict) else None
        except (OSError, ValueError):
            found = None
        if found != FORMAT:
            raise SeparatrixError(
                f"the output folder {self.folder} has format {found!r}, this version reads {FORMAT!r}; choose another with --out"
            )

    def files(self) -> list[Path]:
        """The parts, in the order of their names."""
        if not self.parts.is_dir():
            return []
        found = sorted(file for file in self.parts.iterdir() if not file.name.startswith("."))
        for file in found:
            if not PART.fullmatch(file.name) and not file.name.endswith(".damaged"):
                raise SeparatrixError(f"the ledger holds {file.name}, which is not a part of it; move that file away")
        return [file for file in found if PART.fullmatch(file.name)]

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Add the rows of a finished chunk."""
        self.parts.mkdir(parents=True, exist_ok=True)
        table = table_of(rows).arrow
        table = table.replace_schema_metadata({"separatrix": FORMAT, "columns": _columns(table.schema)})
        path = self.parts / _part_name(row["trial"] for row in rows)
        write_whole(path, lambda target: pq.write_table(table, target, compression="zstd", write_page_checksum=True))

    def _load(self, file: Path) -> pa.Table:
        if file.name in self._loaded:
            return self._loaded[file.name]
        try:
            reader = pq.ParquetFile(file, page_checksum_verification=True)
            about = reader.schema_arrow.metadata or {}
            if about.get(b"separatrix") != FORMAT.encode():
                raise SeparatrixError(f"the ledger part {file.name} was not written by separatrix; move that file away")
            # Parquet has checksums for its pages, and none for the names and types of columns or the number of rows.
            if about.get(b"columns") != _columns(reader.schema_arrow).encode():
                raise DamagedPart(file)
            table = reader.read()
            if file.name != _part_name(table["trial"].to_pylist()):
                raise DamagedPart(file)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DamagedPart(file) from error
        self._loaded[file.name] = table
        return table

    def mend(self) -> list[str]:
        """Set damaged parts aside, so that their trials are computed again; the names of those parts."""
        damaged = []
        for file in self.files():
            try:
                self._load(file)
            except DamagedPart:
                with explained(f"set the damaged part {file.name} aside"):
                    os.replace(file, file.with_name(file.name + ".damaged"))
                damaged.append(file.name)
        return damaged

    def done(self) -> set[str]:
        """The identities of all finished trials."""
        return {trial for file in self.files() for trial in self._load(file)["trial"].to_pylist()}

    def read(self, trials: Iterable[str] | None = None) -> Table:
        """The rows of the given trials in the order given, or all rows, each trial once."""
        tables = [self._load(file) for file in self.files()]
        if not tables:
            return table_of([])
        whole = _joined(tables)
        place = {trial: index for index, trial in enumerate(whole["trial"].to_pylist())}
        wanted = list(place) if trials is None else [trial for trial in trials if trial in place]
        return Table(whole.take(pa.array([place[trial] for trial in wanted], pa.int64())))

    def remember(self, name: str, parameters: dict[str, Any], calculate: Callable[[], Any]) -> Any:
        """The plain values that `calculate` returns, computed once for these parameters and then read back."""
        self.calculations.mkdir(parents=True, exist_ok=True)
        file = self.calculations / f"{name}-{digest(parameters)}.json"
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(stored, dict) and stored.get("parameters") == json.loads(json.dumps(parameters)):
                return stored["result"]
        except (OSError, ValueError, KeyError):
            pass  # absent or damaged: calculate it
        write_json(file, {"parameters": parameters, "result": calculate()})
        return json.loads(file.read_text(encoding="utf-8"))["result"]


class DamagedPart(SeparatrixError):
    """A part that cannot be read.

    >>> str(DamagedPart(Path("part-0.parquet")))
    'the ledger part part-0.parquet is damaged; run the study again to compute its trials anew'
    """

    def __init__(self, file: Path):
        super().__init__(f"the ledger part {file.name} is damaged; run the study again to compute its trials anew")
