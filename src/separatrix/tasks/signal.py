"""The dynamic signal distribution of Lahoti et al.: a signal that may sit in any patch, in noise."""

from typing import Any, Self

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from separatrix.errors import ParameterError
from separatrix.spec import choice, size, static, value
from separatrix.streams import draw, named
from separatrix.tasks.base import Sample, Task
from separatrix.theory.signal import bayes_risk, best_linear_risk

# Unit-variance noises, drawn entry by entry so that padding does not change them.
NOISES = {
    "gaussian": jax.random.normal,
    "laplace": lambda key, shape: jax.random.laplace(key, shape) / jnp.sqrt(2.0),
    "uniform": lambda key, shape: jax.random.uniform(key, shape, minval=-1.0, maxval=1.0) * jnp.sqrt(3.0),
    "sign": lambda key, shape: jax.random.rademacher(key, shape).astype(jnp.float32),
}


class SignalTask(Task):
    """A unit vector w*, times the label ±1, added to one patch of noise.

    The paper's k is `patches`, its d is `dimension`, its σ is `noise`. Variants, one parameter each: `position="fixed"` (the
    signal always sits in patch 0), `signals` (it sits in several patches at once), `label="product"` (two patches carry
    independent signs and the label is their product: patches interact), `distribution` (non-Gaussian noise of the same
    variance), `unevenness` a (patch variances run linearly from (1-a)σ² to (1+a)σ²) and `dependence` ρ (a share ρ of the noise
    variance is common to all patches).

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
    unevenness: float = value(low=0, high=1, default=0.0)
    dependence: float = value(low=0, high=1, default=0.0)

    def __check_init__(self):
        if self.signals > self.patches:
            raise ParameterError("SignalTask", "signals", f"at most its patches ({self.patches})", self.signals)
        if self.label == "product" and self.signals != 2:
            raise ParameterError("SignalTask", "signals", "2 when the label is 'product'", self.signals)
        if self.position == "fixed" and self.signals != 1:
            raise ParameterError("SignalTask", "signals", "1 when the position is 'fixed'", self.signals)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.patches, self.dimension)

    def truth(self, key: Key[Array, ""], within: Self | None = None) -> Float[Array, " channels"]:
        frame = within or self
        raw = draw(jax.random.normal, key, (frame.dimension,)) * (jnp.arange(frame.dimension) < self.dimension)
        return raw / jnp.linalg.norm(raw)

    def direction(self, truth: Float[Array, " channels"]) -> Float[Array, " channels"]:
        return truth

    def draw(self, key: Key[Array, ""], rows: int, truth: Any, within: Self | None = None) -> Sample:
        frame = within or self
        patch = jnp.arange(frame.patches)
        signs = draw(jax.random.rademacher, named(key, "signs"), (rows, self.signals)).astype(jnp.float32)
        y = signs[:, 0] * signs[:, 1] if self.label == "product" else signs[:, 0]
        strength = signs if self.label == "product" else jnp.broadcast_to(y[:, None], signs.shape)

        if self.position == "fixed":
            places = jnp.zeros((rows, 1), jnp.int32)
        elif self.signals == 1:
            uniform = draw(jax.random.uniform, named(key, "places"), (rows,))
            places = jnp.minimum((uniform * self.patches).astype(jnp.int32), self.patches - 1)[:, None]
        else:
            # The places of the largest of independent scores: distinct, uniform, and blind to padding.
            scores = draw(jax.random.uniform, named(key, "places"), (rows, frame.patches))
            places = jax.lax.top_k(jnp.where(patch < self.patches, scores, -1.0), self.signals)[1]
        here = (places[:, :, None] == patch) * strength[:, :, None]  # (rows, signals, patches)

        sampler = NOISES[self.distribution]
        own = draw(sampler, named(key, "noise"), (rows, frame.patches, frame.dimension))
        common = draw(sampler, named(key, "common"), (rows, frame.dimension))[:, None, :]
        noise = jnp.sqrt(1.0 - self.dependence) * own + jnp.sqrt(1.0 * self.dependence) * common
        tilt = 2.0 * patch / jnp.maximum(self.patches - 1, 1) - 1.0
        scale = self.noise * jnp.sqrt(jnp.maximum(1.0 + self.unevenness * tilt, 0.0))
        x = scale[:, None] * noise + here.sum(1)[:, :, None] * truth
        inside = (patch < self.patches)[:, None] & (jnp.arange(frame.dimension) < self.dimension)
        return Sample(x * inside, y)

    def baselines(self) -> dict[str, float]:
        out = {"constant": 0.5}
        plain = self.distribution == "gaussian" and self.unevenness == 0 and self.dependence == 0
        if plain and self.label == "sign":
            patches = 1 if self.position == "fixed" else self.patches
            out["linear"] = best_linear_risk(patches, self.noise, self.signals)
            out["bayes"] = bayes_risk(patches, self.noise, self.signals).risk
        return out
