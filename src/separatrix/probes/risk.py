"""Risk: the share of wrong signs, ties counted ½."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from separatrix.learners import Rows
from separatrix.networks import Layout, Network, Params
from separatrix.probes.base import Moment, probe


def sign_risk(scores: Float[Array, " rows"], y: Float[Array, " rows"], weight: Float[Array, " rows"]) -> Float[Array, ""]:
    """The weighted share of rows whose score has the wrong sign; a score of exactly 0 counts ½.

    >>> import jax.numpy as jnp
    >>> float(sign_risk(jnp.array([2.0, -1.0, 0.0, 1.0]), jnp.ones(4), jnp.full(4, 0.25)))
    0.375
    """
    return weight @ (0.5 * (1.0 - jnp.sign(scores * y)))


def network_risk(network: Network, params: Params, layout: Layout, rows: Rows) -> Float[Array, ""]:
    """The risk of a network on rows.

    >>> import jax, jax.numpy as jnp
    >>> from separatrix.networks import FCN
    >>> network = FCN(width=1, bias=False, readout="sum")
    >>> rows = Rows(jnp.ones((1, 2, 4)), jnp.ones(4), jnp.full(4, 0.25))
    >>> float(network_risk(network, Params(jnp.ones((1, 1, 2))), network.layout((2, 1)), rows))
    0.0
    """
    return sign_risk(network.scores(params, rows.patches, layout), rows.y, rows.weight)


@probe("risk")
def risk(moment: Moment) -> Float[Array, ""]:
    """Risk on the test rows."""
    return network_risk(moment.network, moment.params, moment.layout, moment.test)


@probe("train_risk")
def train_risk(moment: Moment) -> Float[Array, ""]:
    """Risk on the rows of the current gradient."""
    return network_risk(moment.network, moment.params, moment.layout, moment.train)


@probe("loss")
def loss(moment: Moment) -> Float[Array, ""]:
    """Training loss."""
    return moment.loss
