"""The progress of a run: one small file in its folder, which `separatrix watch` and `serve` read.

No decision reads this file. Where it cannot be written, the run goes on.
"""

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

from separatrix.engine import Lab
from separatrix.engine.lab import Progress
from separatrix.errors import SeparatrixError
from separatrix.files import read_json, write_json
from separatrix.inference import Threshold

LIVE = "live.json"
EVERY = 1.0  # seconds between two writes
SHARE = 0.05  # of a run's time that writing may take


def update_live(lab: Lab, **changes: Any) -> None:
    """Change some entries of the file.

    Nothing is written without a folder, nor for a shard: several shards would overwrite each other.

    >>> import tempfile
    >>> lab = Lab(tempfile.mkdtemp())
    >>> update_live(lab, study="signal", done=3)
    >>> update_live(lab, done=4)
    >>> read_live(lab.folder)
    {'study': 'signal', 'done': 4}
    """
    folder = lab.ledger.folder
    if folder is not None and lab.shard is None:
        with contextlib.suppress(SeparatrixError, OSError):
            write_json(folder / lab.live_file, read_live(folder, lab.live_file) | changes)


def read_live(folder: Any, name: str = LIVE) -> dict[str, Any]:
    """The entries of a run's file; none where there is no file, or none that can be read.

    Args:
        folder: the folder of the run.
        name: the name of the file.

    >>> read_live("no-such-folder")
    {}
    """
    entries = read_json(Path(folder) / name)
    return entries if isinstance(entries, dict) else {}


@contextlib.contextmanager
def live_run(lab: Lab, studies: list[str]) -> Iterator[None]:
    """Keep the file while studies run: which studies, the progress of the current sweep, and at the
    end that the run has ended.

    >>> import tempfile
    >>> lab = Lab(tempfile.mkdtemp())
    >>> with live_run(lab, ["signal"]):
    ...     read_live(lab.folder)["ended"]
    False
    >>> read_live(lab.folder)["ended"]
    True
    """
    before = lab.progress
    shown: Progress | None = None if isinstance(before, bool) else before
    last = -math.inf

    def progress(what: str, done: int, total: int) -> None:
        nonlocal last
        if shown is not None:
            shown(what, done, total)
        if time.monotonic() - last >= EVERY or done in (0, total):
            last = time.monotonic()
            update_live(lab, what=what, done=done, total=total)

    update_live(
        lab, studies=studies, study="", what="", done=0, total=0, ended=False, thresholds={}
    )
    lab.progress = progress
    try:
        yield
    finally:
        lab.progress = before
        lab.end_progress()
        update_live(lab, what="", ended=True)


@dataclasses.dataclass
class LiveSearches:
    """Writes the thresholds of a search round by round, no more often than is cheap."""

    lab: Lab
    what: str
    _next: float = dataclasses.field(default=-math.inf, init=False)
    _known: dict[Hashable, tuple[int, Threshold]] = dataclasses.field(
        default_factory=dict, init=False
    )

    def show(
        self,
        counts: Mapping[Any, int],
        estimate: Callable[[Any], Threshold],
        settled: Callable[[Any], str | None],
        last: bool = False,
    ) -> None:
        """Write every threshold.

        Args:
            counts: the trials spent on each threshold, by its name.
            estimate: computes a threshold.
            settled: why a threshold is final, or None.
            last: whether this is the last round, which is always written.
        """
        begin = time.monotonic()
        early = begin < self._next and not last
        if self.lab.ledger.folder is None or self.lab.shard is not None or early:
            return
        rows = []
        for name, count in counts.items():
            if not count:
                continue
            if self._known.get(name, (0, None))[0] != count:
                self._known[name] = count, estimate(name)
            threshold = self._known[name][1]
            ends = {end: _positive(getattr(threshold, end)) for end in ("estimate", "low", "high")}
            final = settled(name) is not None
            rows.append({"cell": label_of(name), **ends, "trials": count, "settled": final})
        entries = read_live(self.lab.ledger.folder, self.lab.live_file)
        study, thresholds = entries.get("study") or "", entries.get("thresholds")
        thresholds = thresholds if isinstance(thresholds, dict) else {}
        searches = {**thresholds.get(study, {}), self.what: rows}
        update_live(self.lab, thresholds=thresholds | {study: searches})
        self._next = time.monotonic() + max(EVERY, (time.monotonic() - begin) / SHARE)


def label_of(name: Any) -> str:
    """A cell's name in words: numbers with the names of their fields, texts without.

    >>> label_of(("CNN", 8)), label_of("CNN")
    ('CNN, 8', 'CNN')
    >>> import typing
    >>> label_of(typing.NamedTuple("Cell", [("network", str), ("patches", int)])("CNN", 8))
    'CNN, patches 8'
    """
    if dataclasses.is_dataclass(name) and not isinstance(name, type):
        fields = {field.name: getattr(name, field.name) for field in dataclasses.fields(name)}
    elif isinstance(name, tuple) and hasattr(name, "_fields"):
        fields = dict(zip(vars(type(name))["_fields"], name))
    elif isinstance(name, tuple):
        return ", ".join(label_of(part) for part in name)
    else:
        return str(name)
    words = (
        f"{key} {item:g}" if isinstance(item, int | float) else label_of(item)
        for key, item in fields.items()
    )
    return ", ".join(word for word in words if word)


def _positive(value: float) -> float | None:
    return float(value) if math.isfinite(value) and value > 0 else None
