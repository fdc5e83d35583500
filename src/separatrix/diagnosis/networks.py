"""The family of networks of a diagnosis: what is tried of every connectivity, with equal effort."""

import dataclasses
import math
from typing import Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.networks import Heads, Maps, Network

FILTERS, DEEP_FILTERS = 16, 24
FULL_WIDTHS, FULL_DEEP_WIDTH = (64, 256), 128
WINDOW_RATES, FULL_RATES = (1e-2, 3e-3), (3e-3, 1e-3)
LONG = 256  # at most so many windows along a signal
MOST_TILES = 8
DEEP_SIDE = 16  # from this side on images get a second layer over the pooled first


@dataclasses.dataclass(frozen=True)
class Windows:
    """Windows that one compiled program serves: their sides, with a stride each.

    `depth` 2 puts a second layer of 3 x 3 windows over the first, which is pooled by 2 where it is
    large enough.
    """

    sides: tuple[int, ...]
    strides: tuple[int, ...]
    depth: int = 1


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One network of the family, and the rate at which it is trained.

    `means`, over `regions`, and `maximum` say what its readout reads (see
    `separatrix.networks.Heads`).
    """

    connectivity: str
    rate: float
    side: int = 0
    stride: int = 0
    depth: int = 1
    means: int = 1
    maximum: int = 1
    place_bias: int = 0
    width: int = FILTERS
    regions: tuple[int, ...] = ()

    @property
    def head(self) -> str:
        """What the readout reads, in words."""
        means = "means over regions" if self.connectivity == "shared" else "every window"
        if self.connectivity == "full":
            return "every unit"
        return {(1, 0): means, (0, 1): "the maximum", (1, 1): f"{means} and the maximum"}[
            self.means, self.maximum
        ]

    def words(self, axes: int) -> str:
        """The network in words."""
        layers = "one hidden layer" if self.depth == 1 else "two hidden layers"
        if self.connectivity == "full":
            return f"{layers} of {self.width} units"
        side = " x ".join([str(self.side)] * axes)
        step = "" if self.stride == 1 else f" at stride {self.stride}"
        return f"{layers} of {self.width} filters, windows of {side}{step}, read by {self.head}"


def windows_of(shape: tuple[int, ...], field: int | None = None) -> tuple[Windows, ...]:
    """The windows that are tried on inputs of a shape.

    Signals have windows at stride 1 and tiles, which do not overlap: where a signal is made of
    patches, windows that are not aligned with them add noise to a maximum.

    >>> [each.sides for each in windows_of((120, 1))]
    [(4, 8, 15), (4, 5, 6, 8, 10, 12, 15)]
    >>> windows_of((8, 8, 1))[1]
    Windows(sides=(3,), strides=(1,), depth=2)
    """
    *space, channels = shape
    side = min(space)
    if field is not None and field > side:
        raise ParameterError("diagnose", "field", f"at most the input's size ({side})", field)
    if len(space) == 2 and side >= DEEP_SIDE:
        step = max(2, side // 14)
        window = min(field or 2 * step + 1, side)
        return (Windows((window,), (step,)), Windows((window,), (step,), depth=2))
    if len(space) == 2:
        sides = (field,) if field else tuple(n for n in (2, 3, 4) if n < side) or (1,)
        out = (Windows(sides, (1,) * len(sides)),)
        again = field or 3
        return (*out, Windows((again,), (1,), depth=2)) if side >= again + 3 else out
    most = max(2, side // 8)
    sides = (field,) if field else tuple(sorted({min(n, most) for n in _sides(side)}))
    step = max(1, math.ceil(side * channels / LONG))
    tiles = [n for n in range(4, most + 1) if side % n == 0] or list(sides)
    tiles = [field] if field else [n for n in tiles if n > step]
    if len(tiles) > MOST_TILES:
        spaced = np.geomspace(tiles[0], tiles[-1], MOST_TILES)
        tiles = sorted({min(tiles, key=lambda n, m=m: abs(math.log(n / m))) for m in spaced})
    out = (Windows(sides, (step,) * len(sides)),)
    return (*out, Windows(tuple(tiles), tuple(tiles))) if tiles and tiles != [1] else out


def _sides(length: int) -> tuple[int, ...]:
    return (4, 8, 16) if length < 512 else (8, 16, 32)


def network_of(
    candidate: Candidate,
    group: Windows | None,
    shape: tuple[int, ...],
    outputs: int,
    scramble: int = 0,
    twist: int = 0,
) -> Network:
    """The network of a candidate.

    Args:
        candidate: which one.
        group: the windows that its program serves; None for a full network.
        shape: the shape of one input.
        outputs: 1 for two classes and for a regression.
        scramble: 0, or the seed of a random arrangement of the input.
        twist: 0, or the seed of another arrangement, with signs, for every window.
    """
    common: dict[str, Any] = {"outputs": outputs, "offset": True, "depth": candidate.depth}
    if group is None:
        return Network("full", candidate.width, **common)
    *space, _ = shape
    local = candidate.connectivity == "local"
    if group.depth > 1:
        first = [(n - candidate.side) // candidate.stride + 1 for n in space]
        common |= {"next_field": 3, "pool": (second_layer(first)[0], 1), "pooling": "max"}
        common |= {"field": candidate.side, "stride": candidate.stride}
        maps = Maps(scramble, twist)
    else:
        pairs = list(zip(group.sides, group.strides))
        counts = [math.prod((n - a) // b + 1 for n in space) for a, b in pairs]
        common |= {"field": max(group.sides), "stride": min(group.strides)}
        maps = Maps(scramble, twist, candidate.side, candidate.stride, max(counts))
        if not local:
            common |= {"place_bias": candidate.place_bias}
    heads = Heads(None if local else candidate.regions, candidate.means, candidate.maximum)
    return Network(candidate.connectivity, candidate.width, maps=maps, heads=heads, **common)


def second_layer(counts: list[int]) -> tuple[int, list[int]]:
    """By how much a map of windows is pooled, and how many windows of 3 x 3 the second layer has.

    >>> second_layer([12, 12]), second_layer([6, 6])
    ((2, [4, 4]), (1, [4, 4]))
    """
    pool = 2 if min(counts) >= 8 else 1
    return pool, [n // pool - 2 for n in counts]


def regions_of(group: Windows, shape: tuple[int, ...]) -> tuple[int, ...]:
    """How many regions along each axis the means of all networks of a group are taken over."""
    space = shape[:-1]
    most = 8 if len(space) == 1 else 4
    counts = [[(n - a) // b + 1 for n in space] for a, b in zip(group.sides, group.strides)]
    if group.depth > 1:
        counts = [second_layer(each)[1] for each in counts]
    return tuple(max(1, min(most, *column)) for column in zip(*counts))


def first_candidates(group: Windows, connectivity: str, shape: tuple[int, ...]) -> list[Candidate]:
    """All windows of a group, with two readouts each, at the first rate."""
    width = FILTERS if group.depth == 1 else DEEP_FILTERS
    return [
        Candidate(
            connectivity,
            WINDOW_RATES[0],
            side,
            stride,
            group.depth,
            means,
            width=width,
            regions=regions_of(group, shape) if connectivity == "shared" else (),
        )
        for side, stride in zip(group.sides, group.strides)
        for means in (1, 0)
    ]


def refined(best: Candidate) -> list[Candidate]:
    """A candidate with every readout and rate."""
    out = [
        dataclasses.replace(best, means=means, maximum=maximum, rate=rate)
        for means, maximum in ((1, 1), (0, 1), (1, 0))
        for rate in WINDOW_RATES
    ]
    if best.connectivity == "shared" and best.depth == 1:
        out += [dataclasses.replace(best, place_bias=1, means=means) for means in (0, 1)]
    return out


def full_candidates() -> list[Candidate]:
    """The fully connected networks that are tried."""
    kinds = [(width, 1) for width in FULL_WIDTHS] + [(FULL_DEEP_WIDTH, 2)]
    return [
        Candidate("full", rate, width=width, depth=depth)
        for width, depth in kinds
        for rate in FULL_RATES
    ]
