"""The ledger: a folder that remembers every finished trial by the hash of what it was.

One Parquet part per finished chunk, named by the hash of its trials, written under a temporary
name, synced and renamed. So a part is either whole or absent, writing it twice is harmless, and
resuming is a set difference. Small parts are packed into larger ones as they become many
(`packing`).
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
import pyarrow.parquet as pq

from separatrix.engine import policy
from separatrix.engine.plan import cores
from separatrix.engine.store.compaction import pack
from separatrix.engine.store.index import Index, Places, groups_of
from separatrix.engine.store.parts import (
    FORMAT,
    PART,
    DamagedPart,
    Part,
    group_of,
    key_of,
    read_groups,
    scan_part,
    write_part,
)
from separatrix.engine.store.table import Table, joined, table_of
from separatrix.errors import SeparatrixError
from separatrix.files import explain_os_errors, write_json
from separatrix.spec import digest

__all__ = [
    "FORMAT",
    "MARK",
    "PART",
    "DamagedPart",
    "Ledger",
    "Table",
    "table_of",
]

Result = TypeVar("Result")

MARK = "separatrix.json"
TEMPORARY_MARK = re.compile(rf"\.{re.escape(MARK)}\.[0-9a-f]+\.tmp")


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
        self._parts: dict[str, Part] = {}
        self._old, self._new = (
            Index.of([]),
            Index.of([]),
        )  # two, so that a new part does not sort ten million keys again
        self._held: collections.OrderedDict[tuple[str, int], pa.Table] = (
            collections.OrderedDict()
        )  # parts never change
        self._held_bytes = 0
        self._writes = 0

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> "Ledger":
        """Use a folder that a run made before, or make one; refuse a folder that belongs to
        something else.
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
                    f"the output folder {path} is not empty and was not made by separatrix; choose another with --out"
                )
            path.mkdir(parents=True, exist_ok=True)
        ledger = cls(path)
        if not (path / MARK).exists():
            write_json(path / MARK, {"format": FORMAT, "what": "results of separatrix"})
        ledger._check_format()
        with explain_os_errors(f"write to the output folder {path}"):
            ledger.parts.mkdir(exist_ok=True)
            ledger.calculations.mkdir(exist_ok=True)
        return ledger

    def _check_format(self) -> None:
        try:
            mark = json.loads((self.folder / MARK).read_text(encoding="utf-8"))
            found = mark.get("format") if isinstance(mark, dict) else None
        except (OSError, ValueError, RecursionError):
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
                raise SeparatrixError(
                    f"the ledger holds {file.name}, which is not a part of it; move that file away"
                )
        return [file for file in found if PART.fullmatch(file.name)]

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Add the rows of a finished chunk."""
        self.parts.mkdir(parents=True, exist_ok=True)
        write_part(self.parts, table_of(rows).arrow)
        self._writes += 1
        if self._writes % policy.COMPACTION_PARTS == 0:
            self.pack()

    def pack(self) -> int:
        """Make few large parts of many small ones; how many were made."""
        with contextlib.suppress(
            DamagedPart
        ):  # whoever opens or reads the ledger will set it aside
            return pack(self.parts, self._scan())
        return 0

    def _scan(self) -> tuple[Part, ...]:
        """Look at what is new in the folder since the last time, also by other processes; all
        parts.
        """
        listed = self._listed()
        gone = self._parts.keys() - listed.keys()
        fresh = listed.keys() - self._parts.keys()
        for name in gone:
            del self._parts[name]
        with concurrent.futures.ThreadPoolExecutor(cores()) as pool:
            scans = [(name, pool.submit(scan_part, listed[name])) for name in sorted(fresh)]
        failed = {name: error for name, scan in scans if (error := scan.exception()) is not None}
        self._parts |= {name: scan.result() for name, scan in scans if name not in failed}
        for error in failed.values():
            if not isinstance(
                error, FileNotFoundError
            ):  # packed meanwhile: the pack is in the next listing
                raise error
        indexed = {part.file.name for index in (self._old, self._new) for part in index.parts}
        if indexed != self._parts.keys():
            new = [
                self._parts[name]
                for name in sorted(self._parts)
                if name not in {part.file.name for part in self._old.parts}
            ]
            rows = sum(part.rows for part in new)
            if (
                len(self._old) < policy.SMALL_INDEX
                or rows > len(self._old) // 4
                or not {part.file.name for part in self._old.parts} <= self._parts.keys()
            ):
                self._old, self._new = (
                    Index.of(self._parts[name] for name in sorted(self._parts)),
                    Index.of([]),
                )
            else:
                self._new = Index.of(new)
        return self._old.parts + self._new.parts

    def _listed(self) -> dict[str, Path]:
        """The parts by name.

        A listing is not one moment: it may miss parts that are packed while it is made, and their
        pack, which came too late for it. A second listing has the pack, unless parts vanish again.
        """
        before = self.files()
        while not set(before) <= set(after := self.files()):
            before = after
        return {file.name: file for file in after}

    def _forget(self) -> None:
        """Look at everything anew the next time."""
        self._parts.clear()
        self._held.clear()
        self._held_bytes = 0
        self._old, self._new = Index.of([]), Index.of([])

    def _settled(self, look: Callable[[], Result]) -> Result:
        """What `look` finds, looking again while other processes pack parts away."""
        while True:
            try:
                return look()
            except FileNotFoundError:
                self._forget()

    def _find(self, trials: list[str]) -> Places:
        """Where trials lie, with the parts numbered as `_scan` gives them."""
        keys = key_of(trials)
        found = self._old.find(keys)
        missing = np.flatnonzero(found.part < 0)
        more = self._new.find(keys[missing])
        found.part[missing] = np.where(more.part < 0, -1, more.part + len(self._old.parts))
        found.row[missing] = more.row
        return found

    def _group(self, part: Part, group: int) -> pa.Table:
        """A row group, from memory where it is there."""
        key = part.file.name, group
        if key not in self._held:
            self._held[key] = read_groups(part, [group])[0]
            self._held_bytes += self._held[key].nbytes
            while self._held_bytes > policy.CACHED_BYTES and len(self._held) > 1:
                self._held_bytes -= self._held.popitem(last=False)[1].nbytes
        self._held.move_to_end(key)
        return self._held[key]

    def mend(self) -> list[str]:
        """Set damaged parts aside, so that their trials are computed again; the names of those
        parts.

        The rows of a large ledger are not read for this: damage in them shows when they are asked
        for.
        """
        damaged: list[str] = []
        while True:
            try:
                self._settled(self._verify)
                return damaged
            except DamagedPart as damage:
                self.set_aside(damage)
                damaged.append(damage.file.name)

    def _verify(self) -> None:
        parts = self._scan()
        if sum(part.bytes for part in parts) <= policy.VERIFIED_BYTES:
            for part in parts:
                for group in range(len(part.starts) - 1):
                    self._group(part, group)

    def set_aside(self, damage: DamagedPart) -> None:
        """Give a damaged part another name, under which nobody reads it."""
        with (
            explain_os_errors(f"set the damaged part {damage.file.name} aside"),
            contextlib.suppress(FileNotFoundError),
        ):
            os.replace(damage.file, damage.file.with_name(damage.file.name + ".damaged"))
        self._forget()

    def done(self, trials: Iterable[str] | None = None) -> set[str]:
        """The identities of all finished trials, or of those among `trials`."""
        if trials is None:
            return set(self._settled(self._all))
        wanted = list(trials)
        self._scan()
        return {trial for trial, part in zip(wanted, self._find(wanted).part.tolist()) if part >= 0}

    def _all(self) -> list[str]:
        return [
            trial
            for part in self._scan()
            for trial in pq.ParquetFile(part.file).read(["trial"])["trial"].to_pylist()
        ]

    def read(self, trials: Iterable[str] | None = None) -> Table:
        """The rows of the given trials in the order given, or all rows, each trial once."""
        wanted = None if trials is None else list(trials)
        return self._settled(lambda: self._read(wanted))

    def _read(self, trials: list[str] | None) -> Table:
        parts = self._scan()
        if trials is None:
            index = Index.of(parts)
            at = index.first_of_each()
            number = np.searchsorted(index.starts, at, side="right") - 1
            places = Places(number, at - index.starts[number])
        else:
            places = self._find(trials)
            there = places.part >= 0
            places = Places(places.part[there], places.row[there])
        pieces, order = [], []
        for number, which in groups_of(places, parts).items():
            part, rows = parts[number], places.row[which]
            groups = group_of(part, rows)
            for group in np.unique(groups).tolist():
                mine = groups == group
                pieces.append(
                    self._group(part, group).take(pa.array(rows[mine] - part.starts[group]))
                )
                order.append(which[mine])
        if not pieces:
            return table_of([])
        return Table(joined(pieces).take(pa.array(np.argsort(np.concatenate(order)))))

    def remember(self, name: str, parameters: dict[str, Any], calculate: Callable[[], Any]) -> Any:
        """The plain values that `calculate` returns, computed once for these parameters and then
        read back.
        """
        self.calculations.mkdir(parents=True, exist_ok=True)
        file = self.calculations / f"{name}-{digest(parameters)}.json"
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(stored, dict) and stored.get("parameters") == json.loads(
                json.dumps(parameters)
            ):
                return stored["result"]
        except (OSError, ValueError, KeyError, RecursionError):
            pass  # absent or damaged: calculate it
        write_json(file, {"parameters": parameters, "result": calculate()})
        return json.loads(file.read_text(encoding="utf-8"))["result"]
