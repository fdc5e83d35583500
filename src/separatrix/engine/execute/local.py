"""Running chunks on this machine: in this process, or in one single-threaded worker process per
core.
"""

import concurrent.futures
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
from typing import Any, NamedTuple

import jax

from separatrix.engine.execute.scheduler import Desk, Hint
from separatrix.engine.plan import Chunk, Plan, cores
from separatrix.engine.programs import Programs, Tally
from separatrix.engine.trial import Trial
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


class Finished(NamedTuple):
    """A chunk that has been run.

    >>> Finished([], Tally()).rows
    []
    """

    rows: list[dict[str, Any]]
    tally: Tally
    stored: int = 0  # rows that the worker wrote into the ledger itself


def run_here(plan: Plan, programs: Programs) -> Iterator[Finished]:
    """Run chunks in this process; a batch that does not fit the device's memory is halved until it
    does.

    >>> import separatrix as sx
    >>> from separatrix.engine.plan import Device, make_plan
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=8, seeds=2)
    >>> sum(len(done.rows) for done in run_here(make_plan(sweep, Device("cpu")), Programs()))
    2
    """
    first = {chunk.program: chunk for chunk in reversed(plan.chunks)}
    programs.tally = Tally()
    if len(first) > 1:
        wanted = (
            (chunk.trials[0], chunk.frame, chunk.batch)
            for chunk in plan.chunks
            if first[chunk.program] is chunk
        )
        programs.prepare(wanted, cores())
    try:
        for chunk in plan.chunks:
            rows = run_fitting(list(chunk.trials), chunk.frame, chunk.batch, programs)
            yield Finished(rows, programs.tally)
            programs.tally = Tally()
    finally:
        programs.cancel()  # a sweep that ends early waits for no program that it does not need


def run_in_threads(plan: Plan, programs: Programs, threads: int) -> Iterator[Finished]:
    """Run chunks on threads of this process, which share its programs and arrays.

    >>> import separatrix as sx
    >>> from separatrix.engine.plan import Device, make_plan
    >>> sweep = sx.Sweep.grid(
    ...     sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=8, seeds=2
    ... )
    >>> plan = make_plan(sweep, Device("cpu"))
    >>> sum(len(done.rows) for done in run_in_threads(plan, Programs(), 2))
    2
    """
    programs.tally = Tally()
    first = {chunk.program: chunk for chunk in reversed(plan.chunks)}
    wanted = [(chunk.trials[0], chunk.frame, chunk.batch) for chunk in reversed(first.values())]
    programs.prepare(wanted, threads)
    # Programs compile in the order of the chunks, so that no thread waits for one that is far off.
    pool = concurrent.futures.ThreadPoolExecutor(threads, "trials")
    running = [
        pool.submit(run_fitting, list(chunk.trials), chunk.frame, chunk.batch, programs)
        for chunk in plan.chunks
    ]
    try:
        for future in concurrent.futures.as_completed(running):
            tally, programs.tally = programs.tally, Tally()
            yield Finished(future.result(), tally)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        programs.cancel()


def run_fitting(
    trials: list[Trial], frame: Trial, batch: int, programs: Programs
) -> list[dict[str, Any]]:
    """Run trials, halving the batch until it fits the device's memory.

    >>> import separatrix as sx
    >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=8)
    >>> len(run_fitting([trial], trial, 1, Programs()))
    1
    """
    while True:
        try:
            return programs.run(trials, frame, batch)
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise SeparatrixError(f"the device failed: {str(error).splitlines()[0]}") from error
            if batch == 1:
                raise SeparatrixError("one trial alone does not fit the device's memory") from error
            batch = max(1, batch // 2)


def _end(processes: list[subprocess.Popen[str]], desk: Desk) -> None:
    """Kill worker processes and wait for them."""
    desk.close()
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what was not sent yet has no reader any more
                if pipe is not None:
                    pipe.close()
    processes.clear()


class _Wire:
    """The pipes of a worker process: one thread for each of its lanes writes, one reads."""

    def __init__(
        self, process: subprocess.Popen[str], desk: Desk, answers: queue.SimpleQueue[dict[str, Any]]
    ):
        self.process, self.desk, self.answers = process, desk, answers
        self._writing = threading.Lock()
        number = desk.join()
        ran, prepared = (
            queue.SimpleQueue[bool](),
            queue.SimpleQueue[bool](),
        )  # True when an answer has come, False at the end
        for target, given in (
            (self._lane, (desk.chunk, number, ran)),
            (self._lane, (desk.hint, number, prepared)),
            (self._read, (ran, prepared)),
        ):
            threading.Thread(target=target, args=given, daemon=True).start()

    def _lane(
        self,
        take: Callable[[int], Chunk | Hint | None],
        number: int,
        answered: queue.SimpleQueue[bool],
    ) -> None:
        assert self.process.stdin is not None
        while (task := take(number)) is not None:
            with (
                self._writing,
                contextlib.suppress(OSError, ValueError),
            ):  # who reads notices that the worker is gone
                self.process.stdin.write(json.dumps(task.message()) + "\n")
                self.process.stdin.flush()
            if not answered.get():
                return

    def _read(self, ran: queue.SimpleQueue[bool], prepared: queue.SimpleQueue[bool]) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            # A worker killed while it answers leaves a part of a line.
            while (line := self.process.stdout.readline()).endswith("\n"):
                answer = json.loads(line)
                if "prepared" in answer:
                    self.desk.count(Tally(**answer["prepared"]))
                    prepared.put(True)
                else:
                    self.answers.put(answer)
                    ran.put(True)
        self.answers.put({"error": "a worker process ended unexpectedly"})
        ran.put(False)
        prepared.put(False)


class Workers:
    """One worker process per core; chunks go to a worker that already has their program, where
    there is one.

    >>> with Workers(1) as workers:
    ...     workers.count
    1
    """

    def __init__(self, count: int):
        self.count = count
        self._processes: list[subprocess.Popen[str]] = []
        self._desk = Desk()
        self._answers = queue.SimpleQueue[dict[str, Any]]()
        self._answered = False  # ever
        self._end = weakref.finalize(
            self, _end, self._processes, self._desk
        )  # also for a laboratory that nobody closed

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: Any) -> None:
        self._end()

    def start(self) -> None:
        """Start the processes, which takes them a few seconds, unless they are there."""
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
            _Wire(process, self._desk, self._answers)

    def expect(self, hints: Iterable[Hint]) -> None:
        """Have workers, once they are started, compile programs while they have nothing else to do."""
        self._desk.expect(hints)

    def collect(self) -> Tally:
        """What compiling ahead cost since the last time."""
        return self._desk.collect()

    def run(self, plan: Plan, end: float | None = None) -> Iterator[Finished]:
        """Run chunks as workers become free; results come in the order in which they are finished.

        After the moment `end` of the monotonic clock no more are waited for and the processes are
        ended, but not before they have finished one chunk: a run in small portions gets on, however
        long its chunks are.
        """
        self.start()
        if not self._processes:
            raise SeparatrixError("these worker processes have ended; make others")
        self._desk.post(plan)
        complete = False
        try:
            for _ in range(len(plan.chunks)):
                wait = None
                if end is not None and self._answered:
                    wait = min(max(end - time.monotonic(), 0.0), threading.TIMEOUT_MAX)
                try:
                    answer = self._answers.get(timeout=wait)
                except queue.Empty:
                    return
                if "error" in answer:
                    raise SeparatrixError(answer["error"])
                self._answered = True
                yield Finished(answer["rows"], Tally(**answer["tally"]))
            complete = True
        finally:
            if not complete:
                self.__exit__()
