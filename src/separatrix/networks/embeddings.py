"""Exact embeddings shared → grouped → local → full: a convolution is a grouped network, a grouped
network is a local one, and a local network is a full one.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from separatrix.errors import ParameterError, check_choice
from separatrix.networks.layout import Params, group_of, tiles
from separatrix.networks.network import Network

ORDER = ("shared", "local", "full")


class Embedded(NamedTuple):
    """A larger network and the parameters with which it computes what a smaller one does."""

    network: Network
    params: Params


def embed(
    network: Network, params: Params, shape: tuple[int, ...], to: str, groups: Any = None
) -> Embedded:
    """The same function as a network of a larger connectivity: equal outputs to machine precision.

    Args:
        network: a network of one hidden layer without pooling.
        params: its parameters.
        shape: the shape of one input, channels last.
        to: the connectivity to embed in: "shared", "local" or "full", in this order of size.
        groups: with `to="shared"`, the groups of the new network, each inside one of the old.

    Returns:
        The larger network and its parameters.

    Raises:
        ParameterError: `to` is smaller than the network, a new group is not inside an old one, or
            the network has several layers.

    >>> import jax, jax.numpy as jnp
    >>> from separatrix.networks import CNN
    >>> cnn = CNN(field=3, width=2)
    >>> params = cnn.init(jax.random.key(0), (8, 1))
    >>> x = jax.random.normal(jax.random.key(1), (5, 8, 1))
    >>> fcn, wide = embed(cnn, params, (8, 1), to="full")
    >>> bool(jnp.allclose(fcn.apply(wide, x), cnn.apply(params, x), atol=1e-5))
    True
    """
    check_choice("embed", "to", to, ORDER)
    if network.layered:
        depth = f"depth={network.depth}, pool={network.pool}"
        raise ParameterError("embed", "network", "of one hidden layer without pooling", depth)
    if ORDER.index(to) < ORDER.index(network.connectivity):
        raise ParameterError("embed", "to", f"at least as large as '{network.connectivity}'", to)
    if to == "shared" and groups is not None:
        return _to_groups(network, params, shape, groups)
    while network.connectivity != to:
        step = _to_local if network.connectivity == "shared" else _to_full
        network, params = step(network, params, shape)
    return Embedded(network, params)


def _groups(network: Network, shape: tuple[int, ...]) -> np.ndarray:
    """The group of every window; in a local network, every window is a group."""
    counts = network.windows(shape).counts
    return group_of(
        counts, counts if network.connectivity == "local" else tiles(counts, network.groups)
    )


def _copied(params: Params, groups: np.ndarray) -> Params:
    """Parameters whose hidden layer has copies of these groups' weights and biases."""
    layer = params.only_layer
    bias = None if layer.bias is None else layer.bias[groups]
    return params._replace(weights=layer.weights[groups], bias=bias)


def _to_groups(network: Network, params: Params, shape: tuple[int, ...], groups: Any) -> Embedded:
    finer = network.replace(groups=groups, start=None)
    old, new = _groups(network, shape), _groups(finer, shape)
    _, first = np.unique(new, return_index=True)  # a window of every new group
    if (old[first][new] != old).any():
        allowed = f"groups that each lie inside one of the network's {network.groups or 1}"
        raise ParameterError("embed", "groups", allowed, groups)
    return Embedded(finer, _copied(params, old[first]))


def _to_local(network: Network, params: Params, shape: tuple[int, ...]) -> Embedded:
    local = network.replace(connectivity="local", groups=None, start=None)
    return Embedded(local, _copied(params, _groups(network, shape)))


def _to_full(network: Network, params: Params, shape: tuple[int, ...]) -> Embedded:
    where, layer = network.windows(shape), params.only_layer
    units = where.positions * network.width
    filters = layer.weights.reshape(where.positions, network.width, -1, where.channels)
    wide = jnp.zeros(
        (where.positions, network.width, int(np.prod(shape[:-1])), where.channels), filters.dtype
    )
    index = np.arange(where.positions)[:, None], where.places()
    # Index arrays split by a slice put their axes first: (positions, area, width, channels).
    wide = wide.at[index[0], :, index[1], :].set(filters.transpose(0, 2, 1, 3))
    readout = params.readout
    if readout is not None and network.readout == "pooled":
        readout = jnp.tile(
            readout / where.positions, (where.positions, *(1 for _ in network.answers))
        )
    elif readout is not None:
        readout = readout.reshape(1, units, *network.answers)
    full = network.replace(
        connectivity="full", width=units, field=None, stride=1, border="valid", start=None
    )
    bias = None if layer.bias is None else layer.bias.reshape(1, units)
    return Embedded(full, Params(wide.reshape(1, units, -1), bias, readout, params.offset))


class Distance(NamedTuple):
    """How far a full network has left the subspaces of the local and of the shared network it
    started in (Frobenius norms).
    """

    off_locality: Float[Array, ""]
    off_sharing: Float[Array, ""]


def distance(params: Params, start: Network, shape: tuple[int, ...]) -> Distance:
    """How far a full or local network's weights are from those of the network it started in.

    Args:
        params: the parameters of the full or local network.
        start: the local or shared network inside which it began.
        shape: the shape of one input, channels last.

    Returns:
        The norm of the weights outside their units' windows (`off_locality`), and the norm of what
        differs between the windows of a group inside them (`off_sharing`).

    >>> import jax
    >>> from separatrix.networks import CNN
    >>> cnn = CNN(field=3, width=2)
    >>> wide = embed(cnn, cnn.init(jax.random.key(0), (8, 1)), (8, 1), to="full").params
    >>> off_locality, off_sharing = distance(wide, cnn, (8, 1))
    >>> float(off_locality), bool(off_sharing < 1e-6)
    (0.0, True)
    """
    where, weights = start.windows(shape), params.only_layer.weights
    wide = weights.reshape(where.positions, start.width, -1, where.channels)
    groups = group_of(where.counts, tiles(where.counts, start.groups))
    if weights.shape[0] == where.positions and weights.shape[2] == where.span:
        # A local network has no weights outside its windows.
        return Distance(jnp.zeros(()), _spread(wide, groups))
    index = np.arange(where.positions)[:, None], where.places()
    inside = wide[index[0], :, index[1], :]  # (positions, area, width, channels)
    outside = wide.at[index[0], :, index[1], :].set(0.0)
    return Distance(jnp.linalg.norm(outside), _spread(inside, groups))


def _spread(filters: Float[Array, "positions ..."], groups: np.ndarray) -> Float[Array, ""]:
    """The norm of what differs between the windows of a group."""
    if groups.max() == 0:
        return jnp.linalg.norm(filters - filters.mean(0))
    share = (groups[:, None] == groups) / np.bincount(groups)[groups]
    return jnp.linalg.norm(filters - jnp.tensordot(jnp.asarray(share, filters.dtype), filters, 1))
