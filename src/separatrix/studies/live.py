"""What a run tells while it goes on: one small file in its folder, for `separatrix watch` and
`separatrix serve`.

Nothing is ever read from it to decide something: it is a courtesy, and where it cannot be written
the run goes on.
"""

import contextlib
import dataclasses
import json
import math
import time
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

from separatrix.engine import Lab
from separatrix.engine.lab import Progress
from separatrix.errors import SeparatrixError
from separatrix.files import write_json
from separatrix.inference import Threshold

LIVE = "live.json"
EVERY = 1.0  # seconds between two writings
SHARE = 0.05  # of a run's time that telling may take


def tell(lab: Lab, **changes: Any) -> None:
    """Change some entries of the file; nothing without a folder, and nothing for a shard (several
    would write over each other).

    >>> import tempfile
    >>> lab = Lab(tempfile.mkdtemp())
    >>> tell(lab, study="signal", done=3)
    >>> tell(lab, done=4)
    >>> told(lab.folder)
    {'study': 'signal', 'done': 4}
    """
    if lab.ledger is not None and lab.shard is None:
        with contextlib.suppress(SeparatrixError, OSError):
            write_json(lab.ledger.folder / LIVE, told(lab.ledger.folder) | changes)


def told(folder: Any) -> dict[str, Any]:
    """What a run's folder tells of the run that goes on; nothing where there is no such file, or
    none that can be read.

    >>> told("no-such-folder")
    {}
    """
    try:
        found = json.loads((Path(folder) / LIVE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@contextlib.contextmanager
def telling(lab: Lab, studies: list[str]) -> Iterator[None]:
    """While studies run: the file says which there are, how far the sweep is that runs now, and in
    the end that all has ended.

    >>> import tempfile
    >>> lab = Lab(tempfile.mkdtemp())
    >>> with telling(lab, ["signal"]):
    ...     told(lab.folder)["ended"]
    False
    >>> told(lab.folder)["ended"]
    True
    """
    shown: Progress | None = lab.progress
    last = -math.inf

    def progress(what: str, done: int, total: int) -> None:
        nonlocal last
        if shown is not None:
            shown(what, done, total)
        if time.monotonic() - last >= EVERY or done in (0, total):
            last = time.monotonic()
            tell(lab, what=what, done=done, total=total)

    tell(lab, studies=studies, study="", what="", done=0, total=0, ended=False, thresholds={})
    lab.progress = progress
    try:
        yield
    finally:
        lab.progress = shown
        tell(lab, what="", ended=True)


@dataclasses.dataclass
class Searches:
    """Tells the thresholds of a search round by round, no more often than is cheap.

    >>> Searches(Lab(), "thresholds").what
    'thresholds'
    """

    lab: Lab
    what: str
    _next: float = dataclasses.field(default=-math.inf, init=False)
    _known: dict[Hashable, tuple[int, Threshold]] = dataclasses.field(
        default_factory=dict, init=False
    )

    def show(
        self, counts: Mapping[Hashable, int], estimate: Any, settled: Any, last: bool = False
    ) -> None:
        """Tell every threshold: `counts` are the trials spent on each, `estimate(name)` computes
        one, `settled(name)` is why it is final, or None.
        """
        begin = time.monotonic()
        if (
            self.lab.ledger is None
            or self.lab.shard is not None
            or (begin < self._next and not last)
        ):
            return
        rows = []
        for name, count in counts.items():
            if not count:
                continue
            if self._known.get(name, (0, None))[0] != count:
                self._known[name] = count, estimate(name)
            found = self._known[name][1]
            ends = {part: _finite(getattr(found, part)) for part in ("estimate", "low", "high")}
            rows.append(
                {
                    "cell": label_of(name),
                    **ends,
                    "trials": count,
                    "settled": settled(name) is not None,
                }
            )
        before = told(self.lab.ledger.folder)
        study, kept = before.get("study") or "", before.get("thresholds")
        kept = kept if isinstance(kept, dict) else {}
        tell(self.lab, thresholds=kept | {study: {**kept.get(study, {}), self.what: rows}})
        self._next = time.monotonic() + max(EVERY, (time.monotonic() - begin) / SHARE)


def label_of(name: Any) -> str:
    """A cell's name in words.

    >>> label_of(("CNN", 8)), label_of("CNN")
    ('CNN, 8', 'CNN')
    >>> import typing
    >>> label_of(typing.NamedTuple("Cell", [("network", str), ("patches", int)])("CNN", 8))
    'CNN, patches 8'
    """
    if dataclasses.is_dataclass(name) and not isinstance(name, type):
        return label_of_fields(
            {field.name: getattr(name, field.name) for field in dataclasses.fields(name)}
        )
    if isinstance(name, tuple):
        fields = getattr(name, "_fields", None)
        return (
            label_of_fields(dict(zip(fields, name)))
            if fields
            else ", ".join(label_of(each) for each in name)
        )
    return str(name)


def label_of_fields(fields: Mapping[str, Any]) -> str:
    """Numbers with their names, words without.

    >>> label_of_fields({"network": "CNN", "patches": 8})
    'CNN, patches 8'
    """
    named = (
        f"{key} {each:g}" if isinstance(each, int | float) else label_of(each)
        for key, each in fields.items()
    )
    return ", ".join(part for part in named if part)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) and value > 0 else None
