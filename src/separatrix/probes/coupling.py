"""How far filters have turned into the subspace in which the patches lie."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from separatrix.errors import SeparatrixError
from separatrix.probes.activation import path_norms
from separatrix.probes.base import Moment, probe

SHARE = 0.9  # of the patches' second moment that the patch subspace carries


def patch_moment(moment: Moment) -> Float[Array, "span span"]:
    """The second moment of the training patches, over all windows together.

    >>> from separatrix.probes.activation import example_moment
    >>> patch_moment(example_moment()).tolist()
    [[1.5, -0.25], [-0.25, 0.5]]
    """
    patches = moment.train.patches.by_span
    real = (moment.layout.units[:, :1] > 0) / moment.layout.positions
    weight = real * moment.train.weight  # (positions, rows)
    return jnp.einsum("psn,ptn,pn->st", patches, patches, weight)


@probe("coupling")
def coupling(moment: Moment) -> dict[str, Array]:
    """How filters lie to the patch subspace, the smallest one with 90 % of the second moment.

    Filters count by their path norms |v|·‖w‖:

    - `inside`: the share of a filter's squared norm inside the subspace; `angle`: its angle to the
      subspace in degrees;
    - `dimension`: of the subspace; `rank`: the effective rank of the filters' directions,
      1/tr(G²) with G their second moment of trace 1.
    """
    weights = moment.params.weights
    if weights is None or isinstance(weights, tuple):
        raise SeparatrixError("the probe `coupling` is for networks with one hidden layer")
    values, vectors = jnp.linalg.eigh(patch_moment(moment))
    values, vectors = jnp.maximum(values[::-1], 0.0), vectors[:, ::-1]
    before = jnp.cumsum(values) - values
    kept = before < SHARE * values.sum() * (1 - 1e-5)
    sizes = path_norms(moment)
    real = moment.layout.units[: sizes.shape[0]]
    weight = real * sizes
    weight = weight / jnp.maximum(weight.sum(), 1e-30)
    norms = jnp.linalg.norm(weights, axis=-1, keepdims=True)
    units = weights / jnp.where(norms > 0, norms, 1.0)
    inside = jnp.minimum((jnp.square(units @ vectors) * kept).sum(-1), 1.0)
    spread = jnp.einsum("gks,gkt,gk->st", units, units, weight)
    return {
        "inside": (weight * inside).sum(),
        "angle": jnp.degrees((weight * jnp.arccos(jnp.sqrt(inside))).sum()),
        "dimension": kept.sum().astype(inside.dtype),
        "rank": 1.0 / jnp.maximum(jnp.square(spread).sum(), 1e-30),
    }
