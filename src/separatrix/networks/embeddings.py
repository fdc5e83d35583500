"""Exact embeddings shared → local → full: every convolutional network is a local one, every local one a full one."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from separatrix.errors import ParameterError, check_choice
from separatrix.networks.shallow import Network, Params
from separatrix.networks.windows import windows

ORDER = ("shared", "local", "full")


class Embedded(NamedTuple):
    """A larger network and the parameters with which it computes what a smaller one does.

    >>> from separatrix.networks import CNN
    >>> Embedded(CNN(field=1), None).params is None
    True
    """

    network: Network
    params: Params


def embed(network: Network, params: Params, shape: tuple[int, ...], to: str) -> Embedded:
    """The same function as a network of a larger connectivity: equal outputs to machine precision.

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
    if ORDER.index(to) < ORDER.index(network.connectivity):
        raise ParameterError("embed", "to", f"at least as large as '{network.connectivity}'", to)
    while network.connectivity != to:
        step = _to_local if network.connectivity == "shared" else _to_full
        network, params = step(network, params, shape)
    return Embedded(network, params)


def _to_local(network: Network, params: Params, shape: tuple[int, ...]) -> Embedded:
    positions = windows(shape, network.field, network.stride).positions
    weights = jnp.tile(params.weights, (positions, 1, 1))
    bias = None if params.bias is None else jnp.tile(params.bias, (positions, 1))
    return Embedded(network.replace(connectivity="local", start=None), params._replace(weights=weights, bias=bias))


def _to_full(network: Network, params: Params, shape: tuple[int, ...]) -> Embedded:
    where = windows(shape, network.field, network.stride)
    units = where.positions * network.width
    filters = params.weights.reshape(where.positions, network.width, -1, where.channels)
    wide = jnp.zeros((where.positions, network.width, int(np.prod(shape[:-1])), where.channels), filters.dtype)
    index = np.arange(where.positions)[:, None], where.places()
    # Index arrays split by a slice put their axes first: (positions, area, width, channels).
    wide = wide.at[index[0], :, index[1], :].set(filters.transpose(0, 2, 1, 3))
    readout = params.readout
    if network.readout == "pooled":
        readout = jnp.tile(params.readout / where.positions, where.positions)
    elif network.readout == "positions":
        readout = params.readout.reshape(1, units)
    full = network.replace(connectivity="full", width=units, field=None, stride=1, start=None)
    bias = None if params.bias is None else params.bias.reshape(1, units)
    return Embedded(full, Params(wide.reshape(1, units, -1), bias, readout, params.offset))


class Distance(NamedTuple):
    """How far a full network has left the subspaces of the local and of the shared network it started in (Frobenius norms).

    >>> Distance(off_locality=0.0, off_sharing=0.0).off_sharing
    0.0
    """

    off_locality: Float[Array, ""]
    off_sharing: Float[Array, ""]


def distance(params: Params, start: Network, shape: tuple[int, ...]) -> Distance:
    """Norms of a full (or local) network's weights outside its units' windows, and of what differs between windows inside them.

    >>> import jax
    >>> from separatrix.networks import CNN
    >>> cnn = CNN(field=3, width=2)
    >>> wide = embed(cnn, cnn.init(jax.random.key(0), (8, 1)), (8, 1), to="full").params
    >>> off_locality, off_sharing = distance(wide, cnn, (8, 1))
    >>> float(off_locality), bool(off_sharing < 1e-6)
    (0.0, True)
    """
    where = windows(shape, start.field, start.stride)
    wide = params.weights.reshape(where.positions, start.width, -1, where.channels)
    if wide.shape[2] * where.channels == where.span:  # a local network: nothing lies outside its windows
        return Distance(jnp.zeros(()), jnp.linalg.norm(wide - wide.mean(0)))
    index = np.arange(where.positions)[:, None], where.places()
    seen = wide[index[0], :, index[1], :]  # (positions, area, width, channels)
    outside = wide.at[index[0], :, index[1], :].set(0.0)
    return Distance(jnp.linalg.norm(outside), jnp.linalg.norm(seen - seen.mean(0)))
