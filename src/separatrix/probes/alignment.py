"""Alignment: how far a network's filters (those of the first layer, where there are more) point
along the task's signal.
"""

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
