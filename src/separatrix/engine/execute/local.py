"""Worker processes of this machine: one per core, each with one thread."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from separatrix.engine.execute.executor import Finished
from separatrix.engine.execute.scheduler import Hint, Scheduler
from separatrix.engine.plan import Chunk, Plan
from separatrix.engine.programs import RunTally
from separatrix.errors import SeparatrixError


def worker_environment(base: Mapping[str, str], number: int | None = None) -> dict[str, str]:
    """The environment of a worker process: one CPU device, one thread.

    Args:
      base: the environment of the driver.
      number: the worker's number, which chooses its core; None leaves that to the system.

    >>> worker_environment({})["JAX_PLATFORMS"]
    'cpu'
    """
    flags = " ".join(
        filter(None, [base.get("XLA_FLAGS", ""), "--xla_cpu_multi_thread_eigen=false"])
    )
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    core = {} if number is None else {"SEPARATRIX_WORKER": str(number)}
    return {**base, **single, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, **core}


def _end(processes: list[subprocess.Popen[str]], scheduler: Scheduler) -> None:
    """Kill worker processes and wait for them."""
    scheduler.close()
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # nobody reads what was not sent yet
                if pipe is not None:
                    pipe.close()
    processes.clear()


class _Pipes:
    """The pipes of a worker process, and three threads: two write, one for chunks and one for
    programs to compile ahead; one reads the answers.
    """

    def __init__(
        self,
        process: subprocess.Popen[str],
        scheduler: Scheduler,
        answers: queue.SimpleQueue[dict[str, Any]],
    ):
        self.process, self.scheduler, self.answers = process, scheduler, answers
        self._writing = threading.Lock()
        number = scheduler.join()
        # True when an answer has come, False when the worker has ended.
        ran, prepared = queue.SimpleQueue[bool](), queue.SimpleQueue[bool]()
        for target, arguments in (
            (self._send, (scheduler.next_chunk, number, ran)),
            (self._send, (scheduler.next_hint, number, prepared)),
            (self._read, (ran, prepared)),
        ):
            threading.Thread(target=target, args=arguments, daemon=True).start()

    def _send(
        self,
        take: Callable[[int], Chunk | Hint | None],
        number: int,
        answered: queue.SimpleQueue[bool],
    ) -> None:
        assert self.process.stdin is not None
        while (job := take(number)) is not None:
            # The thread that reads notices when the worker is gone.
            with self._writing, contextlib.suppress(OSError, ValueError):
                self.process.stdin.write(json.dumps(job.message()) + "\n")
                self.process.stdin.flush()
            if not answered.get():
                return

    def _read(self, ran: queue.SimpleQueue[bool], prepared: queue.SimpleQueue[bool]) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            # A worker that is killed while it answers leaves a part of a line.
            while (line := self.process.stdout.readline()).endswith("\n"):
                answer = json.loads(line)
                if "prepared" in answer:
                    self.scheduler.count(RunTally(**answer["prepared"]))
                    prepared.put(True)
                else:
                    self.answers.put(answer)
                    ran.put(True)
        self.answers.put({"error": "a worker process ended unexpectedly"})
        ran.put(False)
        prepared.put(False)


class Workers:
    """Runs chunks in `count` worker processes, preferably where their program is compiled already.

    >>> with Workers(1) as workers:
    ...     workers.count
    1
    """

    def __init__(self, count: int):
        self.count = count
        self._processes: list[subprocess.Popen[str]] = []
        self._scheduler = Scheduler()
        self._answers = queue.SimpleQueue[dict[str, Any]]()
        self._answered = False  # whether any chunk was ever finished
        # The processes also end with a laboratory that nobody closed.
        self._end = weakref.finalize(self, _end, self._processes, self._scheduler)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        self._end()

    def start(self) -> None:
        """Start the processes, unless they are running; importing takes them a few seconds."""
        for number in range(len(self._processes), self.count if self._end.alive else 0):
            process = subprocess.Popen(
                [sys.executable, "-m", "separatrix.engine.execute.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env=worker_environment(os.environ, number),
                start_new_session=True,  # Ctrl-C is the driver's to handle
            )
            self._processes.append(process)
            _Pipes(process, self._scheduler, self._answers)

    def expect(self, hints: Iterable[Hint]) -> None:
        """Start the processes, and have idle ones compile these programs."""
        self.start()
        self._scheduler.expect(hints)

    def collect(self) -> RunTally:
        """What compiling ahead has cost since the last call."""
        return self._scheduler.collect()

    def run(self, plan: Plan, until: float | None = None) -> Iterator[Finished]:
        """Run chunks as workers become free; results come in the order in which they are finished.

        After the moment `until` no further chunk is waited for and the processes end. They always
        finish one chunk before: a run in small portions gets on, however long its chunks are.

        Raises:
          SeparatrixError: if a worker fails or ends.
        """
        self.start()
        if not self._processes:
            raise SeparatrixError("these worker processes have ended; make others")
        self._scheduler.post(plan)
        complete = False
        try:
            for _ in range(len(plan.chunks)):
                wait = None
                if until is not None and self._answered:
                    wait = min(max(until - time.monotonic(), 0.0), threading.TIMEOUT_MAX)
                try:
                    answer = self._answers.get(timeout=wait)
                except queue.Empty:
                    return
                if "error" in answer:
                    raise SeparatrixError(answer["error"])
                self._answered = True
                yield Finished(answer["rows"], RunTally(**answer["tally"]))
            complete = True
        finally:
            if not complete:
                self.close()
