"""What worker processes do next: the chunks of the present sweep first, then programs that will
probably be wanted.
"""

import collections
import dataclasses
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from separatrix.engine.frames import framed
from separatrix.engine.plan import Chunk, Device, Plan
from separatrix.engine.programs import Tally
from separatrix.engine.trial import Trial
from separatrix.spec import importable, to_message


@dataclasses.dataclass(frozen=True)
class Hint:
    """A program that will probably be wanted, and a trial that it is for.

    >>> import separatrix as sx
    >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=8)
    >>> [hint.frame.samples for hint in hints_of([trial], Device("cpu"))]
    [2048]
    """

    program: str
    trial: Trial
    frame: Trial

    def message(self) -> dict[str, Any]:
        """As it is told to a worker."""
        return {"prepare": to_message(self.trial), "frame": to_message(self.frame)}


def hints_of(trials: Iterable[Trial], device: Device) -> list[Hint]:
    """One hint a program, in the order of the trials; none for classes that a worker cannot import.

    >>> import separatrix as sx
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), samples=[3000, 8, 64], seeds=3)
    >>> [hint.frame.samples for hint in hints_of(sweep, Device("cpu"))]
    [4096, 2048]
    """
    found: dict[str, Hint] = {}
    for trial, program, frame in framed(trials, device.rounding):
        if program not in found and all(
            importable(part) for part in (trial.task, trial.network, trial.learner)
        ):
            found[program] = Hint(program, trial, frame)
    return list(found.values())


Task = TypeVar("Task", Chunk, Hint)


class Desk:
    """Hands out work: each worker has a lane for chunks and one for programs that are compiled
    ahead.

    >>> desk = Desk()
    >>> desk.join(), desk.known
    (0, [set()])
    """

    def __init__(self):
        self.known: list[
            set[str]
        ] = []  # the programs that each worker has or is compiling, from all sweeps so far
        self.prepared = Tally()  # of hints
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
        """Nothing more is handed out."""
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
        """Have workers that are idle compile these programs, unless one of them has them."""
        with self._changed:
            self._hints += hints
            self._changed.notify_all()

    def chunk(self, number: int) -> Chunk | None:
        """The chunk that a worker runs next; waits until there is one, and is None at the end."""
        return self._taken(number, self._running, self._chunk)

    def hint(self, number: int) -> Hint | None:
        """The program that a worker compiles ahead; waits until there is one, and is None at the
        end.
        """
        return self._taken(number, self._preparing, self._hint)

    def _taken(
        self, number: int, busy: set[int], find: Callable[[int], Task | None]
    ) -> Task | None:
        with self._changed:
            if number in busy:  # it has ended what it had taken before
                busy.remove(number)
                self._changed.notify_all()
            while self._open:
                if (task := find(number)) is not None:
                    self.known[number].add(task.program)
                    busy.add(number)
                    self._changed.notify_all()  # what others may take depends on who is free
                    return task
                self._changed.wait()
            return None

    def _chunk(self, number: int) -> Chunk | None:
        waiting = self._waiting
        taken = set[str]().union(*self.known)
        left = collections.defaultdict[str, float](float)
        for each in waiting:
            left[each.program] += each.flops / self._device.flops
        # A program that another worker has, or is compiling, is compiled again only where the time
        # that saves is longer.
        order = [
            next(
                (i for i, chunk in enumerate(waiting) if chunk.program in self.known[number]), None
            ),
            next((i for i, chunk in enumerate(waiting) if chunk.program not in taken), None),
            next(
                (
                    i
                    for i, chunk in enumerate(waiting)
                    if left[chunk.program] > self._device.compile_seconds
                ),
                None,
            ),
        ]
        if number in self._preparing and len(self._running | self._preparing) < len(self.known):
            order[
                1:
                # Two programs at a time in one worker hinder each other, and another worker is free
            ] = []
        found = next((i for i in order if i is not None), None)
        return None if found is None else waiting.pop(found)

    def _hint(self, number: int) -> Hint | None:
        del number
        # One worker is left to compile what is wanted now; while it waits, its core is the
        # driver's.
        if len(self._preparing) >= max(1, len(self.known) - 1):
            return None
        taken = set[str]().union(*self.known)
        self._hints = [hint for hint in self._hints if hint.program not in taken]
        return self._hints[0] if self._hints else None

    def count(self, tally: Tally) -> None:
        """Add what a hint cost."""
        with self._changed:
            self.prepared = self.prepared.add(tally)

    def collect(self) -> Tally:
        """What hints cost since the last time."""
        with self._changed:
            tally, self.prepared = self.prepared, Tally()
            return tally
