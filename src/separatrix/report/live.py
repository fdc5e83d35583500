"""A run while it goes on, as its folder shows it; nothing is ever written there."""

import dataclasses
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.engine import read_manifest
from separatrix.engine.store.ledger import MARK, PART, check_mark
from separatrix.engine.store.parts import Keys, key_of, read_columns
from separatrix.errors import SeparatrixError
from separatrix.files import explain_os_errors
from separatrix.report.content import effect
from separatrix.report.numbers import interval, number_or_none
from separatrix.report.read import read_outcomes, readable
from separatrix.studies.live import read_live

NETWORKS = {"shared": "CNN", "local": "LCN", "full": "FCN"}
WINDOW = 60.0  # seconds over which the rate is measured
_COLUMNS = ("trial", "task.type", "network.connectivity", "status")


@dataclasses.dataclass(frozen=True)
class ThresholdSearch:
    """The search for the threshold of one cell: its interval so far and the trials it has used."""

    study: str
    what: str
    cell: str
    estimate: float | None
    low: float | None
    high: float | None
    trials: int
    settled: bool

    @property
    def text(self) -> str:
        """The threshold with its interval, or the bound that is known."""
        known = any(value is not None for value in (self.estimate, self.low, self.high))
        return interval(self.estimate, self.low, self.high) if known else "nothing known yet"


@dataclasses.dataclass(frozen=True)
class RunProgress:
    """What a run reports of itself: its studies, the current one and its sweep, its thresholds.

    `done` and `total` count the trials of the current sweep, which `what` names.
    """

    studies: tuple[str, ...] = ()
    study: str = ""
    what: str = ""
    done: int = 0
    total: int = 0
    ended: bool = True
    searches: tuple[ThresholdSearch, ...] = ()

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "going": {
                "studies": list(self.studies),
                "study": self.study,
                "what": self.what,
                "done": self.done,
                "total": self.total,
                "ended": self.ended,
            },
            "thresholds": [
                dataclasses.asdict(search) | {"text": search.text} for search in self.searches
            ],
        }


def progress_from(plain: dict[str, Any]) -> RunProgress:
    """The progress that a run's file describes; parts of an unexpected kind are ignored.

    >>> row = {"cell": "CNN", "estimate": 41.0, "low": 30.0, "high": 55.0, "trials": 96}
    >>> thresholds = {"signal": {"thresholds": [row, "nonsense"]}}
    >>> progress_from({"study": "signal", "done": "?", "thresholds": thresholds}).searches[0].text
    '41 [30, 55]'
    """
    plain = readable(plain)
    searches = []
    for study, rows_by_name in _dict(plain.get("thresholds")).items():
        for what, rows in _dict(rows_by_name).items():
            searches += [
                ThresholdSearch(
                    study=study,
                    what=what,
                    cell=str(row.get("cell") or ""),
                    estimate=number_or_none(row.get("estimate")),
                    low=number_or_none(row.get("low")),
                    high=number_or_none(row.get("high")),
                    trials=_count(row.get("trials")),
                    settled=row.get("settled") is True,
                )
                for row in (rows if isinstance(rows, list) else [])
                if isinstance(row, dict)
            ]
    studies = plain.get("studies")
    return RunProgress(
        studies=tuple(str(name) for name in studies) if isinstance(studies, list) else (),
        study=str(plain.get("study") or ""),
        what=str(plain.get("what") or ""),
        done=_count(plain.get("done")),
        total=_count(plain.get("total")),
        ended=plain.get("ended") is not False,
        searches=tuple(searches),
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    return int(number_or_none(value) or 0)


@dataclasses.dataclass(frozen=True)
class PartCounts:
    """A part of the ledger: when it was written, and its trials by (task, network, status).

    Trials that another part holds too are counted there.
    """

    written: float
    kinds: Counter[tuple[str, str, str]]

    @property
    def trials(self) -> int:
        """The number of trials."""
        return sum(self.kinds.values())


@dataclasses.dataclass(frozen=True)
class StudyResults:
    """A finished study: how many claims have each verdict, and (claim, quantity, effect)."""

    name: str
    verdicts: dict[str, int]
    effects: tuple[tuple[str, str, str], ...]


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """The state of a run's folder at the time `now`, in seconds since 1970.

    >>> part = PartCounts(90.0, Counter({("SignalTask", "CNN", "reached"): 30}))
    >>> Snapshot(100.0, (part,), 0, 0, (), ()).rate
    0.5
    """

    now: float
    parts: tuple[PartCounts, ...]
    unreadable: int
    calculations: int
    studies: tuple[StudyResults, ...]
    runs: tuple[dict[str, Any], ...]
    progress: RunProgress = dataclasses.field(default_factory=RunProgress)

    @property
    def trials(self) -> int:
        """The number of finished trials."""
        return sum(part.trials for part in self.parts)

    @property
    def rate(self) -> float:
        """Trials per second over the last minute."""
        return sum(part.trials for part in self.parts if self.now - part.written <= WINDOW) / WINDOW

    @property
    def idle(self) -> float | None:
        """Seconds since the last part was written; None before the first."""
        return max(0.0, self.now - max(part.written for part in self.parts)) if self.parts else None

    @property
    def kinds(self) -> list[tuple[str, str, int, dict[str, int]]]:
        """For each task and network: the number of trials, and the number by status."""
        total: Counter[tuple[str, str, str]] = sum((part.kinds for part in self.parts), Counter())
        grouped: dict[tuple[str, str], dict[str, int]] = {}
        for (task, network, status), count in sorted(total.items()):
            grouped.setdefault((task, network), {})[status] = count
        return [
            (task, network, sum(counts.values()), counts)
            for (task, network), counts in grouped.items()
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
                {"task": task, "network": network, "trials": count, "status": counts}
                for task, network, count, counts in self.kinds
            ],
            "studies": [
                {
                    "study": study.name,
                    "verdicts": study.verdicts,
                    "effects": [
                        {"claim": claim, "quantity": quantity, "effect": text}
                        for claim, quantity, text in study.effects
                    ],
                }
                for study in self.studies
            ],
            "runs_finished": len(self.runs),
            **self.progress.plain(),
        }


