"""What the windows of a network see: receptive fields, and the controls, which are nothing but
other windows.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from separatrix.diagnosis.networks import deep_of
from separatrix.errors import ParameterError
from separatrix.networks.layout import group_of
from separatrix.networks.windows import windows

MOST_WINDOWS = (
    200  # and this many numbers under all windows together: a training step must cost milliseconds
)
MOST_PRODUCTS = 4000
# The smaller side of such images: on 8 x 8 pixels a pooled map would have room for a single window
DEEP_SIDE = 16


class Sight(NamedTuple):
    """Windows over an input: their side, their stride, the pixels each sees, and the mean over
    regions that the readout reads.

    >>> sight((8, 1), 3).places.shape
    (6, 3)
    """

    field: int
    stride: int
    places: Int[np.ndarray, "positions area"]
    pool: Float[np.ndarray, "regions last"]  # over the windows of the last layer
    counts: tuple[int, ...] = ()  # windows along both axes, where a second layer is laid over them


def is_deep(shape: tuple[int, ...]) -> bool:
    """Whether networks on inputs of a shape get a second layer: images that are not tiny.

    >>> is_deep((28, 28, 1)), is_deep((8, 8, 1)), is_deep((128, 1))
    (True, False, False)
    """
    return len(shape) == 3 and min(shape[:-1]) >= DEEP_SIDE


def fields_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Receptive fields worth trying on inputs of a shape: small, middling and large ones.

    >>> fields_of((28, 28, 1)), fields_of((8, 8, 1)), fields_of((128, 1)), fields_of((13, 1))
    ((3, 5, 7), (2, 3, 4), (4, 8, 16), (2, 3, 4))
    """
    side = min(shape[:-1])
    shares = (0.12, 0.18, 0.33) if len(shape) == 3 else (1 / 32, 1 / 16, 1 / 8)
    if is_deep(shape):
        shares = (0.1, 0.18, 0.25)  # what a second layer's windows see is larger anyway
    found = [min(side, max(least, round(share * side))) for least, share in zip((2, 3, 4), shares)]
    return tuple(sorted(set(found)))


def sight(shape: tuple[int, ...], field: int) -> Sight:
    """Windows of a side `field` at the finest stride that a short budget affords, read region by
    region.

    >>> sight((28, 28, 1), 5).stride, sight((28, 28, 1), 5).pool.shape
    (2, (16, 16))
    """
    *space, _ = shape
    if field > min(space):
        raise ParameterError(
            "diagnose", "field", f"at most the input's smaller side ({min(space)})", field
        )
    stride = _stride(tuple(space), field)
    where = windows(shape, field, stride)
    places = where.places().astype(np.int32)
    if is_deep(shape):
        last = deep_of(where.counts).counts
        return Sight(
            field,
            stride,
            places,
            regions_of(last, tuple(min(4, count) for count in last)),
            where.counts,
        )
    most = 4 if len(space) == 2 else 8
    return Sight(
        field,
        stride,
        places,
        regions_of(where.counts, tuple(max(1, min(most, count // 2)) for count in where.counts)),
    )


def regions_of(
    counts: tuple[int, ...], along: tuple[int, ...]
) -> Float[np.ndarray, "regions positions"]:
    """The mean over the windows of every region, as a matrix; `along` says how many regions each
    axis has.

    >>> regions_of((4,), (2,)).tolist()
    [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]
    """
    group = np.asarray(group_of(counts, along))
    member = (group[None, :] == np.arange(math.prod(along))[:, None]).astype(np.float32)
    return member / member.sum(1, keepdims=True)


def _stride(space: tuple[int, ...], field: int) -> int:
    for step in range(max(1, field // 4), field):
        count = math.prod((n - field) // step + 1 for n in space)
        if count <= MOST_WINDOWS and count * field ** len(space) <= MOST_PRODUCTS:
            return step
    return field


def whole(shape: tuple[int, ...]) -> Sight:
    """One window that sees everything: the fully connected network's.

    >>> whole((8, 8, 1)).places.shape
    (1, 64)
    """
    pixels = math.prod(shape[:-1])
    counts = (1, 1) if is_deep(shape) else ()
    return Sight(
        max(shape[:-1]),
        1,
        np.arange(pixels, dtype=np.int32)[None],
        np.ones((1, 1), np.float32),
        counts,
    )


def controlled(view: Sight, control: str, pixels: int, rng: Any) -> Sight:
    """The windows under a control.

    "pixels": one random order of all pixels, so that windows see scattered ones; a full network
    would not notice. "patches": every window sees its own pixels in an order of its own, so that
    windows can no longer share weights; a local network would not notice. Both orders hold for all
    rows alike.

    >>> view = sight((8, 1), 4)
    >>> [sorted(row) for row in controlled(view, "patches", 8, np.random.default_rng(0)).places.tolist()] == view.places.tolist()
    True
    """
    if control == "pixels":
        return view._replace(places=rng.permutation(pixels).astype(np.int32)[view.places])
    if control == "patches":
        return view._replace(places=rng.permuted(view.places, axis=1))
    return view
