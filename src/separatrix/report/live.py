"""A run while it goes on: what its folder tells, read and never written."""

import dataclasses
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from separatrix.engine.lab import read_manifest
from separatrix.engine.store.ledger import MARK, PART
from separatrix.errors import SeparatrixError
from separatrix.report.content import effect
from separatrix.report.progress import Going, going_of
from separatrix.report.read import read_outcomes
from separatrix.studies.live import told

NETWORKS = {"shared": "CNN", "local": "LCN", "full": "FCN"}
WINDOW = 60.0  # seconds over which the rate is taken
_COLUMNS = ("task.type", "network.connectivity", "status")


@dataclasses.dataclass(frozen=True)
class Part:
    """A finished chunk: when it was written, and how many trials it holds by (task, network,
    status).

    >>> Part(0.0, Counter({("SignalTask", "CNN", "reached"): 3})).trials
    3
    """

    written: float
    kinds: Counter[tuple[str, str, str]]

    @property
    def trials(self) -> int:
        """How many trials it holds."""
        return sum(self.kinds.values())


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """What a run's folder tells at one moment; `now` is when it was looked at, in seconds since
    1970.

    >>> Snapshot(100.0, (Part(90.0, Counter({("SignalTask", "CNN", "reached"): 30})),), 0, 0, (), ()).rate
    0.5
    """

    now: float
    parts: tuple[Part, ...]
    unreadable: int
    calculations: int
    studies: tuple[
        tuple[str, dict[str, int], tuple[tuple[str, str, str], ...]], ...
    ]  # name, verdicts, (claim, quantity, effect)
    runs: tuple[dict[str, Any], ...]
    going: Going = dataclasses.field(default_factory=Going)  # what the run itself tells

    @property
    def trials(self) -> int:
        """How many trials are finished."""
        return sum(part.trials for part in self.parts)

    @property
    def rate(self) -> float:
        """Trials a second over the last minute."""
        return sum(part.trials for part in self.parts if self.now - part.written <= WINDOW) / WINDOW

    @property
    def idle(self) -> float | None:
        """Seconds since the last finished chunk; None before the first."""
        return max(0.0, self.now - max(part.written for part in self.parts)) if self.parts else None

    @property
    def kinds(self) -> list[tuple[str, str, int, dict[str, int]]]:
        """For each task and network: how many trials, and how they ended."""
        total: Counter[tuple[str, str, str]] = sum((part.kinds for part in self.parts), Counter())
        grouped: dict[tuple[str, str], dict[str, int]] = {}
        for (task, network, status), count in sorted(total.items()):
            grouped.setdefault((task, network), {})[status] = count
        return [
            (task, network, sum(ends.values()), ends) for (task, network), ends in grouped.items()
        ]

    def plain(self) -> dict[str, Any]:
        """The snapshot as plain values."""
        return {
            "trials": self.trials,
            "parts": len(self.parts),
            "trials_per_second": self.rate,
            "seconds_since_last": self.idle,
            "unreadable_parts": self.unreadable,
            "calculations": self.calculations,
            "kinds": [
                {"task": task, "network": network, "trials": count, "status": ends}
                for task, network, count, ends in self.kinds
            ],
            "studies": [
                {
                    "study": name,
                    "verdicts": verdicts,
                    "effects": [{"claim": a, "quantity": b, "effect": c} for a, b, c in effects],
                }
                for name, verdicts, effects in self.studies
            ],
            "runs_finished": len(self.runs),
            **self.going.plain(),
        }


@dataclasses.dataclass
class Watcher:
    """Looks at a run's folder again and again; parts never change, so each is read once.

    >>> import tempfile
    >>> from separatrix.engine.store.ledger import Ledger
    >>> folder = tempfile.mkdtemp()
    >>> Ledger.open(folder).write([{"trial": "a" * 32, "task.type": "SignalTask", "network.connectivity": "shared", "status": "reached"}])
    >>> Watcher(folder).look().kinds
    [('SignalTask', 'CNN', 1, {'reached': 1})]
    """

    folder: str | os.PathLike[str]
    _parts: dict[str, Part] = dataclasses.field(default_factory=dict, init=False)
    _outcomes: tuple[Any, tuple[Any, ...]] = dataclasses.field(default=(None, ()), init=False)

    def __post_init__(self):
        path = Path(self.folder)
        if not (path / MARK).is_file():
            raise SeparatrixError(
                f"{path} is not a folder of results; start `separatrix run STUDY --out {path}` and watch it then"
            )

    def look(self, now: float | None = None) -> Snapshot:
        """What the folder tells now."""
        folder = Path(self.folder)
        unreadable = 0
        listed = _listed(folder / "ledger")
        there = set(listed)
        self._parts = {
            name: part for name, part in self._parts.items() if name in there
        }  # others were packed into larger ones
        for file in listed:
            if PART.fullmatch(file) and file not in self._parts:
                part = _part(folder / "ledger" / file)
                if part is None:
                    unreadable += 1
                else:
                    self._parts[file] = part
        calculations = sum(
            name.endswith(".json") and not name.startswith(".")
            for name in _listed(folder / "calculations")
        )
        return Snapshot(
            time.time() if now is None else now,
            tuple(self._parts.values()),
            unreadable,
            calculations,
            self._studies(),
            tuple(read_manifest(folder)),
            going_of(told(folder)),
        )

    def _studies(self) -> tuple[Any, ...]:
        """What finished studies found; their files, which may be large, are read only when one has
        changed.
        """
        folder = Path(self.folder) / "outcomes"
        state = [
            (name, _changed(folder / name)) for name in _listed(folder) if name.endswith(".json")
        ]
        if state != self._outcomes[0]:
            try:
                outcomes = read_outcomes(self.folder)[0]
            except (
                SeparatrixError
            ):  # damaged: the report will say so; here what can be read is shown
                outcomes = {}
            self._outcomes = (
                state,
                tuple((name, *_told(outcome)) for name, outcome in outcomes.items()),
            )
        return self._outcomes[1]


def _listed(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _changed(file: Path) -> tuple[int, int] | None:
    """What tells whether a file is the one seen before; None where it has gone."""
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _part(file: Path) -> Part | None:
    """The counts of a part; None where it cannot be read (now: it may be set aside or repaired at
    any time).
    """
    try:
        reader = pq.ParquetFile(file)
        columns = [name for name in _COLUMNS if name in reader.schema_arrow.names]
        rows = reader.read(columns=columns)
        cells = [
            rows[name].to_pylist() if name in columns else ["?"] * reader.metadata.num_rows
            for name in _COLUMNS
        ]
        written = file.stat().st_mtime
    except (OSError, pa.ArrowException, ValueError):
        return None
    return Part(
        written,
        Counter(
            (str(task), NETWORKS.get(str(network), str(network)), str(end))
            for task, network, end in zip(*cells)
        ),
    )


def _told(outcome: dict[str, Any]) -> tuple[dict[str, int], tuple[tuple[str, str, str], ...]]:
    findings = [each for each in outcome.get("findings") or [] if isinstance(each, dict)]
    verdicts = Counter(str(each.get("verdict")) for each in findings)
    effects = [
        (str(finding.get("id")), str(each.get("name")), effect(each))
        for finding in findings
        for each in (finding.get("evidence") or [])[:1]
        if isinstance(each, dict)
    ]
    return dict(sorted(verdicts.items())), tuple(effects)
