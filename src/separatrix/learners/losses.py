"""Losses: functions of the score and the label, row by row."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Scores = Float[Array, " rows"] | Float[Array, "rows outputs"]

# Losses that are defined for several outputs.
SEVERAL = ("logistic", "squared")


def one_hot(
    y: Float[Array, " rows"], scores: Float[Array, "rows outputs"]
) -> Float[Array, "rows outputs"]:
    """The unit vectors of class numbers.

    >>> one_hot(jnp.array([1.0]), jnp.zeros((1, 3))).tolist()
    [[0.0, 1.0, 0.0]]
    """
    return jax.nn.one_hot(y.astype(jnp.int32), scores.shape[-1], dtype=scores.dtype)


def hinge(scores: Float[Array, " rows"], y: Float[Array, " rows"]) -> Float[Array, " rows"]:
    """max(0, 1 - y·h).

    >>> float(hinge(0.25, 1.0))
    0.75
    """
    return jax.nn.relu(1.0 - y * scores)


def logistic(scores: Scores, y: Float[Array, " rows"]) -> Float[Array, " rows"]:
    """log(1 + exp(-y·h)); for several outputs, the cross-entropy of their softmax.

    Labels of several outputs are class numbers 0, 1, ….

    >>> round(float(logistic(0.0, 1.0)), 4)
    0.6931
    >>> round(float(logistic(jnp.zeros((1, 4)), jnp.array([2.0]))[0]), 4)  # log 4
    1.3863
    """
    if jnp.ndim(scores) == 2:
        return jax.nn.logsumexp(scores, axis=-1) - (scores * one_hot(y, scores)).sum(-1)
    return jax.nn.softplus(-y * scores)


def squared(scores: Scores, y: Float[Array, " rows"]) -> Float[Array, " rows"]:
    """(h - y)², without a factor ½; for several outputs, the sum of (h - e)² over them.

    e is the unit vector of the label, which is a class number.

    >>> float(squared(0.5, 1.0))
    0.25
    >>> squared(jnp.array([[0.5, 0.0]]), jnp.array([1.0])).tolist()
    [1.25]
    """
    if jnp.ndim(scores) == 2:
        return jnp.square(scores - one_hot(y, scores)).sum(-1)
    return jnp.square(scores - y)


def half_squared(scores: Float[Array, " rows"], y: Float[Array, " rows"]) -> Float[Array, " rows"]:
    """½(h - y)²: half the loss, and so half the sharpness at the same edge 2/η.

    >>> float(half_squared(0.5, 1.0))
    0.125
    """
    return 0.5 * jnp.square(scores - y)


def correlation(scores: Float[Array, " rows"], y: Float[Array, " rows"]) -> Float[Array, " rows"]:
    """-y·h: its gradient is the correlation of the label with the network's gradient.

    >>> float(correlation(0.5, 1.0))
    -0.5
    """
    return -y * scores


LOSSES: dict[str, Callable[..., Array]] = {
    "hinge": hinge,
    "logistic": logistic,
    "squared": squared,
    "half-squared": half_squared,
    "correlation": correlation,
}
