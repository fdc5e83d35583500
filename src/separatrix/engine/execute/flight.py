"""Chunks on their way to a cluster and back: which wait, which are with a worker, and how many
workers each has cost.
"""

import collections
import dataclasses
import queue
import secrets
from collections.abc import Iterable
from typing import Any

from separatrix.engine import policy
from separatrix.engine.execute import wire as remote
from separatrix.engine.plan import Chunk
from separatrix.errors import SeparatrixError


class Waiting:
    """Chunks that wait for a worker, by their program: a worker gets a program that it has, or else
    one that nobody has.

    >>> from separatrix.engine.frames import Cost
    >>> chunks = [Chunk(program, (), None, 1, Cost(0.0, 0.0)) for program in "aab"]
    >>> waiting = Waiting(chunks)
    >>> [waiting.take({"b"}, {"b"}).program, waiting.take({"b"}, {"b"}).program, len(waiting)]
    ['b', 'a', 1]
    """

    def __init__(self, chunks: Iterable[Chunk]):
        self._programs: dict[str, collections.deque[Chunk]] = {}
        for chunk in chunks:
            self.put(chunk)

    def __len__(self) -> int:
        return sum(len(chunks) for chunks in self._programs.values())

    def put(self, chunk: Chunk) -> None:
        """Have a chunk wait."""
        self._programs.setdefault(chunk.program, collections.deque()).append(chunk)

    def take(self, known: set[str], taken: set[str]) -> Chunk:
        """A chunk for a worker that has the programs `known`, where all workers together have those
        `taken`.
        """
        choices = [name for name in self._programs if name in known] or [
            name for name in self._programs if name not in taken
        ]
        name = (
            choices[0]
            if choices
            else max(self._programs, key=lambda each: len(self._programs[each]))
        )
        chunk = self._programs[name].popleft()
        if not self._programs[name]:
            del self._programs[name]
        return chunk


@dataclasses.dataclass
class Flight:
    """The chunks of a plan on their way: which wait, which are with a worker, and how many workers
    each has cost.

    >>> Flight(Waiting([]), "cpu").flying
    {}
    """

    waiting: Waiting
    platform: str
    flying: dict[Any, tuple[Chunk, str]] = dataclasses.field(default_factory=dict)
    answers: "queue.SimpleQueue[Any]" = dataclasses.field(default_factory=queue.SimpleQueue)
    deaths: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    @staticmethod
    def key(chunk: Chunk) -> str:
        """What Dask calls a chunk: its identity, and a name for this attempt, since Dask may not
        have forgotten the last one yet.
        """
        return f"separatrix-{remote.identity_of(chunk)}-{secrets.token_hex(4)}"

    def restart(self) -> None:
        """Have everything that was on its way wait again."""
        for chunk, _ in self.flying.values():
            self.waiting.put(chunk)
        self.flying.clear()

    def lost(self, future: Any) -> None:
        """A worker was lost with its chunk, which waits again, unless it has cost too many workers."""
        chunk = self.flying.pop(future)[0]
        name = remote.identity_of(chunk)
        self.deaths[name] += 1
        if self.deaths[name] >= policy.LOST_WORKERS:
            first = chunk.trials[0]
            what = f"{len(chunk.trials)} trials of {type(first.task).__name__} with {type(first.network).__name__}, the first {first.identity}"
            raise SeparatrixError(
                f"the chunk {name} ({what}) was lost with {policy.LOST_WORKERS} workers and is given up; does it fit their memory?"
            )
        self.waiting.put(chunk)
