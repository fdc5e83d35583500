"""The networks of a diagnosis: windows and a readout by regions, and for images a second layer of
windows over the pooled first.

What the first layer's windows see is data (the controls change it); the second layer follows from
how many windows there are.
"""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


class Net(NamedTuple):
    """A network as the compiler sees it: whether windows share weights, and the shapes of its
    parameters.

    `second` is the width of a second layer, 0 where there is none; `counts` are then the first
    layer's windows along both axes, (1, 1) for a full network, whose second layer is dense.

    >>> Net(shared=True, width=8, outputs=10).second
    0
    """

    shared: bool
    width: int
    outputs: int  # 1 for regression
    second: int = 0
    counts: tuple[int, ...] = ()


class Weights(NamedTuple):
    """The trained parameters: (positions or 1, span, width), (positions or 1, width), (regions,
    last width, outputs), (outputs,).

    `deep` and `deep_bias` are those of the second layer, None where there is none.

    >>> Weights(1, 2, 3, 4).offset
    4
    """

    weights: Any
    bias: Any
    readout: Any
    offset: Any
    deep: Any = None
    deep_bias: Any = None


class Deep(NamedTuple):
    """The second layer over a map of windows: cells pooled from squares of side `pool`, and windows
    of a side over them, at stride 1.

    >>> deep_of((12, 12)), deep_of((5, 4)).counts, deep_of((1, 1))
    (Deep(pool=2, side=3, counts=(4, 4)), (2, 2), Deep(pool=1, side=1, counts=(1, 1)))
    """

    pool: int
    side: int
    counts: tuple[int, ...]


def deep_of(counts: tuple[int, ...]) -> Deep:
    """The second layer over `counts` windows along each axis: 2 x 2 pooling and windows of 3 x 3
    cells, smaller where the map is.
    """
    pool = 2 if min(counts) > 1 else 1
    cells = tuple(count // pool for count in counts)
    side = max(1, min(3, min(cells) - 1))
    return Deep(pool, side, tuple(count - side + 1 for count in cells))


def see(
    x: Float[Array, "rows pixels channels"], places: Int[Array, "positions area"]
) -> Float[Array, "positions rows span"]:
    """The patches that windows over the given pixels see.

    >>> see(jnp.arange(4.0).reshape(1, 4, 1), jnp.array([[0, 1], [2, 3]])).ravel().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    return x[:, places, :].reshape(x.shape[0], places.shape[0], -1).transpose(1, 0, 2)


def initial(net: Net, positions: int, span: int, regions: int, rng: np.random.Generator) -> Weights:
    """He's initialisation of the windows' weights, a small readout; drawn outside of the program,
    which compiles faster without.

    >>> initial(Net(True, 4, 2), 9, 5, 3, np.random.default_rng(0)).weights.shape
    (1, 5, 4)
    >>> initial(Net(False, 4, 2, 6, (12, 12)), 144, 5, 16, np.random.default_rng(0)).deep.shape
    (16, 36, 6)
    """
    groups = 1 if net.shared else positions
    weights = rng.standard_normal((groups, span, net.width), np.float32) * np.float32(
        (2.0 / span) ** 0.5
    )
    last = net.second or net.width
    readout = rng.standard_normal((regions, last, net.outputs), np.float32) * np.float32(
        (regions * last) ** -0.5
    )
    first = Weights(
        weights,
        np.zeros((groups, net.width), np.float32),
        readout,
        np.zeros(net.outputs, np.float32),
    )
    if not net.second:
        return first
    deep = deep_of(net.counts)
    groups, span = 1 if net.shared else math.prod(deep.counts), deep.side**2 * net.width
    weights = rng.standard_normal((groups, span, net.second), np.float32) * np.float32(
        (2.0 / span) ** 0.5
    )
    return first._replace(deep=weights, deep_bias=np.zeros((groups, net.second), np.float32))


def outputs_of(
    net: Net, params: Weights, x: Array, places: Array, pool: Float[Array, "regions positions"]
) -> Float[Array, "rows outputs"]:
    """Windows, ReLU, for images the second layer, the mean over each region's windows, and a
    readout with weights of its own for every region.
    """
    hidden = _layer(net.shared, see(x, places), params.weights, params.bias)
    if net.second:
        hidden = _layer(
            net.shared, pooled_patches(hidden, net.counts), params.deep, params.deep_bias
        )
    pooled = jnp.tensordot(pool, hidden, 1)
    return jnp.einsum("grw,gwo->ro", pooled, params.readout) + params.offset


def pooled_patches(
    hidden: Float[Array, "positions rows width"], counts: tuple[int, ...]
) -> Float[Array, "cells rows span"]:
    """What the second layer's windows see: the largest answer in every square of windows, cell by
    cell.

    Slices, not gathers: their gradients are slices too, which a CPU adds up much faster.

    >>> pooled_patches(jnp.arange(16.0).reshape(16, 1, 1), (4, 4)).ravel().tolist()
    [5.0, 7.0, 13.0, 15.0]
    """
    pool, side, (high, wide) = deep_of(counts)
    grid = hidden.reshape(*counts, *hidden.shape[1:])
    ends = [
        count // pool * pool for count in counts
    ]  # an odd last row or column of windows is left out
    cells = functools.reduce(
        jnp.maximum,
        [grid[i : ends[0] : pool, j : ends[1] : pool] for i in range(pool) for j in range(pool)],
    )
    patches = [cells[i : i + high, j : j + wide] for i in range(side) for j in range(side)]
    return jnp.concatenate(patches, -1).reshape(high * wide, hidden.shape[1], -1)


def _layer(shared: bool, patches: Array, weights: Array, bias: Array) -> Array:
    if shared:
        z = (patches.reshape(-1, patches.shape[-1]) @ weights[0]).reshape(*patches.shape[:2], -1)
    else:
        z = patches @ weights
    return jax.nn.relu(z + bias[:, None, :])
