"""The dynamic signal distribution of Lahoti et al.: a signal in a random patch, plus noise."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from separatrix.errors import ParameterError
from separatrix.spec import choice, size, static, value
from separatrix.streams import draw, laplace, level, named, normal, sign, uniform
from separatrix.tasks.base import Sample, Task
from separatrix.theory.signal import bayes_risk, best_linear_risk

# Noises of unit variance.
NOISES = {"gaussian": normal, "laplace": laplace, "uniform": level, "sign": sign}


class SignalTask(Task):
    """A unit vector w*, times the label ±1, added to one patch of noise.

    The first three parameters are those of the paper; each of the others makes one variant.

    Args:
        patches: The number of patches, the paper's k.
        dimension: The dimension of a patch, the paper's d.
        noise: The standard deviation of the noise, the paper's σ.
        position: `random`, or `fixed` for a signal that is always in patch 0.
        signals: The number of patches that contain the signal.
        label: `sign`, or `product` for two signals with independent signs whose product is the
            label, so that patches interact.
        distribution: The distribution of the noise: `gaussian`, `laplace`, `uniform` or `sign`, all
            of the same variance.
        unevenness: A number a in [0, 1]: patch variances run linearly from (1-a)σ² to (1+a)σ².
        dependence: A number ρ in [0, 1]: the share of the noise variance that is common to all
            patches.

    >>> import jax
    >>> task = SignalTask(patches=4, dimension=3, noise=0.3)
    >>> x, y, _ = task.sample(jax.random.key(0), 5)
    >>> x.shape, y.shape
    ((5, 4, 3), (5,))
    >>> SignalTask(patches=4, dimension=3, noise=0.0)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `noise` of SignalTask must be a number > 0, got 0.0
    """

    patches: int = size(low=1)
    dimension: int = size(low=1)
    noise: float = value(low=0, open_low=True)
    position: str = choice("random", "fixed", default="random")
    signals: int = static(low=1, default=1)
    label: str = choice("sign", "product", default="sign")
    distribution: str = choice(*NOISES, default="gaussian")
    unevenness: float | None = value(low=0, high=1, default=None)
    dependence: float | None = value(low=0, high=1, default=None)

    def check(self) -> None:
        if self.signals > self.patches:
            raise ParameterError(
                "SignalTask", "signals", f"at most its patches ({self.patches})", self.signals
            )
        if self.label == "product" and self.signals != 2:
            raise ParameterError(
                "SignalTask", "signals", "2 when the label is 'product'", self.signals
            )
        if self.position == "fixed" and self.signals != 1:
            raise ParameterError(
                "SignalTask", "signals", "1 when the position is 'fixed'", self.signals
            )

    @property
    def shape(self) -> tuple[int, int]:
        return (self.patches, self.dimension)

    def truth(self, key: Key[Array, ""], within: Any = None) -> Float[Array, " channels"]:
        frame = within or self
        raw = draw(normal, key, (frame.dimension,)) * (jnp.arange(frame.dimension) < self.dimension)
        return raw / jnp.linalg.norm(raw)

    def direction(self, truth: Float[Array, " channels"]) -> Float[Array, " channels"]:
        return truth

    def draw(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        frame = within or self
        patch = jnp.arange(frame.patches)
        signs = draw(sign, named(key, "signs"), (rows, self.signals))
        y = signs.prod(1) if self.label == "product" else signs[:, 0]
        strength = signs if self.label == "product" else jnp.broadcast_to(y[:, None], signs.shape)
        places = self._places(named(key, "places"), rows, frame)
        signal = ((places[:, :, None] == patch) * strength[:, :, None]).sum(1)  # (rows, patches)

        sampler = NOISES[self.distribution]
        noise = draw(sampler, named(key, "noise"), (rows, frame.patches, frame.dimension))
        if self.dependence is not None:
            common = draw(sampler, named(key, "common"), (rows, frame.dimension))[:, None, :]
            noise = (
                jnp.sqrt(1.0 - self.dependence) * noise + jnp.sqrt(1.0 * self.dependence) * common
            )
        if self.unevenness is not None:
            tilt = 2.0 * patch / jnp.maximum(self.patches - 1, 1) - 1.0
            noise = noise * jnp.sqrt(jnp.maximum(1.0 + self.unevenness * tilt, 0.0))[:, None]
        inside = (patch < self.patches)[:, None] & (jnp.arange(frame.dimension) < self.dimension)
        return Sample((self.noise * noise + signal[:, :, None] * truth) * inside, y)

    def _places(self, key: Key[Array, ""], rows: int, frame: Any) -> Int[Array, "rows signals"]:
        """The patches that carry the signal, distinct and uniform."""
        if self.position == "fixed":
            return jnp.zeros((rows, 1), jnp.int32)
        if self.signals == 1:
            spot = draw(uniform, key, (rows, 1)) * self.patches
            return jnp.minimum(spot.astype(jnp.int32), self.patches - 1)
        # The patches with the largest of independent scores; padding scores below all others.
        scores = draw(uniform, key, (rows, frame.patches))
        return jax.lax.top_k(
            jnp.where(jnp.arange(frame.patches) < self.patches, scores, -1.0), self.signals
        )[1]

    def baselines(self) -> dict[str, float]:
        out = {"constant": 0.5}
        plain = self.distribution == "gaussian" and not self.unevenness and not self.dependence
        if plain and self.label == "sign":
            patches = 1 if self.position == "fixed" else self.patches
            out["linear"] = best_linear_risk(patches, self.noise, self.signals)
            out["bayes"] = bayes_risk(patches, self.noise, self.signals).risk
        return out
