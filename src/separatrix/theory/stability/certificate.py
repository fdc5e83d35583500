"""The weighted path norm of Neural Shattering (Theorem 3.2): the bound that flatness implies,
computed for a network.

For a two-layer ReLU network f(x) = Σ_k v_k φ(w_k·x - b_k) + β and L = ½·MSE over n inputs of norm
at most R,

    Σ_k |v_k| ‖w_k‖ g(w_k/‖w_k‖, b_k/‖w_k‖)  ≤  λ/2 - ½ + (R + 1)√(2L)

with λ the largest eigenvalue of the Hessian, g(u, t) = min(g̃(u, t), g̃(-u, -t)) and, X being
uniform over the training inputs,

    g̃(u, t) = P(X·u > t)² · E[X·u - t | X·u > t] · √(1 + ‖E[X | X·u > t]‖²).

For a shared local network with mean pooling the same proof holds with X uniform over the n·L
training patches. The -½ comes from the trained offset β; it vanishes without an offset.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float


def half_tail_weight(
    patches: Float[Array, "count span"],
    weight: Float[Array, " count"],
    directions: Float[Array, "units span"],
    levels: Float[Array, " units"],
) -> Float[Array, " units"]:
    """g̃(u, t) for every unit: how strongly the patches beyond the unit's threshold tie its size to
    the sharpness.

    The example is ½² · 2 · √(1 + 4²):

    >>> import jax.numpy as jnp
    >>> line = jnp.array([[-1.0], [1.0], [3.0], [5.0]])
    >>> half_tail_weight(line, jnp.full(4, 0.25), jnp.ones((1, 1)), jnp.array([2.0])).tolist()
    [2.061552...]
    """
    over = directions @ patches.T - levels[:, None]
    inside = (over > 0) * weight
    share = inside.sum(1)
    safe = jnp.where(share > 0, share, 1.0)
    excess = (inside * over).sum(1) / safe
    centre = inside @ patches / safe[:, None]
    return share**2 * excess * jnp.sqrt(1.0 + (centre**2).sum(1))


def tail_weight(
    patches: Float[Array, "count span"],
    weight: Float[Array, " count"],
    directions: Float[Array, "units span"],
    levels: Float[Array, " units"],
) -> Float[Array, " units"]:
    """g(u, t): the smaller of the weights of the two sides of a unit's threshold.

    Nothing lies beyond 6:

    >>> import jax.numpy as jnp
    >>> line = jnp.array([[-1.0], [1.0], [3.0], [5.0]])
    >>> float(tail_weight(line, jnp.full(4, 0.25), jnp.ones((1, 1)), jnp.array([6.0]))[0])
    0.0
    """
    return jnp.minimum(
        half_tail_weight(patches, weight, directions, levels),
        half_tail_weight(patches, weight, -directions, -levels),
    )


class Certificate(NamedTuple):
    """Both sides of the bound, the unweighted path norm, and the radius of the patches."""

    left: Float[Array, ""]
    right: Float[Array, ""]
    path: Float[Array, ""]
    radius: Float[Array, ""]

    @property
    def holds(self) -> Array:
        """Whether the bound holds, up to rounding (1e-5 of the right side)."""
        return jnp.asarray(self.left) <= self.right + 1e-5 * jnp.abs(self.right)


def path_certificate(
    weights: Float[Array, "units span"],
    bias: Float[Array, " units"],
    readout: Float[Array, " units"],
    patches: Float[Array, "count span"],
    weight: Float[Array, " count"],
    sharpness: Float[Array, ""],
    half_loss: Float[Array, ""],
    offset: bool = True,
) -> Certificate:
    """Both sides of the bound for a network Σ_k v_k φ(w_k·x + b_k), with the sign of the bias that
    this package uses.

    `sharpness` and `half_loss` are those of ½·MSE; for MSE without the ½, halve both. `weight`
    holds the probabilities of the patches; patches of probability 0 are padding.

    The example has the left side ½² · 1 · √2 and the right side 2/2 - ½:

    >>> import jax.numpy as jnp
    >>> x, one = jnp.array([[-1.0], [1.0]]), jnp.ones((1, 1))
    >>> half, sharpness, loss = jnp.full(2, 0.5), jnp.array(2.0), jnp.array(0.0)
    >>> bound = path_certificate(one, jnp.zeros(1), jnp.ones(1), x, half, sharpness, loss)
    >>> round(float(bound.left), 4), float(bound.right)
    (0.3536, 0.5)
    """
    size = jnp.linalg.norm(weights, axis=1)
    safe = jnp.where(size > 0, size, 1.0)
    path = jnp.abs(readout) * size
    left = path @ tail_weight(patches, weight, weights / safe[:, None], -bias / safe)
    radius = jnp.sqrt(jnp.max(jnp.where(weight > 0, (patches**2).sum(1), 0.0)))
    right = sharpness / 2 - (0.5 if offset else 0.0) + (radius + 1.0) * jnp.sqrt(2.0 * half_loss)
    return Certificate(left, right, path.sum(), radius)
