"""Norms of parameters and gradients, and how far a network has left the subspace it started in."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from separatrix.errors import SeparatrixError
from separatrix.networks import distance
from separatrix.networks.embeddings import Distance
from separatrix.probes.base import Moment, probe


def norm(part: Any) -> Float[Array, ""]:
    """The Euclidean norm of a part of the parameters, over all layers together; 0 where the network
    has no such part.

    >>> float(norm(None))
    0.0
    """
    leaves = jax.tree.leaves(part)
    return (
        jnp.sqrt(
            sum((jnp.sum(jnp.square(leaf)) for leaf in leaves[1:]), jnp.sum(jnp.square(leaves[0])))
        )
        if leaves
        else jnp.zeros(())
    )


@probe("weight_norm")
def weight_norm(moment: Moment) -> Float[Array, ""]:
    """Norm of the hidden weights."""
    return norm(moment.params.weights)


@probe("weight_shift")
def weight_shift(moment: Moment) -> Float[Array, ""]:
    """Norm of what training has changed in the hidden weights."""
    return norm(jax.tree.map(jnp.subtract, moment.params.weights, moment.initial.weights))


@probe("readout_norm")
def readout_norm(moment: Moment) -> Float[Array, ""]:
    """Norm of the trained readout."""
    return norm(moment.params.readout)


@probe("weight_gradient_norm")
def weight_gradient_norm(moment: Moment) -> Float[Array, ""]:
    """Norm of the training loss's gradient with respect to the hidden weights."""
    return norm(moment.gradient.weights)


@probe("readout_gradient_norm")
def readout_gradient_norm(moment: Moment) -> Float[Array, ""]:
    """Norm of the training loss's gradient with respect to the readout."""
    return norm(moment.gradient.readout)


def _distance(moment: Moment) -> Distance:
    start = moment.network.start
    if start is None:
        raise SeparatrixError(
            "subspace probes need a network that starts inside another (its `start`)"
        )
    where = moment.layout.windows
    return distance(moment.params, start, (*where.space, where.channels))


@probe("off_locality", needs="start")
def off_locality(moment: Moment) -> Float[Array, ""]:
    """Norm of a full network's weights outside the windows of the network it started in."""
    return _distance(moment).off_locality


@probe("off_sharing", needs="start")
def off_sharing(moment: Moment) -> Float[Array, ""]:
    """Norm of what differs between the windows of a full network that started in a shared one."""
    return _distance(moment).off_sharing
