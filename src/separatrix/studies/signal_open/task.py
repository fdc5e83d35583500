"""The variants of the signal task as one task, whose variants are numbers: one program serves them
all.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, UInt32

from separatrix.errors import ParameterError
from separatrix.spec import size, value
from separatrix.streams import draw, laplace, level, named, normal, sign, uniform
from separatrix.tasks import Sample, SignalTask, Task

LAWS = {"gaussian": normal, "laplace": laplace, "uniform": level, "sign": sign}
MOST_SIGNALS = 3


class VariantTask(Task):
    """The signal task with every variant as a number, so that trials of different variants share
    their compiled programs.

    `signals` (1 to 3), `product` (1: the label is the product of two signs), `law` (which noise, by
    its place among gaussian, laplace, uniform, sign), `unevenness` and `dependence` mean what they
    mean in `SignalTask`, whose rows these are bit by bit (tested).

    >>> import jax
    >>> VariantTask(4, 3, 0.3, law=1, unevenness=0.5).sample(jax.random.key(0), 5).x.shape
    (5, 4, 3)
    """

    patches: int = size(low=1)
    dimension: int = size(low=1)
    noise: float = value(low=0, open_low=True)
    signals: int = value(low=1, high=MOST_SIGNALS, integer=True, default=1)
    product: int = value(low=0, high=1, integer=True, default=0)
    law: int = value(low=0, high=len(LAWS) - 1, integer=True, default=0)
    unevenness: float = value(low=0, high=1, default=0.0)
    dependence: float = value(low=0, high=1, default=0.0)

    def check(self) -> None:
        if self.patches < MOST_SIGNALS:
            raise ParameterError("VariantTask", "patches", f"at least {MOST_SIGNALS}", self.patches)
        if self.product and self.signals != 2:
            raise ParameterError(
                "VariantTask", "signals", "2 when the label is a product", self.signals
            )

    @property
    def shape(self) -> tuple[int, int]:
        return (self.patches, self.dimension)

    def plain(self) -> SignalTask:
        """The same distribution as the package's own task."""
        return SignalTask(
            self.patches,
            self.dimension,
            self.noise,
            signals=self.signals,
            label="product" if self.product else "sign",
            distribution=tuple(LAWS)[self.law],
            unevenness=self.unevenness or None,
            dependence=self.dependence or None,
        )

    def truth(self, key: Key[Array, ""], within: Any = None) -> Float[Array, " channels"]:
        frame = within or self
        raw = draw(normal, key, (frame.dimension,)) * (jnp.arange(frame.dimension) < self.dimension)
        return raw / jnp.linalg.norm(raw)

    def direction(self, truth: Float[Array, " channels"]) -> Float[Array, " channels"]:
        return truth

    def draw(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        frame = within or self
        patch = jnp.arange(frame.patches)
        here = jnp.arange(MOST_SIGNALS) < self.signals
        signs = draw(sign, named(key, "signs"), (rows, MOST_SIGNALS))
        y = jnp.where(self.product == 1, signs[:, 0] * signs[:, 1], signs[:, 0])
        strength = jnp.where(self.product == 1, signs, y[:, None]) * here
        places = self._places(named(key, "places"), rows, frame)
        signal = ((places[:, :, None] == patch) * strength[:, :, None]).sum(1)  # (rows, patches)

        noise = draw(self._noise, named(key, "noise"), (rows, frame.patches, frame.dimension))
        common = draw(self._noise, named(key, "common"), (rows, frame.dimension))[:, None, :]
        noise = jnp.sqrt(1.0 - self.dependence) * noise + jnp.sqrt(1.0 * self.dependence) * common
        tilt = 2.0 * patch / jnp.maximum(self.patches - 1, 1) - 1.0
        inside = (patch < self.patches)[:, None] & (jnp.arange(frame.dimension) < self.dimension)
        spread = jnp.sqrt(jnp.maximum(1.0 + self.unevenness * tilt, 0.0))
        # Left to itself a GPU's compiler folds these small arrays, one by one, into the large one
        # and takes half a minute for it.
        signal, spread, inside = jax.lax.optimization_barrier((signal, spread, inside))
        noise = noise * spread[:, None]
        return Sample((self.noise * noise + signal[:, :, None] * truth) * inside, y)

    def _noise(self, bits: UInt32[Array, "..."]) -> Float[Array, "..."]:
        return jax.lax.select_n(
            jnp.asarray(self.law, jnp.int32), *(sampler(bits) for sampler in LAWS.values())
        )

    def _places(self, key: Key[Array, ""], rows: int, frame: Any) -> Any:
        """The patches that carry the signals, spelled as SignalTask does: a uniform one, or those
        of the largest scores.
        """
        scores = draw(uniform, key, (rows, frame.patches))
        one = jnp.minimum((scores[:, :1] * self.patches).astype(jnp.int32), self.patches - 1)
        several = jax.lax.top_k(
            jnp.where(jnp.arange(frame.patches) < self.patches, scores, -1.0), MOST_SIGNALS
        )[1]
        return jnp.where(
            self.signals == 1, one, several
        )  # with one signal only the first place has a strength


@dataclasses.dataclass(frozen=True)
class Variant:
    """A change of the task (or of the networks) that the paper leaves open.

    >>> VARIANTS["laplace"].text
    'the noise is Laplace of the same variance'
    """

    text: str
    changes: dict[str, Any] = dataclasses.field(default_factory=dict)


VARIANTS = {
    "plain": Variant("the paper's own task"),
    "uneven": Variant(
        "the noise variance runs from 0.1σ² in the first patch to 1.9σ² in the last",
        {"unevenness": 0.9},
    ),
    "several": Variant("two patches carry the signal at once", {"signals": 2}),
    "three": Variant("three patches carry the signal at once", {"signals": 3}),
    "dependent": Variant(
        "half of the noise variance is common to all patches", {"dependence": 0.5}
    ),
    "laplace": Variant("the noise is Laplace of the same variance", {"law": 1}),
    "uniform": Variant("the noise is uniform of the same variance", {"law": 2}),
    "sign": Variant(
        "the noise is a random sign of the same variance in each coordinate", {"law": 3}
    ),
    "product": Variant(
        "two patches carry independent signs and the label is their product",
        {"signals": 2, "product": 1},
    ),
    "depth-two": Variant("the networks have two hidden layers"),
}
SIGNED = tuple(
    name for name in VARIANTS if name not in ("product", "depth-two")
)  # learnt by the paper's own networks


def variant_task(variant: str, patches: int, dimension: int, noise: float) -> VariantTask:
    """The task of a variant.

    >>> variant_task("several", 5, 6, 0.3).signals
    2
    """
    return VariantTask(patches, dimension, noise, **VARIANTS[variant].changes)
