"""How often units are active on the training patches, and how large they are."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from separatrix.errors import SeparatrixError
from separatrix.probes.base import Moment, probe


def unit_rates(moment: Moment) -> Float[Array, "groups width"]:
    """The share of the training patches (those of its own windows) on which each unit's pre-activation is positive.

    A shared filter is counted over all windows: its rate is the share of n·L patches.
    """
    layout, params = moment.layout, moment.params
    positions = moment.train.patches.shape[0]
    weights = jnp.broadcast_to(params.weights, (positions, *params.weights.shape[1:]))
    z = weights @ moment.train.patches
    if params.bias is not None:
        z = z + params.bias[:, :, None]
    rates = (z > 0) @ moment.train.weight  # (positions, width)
    if params.weights.shape[0] == 1:
        return (rates * layout.units).sum(0, keepdims=True) / layout.positions
    return rates


def path_norms(moment: Moment) -> Float[Array, "groups width"]:
    """|v_k|·‖w_k‖ of every unit, v_k being its readout as the network states it (before pooling)."""
    params, readout = moment.params, moment.params.readout
    size = jnp.linalg.norm(params.weights, axis=-1)
    if readout is None:
        return size
    if readout.ndim == 1:
        return size * jnp.abs(readout)
    return size * (jnp.abs(readout) if size.shape == readout.shape else jnp.abs(readout).mean(0))


@probe("activation")
def activation(moment: Moment) -> dict[str, Array]:
    """The mean activation rate over units, the same weighted by path norm, and the shares of units that are rarely or never active."""
    _refuse_depth(moment)
    rates, sizes = unit_rates(moment), path_norms(moment)
    real = moment.layout.units[: rates.shape[0]]
    units = real.sum()
    weight = real * sizes
    return {
        "": (real * rates).sum() / units,
        "weighted": (weight * rates).sum() / jnp.maximum(weight.sum(), 1e-30),
        "rare": (real * (rates < 0.05)).sum() / units,
        "dead": (real * (rates == 0)).sum() / units,
    }


@probe("path_norm")
def path_norm(moment: Moment) -> dict[str, Array]:
    """Σ_k |v_k|·‖w_k‖, and the largest single unit's."""
    _refuse_depth(moment)
    sizes = path_norms(moment)
    real = moment.layout.units[: sizes.shape[0]]
    return {"": (real * sizes).sum(), "largest": (real * sizes).max()}


def activation_profile(moment: Moment, count: int) -> tuple[Any, Any]:
    """Rates and path norms of `count` units spread over the order of path norms, for a picture of one against the other."""
    rates, sizes = unit_rates(moment).ravel(), path_norms(moment).ravel()
    order = jnp.argsort(-sizes * moment.layout.units[: unit_rates(moment).shape[0]].ravel())
    chosen = order[jnp.round(jnp.linspace(0, len(order) - 1, count)).astype(jnp.int32)]
    return rates[chosen], sizes[chosen]


def _refuse_depth(moment: Moment) -> None:
    if isinstance(moment.params.weights, tuple):
        raise SeparatrixError("activation and path norm probes are for networks with one hidden layer")
