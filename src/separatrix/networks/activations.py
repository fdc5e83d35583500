"""Activations, as small specs: their parameters are values, so that a sweep over them shares a
program.
"""

import abc

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from separatrix.spec import Spec, value


class Activation(Spec):
    """A scalar function applied to every hidden unit.

    >>> import jax.numpy as jnp
    >>> ReLU()(jnp.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    @abc.abstractmethod
    def __call__(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        """The activation of `z`."""


class ReLU(Activation):
    """max(z, 0).

    >>> float(ReLU()(3.0))
    3.0
    """

    def __call__(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jax.nn.relu(z)


class ClippedReLU(Activation):
    """min(max(z, 0), c): bounded by c with slope at most 1, as Theorem 4 of Malach & Shalev-Shwartz
    assumes.

    Args:
        ceiling: The bound c.

    >>> float(ClippedReLU(ceiling=1.0)(3.0))
    1.0
    """

    ceiling: float = value(low=0, open_low=True, default=1.0)

    def __call__(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.clip(z, 0.0, self.ceiling)


class Tanh(Activation):
    """The hyperbolic tangent.

    >>> float(Tanh()(0.0))
    0.0
    """

    def __call__(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.tanh(z)


class LSA(Activation):
    """Local signal adaptivity, φ_b(z) = relu(z-b) - relu(-z-b): zero inside [-b, b], the identity
    shifted by b outside.

    Args:
        bias: The bias b.

    >>> import jax.numpy as jnp
    >>> LSA(bias=0.5)(jnp.array([-2.0, 0.25, 2.0])).tolist()
    [-1.5, 0.0, 1.5]
    """

    bias: float = value(low=0, default=0.5)

    def __call__(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        # z minus its clipped part: the same function as the two rectifiers, in one pass over z.
        return z - jnp.clip(z, -self.bias, self.bias)
