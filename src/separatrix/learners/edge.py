"""The edge of stability: where constant-step gradient descent stops being stable, and clipping that
keeps count of itself.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int


class Clipped(NamedTuple):
    """On how many steps clipping has acted so far, which step was the last of them (counted from 1;
    0: none), and the steps made.

    >>> int(Clipped(jnp.asarray(3), jnp.asarray(7), jnp.asarray(20)).last)
    7
    """

    steps: Int[Array, ""]
    last: Int[Array, ""]
    made: Int[Array, ""]


def counted_clip(limit: Any) -> optax.GradientTransformation:
    """Scale gradients whose norm is above `limit` down to it, and count the steps on which that
    happened.

    >>> clip = counted_clip(1.0)
    >>> small, state = clip.update(jnp.array([0.6, 0.0]), clip.init(jnp.zeros(2)))
    >>> large, state = clip.update(jnp.array([3.0, 4.0]), state)
    >>> [round(float(each), 2) for each in (*small, *large)], int(state.steps), int(state.last)
    ([0.6, 0.0, 0.6, 0.8], 1, 2)
    """

    def init(params: Any) -> Clipped:
        del params
        none = jnp.zeros((), jnp.int32)
        return Clipped(none, none, none)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Clipped]:
        del params
        norm = optax.tree.norm(updates)
        acts = norm > limit
        factor = jnp.where(acts, limit / jnp.where(acts, norm, 1.0), 1.0)
        made = state.made + 1
        return optax.tree.scale(factor, updates), Clipped(
            state.steps + acts.astype(jnp.int32), jnp.where(acts, made, state.last), made
        )

    return optax.GradientTransformation(init, update)


def clipping(state: Any) -> Clipped | None:
    """What a learner's clipping has done, from its optimizer's state; None for a learner that does
    not clip.

    >>> clipping(optax.sgd(0.1).init(jnp.zeros(2))) is None
    True
    """
    if isinstance(state, Clipped):
        return state
    inner = (clipping(part) for part in state) if isinstance(state, tuple) else ()
    return next((found for found in inner if found is not None), None)


def edge_step(
    before: Any, step: Any, sharpness: Float[Array, ""], rate: Any, tolerance: Any
) -> Int[Array, ""]:
    """The first measured step at which the sharpness was at least (1 - tolerance)·2/η, or -1 while
    it has not been.

    Loss and step size must be in the same convention (MSE with or without the ½), as they are for a
    learner's own loss and rate.

    >>> int(edge_step(-1, 50, jnp.array(9.99), rate=0.2, tolerance=0.01)), int(edge_step(50, 60, jnp.array(3.0), 0.2, 0.01))
    (50, 50)
    """
    there = sharpness >= (1.0 - tolerance) * 2.0 / rate
    return jnp.where((jnp.asarray(before) < 0) & there, step, before).astype(jnp.int32)
