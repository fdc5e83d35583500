"""The scheduler of worker processes: which worker does what next.

The chunks of the present sweep come first. Idle workers compile programs that will probably be
needed.
"""

import collections
import dataclasses
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from separatrix.engine.frames import framed
from separatrix.engine.plan import Chunk, Device, Plan
from separatrix.engine.programs import RunTally
from separatrix.engine.trial import Trial
from separatrix.spec import importable, to_message


@dataclasses.dataclass(frozen=True)
class Hint:
    """A program that will probably be needed, and a trial that needs it."""

    program: str
    trial: Trial
    frame: Trial

    def message(self) -> dict[str, Any]:
        """The hint as plain values, as a worker process is sent it."""
        return {"prepare": to_message(self.trial), "frame": to_message(self.frame)}


def hints_of(trials: Iterable[Trial], device: Device) -> list[Hint]:
    """One hint per program, in the order of the trials; none for classes that a worker cannot
    import.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=[3000, 8, 64])
    >>> [hint.frame.samples for hint in hints_of(sweep, Device("cpu"))]
    [4096, 2048]
    """
    hints: dict[str, Hint] = {}
    for trial, program, frame in framed(trials, device.rounding):
        if program not in hints and all(
            importable(part) for part in (trial.task, trial.network, trial.learner)
        ):
            hints[program] = Hint(program, trial, frame)
    return list(hints.values())


Job = TypeVar("Job", Chunk, Hint)


class Scheduler:
    """Hands out work: a worker runs one chunk at a time, and compiles one program ahead beside it.

    >>> scheduler = Scheduler()
    >>> scheduler.join(), scheduler.known
    (0, [set()])
    """

    def __init__(self):
        # The programs that each worker has or is compiling, from all sweeps so far.
        self.known: list[set[str]] = []
        self.prepared = RunTally()  # what hints have cost
        self._changed = threading.Condition()
        self._waiting: list[Chunk] = []
        self._hints: list[Hint] = []
        self._device = Device("cpu")
        self._open = True
        self._running: set[int] = set()  # the workers that run a chunk
        self._preparing: set[int] = set()  # the workers that compile ahead

    def join(self) -> int:
        """The number of a new worker."""
        with self._changed:
            self.known.append(set())
            return len(self.known) - 1

    def close(self) -> None:
        """Hand out nothing more."""
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def post(self, plan: Plan) -> None:
        """Hand out the chunks of a plan."""
        with self._changed:
            self._device = plan.device
            self._waiting = list(plan.chunks)
            self._changed.notify_all()

    def expect(self, hints: Iterable[Hint]) -> None:
        """Have idle workers compile these programs, unless some worker has them."""
        with self._changed:
            self._hints += hints
            self._changed.notify_all()

    def next_chunk(self, number: int) -> Chunk | None:
        """The chunk that a worker runs next; waits until there is one, and is None at the end."""
        return self._next(number, self._running, self._take_chunk)

    def next_hint(self, number: int) -> Hint | None:
        """The program that a worker compiles ahead; waits, and is None at the end."""
        return self._next(number, self._preparing, self._take_hint)

    def _next(self, number: int, busy: set[int], take: Callable[[int], Job | None]) -> Job | None:
        with self._changed:
            if number in busy:  # the worker has finished its last job
                busy.remove(number)
                self._changed.notify_all()
            while self._open:
                if (job := take(number)) is not None:
                    self.known[number].add(job.program)
                    busy.add(number)
                    self._changed.notify_all()  # what others may take depends on who is free
                    return job
                self._changed.wait()
            return None

    def _take_chunk(self, number: int) -> Chunk | None:
        place = next(self._places(number), None)
        return None if place is None else self._waiting.pop(place)

    def _places(self, number: int) -> Iterator[int]:
        """The waiting chunks that a worker may take, the best first."""
        waiting = list(enumerate(self._waiting))
        yield from (i for i, chunk in waiting if chunk.program in self.known[number])
        if number in self._preparing and len(self._running | self._preparing) < len(self.known):
            return  # two compilations in one worker hinder each other, and another worker is free
        taken = set[str]().union(*self.known)
        yield from (i for i, chunk in waiting if chunk.program not in taken)
        # A program that another worker has, or is compiling, is compiled again only to save time.
        seconds = collections.defaultdict[str, float](float)
        for _, chunk in waiting:
            seconds[chunk.program] += chunk.flops / self._device.flops
        least = self._device.compile_seconds
        yield from (i for i, chunk in waiting if seconds[chunk.program] > least)

    def _take_hint(self, _: int) -> Hint | None:
        # One worker stays free for what is needed now; while it waits, the driver has its core.
        if len(self._preparing) >= max(1, len(self.known) - 1):
            return None
        taken = set[str]().union(*self.known)
        self._hints = [hint for hint in self._hints if hint.program not in taken]
        return self._hints[0] if self._hints else None

    def count(self, tally: RunTally) -> None:
        """Add what a hint has cost."""
        with self._changed:
            self.prepared = self.prepared.add(tally)

    def collect(self) -> RunTally:
        """What hints have cost since the last call."""
        with self._changed:
            tally, self.prepared = self.prepared, RunTally()
            return tally
