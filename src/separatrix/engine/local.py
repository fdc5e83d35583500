"""Running chunks on this machine: in this process, or in one single-threaded worker process per core."""

import collections
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax

from separatrix.engine.plan import Chunk, Plan, cores
from separatrix.engine.programs import Programs, Tally
from separatrix.engine.trial import Trial
from separatrix.errors import SeparatrixError
from separatrix.spec import to_message


def environment(base: dict[str, str]) -> dict[str, str]:
    """The environment of a worker: one CPU device, one thread.

    >>> environment({})["JAX_PLATFORMS"]
    'cpu'
    """
    flags = " ".join(filter(None, [base.get("XLA_FLAGS", ""), "--xla_cpu_multi_thread_eigen=false"]))
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return base | single | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}


class Finished(NamedTuple):
    """A chunk that has been run.

    >>> Finished([], Tally()).rows
    []
    """

    rows: list[dict[str, Any]]
    tally: Tally
    stored: int = 0  # rows that the worker wrote into the ledger itself


def run_here(plan: Plan, programs: Programs) -> Iterator[Finished]:
    """Run chunks in this process; a batch that does not fit the device's memory is halved until it does.

    >>> import separatrix as sx
    >>> from separatrix.engine.plan import Device, make_plan
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=8, seeds=2)
    >>> sum(len(done.rows) for done in run_here(make_plan(sweep, Device("cpu")), Programs()))
    2
    """
    first = {chunk.program: chunk for chunk in reversed(plan.chunks)}
    programs.tally = Tally()
    if len(first) > 1:
        wanted = ((chunk.trials[0], chunk.frame, chunk.batch) for chunk in plan.chunks if first[chunk.program] is chunk)
        programs.prepare(wanted, cores())
    try:
        for chunk in plan.chunks:
            rows = run_fitting(list(chunk.trials), chunk.frame, chunk.batch, programs)
            yield Finished(rows, programs.tally)
            programs.tally = Tally()
    finally:
        programs.cancel()  # a sweep that ends early waits for no program that it does not need


def run_fitting(trials: list[Trial], frame: Trial, batch: int, programs: Programs) -> list[dict[str, Any]]:
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


def _end(processes: list[subprocess.Popen[str]]) -> None:
    """Kill worker processes and wait for them."""
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what was not sent yet has no reader any more
                if pipe is not None:
                    pipe.close()
    processes.clear()


class Workers:
    """One worker process per core; chunks go to a worker that already has their program, where there is one.

    >>> with Workers(1) as workers:
    ...     workers.count
    1
    """

    def __init__(self, count: int):
        self.count = count
        self._processes: list[subprocess.Popen[str]] = []
        self._known: list[set[str]] = []  # the programs that each worker has, from all sweeps so far
        weakref.finalize(self, _end, self._processes)  # also for a laboratory that nobody closed

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: Any) -> None:
        _end(self._processes)
        self._known.clear()

    def _start(self) -> None:
        for number in range(len(self._processes), self.count):
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "separatrix.engine.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    env=environment(dict(os.environ)) | {"SEPARATRIX_WORKER": str(number)},
                    start_new_session=True,  # Ctrl-C is the driver's to handle
                )
            )
            self._known.append(set())

    def run(self, plan: Plan) -> Iterator[Finished]:
        """Run chunks as workers become free; results come in the order in which they are finished."""
        self._start()
        waiting, answers = list(plan.chunks), queue.SimpleQueue[dict[str, Any]]()
        lock, known = threading.Lock(), list(self._known)

        def take(number: int) -> Chunk | None:
            with lock:
                if not waiting:
                    return None
                taken = set().union(*known)
                left = collections.Counter[str]()
                for each in waiting:
                    left[each.program] += each.flops / plan.device.flops
                # A program that another worker has is compiled again only where the time that saves is longer.
                order = [
                    next((i for i, chunk in enumerate(waiting) if chunk.program in known[number]), None),
                    next((i for i, chunk in enumerate(waiting) if chunk.program not in taken), None),
                    next((i for i, chunk in enumerate(waiting) if left[chunk.program] > plan.device.compile_seconds), None),
                ]
                found = next((i for i in order if i is not None), None)
                if found is None:
                    return None
                chunk = waiting.pop(found)
                known[number].add(chunk.program)
                return chunk

        def serve(number: int) -> None:
            process = self._processes[number]
            assert process.stdin is not None
            assert process.stdout is not None
            while (chunk := take(number)) is not None:
                message = {"trials": [to_message(trial) for trial in chunk.trials], "frame": to_message(chunk.frame)}
                try:
                    process.stdin.write(json.dumps(message) + "\n")
                    process.stdin.flush()
                    line = process.stdout.readline()
                except (OSError, ValueError):
                    line = ""
                whole = line.endswith("\n")  # a worker killed while it answers leaves a part of a line
                answers.put(json.loads(line) if whole else {"error": "a worker process ended unexpectedly"})
                if not whole:
                    return

        threads = [threading.Thread(target=serve, args=(n,), daemon=True) for n in range(len(self._processes))]
        for thread in threads:
            thread.start()
        complete = False
        try:
            for _ in range(len(plan.chunks)):
                answer = answers.get()
                if "error" in answer:
                    raise SeparatrixError(answer["error"])
                yield Finished(answer["rows"], Tally(**answer["tally"]))
            complete = True
        finally:
            with lock:
                waiting.clear()
            if not complete:
                self.__exit__()
