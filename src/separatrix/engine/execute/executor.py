"""Executors: what runs the chunks of a plan, and those that run them in this process."""

import concurrent.futures
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import jax

from separatrix.engine.plan import Plan, cores
from separatrix.engine.programs import Programs, RunTally, use_compilation_cache
from separatrix.engine.trial import Trial
from separatrix.errors import SeparatrixError

if TYPE_CHECKING:
    from separatrix.engine.execute.scheduler import Hint


class Finished(NamedTuple):
    """A chunk that has been run.

    Args:
      rows: one row per trial; none where the worker wrote them into the ledger itself.
      tally: what compiling and running cost.
      stored: how many rows the worker wrote.
    """

    rows: list[dict[str, Any]]
    tally: RunTally
    stored: int = 0


class Executor(Protocol):
    """Runs plans: in this process, in worker processes of this machine, or on a Dask cluster."""

    def run(self, plan: Plan, until: float | None = None) -> Iterator[Finished]:
        """Run the chunks of a plan; results come in the order in which they are finished.

        Args:
          plan: what to run.
          until: the moment of the monotonic clock after which no further chunk is worth waiting
            for. An executor may finish the chunks that it has begun.
        """
        ...

    def expect(self, hints: "Iterable[Hint]") -> None:
        """Take note of programs that will probably be needed; idle workers may compile them."""
        ...

    def collect(self) -> RunTally:
        """What compiling ahead has cost since the last call."""
        ...

    def close(self) -> None:
        """End worker processes and leave clusters."""
        ...


class InProcess:
    """Runs chunks in this process, and compiles their programs on several threads.

    >>> import separatrix as sx
    >>> from separatrix.engine.plan import Device, make_plan
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8, seeds=2)
    >>> sum(len(chunk.rows) for chunk in InProcess().run(make_plan(sweep, Device("cpu"))))
    2
    """

    def __init__(self, programs: Programs | None = None):
        self.programs = Programs() if programs is None else programs

    def run(self, plan: Plan, until: float | None = None) -> Iterator[Finished]:
        """Run chunks one after another; the caller stops between two of them."""
        use_compilation_cache()
        programs = self.programs
        programs.tally = RunTally()
        first = {chunk.program: chunk for chunk in reversed(plan.chunks)}
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
                programs.tally = RunTally()
        finally:
            programs.cancel()  # a sweep that ends early waits for no program that it does not need

    def expect(self, hints: "Iterable[Hint]") -> None:
        """Nothing: this process is never idle."""

    def collect(self) -> RunTally:
        """Nothing is compiled ahead."""
        return RunTally()

    def close(self) -> None:
        """Nothing is open."""


class InThreads(InProcess):
    """Runs chunks on threads of this process, which share its programs and arrays.

    >>> import separatrix as sx
    >>> from separatrix.engine.plan import Device, make_plan
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8, seeds=2)
    >>> plan = make_plan(sweep, Device("cpu", workers=2))
    >>> sum(len(chunk.rows) for chunk in InThreads().run(plan))
    2
    """

    def run(self, plan: Plan, until: float | None = None) -> Iterator[Finished]:
        """Run as many chunks at a time as the plan's device has workers."""
        use_compilation_cache()
        programs, threads = self.programs, max(1, plan.device.workers)
        programs.tally = RunTally()
        first = {chunk.program: chunk for chunk in reversed(plan.chunks)}
        # Programs compile in the order of the chunks, so that no thread waits for one that is far
        # off.
        programs.prepare(
            [(chunk.trials[0], chunk.frame, chunk.batch) for chunk in reversed(first.values())],
            threads,
        )
        pool = concurrent.futures.ThreadPoolExecutor(threads, "trials")
        running = [
            pool.submit(run_fitting, list(chunk.trials), chunk.frame, chunk.batch, programs)
            for chunk in plan.chunks
        ]
        try:
            for future in concurrent.futures.as_completed(running):
                tally, programs.tally = programs.tally, RunTally()
                yield Finished(future.result(), tally)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            programs.cancel()


def run_fitting(
    trials: list[Trial], frame: Trial, batch: int, programs: Programs
) -> list[dict[str, Any]]:
    """Run trials, halving the batch until it fits the device's memory.

    Raises:
      SeparatrixError: if one trial does not fit, or the device fails otherwise.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8)
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
