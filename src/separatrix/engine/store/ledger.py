"""The ledger: a folder that remembers every finished trial by the hash of what it was.

It has one Parquet part per finished chunk, named by the hash of the chunk's trials. A part is
written under a temporary name, synced and renamed. So a part is complete or absent, writing it
twice is harmless, and resuming is a set difference. Small parts are merged into larger ones as they
become many (`compaction`).
"""

import collections
import concurrent.futures
import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from separatrix.engine import policy
from separatrix.engine.plan import cores
from separatrix.engine.store.compaction import compact
from separatrix.engine.store.identity import equal_rows
from separatrix.engine.store.index import Index, Places, groups_of
from separatrix.engine.store.parts import (
    FORMAT,
    PART,
    DamagedPart,
    Part,
    group_of,
    key_of,
    read_columns,
    read_groups,
    scan_part,
    write_part,
)
from separatrix.engine.store.table import Table, joined, table_of
from separatrix.errors import SeparatrixError, shown
from separatrix.files import explain_os_errors, is_regular, read_json, write_json
from separatrix.spec import digest

__all__ = ["FORMAT", "MARK", "PART", "DamagedPart", "Ledger", "Table", "table_of"]

Result = TypeVar("Result")

MARK = "separatrix.json"
TEMPORARY_MARK = re.compile(rf"\.{re.escape(MARK)}\.[0-9a-f]+\.tmp")


def check_mark(folder: Path) -> None:
    """Check that a folder, if it is marked as one of results, has the format that we read.

    Raises:
      SeparatrixError: if it has another format, or a mark that cannot be read.

    >>> check_mark(Path("no-such-folder"))
    """
    if not os.path.lexists(folder / MARK):
        return
    mark = read_json(folder / MARK)
    stated = mark.get("format") if isinstance(mark, dict) else None
    if stated != FORMAT:
        raise SeparatrixError(
            f"the folder {folder} has format {shown(stated)}, this version reads {FORMAT!r}; "
            "choose another folder, or use the version that wrote it"
        )


