"""Exact embeddings shared → grouped → local → full: a convolution is a grouped network, that a
local one, that a full one.
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
    """A larger network and the parameters with which it computes what a smaller one does.

    >>> from separatrix.networks import CNN
    >>> Embedded(CNN(field=1), None).params is None
    True
    """

    network: Network
    params: Params


def embed(
    network: Network, params: Params, shape: tuple[int, ...], to: str, groups: Any = None
) -> Embedded:
    """The same function as a network of a larger connectivity: equal outputs to machine precision.

    With `to="shared"` and `groups` a shared or grouped network becomes one of more groups, each
    inside one of its own.

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
        raise ParameterError(
            "embed",
            "network",
            "of one hidden layer without pooling",
            f"depth={network.depth}, pool={network.pool}",
        )
    if ORDER.index(to) < ORDER.index(network.connectivity):
        raise ParameterError("embed", "to", f"at least as large as '{network.connectivity}'", to)
    if to == "shared" and groups is not None:
        return _to_groups(network, params, shape, groups)
    while network.connectivity != to:
        step = _to_local if network.connectivity == "shared" else _to_full
        network, params = step(network, params, shape)
    return Embedded(network, params)


def _groups(network: Network, shape: tuple[int, ...]) -> np.ndarray:
    """The group of every window; a local network's windows are groups of their own."""
    counts = network.windows(shape).counts
    return group_of(
        counts, counts if network.connectivity == "local" else tiles(counts, network.groups)
    )


def _to_groups(network: Network, params: Params, shape: tuple[int, ...], groups: Any) -> Embedded:
    finer = network.replace(groups=groups, start=None)
    mine, theirs = _groups(network, shape), _groups(finer, shape)
    _, first = np.unique(theirs, return_index=True)  # a window of every new group
    if (mine[first][theirs] != mine).any():
        raise ParameterError(
            "embed",
            "groups",
            f"groups that each lie inside one of the network's {network.groups or 1}",
            groups,
        )
    bias = None if params.bias is None else params.bias[mine[first]]
    return Embedded(finer, params._replace(weights=params.weights[mine[first]], bias=bias))


def _to_local(network: Network, params: Params, shape: tuple[int, ...]) -> Embedded:
    mine = _groups(network, shape)
    bias = None if params.bias is None else params.bias[mine]
    local = network.replace(connectivity="local", groups=None, start=None)
    return Embedded(local, params._replace(weights=params.weights[mine], bias=bias))


def _to_full(network: Network, params: Params, shape: tuple[int, ...]) -> Embedded:
    where = network.windows(shape)
    units = where.positions * network.width
    filters = params.weights.reshape(where.positions, network.width, -1, where.channels)
    wide = jnp.zeros(
        (where.positions, network.width, int(np.prod(shape[:-1])), where.channels), filters.dtype
    )
    index = np.arange(where.positions)[:, None], where.places()
    # Index arrays split by a slice put their axes first: (positions, area, width, channels).
    wide = wide.at[index[0], :, index[1], :].set(filters.transpose(0, 2, 1, 3))
    readout = params.readout
    if network.readout == "pooled":
        readout = jnp.tile(
            params.readout / where.positions, (where.positions, *(1 for _ in network.answers))
        )
    elif network.readout == "positions":
        readout = params.readout.reshape(1, units, *network.answers)
    full = network.replace(
        connectivity="full", width=units, field=None, stride=1, border="valid", start=None
    )
    bias = None if params.bias is None else params.bias.reshape(1, units)
    return Embedded(full, Params(wide.reshape(1, units, -1), bias, readout, params.offset))


class Distance(NamedTuple):
    """How far a full network has left the subspaces of the local and of the shared network it
    started in (Frobenius norms).

    >>> Distance(off_locality=0.0, off_sharing=0.0).off_sharing
    0.0
    """

    off_locality: Float[Array, ""]
    off_sharing: Float[Array, ""]


def distance(params: Params, start: Network, shape: tuple[int, ...]) -> Distance:
    """Norms of a full (or local) network's weights outside its units' windows, and of what differs
    between windows inside them.

    >>> import jax
    >>> from separatrix.networks import CNN
    >>> cnn = CNN(field=3, width=2)
    >>> wide = embed(cnn, cnn.init(jax.random.key(0), (8, 1)), (8, 1), to="full").params
    >>> off_locality, off_sharing = distance(wide, cnn, (8, 1))
    >>> float(off_locality), bool(off_sharing < 1e-6)
    (0.0, True)
    """
    where = start.windows(shape)
    wide = params.weights.reshape(where.positions, start.width, -1, where.channels)
    mine = group_of(where.counts, tiles(where.counts, start.groups))
    if params.weights.shape[0] == where.positions and params.weights.shape[2] == where.span:
        return Distance(
            jnp.zeros(()), _spread(wide, mine)
        )  # a local network: nothing lies outside its windows
    index = np.arange(where.positions)[:, None], where.places()
    seen = wide[index[0], :, index[1], :]  # (positions, area, width, channels)
    outside = wide.at[index[0], :, index[1], :].set(0.0)
    return Distance(jnp.linalg.norm(outside), _spread(seen, mine))


def _spread(filters: Float[Array, "positions ..."], groups: np.ndarray) -> Float[Array, ""]:
    """The norm of what differs between the windows of a group."""
    if groups.max() == 0:
        return jnp.linalg.norm(filters - filters.mean(0))
    share = (groups[:, None] == groups) / np.bincount(groups)[groups]
    return jnp.linalg.norm(filters - jnp.tensordot(jnp.asarray(share, filters.dtype), filters, 1))
