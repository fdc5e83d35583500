"""How often units are active on the training patches, and how large they are."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from separatrix.errors import SeparatrixError
from separatrix.learners import Rows
from separatrix.networks import FCN, Params
from separatrix.probes.base import Moment, probe

UNITS = 24  # units that the probe `units` picks


def unit_rates(moment: Moment) -> Float[Array, "groups width"]:
    """The share of the training patches (those of its own windows) on which each unit's
    pre-activation is positive.

    A shared filter is counted over all windows: its rate is the share of n·L patches.

    >>> unit_rates(example_moment()).tolist()
    [[0.75, 0.25]]
    """
    layout, params = moment.layout, moment.params
    layer, patches = params.only_layer, moment.train.patches.by_span
    z = jnp.broadcast_to(layer.weights, (len(patches), *layer.weights.shape[1:])) @ patches
    if layer.bias is not None:
        z = z + layer.bias[:, :, None]
    rates = (z > 0) @ moment.train.weight  # (positions, width)
    if len(layer.weights) == 1:
        return (rates * layout.units).sum(0, keepdims=True) / layout.positions
    return rates


def path_norms(moment: Moment) -> Float[Array, "groups width"]:
    """|v_k|·‖w_k‖ of every unit, v_k being its readout as the network states it (before pooling).

    >>> path_norms(example_moment()).tolist()
    [[2.0, 3.0]]
    """
    params, readout = moment.params, moment.params.readout
    size = jnp.linalg.norm(params.weights, axis=-1)
    if readout is None:
        return size
    if readout.ndim == 1:
        return size * jnp.abs(readout)
    return size * (jnp.abs(readout) if size.shape == readout.shape else jnp.abs(readout).mean(0))


@probe("activation")
def activation(moment: Moment) -> dict[str, Array]:
    """The mean activation rate over units, the same weighted by path norm, and the shares of units
    that are rarely or never active.
    """
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


@probe("units")
def units(moment: Moment) -> dict[str, Array]:
    """Activation rates and path norms of a few units spread evenly over the order of path norms: a
    picture of one against the other.
    """
    _refuse_depth(moment)
    rates, sizes = unit_rates(moment), path_norms(moment)
    real = moment.layout.units[: rates.shape[0]].ravel()
    rates, sizes = rates.ravel(), sizes.ravel()
    order = jnp.argsort(jnp.where(real > 0, -sizes, jnp.inf))  # padding last
    chosen = order[jnp.round(jnp.linspace(0.0, 1.0, UNITS) * (real.sum() - 1)).astype(jnp.int32)]
    return {f"rate{n}": rates[chosen[n]] for n in range(UNITS)} | {
        f"path{n}": sizes[chosen[n]] for n in range(UNITS)
    }


def example_moment() -> Moment:
    """A moment of a small fully connected network: what the examples of this module look at.

    >>> example_moment().params.readout.tolist()
    [[2.0, -1.0]]
    """
    network = FCN(width=2)
    params = Params(
        jnp.array([[[1.0, 0.0], [0.0, 3.0]]]), jnp.array([[0.5, -0.5]]), jnp.array([[2.0, -1.0]])
    )
    x = jnp.array([[0.0, 0.0], [1.0, 1.0], [2.0, -1.0], [-1.0, 0.0]])
    layout = network.layout((2, 1))
    rows = Rows(layout.cut(x[:, :, None]), jnp.zeros(4), jnp.full(4, 0.25))
    return Moment(
        step=0,
        params=params,
        initial=params,
        gradient=params,
        loss=jnp.zeros(()),
        network=network,
        layout=layout,
        direction=None,
        train=rows,
        test=rows,
    )


def _refuse_depth(moment: Moment) -> None:
    if isinstance(moment.params.weights, tuple):
        raise SeparatrixError(
            "activation and path norm probes are for networks with one hidden layer"
        )