class Ledger:
    """Remembers finished trials in a folder. Several processes may use the same folder at once.

    Args:
      folder: the folder; `Ledger.open` checks it first, and makes it where it is missing.

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
        self._parts: dict[str, Part] = {}
        # Two indices, so that a new part does not sort ten million keys again.
        self._index, self._recent = Index.of([]), Index.of([])
        # Row groups that were read; parts never change.
        self._cache: collections.OrderedDict[tuple[str, int], pa.Table] = collections.OrderedDict()
        self._cached_bytes = 0
        self._writes = 0
        self._compared: set[str] = set()  # parts that agree about the trials that they share

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> "Ledger":
        """Use a folder that an earlier run made, or make one.

        Raises:
          SeparatrixError: if the folder belongs to something else, has another format, or cannot
            be written.
        """
        path = Path(folder)
        with explain_os_errors(f"use the output folder {path}"):
            if path.exists() and not path.is_dir():
                raise SeparatrixError(
                    f"the output folder {path} is a file; choose another with --out"
                )
            # A run that was killed before it had marked its folder leaves at most a mark under a
            # temporary name.
            foreign = path.is_dir() and any(
                not TEMPORARY_MARK.fullmatch(file.name) for file in path.iterdir()
            )
            if foreign and not (path / MARK).exists():
                raise SeparatrixError(
                    f"the output folder {path} is not empty and was not made by separatrix; "
                    "choose another with --out"
                )
            path.mkdir(parents=True, exist_ok=True)
        ledger = cls(path)
        if not (path / MARK).exists():
            write_json(path / MARK, {"format": FORMAT, "what": "results of separatrix"})
        check_mark(path)
        with explain_os_errors(f"write to the output folder {path}"):
            ledger.parts.mkdir(exist_ok=True)
            ledger.calculations.mkdir(exist_ok=True)
        return ledger

    def files(self) -> list[Path]:
        """The files of the parts, in the order of their names.

        Raises:
          SeparatrixError: if the folder of parts holds anything else.
        """
        if not self.parts.is_dir():
            return []
        with explain_os_errors(f"read the folder {self.parts}"):
            files = sorted(file for file in self.parts.iterdir() if not file.name.startswith("."))
        for file in files:
            if not PART.fullmatch(file.name) and not file.name.endswith(".damaged"):
                raise SeparatrixError(
                    f"the ledger holds {file.name}, which is not a part of it; move that file away"
                )
        parts = [file for file in files if PART.fullmatch(file.name)]
        for file in parts:
            # A part that was merged meanwhile is gone, which is no matter.
            if os.path.lexists(file) and not is_regular(file) and os.path.lexists(file):
                raise SeparatrixError(
                    f"the ledger part {file.name} is not a regular file; move it away"
                )
        return parts

    def is_empty(self) -> bool:
        """Whether no trial is finished."""
        return not self.files()

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Add the rows of a finished chunk as one part.

        Raises:
          SeparatrixError: if the part cannot be written; nothing is added then.
        """
        self.parts.mkdir(parents=True, exist_ok=True)
        write_part(self.parts, table_of(rows).arrow)
        self._writes += 1
        if self._writes % policy.COMPACTION_PARTS == 0:
            self.compact()

    def compact(self) -> int:
        """Merge many small parts into few large ones; how many were made."""
        with contextlib.suppress(DamagedPart):  # who opens or reads the ledger sets it aside
            return compact(self.parts, self._scan())
        return 0

    def _scan(self) -> tuple[Part, ...]:
        """All parts; looks at those that are new since the last time, also by other processes."""
        listed = self._listed()
        for name in self._parts.keys() - listed.keys():
            del self._parts[name]
        fresh = sorted(listed.keys() - self._parts.keys())
        with concurrent.futures.ThreadPoolExecutor(cores()) as pool:
            scans = [(name, pool.submit(scan_part, listed[name])) for name in fresh]
        failed = {name: error for name, scan in scans if (error := scan.exception()) is not None}
        self._parts |= {name: scan.result() for name, scan in scans if name not in failed}
        for error in failed.values():
            # A part that was merged meanwhile is gone; the merged part is in the next listing.
            if not isinstance(error, FileNotFoundError):
                raise error
        self._update_index()
        return self._index.parts + self._recent.parts

    def _update_index(self) -> None:
        indexed = {part.file.name for part in self._index.parts}
        recent = {part.file.name for part in self._recent.parts}
        if indexed | recent == self._parts.keys():
            return
        new = [self._parts[name] for name in sorted(self._parts) if name not in indexed]
        if (
            len(self._index) < policy.SMALL_INDEX
            or sum(part.rows for part in new) > len(self._index) // 4
            or not indexed <= self._parts.keys()
        ):
            self._index = Index.of(self._parts[name] for name in sorted(self._parts))
            self._recent = Index.of([])
        else:
            self._recent = Index.of(new)

    def _listed(self) -> dict[str, Path]:
        """The files of the parts by name.

        A listing is not one moment: it may miss parts that are merged while it is made, and also
        the merged part, which came too late for it. A second listing has the merged part, unless
        parts vanish again.
        """
        before = self.files()
        while not set(before) <= set(after := self.files()):
            before = after
        return {file.name: file for file in after}

    def _forget(self) -> None:
        """Look at everything again the next time."""
        self._parts.clear()
        self._cache.clear()
        self._cached_bytes = 0
        self._compared.clear()
        self._index, self._recent = Index.of([]), Index.of([])

    def _settled(self, look: Callable[[], Result]) -> Result:
        """What `look` returns, looking again while other processes merge parts."""
        while True:
            try:
                return look()
            except FileNotFoundError:
                self._forget()

    def _find(self, trials: list[str]) -> Places:
        """Where trials are, with the parts numbered as `_scan` returns them."""
        keys = key_of(trials)
        places = self._index.find(keys)
        missing = np.flatnonzero(places.part < 0)
        more = self._recent.find(keys[missing])
        places.part[missing] = np.where(more.part < 0, -1, more.part + len(self._index.parts))
        places.row[missing] = more.row
        return places

    def _group(self, part: Part, group: int) -> pa.Table:
        """A row group, from the cache if it is there."""
        key = part.file.name, group
        if key not in self._cache:
            self._cache[key] = read_groups(part, [group])[0]
            self._cached_bytes += self._cache[key].nbytes
            while self._cached_bytes > policy.CACHED_BYTES and len(self._cache) > 1:
                self._cached_bytes -= self._cache.popitem(last=False)[1].nbytes
        self._cache.move_to_end(key)
        return self._cache[key]

    def mend(self) -> list[str]:
        """Set damaged parts aside, so that their trials run again; the names of those parts.

        The rows of a large ledger are not read for this: damage in them shows when they are read.
        """
        damaged: list[str] = []
        while True:
            try:
                self._settled(self._verify)
                return damaged
            except DamagedPart as damage:
                self.set_aside(damage)
                damaged += [file.name for file in damage.files]

    def _compare(self) -> None:
        """Raise `DamagedPart` where parts disagree about a trial that several of them hold.

        Such parts come from a process that was killed while it merged them, or from runs that
        worked at the same time; then their rows are equal.
        """
        parts = self._scan()
        names = {part.file.name for part in parts}
        new = [part.keys for part in parts if part.file.name not in self._compared]
        keys = np.concatenate([np.zeros((0, 2), np.uint64), *new])
        if not (self._index.count(keys) + self._recent.count(keys) > 1).any():
            self._compared = names
            return
        index = Index.of(parts)
        copies = index.repeated()
        number = np.searchsorted(index.starts, copies, side="right") - 1
        for a, b in np.unique(number, axis=0).tolist():
            here = (number == (a, b)).all(1)
            tables = [
                self._rows(parts[part], copies[here, side] - index.starts[part])
                for side, part in enumerate((a, b))
            ]
            if not equal_rows(*tables):
                first, second = parts[a].file, parts[b].file
                problem = f"disagrees with {second.name} about a trial"
                raise DamagedPart(first, problem, [second] if a != b else [])
        self._compared = names

    def _rows(self, part: Part, rows: np.ndarray) -> pa.Table:
        """Some rows of a part, in their order."""
        groups = group_of(part, rows)
        pieces, order = [], []
        for group in np.unique(groups).tolist():
            inside = np.flatnonzero(groups == group)
            start = part.starts[group]
            pieces.append(self._group(part, group).take(pa.array(rows[inside] - start)))
            order.append(inside)
        return pa.concat_tables(pieces).take(pa.array(np.argsort(np.concatenate(order))))

    def contradicted(self, trials: Iterable[str], problem: str) -> DamagedPart:
        """The error for the parts that hold these trials, whose rows cannot be believed."""
        wanted = list(trials)
        parts = self._scan()
        numbers = np.unique(self._find(wanted).part)
        files = [parts[number].file for number in numbers.tolist() if number >= 0]
        return DamagedPart(files[0], problem, files[1:])

    def _verify(self) -> None:
        self._compare()
        parts = self._scan()
        if sum(part.bytes for part in parts) <= policy.VERIFIED_BYTES:
            for part in parts:
                for group in range(len(part.starts) - 1):
                    self._group(part, group)

    def set_aside(self, damage: DamagedPart) -> None:
        """Give damaged parts another name, under which nobody reads them."""
        for file in damage.files:
            with (
                explain_os_errors(f"set the damaged part {file.name} aside"),
                contextlib.suppress(FileNotFoundError),
            ):
                os.replace(file, file.with_name(file.name + ".damaged"))
        self._forget()

    def done(self, trials: Iterable[str] | None = None) -> set[str]:
        """The identities of all finished trials, or of those among `trials`.

        Raises:
          DamagedPart: if a part cannot be read; `set_aside` or `mend` helps.
        """
        if trials is None:
            return set(self._settled(self._all))
        wanted = list(trials)
        self._scan()
        return {trial for trial, part in zip(wanted, self._find(wanted).part.tolist()) if part >= 0}

    def _all(self) -> list[str]:
        return [
            trial
            for part in self._scan()
            for trial in read_columns(part.file, ["trial"])["trial"].to_pylist()
        ]

    def read(self, trials: Iterable[str] | None = None) -> Table:
        """The rows of finished trials.

        Args:
          trials: the identities of trials; those that are not finished are left out. All by
            default, each once.

        Returns:
          The rows, in the order of `trials`.

        Raises:
          DamagedPart: if a part cannot be read; `set_aside` or `mend` helps.
        """
        wanted = None if trials is None else list(trials)
        return self._settled(lambda: self._read(wanted))

    def _read(self, trials: list[str] | None) -> Table:
        self._compare()
        parts = self._scan()
        if trials is None:
            index = Index.of(parts)
            first = index.first_of_each()
            number = np.searchsorted(index.starts, first, side="right") - 1
            places = Places(number, first - index.starts[number])
        else:
            places = self._find(trials)
            finished = places.part >= 0
            places = Places(places.part[finished], places.row[finished])
        pieces, order = [], []
        for number, which in groups_of(places, parts).items():
            part, rows = parts[number], places.row[which]
            groups = group_of(part, rows)
            for group in np.unique(groups).tolist():
                inside = groups == group
                start = part.starts[group]
                pieces.append(self._group(part, group).take(pa.array(rows[inside] - start)))
                order.append(which[inside])
        if not pieces:
            return table_of([])
        return Table(joined(pieces).take(pa.array(np.argsort(np.concatenate(order)))))

    def remember(self, name: str, parameters: dict[str, Any], calculate: Callable[[], Any]) -> Any:
        """The result of a calculation that is not a trial, done once for its parameters.

        Args:
          name: what is calculated; part of the name of a file.
          parameters: plain values that determine the result.
          calculate: returns the result as plain values.

        Returns:
          The result, as JSON gives it back.
        """
        self.calculations.mkdir(parents=True, exist_ok=True)
        file = self.calculations / f"{name}-{digest(parameters)}.json"
        stored = read_json(file)  # None where it is absent or damaged
        same = isinstance(stored, dict) and "result" in stored
        if same and stored.get("parameters") == json.loads(json.dumps(parameters)):
            return stored["result"]
        result = calculate()
        write_json(file, {"parameters": parameters, "result": result})
        return json.loads(json.dumps(result))
