"""Losses: functions of the score and the label, row by row."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def hinge(scores: Float[Array, " rows"], y: Float[Array, " rows"]) -> Float[Array, " rows"]:
    """max(0, 1 - y·h).

    >>> float(hinge(0.25, 1.0))
    0.75
    """
    return jax.nn.relu(1.0 - y * scores)


def logistic(scores: Float[Array, " rows"], y: Float[Array, " rows"]) -> Float[Array, " rows"]:
    """log(1 + exp(-y·h)).

    >>> round(float(logistic(0.0, 1.0)), 4)
    0.6931
    """
    return jax.nn.softplus(-y * scores)


def squared(scores: Float[Array, " rows"], y: Float[Array, " rows"]) -> Float[Array, " rows"]:
    """(h - y)², without a factor ½.

    >>> float(squared(0.5, 1.0))
    0.25
    """
    return jnp.square(scores - y)


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
    "correlation": correlation,
}
