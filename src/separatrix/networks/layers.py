"""Several hidden layers: every further layer looks through windows at the layer before.

All layers of a network have the same connectivity, width and activation. Hidden activations are
(positions, width, rows), as patches are, so that a further layer is the same batched product as the
first one. Only ungrouped networks on images run as convolutions of whole images: their patches
would take as many times more memory as a window has pixels.
"""

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from separatrix.networks.convolutions import chosen
from separatrix.networks.layout import (
    Frame,
    HiddenLayer,
    Layout,
    Params,
    Patches,
    lay,
    product,
    real_units,
    tiles,
)
from separatrix.networks.windows import Windows, per_axis, windows

if TYPE_CHECKING:
    from separatrix.networks.network import Network


class LayerWindows(NamedTuple):
    """Where one hidden layer looks, and what pooling leaves of it."""

    windows: Windows  # at the frame's size
    counts: tuple[Any, ...]  # the real windows along each axis
    pooled: tuple[Any, ...]  # the real positions along each axis after pooling


def layers(
    network: "Network", shape: tuple[int, ...], within: Frame | None = None
) -> list[LayerWindows]:
    """The windows of every hidden layer; counts are traced where `shape` is.

    >>> from separatrix.networks import CNN
    >>> chain = layers(CNN(field=3, depth=2, pool=(2, 1)), (12, 1))
    >>> [(layer.counts, layer.pooled) for layer in chain]
    [((10,), (5,)), ((3,), (3,))]
    """
    frame = within or Frame(shape, network.width)
    chain: list[LayerWindows] = []
    framed, real = frame.shape, shape
    for pool in network.pools:
        if not chain:
            where = network.windows(framed)
        else:
            field = network.field if network.next_field is None else network.next_field
            where = windows(framed, field, 1, network.border)
            tiles(where.counts, network.groups)  # refuses more groups than this layer has windows
        counts = where.counts if network.connectivity == "full" else where.counts_of(real[:-1])
        steps = per_axis(pool, len(counts), "Network", "pool")
        pooled = tuple(n // p for n, p in zip(counts, steps))
        chain.append(LayerWindows(where, counts, pooled))
        framed = (*(n // p for n, p in zip(where.counts, steps)), frame.width)
        real = (*pooled, network.width)
    return chain


def convolves(network: "Network", shape: tuple[int, ...]) -> bool:
    """Whether the network runs as convolutions of whole images, if it has several layers.

    >>> from separatrix.networks import CNN
    >>> convolves(CNN(3, depth=2), (8, 8, 1)), convolves(CNN(3, depth=2), (8, 1))
    (True, False)
    """
    plain = network.groups in (None, 1, (1, 1)) and network.maps is None
    return network.connectivity == "shared" and len(shape) == 3 and plain


def layout(network: "Network", shape: tuple[int, ...], within: Frame | None = None) -> Layout:
    """The first layer's layout, which holds those of the further layers and of the units that the
    readout reads.

    >>> from separatrix.networks import FCN
    >>> [place.windows.span for place in layout(FCN(width=5, depth=3), (4, 2)).deeper]
    [5, 5]
    """
    frame = within or Frame(shape, network.width)
    chain = layers(network, shape, within)
    inputs = [shape] + [(*layer.pooled, network.width) for layer in chain[:-1]]
    first, *rest = [
        lay(network, layer.windows, frame.width, real, layer.counts)
        for layer, real in zip(chain, inputs)
    ]
    last = chain[-1]
    steps = per_axis(network.pools[-1], len(last.windows.counts), "Network", "pool")
    framed = math.prod(n // p for n, p in zip(last.windows.counts, steps))
    positions = product(last.pooled)
    units = real_units(framed, positions, frame.width, network.width)
    whole = windows(frame.shape, None, 1) if convolves(network, shape) else None
    return first._replace(
        deeper=tuple(rest), ends=(units, positions), grid=tuple(last.pooled), whole=whole
    )


def hidden(
    network: "Network", params: Params, patches: Patches, layout: Layout
) -> Float[Array, "units rows"]:
    """The activations of the last hidden layer, after pooling.

    >>> import jax
    >>> from separatrix.networks import CNN
    >>> network = CNN(field=2, width=3, depth=2)
    >>> place, params = network.layout((5, 1)), network.init(jax.random.key(0), (5, 1))
    >>> hidden(network, params, place.cut(jnp.ones((4, 5, 1))), place).shape
    (9, 4)
    """
    forward = _by_patches if layout.whole is None else _by_convolutions
    return forward(network, params, patches.by_span, layout)


def _steps(
    network: "Network", params: Params, layout: Layout
) -> list[tuple[Layout, HiddenLayer, Any]]:
    """For every hidden layer its layout, its parameters, and by how much it is pooled."""
    return list(zip((layout, *layout.deeper), params.layers, network.pools))


def _by_patches(
    network: "Network",
    params: Params,
    patches: Float[Array, "positions span rows"],
    layout: Layout,
) -> Float[Array, "units rows"]:
    rows, now = patches.shape[-1], patches
    for place, layer, pool in _steps(network, params, layout):
        where = place.windows
        if place is not layout:
            now = _windows_of(now, where)
        spread = place.spread(layer.weights)
        z = jnp.broadcast_to(spread, (where.positions, *spread.shape[1:])) @ now
        if layer.bias is not None:
            z = z + place.spread(layer.bias)[:, :, None]
        # Padded units are silenced, so that no layer after them learns from an activation that is
        # not 0 at 0.
        active = network.activation(z) * place.units[0][:, None]
        placed = active.reshape(*where.counts, -1, rows)
        now = _pooled(placed, 0, len(where.counts), pool, network.pooling)
    return now.reshape(-1, rows)


def _by_convolutions(
    network: "Network",
    params: Params,
    images: Float[Array, "1 span rows"],
    layout: Layout,
) -> Float[Array, "units rows"]:
    rows, convolve = images.shape[-1], chosen()
    now = images[0].T.reshape(rows, *layout.windows.space, layout.windows.channels)
    for place, layer, pool in _steps(network, params, layout):
        where = place.windows
        if network.border == "wrap":
            now = jnp.pad(now, ((0, 0), *((0, f - 1) for f in where.field), (0, 0)), mode="wrap")
        filters = layer.weights[0].reshape(-1, *where.field, where.channels)
        z = convolve(now, filters, where.stride)
        active = network.activation(z if layer.bias is None else z + layer.bias[0])
        now = _pooled(active, 1, 2, pool, network.pooling)
    return now.reshape(rows, -1).T


def _windows_of(now: Float[Array, "..."], where: Windows) -> Float[Array, "positions span rows"]:
    """The windows of activations (*space, width, rows).

    They are slices, whose gradient is a sum in a fixed order, also on a GPU.
    """
    rows = now.shape[-1]
    slices = []
    for corner in itertools.product(*map(range, where.field)):
        if where.border == "wrap":
            slices.append(jnp.roll(now, [-c for c in corner], range(len(corner))))
        else:
            slices.append(now[tuple(slice(c, c + n) for c, n in zip(corner, where.counts))])
    seen = jnp.stack(slices, axis=len(where.counts)) if len(slices) > 1 else slices[0]
    return seen.reshape(where.positions, where.span, rows)


def _pooled(
    now: Float[Array, "..."], first: int, axes: int, pool: Any, pooling: str
) -> Float[Array, "..."]:
    """Means or maxima over `pool` neighbours along the `axes` axes from `first` on; a remainder is
    dropped.
    """
    for axis, step in zip(range(first, first + axes), per_axis(pool, axes, "Network", "pool")):
        if step > 1:
            count = now.shape[axis] // step
            trimmed = jax.lax.slice_in_dim(now, 0, count * step, axis=axis)
            tiled = trimmed.reshape(*now.shape[:axis], count, step, *now.shape[axis + 1 :])
            now = tiled.mean(axis + 1) if pooling == "mean" else tiled.max(axis + 1)
    return now
