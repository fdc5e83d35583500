"""What every ledger can do, and the ledger of a laboratory without a folder."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from separatrix.engine.store.parts import DamagedPart
from separatrix.engine.store.table import Table, table_of
from separatrix.errors import SeparatrixError


class AnyLedger(Protocol):
    """Remembers finished trials and calculations: in a folder (`Ledger`) or in memory."""

    @property
    def folder(self) -> Path | None:
        """Where results are kept; None in memory."""
        ...

    def is_empty(self) -> bool:
        """Whether no trial is finished."""
        ...

    def done(self, trials: Iterable[str] | None = None) -> set[str]:
        """The identities of all finished trials, or of those among `trials`."""
        ...

    def read(self, trials: Iterable[str] | None = None) -> Table:
        """The rows of the finished ones of these trials, in their order; all rows by default."""
        ...

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Add the rows of a finished chunk."""
        ...

    def remember(self, name: str, parameters: dict[str, Any], calculate: Callable[[], Any]) -> Any:
        """What `calculate` returns, computed once for these parameters."""
        ...

    def contradicted(self, trials: Iterable[str], problem: str) -> DamagedPart:
        """The error for the parts that hold these trials, whose rows cannot be believed."""
        ...

    def mend(self) -> list[str]:
        """Set damaged parts aside, so that their trials run again; the names of those parts."""
        ...

    def set_aside(self, damage: DamagedPart) -> None:
        """Set one damaged part aside."""
        ...

    def compact(self) -> int:
        """Merge many small parts into few large ones; how many were made."""
        ...


class MemoryLedger:
    """Remembers finished trials as long as the process lives.

    >>> ledger = MemoryLedger()
    >>> ledger.write([{"trial": "a" * 32, "risk": 0.1}])
    >>> ledger.done() == {"a" * 32}
    True
    """

    folder = None

    def __init__(self):
        self._rows: dict[str, dict[str, Any]] = {}
        self._calculations: dict[str, Any] = {}

    def is_empty(self) -> bool:
        """Whether no trial is finished."""
        return not self._rows

    def done(self, trials: Iterable[str] | None = None) -> set[str]:
        """The identities of all finished trials, or of those among `trials`."""
        return set(self._rows) if trials is None else self._rows.keys() & set(trials)

    def read(self, trials: Iterable[str] | None = None) -> Table:
        """The rows of the finished ones of these trials, in their order; all rows by default."""
        wanted = self._rows if trials is None else trials
        return table_of(self._rows[trial] for trial in wanted if trial in self._rows)

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Add the rows of a finished chunk."""
        self._rows |= {row["trial"]: row for row in rows}

    def remember(self, name: str, parameters: dict[str, Any], calculate: Callable[[], Any]) -> Any:
        """What `calculate` returns, computed once for these parameters."""
        key = f"{name} {parameters}"
        if key not in self._calculations:
            self._calculations[key] = calculate()
        return self._calculations[key]

    def contradicted(self, trials: Iterable[str], problem: str) -> DamagedPart:
        """Memory has no parts."""
        raise SeparatrixError(f"a row of {next(iter(trials))} {problem}")

    def mend(self) -> list[str]:
        """Memory has no parts that could be damaged."""
        return []

    def set_aside(self, damage: DamagedPart) -> None:
        """Memory has no parts."""
        raise damage

    def compact(self) -> int:
        """Memory has no parts."""
        return 0
