"""How far a run is, by its own account: the sweep that runs now, and the thresholds that its
searches have so far.
"""

import dataclasses
from typing import Any

from separatrix.report.numbers import interval
from separatrix.report.read import readable


@dataclasses.dataclass(frozen=True)
class Search:
    """A threshold so far: its cell, its interval, the trials spent on it, and whether the search
    has ended.

    >>> Search("signal", "thresholds", "CNN, patches 8", 41.0, 30.0, None, 96, False).text
    '41 [30, —]'
    """

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
        """The threshold with its interval, or the bound that is known of it."""
        known = any(each is not None for each in (self.estimate, self.low, self.high))
        return interval(self.estimate, self.low, self.high) if known else "nothing known yet"


@dataclasses.dataclass(frozen=True)
class Going:
    """What a run tells of itself: its studies, the one it is at, how much of which sweep is done,
    and its thresholds.

    >>> Going(study="signal", what="thresholds", done=3, total=12).share
    0.25
    """

    studies: tuple[str, ...] = ()
    study: str = ""
    what: str = ""
    done: int = 0
    total: int = 0
    ended: bool = True
    searches: tuple[Search, ...] = ()

    @property
    def share(self) -> float:
        """The share of the sweep that is done."""
        return min(1.0, self.done / self.total) if self.total > 0 else 0.0

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        now = {
            "studies": list(self.studies),
            "study": self.study,
            "what": self.what,
            "done": self.done,
            "total": self.total,
        }
        return {
            "going": now | {"ended": self.ended},
            "thresholds": [
                dataclasses.asdict(each) | {"text": each.text} for each in self.searches
            ],
        }


def going_of(told: dict[str, Any]) -> Going:
    """What a run's file tells, as far as it is of the kinds that are expected.

    >>> rows = [{"cell": "CNN", "estimate": 41.0, "low": 30.0, "high": 55.0, "trials": 96, "settled": True}, "nonsense"]
    >>> going_of({"study": "signal", "done": "?", "thresholds": {"signal": {"thresholds": rows}}}).searches[0].text
    '41 [30, 55]'
    """
    told = readable(told)
    searches = []
    for study, whats in _dict(told.get("thresholds")).items():
        for what, rows in _dict(whats).items():
            for row in rows if isinstance(rows, list) else []:
                if isinstance(row, dict):
                    estimate, low, high = (
                        _number(row.get(part)) for part in ("estimate", "low", "high")
                    )
                    cell, trials = str(row.get("cell") or ""), int(_number(row.get("trials")) or 0)
                    searches.append(
                        Search(
                            study,
                            what,
                            cell,
                            estimate,
                            low,
                            high,
                            trials,
                            row.get("settled") is True,
                        )
                    )
    listed = told.get("studies")
    names = tuple(str(each) for each in listed) if isinstance(listed, list) else ()
    done, total = (int(_number(told.get(key)) or 0) for key in ("done", "total"))
    return Going(
        names,
        str(told.get("study") or ""),
        str(told.get("what") or ""),
        done,
        total,
        told.get("ended") is not False,
        tuple(searches),
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
