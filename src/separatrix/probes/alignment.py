"""Alignment: how far a network's filters (those of the first layer, where there are more) point
along the task's signal.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from separatrix.networks import Layout, Params
from separatrix.probes.base import Moment, probe, require_direction


def along(
    vectors: Float[Array, "groups width span"], direction: Float[Array, " channels"], layout: Layout
) -> Float[Array, "groups width area"]:
    """The inner products of each place of each unit's window with the signal.

    >>> import jax.numpy as jnp
    >>> from separatrix.networks import CNN
    >>> layout = CNN(field=1).layout((4, 2))
    >>> along(jnp.array([[[3.0, 4.0]]]), jnp.array([1.0, 0.0]), layout).tolist()
    [[[3.0]]]
    """
    groups, width, _ = vectors.shape
    return vectors.reshape(groups, width, -1, layout.windows.channels) @ direction


def unit_mean(values: Float[Array, "groups width"], layout: Layout) -> Float[Array, ""]:
    """The mean over a network's real (not padded) units.

    >>> import jax.numpy as jnp
    >>> from separatrix.networks import CNN
    >>> float(unit_mean(jnp.array([[3.0]]), CNN(field=1).layout((4, 2))))
    3.0
    """
    real = layout.units[: values.shape[0]]
    return (values * real).sum() / real.sum()


def _best_place(
    params: Params, direction: Float[Array, " channels"], layout: Layout
) -> Int[Array, "groups width 1"]:
    # Padded patches have inner product 0, which would beat patches that all point away from the
    # signal.
    real = layout.inside.reshape(-1, layout.windows.channels).max(1) > 0
    return jnp.argmax(
        jnp.where(real, along(params.layers[0].weights, direction, layout), -jnp.inf),
        axis=-1,
        keepdims=True,
    )


def _at(
    values: Float[Array, "groups width area"], place: Int[Array, "groups width 1"]
) -> Float[Array, "groups width"]:
    return jnp.take_along_axis(values, place, -1)[..., 0]


def _best(
    params: Params, direction: Float[Array, " channels"], layout: Layout
) -> Float[Array, "groups width"]:
    return _at(
        along(params.layers[0].weights, direction, layout),
        _best_place(params, direction, layout),
    )


@probe("alignment", needs="direction")
def alignment(moment: Moment) -> Float[Array, ""]:
    """<w, w*>/||w||, the mean over units.

    A unit that sees several patches counts by its best one.
    """
    direction = require_direction(moment)
    inner = _best(moment.params, direction, moment.layout)
    norm = jnp.linalg.norm(moment.params.layers[0].weights, axis=-1)
    return unit_mean(inner / jnp.where(norm > 0, norm, 1.0), moment.layout)


@probe("patch_alignment", needs="direction")
def patch_alignment(moment: Moment) -> Float[Array, ""]:
    """For every patch the alignment of the unit that sees it best, the mean over patches.

    Unlike `alignment`, it notices an FCN whose units leave patches uncovered. A patch that no unit
    sees counts 0.
    """
    direction, layout = require_direction(moment), moment.layout
    weights = moment.params.layers[0].weights
    norm = jnp.linalg.norm(weights, axis=-1)[..., None]
    cosines = along(weights, direction, layout) / jnp.where(norm > 0, norm, 1.0)
    seen = layout.spread(cosines)
    seen = jnp.broadcast_to(seen, (layout.windows.positions, *seen.shape[1:]))
    units = layout.units > 0
    inside = layout.inside.reshape(-1, layout.windows.channels).max(1) > 0
    real = jnp.broadcast_to(units, seen.shape[:2])[..., None] & inside
    best = jnp.where(real, seen, -jnp.inf).max(axis=1)  # (positions, area)
    places = layout.windows.places()
    count = math.prod(layout.windows.space)
    patches = jnp.full((count,), -jnp.inf).at[places].max(best)
    true = 1
    for length in moment.task.shape[:-1]:
        true = true * length
    kept = jnp.where(jnp.isfinite(patches), patches, 0.0) * (jnp.arange(count) < true)
    return kept.sum() / true


@probe("drift", needs="direction")
def drift(moment: Moment) -> Float[Array, ""]:
    """The norm of the part of a unit's weights that is orthogonal to the signal at its best patch,
    the mean over units.
    """
    direction = require_direction(moment)
    inner = _best(moment.params, direction, moment.layout)
    total = jnp.sum(moment.params.layers[0].weights ** 2, -1)
    return unit_mean(jnp.sqrt(jnp.maximum(total - inner**2, 0.0)), moment.layout)


@probe("signal_gradient", needs="direction")
def signal_gradient(moment: Moment) -> Float[Array, ""]:
    """The push of a gradient step along the signal, -<gradient, w*> at a unit's best patch, the
    mean over units.
    """
    direction = require_direction(moment)
    if moment.gradient.weights is None:
        return jnp.zeros(())
    place = _best_place(moment.params, direction, moment.layout)
    push = -along(moment.gradient.layers[0].weights, direction, moment.layout)
    return unit_mean(_at(push, place), moment.layout)
