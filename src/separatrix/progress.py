"""The progress bar of `Lab`, on a terminal or in a notebook."""

import math
import threading
import time
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

AFTER = 1.0  # seconds; shorter work needs no bar


class ProgressBar:
    """Shows a bar while trials run, once they take longer than a second.

    Where standard error is neither a terminal nor a notebook it shows nothing.

    Args:
        after: seconds of work before the bar appears.
        console: where it is drawn; standard error if None.

    >>> bar = ProgressBar()
    >>> bar("thresholds", 0, 4)
    >>> bar("thresholds", 4, 4)
    """

    def __init__(self, after: float = AFTER, console: Console | None = None):
        self._after = after
        self._console = console
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._appeared = threading.Event()
        self._display: Progress | None = None
        self._task: Any = None
        self._last: tuple[str, int, int] = ("", 0, 0)
        self._began = self._ended = -math.inf  # of the work; rounds without a pause are one work

    def __call__(self, what: str, done: int, total: int) -> None:
        """Tell how many trials are done; the bar goes away with the last one."""
        if done >= total:
            self.close()
            return
        with self._lock:
            self._last = (what, done, total)
            if self._display is not None:
                self._update()
            elif self._timer is None and self._has_screen():
                now = time.monotonic()
                if now - self._ended > AFTER:
                    self._began = now
                self._timer = threading.Timer(
                    max(0.0, self._began + self._after - now), self._appear
                )
                self._timer.daemon = True
                self._timer.start()

    @property
    def shown(self) -> bool:
        """Whether the bar is on the screen."""
        return self._display is not None

    def wait(self, seconds: float) -> bool:
        """Wait until the bar is on the screen; whether it is."""
        return self._appeared.wait(seconds)

    def close(self) -> None:
        """Take the bar away, until there is work again."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
                self._ended = time.monotonic()
            if self._display is not None:
                self._display.stop()
                self._display = None
            self._appeared.clear()

    def _has_screen(self) -> bool:
        if self._console is None:
            self._console = Console(stderr=True)
        return self._console.is_terminal or self._console.is_jupyter

    def _appear(self) -> None:
        with self._lock:
            if self._timer is None:  # closed meanwhile
                return
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
            self._display = Progress(
                *columns,
                *times,
                console=self._console,
                transient=True,
                redirect_stdout=False,  # what a program prints goes where it says
            )
            self._task = self._display.add_task(self._last[0])
            self._update()
            self._display.start()
            self._appeared.set()

    def _update(self) -> None:
        assert self._display is not None
        what, done, total = self._last
        self._display.update(self._task, description=what, completed=done, total=total or None)
