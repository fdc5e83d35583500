"""Several hidden layers behind the interface of one: every further layer looks through windows at
the one before.

Layers of a network have one connectivity, width and activation. Hidden activations lie (positions,
width, rows), as patches do, so that a further layer is the same batched product as the first. Only
ungrouped convolutions of images are spelled as convolutions of whole images: their patches would be
as many times larger as a window has pixels.
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from separatrix.networks.convolutions import chosen, holds_windows
from separatrix.networks.layout import Frame, Layout, Params, lay, product, real_units, tiles
from separatrix.networks.windows import Windows, per_axis, windows

if TYPE_CHECKING:
    from separatrix.networks.network import Network


def layers(
    network: "Network", shape: tuple[int, ...], within: Frame | None = None
) -> list[tuple[Windows, tuple[Any, ...], Any]]:
    """For every hidden layer: its windows at the frame's size, the real counts of windows, and
    those left after pooling.

    Counts may be traced where `shape` is.

    >>> from separatrix.networks import CNN
    >>> [(where.counts, left) for where, _, left in layers(CNN(field=3, depth=2, pool=(2, 1)), (12, 1))]
    [((10,), (5,)), ((3,), (3,))]
    """
    frame = within or Frame(shape, network.width)
    out: list[Any] = []
    framed, real = frame.shape, shape
    for layer, pool in enumerate(network.pools):
        if layer == 0:
            where = network.windows(framed)
        else:
            field = network.field if network.next_field is None else network.next_field
            where = windows(framed, field, 1, network.border)
            tiles(where.counts, network.groups)  # refuses more groups than this layer has windows
        counts = where.counts if network.connectivity == "full" else where.counts_of(real[:-1])
        steps = per_axis(pool, len(counts), "Network", "pool")
        left = tuple(n // p for n, p in zip(counts, steps))
        out.append((where, counts, left))
        framed = (*(n // p for n, p in zip(where.counts, steps)), frame.width)
        real = (*left, network.width)
    return out


def convolves(network: "Network", shape: tuple[int, ...]) -> bool:
    """Whether the network is spelled as convolutions of whole images.

    >>> from separatrix.networks import CNN
    >>> convolves(CNN(3, depth=2), (8, 8, 1)), convolves(CNN(3, depth=2), (8, 1))
    (True, False)
    """
    return (
        network.connectivity == "shared" and len(shape) == 3 and network.groups in (None, 1, (1, 1))
    )


def layout(network: "Network", shape: tuple[int, ...], within: Frame | None = None) -> Layout:
    """The first layer's layout, with those of the further layers and of the units that the readout
    reads.

    >>> from separatrix.networks import FCN
    >>> [place.windows.span for place in layout(FCN(width=5, depth=3), (4, 2)).deeper]
    [5, 5]
    """
    frame = within or Frame(shape, network.width)
    chain = layers(network, shape, within)
    inputs = [shape] + [(*left, network.width) for _, _, left in chain[:-1]]
    first, *rest = [
        lay(network, where, frame.width, real, counts)
        for (where, counts, _), real in zip(chain, inputs)
    ]
    where, _, left = chain[-1]
    framed = math.prod(
        n // p
        for n, p in zip(
            where.counts, per_axis(network.pools[-1], len(where.counts), "Network", "pool")
        )
    )
    positions = product(left)
    units = real_units(framed, positions, frame.width, network.width)
    whole = windows(frame.shape, None, 1) if convolves(network, shape) else None
    return first._replace(deeper=tuple(rest), ends=(units, positions), whole=whole)


def hidden(
    network: "Network", params: Params, patches: Float[Array, "positions span rows"], layout: Layout
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
    return forward(network, params, patches, layout)


def _parts(params: Params, place: Layout) -> list[Any]:
    biases = params.bias if params.bias is not None else (None,) * len(params.weights)
    return list(zip((place, *place.deeper), params.weights, biases))


def _by_patches(
    network: "Network", params: Params, patches: Any, layout: Layout
) -> Float[Array, "units rows"]:
    rows, now = patches.shape[-1], patches
    for layer, ((place, weights, bias), pool) in enumerate(
        zip(_parts(params, layout), network.pools)
    ):
        where = place.windows
        if layer:
            now = _windows_of(now, where)
        spread = place.spread(weights)
        z = jnp.broadcast_to(spread, (where.positions, *spread.shape[1:])) @ now
        if bias is not None:
            z = z + place.spread(bias)[:, :, None]
        # Padded units are silenced, so that no layer after them learns from an activation that is
        # not 0 at 0.
        active = network.activation(z) * place.units[0][:, None]
        now = _pooled(active.reshape(*where.counts, -1, rows), 0, len(where.counts), pool)
    return now.reshape(-1, rows)


def _by_convolutions(
    network: "Network", params: Params, patches: Any, layout: Layout
) -> Float[Array, "units rows"]:
    rows, convolve = patches.shape[-1], chosen()
    now = patches[0].T.reshape(rows, *layout.windows.space, layout.windows.channels)
    for (place, weights, bias), pool in zip(_parts(params, layout), network.pools):
        where = place.windows
        if network.border == "wrap":
            now = jnp.pad(now, ((0, 0), *((0, f - 1) for f in where.field), (0, 0)), mode="wrap")
        filters = weights[0].reshape(-1, *where.field, where.channels)
        z = convolve(now, filters, where.stride)
        now = _pooled(network.activation(z if bias is None else z + bias[0]), 1, 2, pool)
    return now.reshape(rows, -1).T


def _windows_of(now: Float[Array, "..."], where: Windows) -> Float[Array, "positions span rows"]:
    """The windows of activations (*space, width, rows), as slices: their gradient is a sum in a
    fixed order, also on a GPU.
    """
    rows = now.shape[-1]
    cuts = []
    for corner in _corners(where.field):
        if where.border == "wrap":
            cuts.append(jnp.roll(now, [-c for c in corner], range(len(corner))))
        else:
            cuts.append(now[tuple(slice(c, c + n) for c, n in zip(corner, where.counts))])
    seen = jnp.stack(cuts, axis=len(where.counts)) if len(cuts) > 1 else cuts[0]
    return seen.reshape(where.positions, where.span, rows)


def _corners(field: tuple[int, ...]) -> list[tuple[int, ...]]:
    return (
        [(i,) for i in range(field[0])]
        if len(field) == 1
        else [(i, j) for i in range(field[0]) for j in range(field[1])]
    )


def _pooled(now: Float[Array, "..."], first: int, axes: int, pool: Any) -> Float[Array, "..."]:
    """Means over `pool` neighbours along the `axes` axes from `first` on; a remainder is dropped."""
    for axis, step in zip(range(first, first + axes), per_axis(pool, axes, "Network", "pool")):
        if step > 1:
            count = now.shape[axis] // step
            kept = jax.lax.slice_in_dim(now, 0, count * step, axis=axis)
            now = kept.reshape(*now.shape[:axis], count, step, *now.shape[axis + 1 :]).mean(
                axis + 1
            )
    return now


class Costs(NamedTuple):
    """What a network of any depth costs on one input.

    >>> Costs(1, 2, 3, 4, 5).products
    2
    """

    parameters: int  # of the hidden layers
    products: int  # multiply-adds into hidden units
    read: int  # units that the readout reads
    cut: int  # numbers that a row has once it is cut
    hidden: int  # numbers that the hidden layers hold


def costs(network: "Network", shape: tuple[int, ...]) -> Costs:
    """The costs of a network on an input of `shape`.

    >>> from separatrix.networks import FCN
    >>> costs(FCN(width=5, depth=2, bias=False), (4, 2))
    Costs(parameters=65, products=65, read=5, cut=8, hidden=15)
    """
    whole = network.layered and convolves(network, shape)
    chain = layers(network, shape)
    hidden = [where.positions * network.width for where, _, _ in chain]
    patches = [where.positions * where.span for where, _, _ in chain]
    return Costs(
        parameters=sum(
            network.count_groups(where) * network.width * (where.span + network.bias)
            for where, _, _ in chain
        ),
        products=sum(units * where.span for units, (where, _, _) in zip(hidden, chain)),
        read=math.prod(chain[-1][2]) * network.width,
        cut=math.prod(shape) if whole else patches[0],
        hidden=sum(hidden)
        + (sum(patches) if whole and holds_windows() else 0 if whole else sum(patches[1:])),
    )
