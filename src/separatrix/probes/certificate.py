"""The weighted path norm of Neural Shattering as a probe: both sides of the bound, on the network
as it trains.
"""

from typing import Any, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array

from separatrix.errors import SeparatrixError
from separatrix.networks import ReLU
from separatrix.probes.base import Moment, probe
from separatrix.probes.lanczos import largest_eigenvalue
from separatrix.probes.sharpness import ITERATIONS
from separatrix.theory.stability import Certificate, path_certificate

TOLERANCE = 1e-3


def certificate_at(moment: Moment, sharpness: Any = None) -> Certificate:
    """Both sides of Σ|v_k|‖w_k‖g ≤ λ/2 - ½ + (R+1)√(2L), with λ and L those of ½·MSE over all
    parameters.

    For fully connected networks, and shared local ones with mean pooling; others are refused, since
    the theorem does not speak of them. A known `sharpness` of ½·MSE saves its calculation.

    >>> from separatrix.probes.activation import example_moment
    >>> bool(certificate_at(example_moment()).holds)
    True
    """
    network, layout, rows = moment.network, moment.layout, moment.train
    params = cast(Any, moment.params)
    one = (
        len(jax.tree.leaves(params.weights)) == 1
        and network.readout != "sum"
        and isinstance(network.activation, ReLU)
    )
    shared = (
        one
        and network.connectivity == "shared"
        and network.readout == "pooled"
        and params.weights.shape[0] == 1
    )
    if not (shared or (one and network.connectivity == "full")):
        raise SeparatrixError(
            "the certificate is for ReLU networks that are full, or shared with a pooled readout"
        )
    by_span = rows.patches.by_span
    patches = by_span.transpose(0, 2, 1).reshape(-1, by_span.shape[1])
    real = (layout.units[:, :1] > 0) / layout.positions
    weight = (real * rows.weight).reshape(-1)

    def half_loss(now: dict[str, Array]) -> Array:
        return (
            0.5
            * rows.weight
            @ jnp.square(network.scores(params._replace(**now), rows.patches, layout) - rows.y)
        )

    parts = {name: part for name, part in params._asdict().items() if part is not None}
    if sharpness is None:
        sharpness = largest_eigenvalue(half_loss, parts, None, TOLERANCE, ITERATIONS).values
    bias = jnp.zeros(params.weights.shape[1]) if params.bias is None else params.bias[0]
    readout = params.readout.reshape(-1) * layout.units[0]
    return path_certificate(
        params.weights[0],
        bias,
        readout,
        patches,
        weight,
        sharpness,
        half_loss(parts),
        params.offset is not None,
    )


@probe("certificate")
def certificate(moment: Moment) -> dict[str, Array]:
    """The bound's left and right side, the left's share of the plain path norm, and the radius of
    the patches.
    """
    bound = certificate_at(moment)
    share = bound.left / jnp.maximum(bound.path, 1e-30)
    return {"left": bound.left, "right": bound.right, "share": share, "radius": bound.radius}


@probe("weighted_path_norm")
def weighted_path_norm(moment: Moment) -> dict[str, Array]:
    """The bound's left side, and its right side less λ/2, λ being the sharpness of ½·MSE: for
    trials that measure their sharpness anyway.
    """
    bound = certificate_at(moment, jnp.zeros(()))
    return {"": bound.left, "allowance": bound.right}
