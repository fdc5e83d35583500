"""Risk: the share of wrong signs, or of wrong classes; ties count as a fair draw among them."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from separatrix.learners import Rows
from separatrix.learners.losses import one_hot
from separatrix.networks import Layout, Network, Params
from separatrix.probes.base import Moment, probe


def sign_risk(
    scores: Float[Array, " rows"], y: Float[Array, " rows"], weight: Float[Array, " rows"]
) -> Float[Array, ""]:
    """The weighted share of rows whose score has the wrong sign; a score of exactly 0 counts ½.

    >>> import jax.numpy as jnp
    >>> float(sign_risk(jnp.array([2.0, -1.0, 0.0, 1.0]), jnp.ones(4), jnp.full(4, 0.25)))
    0.375
    """
    return weight @ (0.5 * (1.0 - jnp.sign(scores * y)))


def class_risk(
    scores: Float[Array, "rows outputs"], y: Float[Array, " rows"], weight: Float[Array, " rows"]
) -> Float[Array, ""]:
    """The weighted share of rows whose highest score is not their class's; t classes that tie for
    it share it, 1/t each.

    >>> import jax.numpy as jnp
    >>> scores = jnp.array([[0.0, 2.0, 1.0], [3.0, 1.0, 3.0], [0.0, 0.0, 5.0], [1.0, 1.0, 1.0]])
    >>> round(float(class_risk(scores, jnp.array([1.0, 0.0, 1.0, 2.0]), jnp.full(4, 0.25))), 4)
    0.5417
    """
    top = (scores == scores.max(-1, keepdims=True)).astype(scores.dtype)
    right = (top * one_hot(y, scores)).sum(-1) / top.sum(-1)
    return weight @ (1.0 - right)


def network_risk(network: Network, params: Params, layout: Layout, rows: Rows) -> Float[Array, ""]:
    """The risk of a network on rows.

    >>> import jax, jax.numpy as jnp
    >>> from separatrix.networks import FCN
    >>> network = FCN(width=1, bias=False, readout="sum")
    >>> layout = network.layout((2, 1))
    >>> rows = Rows(layout.cut(jnp.ones((4, 2, 1))), jnp.ones(4), jnp.full(4, 0.25))
    >>> float(network_risk(network, Params(jnp.ones((1, 1, 2))), layout, rows))
    0.0
    """
    scores = network.scores(params, rows.patches, layout)
    if rows.clean is not None:  # a regression: the excess risk
        return rows.weight @ jnp.square(scores - rows.clean)
    return (sign_risk if network.outputs == 1 else class_risk)(scores, rows.y, rows.weight)


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