@dataclasses.dataclass(frozen=True)
class _Trials:
    """The trials of a part: their keys, and (task, network, status) of each."""

    written: float
    keys: Keys
    kinds: tuple[tuple[str, str, str], ...]


@dataclasses.dataclass
class Watcher:
    """Looks at the folder of a run, as often as asked.

    Parts of the ledger never change, so each is read once.

    Args:
      folder: the folder of a run, which may still be running.

    Raises:
      SeparatrixError: where there is no run in the folder.

    >>> import tempfile
    >>> from separatrix.engine.store.ledger import Ledger
    >>> folder = tempfile.mkdtemp()
    >>> row = {"task.type": "SignalTask", "network.connectivity": "shared", "status": "reached"}
    >>> Ledger.open(folder).write([{"trial": "a" * 32} | row])
    >>> Watcher(folder).look().kinds
    [('SignalTask', 'CNN', 1, {'reached': 1})]
    """

    folder: str | os.PathLike[str]
    _parts: dict[str, _Trials] = dataclasses.field(default_factory=dict, init=False)
    # The times and sizes of the outcomes' files when they were read, and the results in them
    _outcomes: tuple[Any, tuple[StudyResults, ...]] = dataclasses.field(
        default=(None, ()), init=False
    )

    def __post_init__(self):
        path = Path(self.folder)
        with explain_os_errors(f"read the folder {path}"):
            marked = os.path.lexists(path / MARK)
        if marked:
            check_mark(path)
        else:
            raise SeparatrixError(
                f"{path} is not a folder of results; start `separatrix run STUDY --out {path}` "
                "and watch it then"
            )

    def look(self, now: float | None = None) -> Snapshot:
        """The state of the folder.

        Args:
          now: the time of the look, in seconds since 1970; the clock's by default.
        """
        folder = Path(self.folder)
        files = [name for name in _listed(folder / "ledger") if PART.fullmatch(name)]
        parts = {
            name: self._parts.get(name) or _read_part(folder / "ledger" / name) for name in files
        }
        # Parts that were merged into larger ones are forgotten; unreadable ones are tried again.
        self._parts = {name: part for name, part in parts.items() if part is not None}
        calculations = sum(
            name.endswith(".json") and not name.startswith(".")
            for name in _listed(folder / "calculations")
        )
        return Snapshot(
            now=time.time() if now is None else now,
            parts=_counted(list(self._parts.values())),
            unreadable=len(parts) - len(self._parts),
            calculations=calculations,
            studies=self._studies(),
            runs=tuple(read_manifest(folder)),
            progress=progress_from(read_live(folder)),
        )

    def _studies(self) -> tuple[StudyResults, ...]:
        """The results of finished studies; their files are read only when one has changed."""
        folder = Path(self.folder) / "outcomes"
        state = [
            (name, _file_state(folder / name)) for name in _listed(folder) if name.endswith(".json")
        ]
        if state != self._outcomes[0]:
            try:
                outcomes = read_outcomes(self.folder)[0]
            except SeparatrixError:  # the report names the damaged file; the rest is shown here
                outcomes = {}
            results = tuple(_results_of(name, outcome) for name, outcome in outcomes.items())
            self._outcomes = (state, results)
        return self._outcomes[1]


def _listed(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _file_state(file: Path) -> tuple[int, int] | None:
    """The time and size of a file, which change with its content; None where it is gone."""
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _read_part(file: Path) -> _Trials | None:
    """The trials of a part; None while it cannot be read (it may be moved or repaired any time)."""
    try:
        rows = read_columns(file, _COLUMNS)
        written = file.stat().st_mtime
    except (OSError, SeparatrixError):
        return None
    cells = [
        rows[name].to_pylist() if name in rows.column_names else ["?"] * rows.num_rows
        for name in _COLUMNS
    ]
    trials, *kinds = cells
    keys = key_of([str(trial) for trial in trials])
    labels = [
        (str(task), NETWORKS.get(str(network), str(network)), str(status))
        for task, network, status in zip(*kinds)
    ]
    return _Trials(written, keys, tuple(labels))


def _counted(parts: list[_Trials]) -> tuple[PartCounts, ...]:
    """The counts of parts; a trial that is in several counts in the first."""
    keys = np.concatenate([np.zeros((0, 2), np.uint64), *(part.keys for part in parts)])
    _, first = np.unique(keys, axis=0, return_index=True)
    new = np.zeros(len(keys), bool)
    new[first] = True
    out, start = [], 0
    for part in parts:
        mine = new[start : start + len(part.kinds)]
        start += len(part.kinds)
        kinds = part.kinds if mine.all() else [k for k, keep in zip(part.kinds, mine) if keep]
        out.append(PartCounts(part.written, Counter(kinds)))
    return tuple(out)


def _results_of(name: str, outcome: dict[str, Any]) -> StudyResults:
    findings = [finding for finding in outcome.get("findings") or [] if isinstance(finding, dict)]
    verdicts = Counter(str(finding.get("verdict")) for finding in findings)
    effects = tuple(
        (str(finding.get("id")), str(evidence.get("name")), effect(evidence))
        for finding in findings
        for evidence in (finding.get("evidence") or [])[:1]
        if isinstance(evidence, dict)
    )
    return StudyResults(name, dict(sorted(verdicts.items())), effects)
