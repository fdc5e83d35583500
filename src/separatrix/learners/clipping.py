"""Gradient clipping that counts the steps on which it acts."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Int


class Clipped(NamedTuple):
    """What clipping has done so far; the state of `counted_clip`."""

    steps: Int[Array, ""]  # on which it acted
    last: Int[Array, ""]  # the last of them, counted from 1; 0 before the first
    total: Int[Array, ""]  # all steps


def counted_clip(limit: Any) -> optax.GradientTransformation:
    """Scale gradients whose norm is above `limit` down to it, and count the steps on which that
    happened.

    >>> clip = counted_clip(1.0)
    >>> small, state = clip.update(jnp.array([0.6, 0.0]), clip.init(jnp.zeros(2)))
    >>> large, state = clip.update(jnp.array([3.0, 4.0]), state)
    >>> [round(float(x), 2) for x in (*small, *large)], int(state.steps), int(state.last)
    ([0.6, 0.0, 0.6, 0.8], 1, 2)
    """

    def init(params: Any) -> Clipped:
        del params
        zero = jnp.zeros((), jnp.int32)
        return Clipped(zero, zero, zero)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Clipped]:
        del params
        norm = optax.tree.norm(updates)
        acts = norm > limit
        factor = jnp.where(acts, limit / jnp.where(acts, norm, 1.0), 1.0)
        total = state.total + 1
        return optax.tree.scale(factor, updates), Clipped(
            steps=state.steps + acts.astype(jnp.int32),
            last=jnp.where(acts, total, state.last),
            total=total,
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
    return next((clipped for clipped in inner if clipped is not None), None)
