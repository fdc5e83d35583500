"""How a network's parameters begin: the papers' initialisations."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from separatrix.spec import Spec, choice, value
from separatrix.streams import draw, normal, sign


class Initial(Spec):
    """The distribution of the parameters before training.

    The distributions of the hidden weights are:

    - "scaled": N(0, scale²/fan_in), where fan_in is the number of inputs that a unit sees (scale √2
      is He's initialisation);
    - "normal": N(0, scale²);
    - "directions": uniform on the sphere of radius `scale`, unit by unit;
    - "signs": ±1/fan_in with hidden bias 1/fan_in - 1 (Theorem 4 of Malach & Shalev-Shwartz;
      `scale` is not used). The hidden biases of all others are 0.

    Args:
        weights: The distribution of the hidden weights: `scaled`, `normal`, `directions` or
            `signs`.
        scale: The scale of the hidden weights.
        readout: The scale of a trained readout, which is drawn from N(0, readout²/units); 0 for a
            readout of zeros, as in Theorem 4.

    >>> import separatrix as sx
    >>> sx.CNN(field=3, initial=Initial("signs", readout=0.0)).initial.weights
    'signs'
    """

    weights: str = choice("scaled", "normal", "directions", "signs", default="scaled")
    scale: float = value(low=0, open_low=True, default=2**0.5)
    readout: float = value(low=0, default=1.0)

    def draw_weights(
        self,
        key: Key[Array, ""],
        shape: tuple[int, ...],
        inside: Float[Array, "..."],
        fan_in: int,
    ) -> Float[Array, "groups width span"]:
        """Weights of `shape` (groups, width, *window); entries where `inside` is 0 are padding and
        stay 0.
        """
        # Four axes at most; a 2-D window, which is never padded, is drawn as one axis.
        drawn = (*shape[:2], math.prod(shape[2:-1]), shape[-1])
        if self.weights == "signs":
            raw = draw(sign, key, drawn) / jnp.asarray(fan_in, jnp.float32)
        else:
            raw = draw(normal, key, drawn)
        flat = (raw * inside.reshape(drawn[2:])).reshape(*shape[:2], -1)
        match self.weights:
            case "scaled":
                return flat * self.scale / jnp.sqrt(1.0 * fan_in)
            case "normal":
                return flat * self.scale
            case "directions":
                norm = jnp.linalg.norm(flat, axis=-1, keepdims=True)
                return flat * (self.scale / jnp.where(norm > 0, norm, 1.0))
            case _:
                return flat

    def hidden_bias(self, fan_in: int) -> Float[Array, ""]:
        """The initial value of every hidden bias."""
        return (
            1.0 / jnp.asarray(fan_in, jnp.float32) - 1.0
            if self.weights == "signs"
            else jnp.zeros(())
        )
