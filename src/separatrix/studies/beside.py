"""Calculations that run while trials do."""

import concurrent.futures
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def beside(calculate: Callable[[], T]) -> Callable[[], T]:
    """Start a calculation in a thread of its own; what is returned waits for its result, or raises
    what it raised.

    The thread does not outlive the program: whoever interrupts a run does not wait for it.

    >>> result = beside(lambda: 6 * 7)
    >>> result()
    42
    """
    future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def work() -> None:
        try:
            future.set_result(calculate())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future.result
