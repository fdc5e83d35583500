"""Sharpness: the largest eigenvalue of the training loss's Hessian, followed while a network
trains.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from separatrix.errors import SeparatrixError
from separatrix.probes.base import Moment, probe
from separatrix.probes.lanczos import fixed_noise, largest_eigenvalue, top_eigenvalues

# Of the residual, relative to the eigenvalue, whose own error is of second order in it.
TOLERANCE = 1e-3
ITERATIONS = 40
# The weight of gradient and noise in a warm start: from an eigenvector alone, Lanczos would not see
# another one overtake it.
MIX = 1.0
TOP = 4


def _nothing_yet(moving: dict[str, Array]) -> Any:
    """The memory before the first measurement."""
    return jax.tree.map(jnp.zeros_like, moving)


def warm_start(before: Any, gradient: Any) -> Any:
    """Where Lanczos starts: the previous eigenvector, the gradient and noise, as unit vectors.

    At the edge of stability the gradient points along the sharpest directions.

    >>> import jax.numpy as jnp
    >>> warm_start({"a": jnp.zeros(3)}, {"a": jnp.ones(3)})["a"].shape
    (3,)
    """
    old, restore = ravel_pytree(before)
    flat = ravel_pytree(gradient)[0]

    def unit(vector: Float[Array, " size"]) -> Float[Array, " size"]:
        size = jnp.linalg.norm(vector)
        good = (size > 0) & jnp.isfinite(size)
        return jnp.where(good, vector / jnp.where(good, size, 1.0), 0.0)

    return restore(unit(old) + MIX * unit(flat) + MIX * unit(fixed_noise(old.size, old.dtype)))


def training_loss(moment: Moment) -> tuple[Any, Any]:
    """The training loss as a function of the trained parts, and these parts, or one sentence."""
    if moment.loss_of is None or moment.moving is None:
        raise SeparatrixError(
            "sharpness probes need a moment with the training loss as a function (`loss_of`) of the"
            " trained parts"
        )
    return moment.loss_of, moment.moving


@probe("sharpness", recall=_nothing_yet)
def sharpness(moment: Moment) -> Any:
    """The largest eigenvalue of the training loss's Hessian over the trained parts, its residual,
    and the products it took.

    In the convention of the learner's own loss: the edge of stability is 2/η in either.
    """
    loss, moving = training_loss(moment)
    gradient = {part: getattr(moment.gradient, part) for part in moving}
    start = warm_start(moment.memory, gradient)
    pair = largest_eigenvalue(loss, moving, start, TOLERANCE, ITERATIONS)
    numbers = {"": pair.values, "residual": pair.residuals, "products": pair.iterations}
    return numbers, pair.vectors


@probe("sharpness_parts")
def sharpness_parts(moment: Moment) -> dict[str, Array]:
    """The largest eigenvalue of each trained part's own block of the Hessian."""
    loss, moving = training_loss(moment)
    out = {}
    for part in moving:
        out[part] = largest_eigenvalue(
            lambda values, part=part: loss(moving | {part: values}),
            moving[part],
            None,
            TOLERANCE,
            ITERATIONS,
        ).values
    return out


@probe("sharpness_top")
def sharpness_top(moment: Moment) -> dict[str, Array]:
    """The few largest eigenvalues, the largest first, with the largest of their residuals."""
    loss, moving = training_loss(moment)
    top = top_eigenvalues(loss, moving, TOP, None, TOLERANCE, ITERATIONS)
    return {str(rank + 1): top.values[rank] for rank in range(TOP)} | {
        "residual": top.residuals.max()
    }
