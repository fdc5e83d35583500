"""Maps: what each window sees, as numbers that a compiled program takes.

One program then serves windows of several sizes, and the same windows over a scrambled input.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from separatrix.errors import ParameterError
from separatrix.spec import Spec, static, value
from separatrix.streams import draw, named, numbered, root_key, sign, uniform


class Maps(Spec):
    """Index and sign maps of a network's windows.

    Args:
        scramble: 0, or the seed of one random order of the input's places. Windows then see
            scattered places; a fully connected network would not notice.
        twist: 0, or the seed of random signs and orders, other ones for every window. Windows can
            then no longer share weights; a locally connected network would not notice.
        side: the side of the windows; None for the network's own `field`.
        stride: their stride; None for the network's own.
        positions: how many windows the program's arrays hold; needed where `side` is given.

    With `side`, the network's `field` is the largest side that its program serves.

    >>> maps = Maps(side=2, stride=2, positions=4)
    >>> see(maps, (4, 1), (4, 1), field=3, stride=1).places[:2, :2].tolist()
    [[0, 1], [2, 3]]
    """

    scramble: int = value(low=0, default=0, integer=True)
    twist: int = value(low=0, default=0, integer=True)
    side: int | None = value(low=1, default=None, integer=True)
    stride: int | None = value(low=1, default=None, integer=True)
    positions: int | None = static(low=1, default=None)

    def check(self) -> None:
        if (self.side is None) != (self.positions is None) or (
            (self.side is None) != (self.stride is None)
        ):
            raise ParameterError(
                "Maps", "side", "given together with `stride` and `positions`, or not", self.side
            )


class Sight(NamedTuple):
    """Which places windows see: (windows, places in a window), with a sign each; 0 is padding.

    `counts` are the real windows along each axis, `area` the real places of a window; both may be
    traced.

    >>> see(Maps(), (4, 1), (4, 1), field=2, stride=2).places.tolist()
    [[0, 1], [2, 3]]
    """

    places: Int[Array, "positions area"]
    signs: Float[Array, "positions area"]
    counts: tuple[Any, ...]
    area: Any

    def patches(self, x: Float[Array, "rows ..."]) -> Float[Array, "positions span rows"]:
        """The windows of a batch, positions first and rows last."""
        rows, channels = x.shape[0], x.shape[-1]
        flat = jax.lax.optimization_barrier(x.reshape(rows, -1, channels).transpose(1, 2, 0))
        seen = flat[self.places] * self.signs[:, :, None, None]
        return seen.reshape(len(self.places), -1, rows)


def see(
    maps: Maps, shape: tuple[Any, ...], frame: tuple[int, ...], field: int, stride: int
) -> Sight:
    """What the windows of a network see.

    Args:
        maps: the maps.
        shape: the shape of an input; its length may be traced.
        frame: the shape that the program's arrays have.
        field: the side of the network's windows, at most.
        stride: the network's stride, where `maps` has none.
    """
    space, axes = shape[:-1], len(frame) - 1
    side: Any = field if maps.side is None else maps.side
    step: Any = stride if maps.side is None else maps.stride
    counts = tuple((n - side) // step + 1 for n in space)
    size, area = field**axes, side**axes
    length = math.prod(frame[:-1])
    held = maps.positions or math.prod((n - field) // stride + 1 for n in frame[:-1])
    window, slot = jnp.arange(held), jnp.arange(size)
    if axes == 1:
        places, windows, real_length = step * window[:, None] + slot, counts[0], space[0]
    else:
        row, column = window // counts[1], window % counts[1]
        places = (step * row[:, None] + slot // side) * space[1]
        places = places + step * column[:, None] + slot % side
        windows, real_length = counts[0] * counts[1], length
    real = (slot < area) & (window[:, None] < windows)
    places, signs = jnp.clip(places, 0, length - 1), real.astype(jnp.float32)
    # Entries beyond the real area or length sort last, so that every order permutes the real ones.
    key = named(root_key([0, 0]), "maps")
    turn = numbered(named(key, "twist"), maps.twist)
    orders = draw(uniform, named(turn, "order"), (held, size)) + 2.0 * (slot >= area)
    twisted = jnp.asarray(maps.twist) > 0
    mixed = jnp.take_along_axis(places, jnp.argsort(orders, axis=1), axis=1)
    places = jnp.where(twisted, mixed, places)
    signs = signs * jnp.where(twisted, draw(sign, named(turn, "signs"), (held, size)), 1.0)
    mess = draw(uniform, numbered(named(key, "scramble"), maps.scramble), (length,))
    order = jnp.argsort(mess + 2.0 * (jnp.arange(length) >= real_length))
    places = jnp.where(jnp.asarray(maps.scramble) > 0, order[places], places)
    return Sight(places, signs, counts, area)
