"""Where each finished trial is: a sorted array instead of a dictionary, since a ledger may hold ten
million trials.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, UInt64

from separatrix.engine.store.parts import Keys, Part


class Places(NamedTuple):
    """Where trials are: the number of the part (-1 for a missing trial), and the row in it."""

    part: Int[np.ndarray, " trials"]
    row: Int[np.ndarray, " trials"]


@dataclasses.dataclass(frozen=True)
class Index:
    """The trials of some parts, in the order of their keys.

    Of a trial that is in several parts, the first counts.

    >>> from pathlib import Path
    >>> from separatrix.engine.store.parts import key_of
    >>> part = Part(Path("p"), "", 0, (0, 2), key_of(["b" * 32, "a" * 32]))
    >>> Index.of([part]).find(key_of(["a" * 32, "c" * 32]))
    Places(part=array([ 0, -1]), row=array([1, 0]))
    """

    parts: tuple[Part, ...]
    keys: Keys  # of the parts, one after another
    order: UInt64[np.ndarray, " rows"]  # sorted: the upper bits of a key, then its place in `keys`
    starts: Int[np.ndarray, " parts+1"]

    @classmethod
    def of(cls, parts: Iterable[Part]) -> "Index":
        """Sort the keys of parts."""
        parts = tuple(parts)
        keys = np.concatenate([np.zeros((0, 2), np.uint64), *(part.keys for part in parts)])
        # Sorting numbers is seven times as fast as sorting places by them, so the place is written
        # into the lower bits of the key. Keys are hashes: few share the upper bits.
        order = np.sort(keys[:, 0] & ~_places(len(keys)) | np.arange(len(keys), dtype=np.uint64))
        return cls(parts, keys, order, np.cumsum([0, *(part.rows for part in parts)]))

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: Keys) -> Places:
        """Where the trials with these keys are."""
        if not len(self):
            return Places(np.full(len(keys), -1), np.zeros(len(keys), np.int64))
        low = _places(len(self))
        upper = keys[:, 0] & ~low
        spot = np.searchsorted(self.order, upper)
        at = np.full(len(keys), -1)
        # Trials with the same upper bits are next to each other, and copies of a trial are in the
        # order of the parts: compare one after another.
        left = np.arange(len(keys))
        while len(left):
            left = left[spot[left] < len(self)]
            seen = self.order[spot[left]]
            close = (seen & ~low) == upper[left]
            left, place = left[close], (seen[close] & low).astype(np.int64)
            equal = (self.keys[place] == keys[left]).all(1)
            at[left[equal]] = place[equal]
            left = left[~equal]
            spot[left] += 1
        part = np.searchsorted(self.starts, at, side="right") - 1
        return Places(np.where(at < 0, -1, part), np.where(at < 0, 0, at - self.starts[part]))

    def count(self, keys: Keys) -> Int[np.ndarray, " trials"]:
        """How many copies of trials there are; rarely one more, since only upper bits are compared.

        >>> from pathlib import Path
        >>> from separatrix.engine.store.parts import key_of
        >>> part = Part(Path("p"), "", 0, (0, 2), key_of(["b" * 32, "a" * 32]))
        >>> Index.of([part, part]).count(key_of(["a" * 32, "c" * 32])).tolist()
        [2, 0]
        """
        low = _places(max(len(self), 1))
        ends = [
            np.searchsorted(self.order, bound) for bound in (keys[:, 0] & ~low, keys[:, 0] | low)
        ]
        return ends[1] - ends[0]

    def repeated(self) -> Int[np.ndarray, "copies 2"]:
        """The places of trials that are there more than once: of each copy, and of the copy before
        it.
        """
        # Copies share the upper bits, so they are next to each other in `order`, but perhaps not
        # in the order of their whole keys.
        low = _places(max(len(self), 1))
        close = np.zeros(len(self), bool)
        equal = (self.order[1:] & ~low) == (self.order[:-1] & ~low)
        close[1:] |= equal
        close[:-1] |= equal
        place = (self.order[close] & low).astype(np.int64)
        place = place[np.lexsort((place, self.keys[place, 1], self.keys[place, 0]))]
        same = (self.keys[place[1:]] == self.keys[place[:-1]]).all(1)
        return np.stack([place[1:][same], place[:-1][same]], 1)

    def first_of_each(self) -> Int[np.ndarray, " trials"]:
        """The places of all trials, each once, in the order of the parts."""
        place = np.arange(len(self))
        order = np.lexsort((place, self.keys[:, 1], self.keys[:, 0]))
        keys = self.keys[order]
        new = np.ones(len(self), bool)
        new[1:] = (keys[1:] != keys[:-1]).any(1)
        return np.sort(order[new])


def _places(count: int) -> np.uint64:
    """The lower bits, which can hold the number of any of so many keys."""
    return np.uint64((1 << max(1, count.bit_length())) - 1)


def groups_of(places: Places, parts: Sequence[Part]) -> dict[int, Int[np.ndarray, " some"]]:
    """For each part, by its number, which of the places are in it.

    >>> groups = groups_of(Places(np.array([1, 0, 1]), np.zeros(3, int)), [None, None])
    >>> {part: which.tolist() for part, which in groups.items()}
    {0: [1], 1: [0, 2]}
    """
    order = np.argsort(places.part, kind="stable")
    bounds = np.searchsorted(places.part[order], np.arange(len(parts) + 1))
    return {
        part: order[bounds[part] : bounds[part + 1]]
        for part in range(len(parts))
        if bounds[part] < bounds[part + 1]
    }
