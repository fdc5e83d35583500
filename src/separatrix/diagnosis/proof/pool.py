"""Cases of the proof in processes of their own, which end when the command has ended.

A process that is spawned does not import a package's `__main__` again, so what it runs lives here.
"""

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from separatrix.diagnosis.proof.lines import one_line
from separatrix.engine.execute.local import worker_environment


def end_with(parent: int) -> None:
    """End this process when its parent has ended: a pool's processes would go on otherwise."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_cases(cases: Sequence[tuple[str, int, float]], jobs: int) -> Iterator[dict[str, Any]]:
    """The line of every case, as they end.

    Args:
      cases: truths, seeds and seconds of one core.
      jobs: how many processes, each with one thread.
    """
    os.environ.update(worker_environment(dict(os.environ)))  # one thread per process
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn, end_with, (os.getpid(),)) as pool:
        for future in as_completed([pool.submit(one_line, *case) for case in cases]):
            yield future.result()
