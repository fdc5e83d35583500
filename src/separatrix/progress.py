"""A progress bar on a terminal or in a notebook: `Lab(progress=True)`."""

import dataclasses
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


@dataclasses.dataclass
class ProgressBar:
    """Shows a bar while trials run, and nothing where standard error is no terminal or notebook.

    >>> bar = ProgressBar()
    >>> bar("thresholds", 4, 4)
    """

    _display: Progress | None = None
    _task: Any = None

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show how many trials are done; the bar goes away with the last one."""
        if self._display is None:
            console = Console(stderr=True)
            if not (console.is_terminal or console.is_jupyter):
                return
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
            self._display = Progress(*columns, *times, console=console, transient=True)
            self._display.start()
            self._task = self._display.add_task(what, total=total or None)
        self._display.update(self._task, description=what, completed=done, total=total or None)
        if done >= total:
            self._display.stop()
            self._display = None
