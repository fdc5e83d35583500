"""Views: windows that need not be intervals; what each unit sees is part of the experiment."""

import functools
import hashlib

import numpy as np

from separatrix.errors import ParameterError
from separatrix.spec import Spec, choice, static


class Views(Spec):
    """Which coordinates each window sees: ordered disjoint blocks, then random views.

    Coordinates are the flat positions of the input; a view sees all channels. Equal specs draw
    equal views: the seed is part of the identity of a network.

    Args:
        count: The number of random views.
        size: The number of coordinates of a view.
        seed: The seed of the random views.
        kind: How random views are drawn: `subsets` (uniform subsets in random order), `windows`
            (contiguous, with a uniform first coordinate) or `permutation` (disjoint blocks of a
            random permutation of all coordinates, then of a second one, and so on).
        blocks: The number of ordered disjoint blocks.

    >>> views = Views(count=2, size=3, seed=0, kind="permutation")
    >>> views.places(6).shape
    (2, 3)
    >>> sorted(views.places(6).ravel().tolist())
    [0, 1, 2, 3, 4, 5]
    >>> Views(count=0, size=2, blocks=3).places(6).tolist()
    [[0, 1], [2, 3], [4, 5]]
    """

    count: int = static(low=0)
    size: int = static(low=1)
    seed: int = static(low=0, default=0)
    kind: str = choice("subsets", "windows", "permutation", default="subsets")
    blocks: int = static(low=0, default=0)

    def check(self) -> None:
        if self.positions < 1:
            raise ParameterError(
                "Views", "count", "at least 1 when there are no `blocks`", self.count
            )

    @property
    def positions(self) -> int:
        """How many views there are."""
        return self.blocks + self.count

    def check_length(self, length: int) -> None:
        """Refuse an input that is too short for these views."""
        if self.size > length:
            raise ParameterError(
                "Views", "size", f"at most {length}, the positions of the input", self.size
            )
        if self.blocks * self.size > length:
            raise ParameterError(
                "Views",
                "blocks",
                f"at most {length // self.size}, as many as fit into {length} positions",
                self.blocks,
            )

    def places(self, length: int) -> np.ndarray:
        """For every view, the coordinates that it sees, in order: (positions, size)."""
        self.check_length(length)
        return _places(self.count, self.size, self.seed, self.kind, self.blocks, length)

    def overlap(self, length: int) -> float:
        """The share of a view's coordinates that another view also sees, the mean over pairs of
        views.

        >>> Views(count=0, size=2, blocks=3).overlap(6)
        0.0
        """
        return overlap(self.places(length), length)

    def coverage(self, length: int) -> float:
        """The share of the coordinates that at least one view sees.

        >>> Views(count=0, size=2, blocks=2).coverage(8)
        0.5
        """
        return coverage(self.places(length), length)


@functools.lru_cache(maxsize=64)
def _places(count: int, size: int, seed: int, kind: str, blocks: int, length: int) -> np.ndarray:
    ordered = np.arange(blocks * size).reshape(blocks, size)
    # Only uniform numbers are drawn, and sorted: NumPy promises their stream, not that of its own
    # permutations and choices.
    stream = int.from_bytes(hashlib.sha256(f"views {kind}".encode()).digest()[:8], "big")
    rng = np.random.default_rng([stream, seed])
    if kind == "windows":
        starts = np.floor(rng.random((count, 1)) * (length - size + 1)).astype(np.int64)
        drawn = np.minimum(starts, length - size) + np.arange(size)
    elif kind == "subsets":
        drawn = (
            np.stack([np.argsort(rng.random(length))[:size] for _ in range(count)])
            if count
            else ordered[:0]
        )
    else:
        each = length // size
        orders = [
            np.argsort(rng.random(length))[: each * size].reshape(each, size)
            for _ in range(-(-count // each))
        ]
        drawn = np.concatenate([ordered[:0], *orders])[:count]
    out = np.concatenate([ordered, drawn])
    out.flags.writeable = False  # kept and shared
    return out


def overlap(places: np.ndarray, length: int) -> float:
    """The mean share of a window's coordinates that another window also sees; 0 for a single
    window.

    >>> overlap(np.array([[0, 1], [1, 2], [2, 3]]), 4)
    0.3333333333333333
    """
    seen = _seen(places, length).astype(np.float64)
    count, area = places.shape
    if count < 2:
        return 0.0
    # Σ over pairs of |A ∩ B|, from how many windows see each coordinate.
    times = seen.sum(0)
    return float((times @ times - count * area) / (count * (count - 1) * area))


def coverage(places: np.ndarray, length: int) -> float:
    """The share of the coordinates that at least one window sees.

    >>> coverage(np.array([[0, 1], [1, 2]]), 4)
    0.75
    """
    return float(_seen(places, length).any(0).mean())


def _seen(places: np.ndarray, length: int) -> np.ndarray:
    out = np.zeros((len(places), length), bool)
    out[np.arange(len(places))[:, None], places] = True
    return out
