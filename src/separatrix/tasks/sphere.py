"""The regression tasks of Liang et al.: inputs on spheres, and a teacher over small windows."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from separatrix.spec import choice, static, value
from separatrix.streams import draw, named, normal, uniform
from separatrix.tasks.regression import TEACHERS, RegressionTask, unit_rows


class SphereTask(RegressionTask):
    """Inputs uniform on a sphere, and a local teacher over windows of coordinates.

    Args:
        dimension: The number of coordinates, the paper's d.
        patch: The number of coordinates of a window, the paper's m.
        noise: The standard deviation of the label noise.
        teacher: `local`, `dense` or `none` (see `RegressionTask`).
        units: The number of hidden units of the teacher.
        gain: The size of the teacher's readout.
        stride: The distance between the starts of neighbouring windows; 0 for disjoint windows.
        radius: The radius of the sphere.

    >>> import jax
    >>> task = SphereTask(dimension=20, patch=5, noise=1.0)
    >>> sample = task.sample(jax.random.key(0), 4)
    >>> sample.x.shape, bool(jnp.allclose(jnp.linalg.norm(sample.x, axis=1), 1.0))
    ((4, 20, 1), True)
    >>> SphereTask(dimension=4, patch=5)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `patch` of SphereTask must be an integer in [1, 4], got 5
    """

    dimension: int = static(low=2)
    patch: int = static(low=1)
    noise: float = value(low=0, default=1.0)
    teacher: str = choice(*TEACHERS, default="local")
    units: int = static(low=1, default=20)
    gain: float = value(low=0, default=1.0)
    stride: int = static(low=0, default=0)
    radius: float = value(low=0, open_low=True, default=1.0)

    @property
    def length(self) -> int:
        return self.dimension

    def places(self) -> np.ndarray:
        stride = self.stride or self.patch
        return np.arange(0, self.dimension - self.patch + 1, stride)[:, None] + np.arange(
            self.patch
        )

    def inputs(self, key: Key[Array, ""], rows: int, truth: Any) -> Float[Array, "rows length"]:
        return self.radius * unit_rows(key, (rows, self.dimension))


class PatchSphereTask(RegressionTask):
    """Disjoint patches, each uniform on the unit sphere and independent of the others: patches
    without structure.

    Args:
        views: The number of patches.
        patch: The number of coordinates of a patch.
        noise: The standard deviation of the label noise.
        teacher: `local`, `dense` or `none` (see `RegressionTask`).
        units: The number of hidden units of the teacher.
        gain: The size of the teacher's readout.

    >>> import jax
    >>> x = PatchSphereTask(views=3, patch=4).sample(jax.random.key(0), 5).x
    >>> bool(jnp.allclose(jnp.linalg.norm(x.reshape(5, 3, 4), axis=-1), 1.0))
    True
    """

    views: int = static(low=1)
    patch: int = static(low=1)
    noise: float = value(low=0, default=1.0)
    teacher: str = choice(*TEACHERS, default="none")
    units: int = static(low=1, default=20)
    gain: float = value(low=0, default=1.0)

    @property
    def length(self) -> int:
        return self.views * self.patch

    def inputs(self, key: Key[Array, ""], rows: int, truth: Any) -> Float[Array, "rows length"]:
        return unit_rows(key, (rows, self.views, self.patch)).reshape(rows, -1)


class RepeatedPointTask(RegressionTask):
    """One point of the unit sphere, repeated: all blocks are equal, while windows that are not
    blocks mix coordinates of two copies.

    Args:
        copies: The number of copies.
        patch: The number of coordinates of a copy.
        noise: The standard deviation of the label noise.
        teacher: `local`, `dense` or `none` (see `RegressionTask`).
        units: The number of hidden units of the teacher.
        gain: The size of the teacher's readout.
        views: The number of random views that are written behind the copies, each a random subset
            of `patch` of their coordinates in random order. Every seed has views of its own, so a
            network over blocks sees other views with every seed.

    >>> import jax
    >>> x = RepeatedPointTask(copies=3, patch=4).sample(jax.random.key(0), 5).x[:, :, 0]
    >>> bool((x[:, :4] == x[:, 8:]).all())
    True
    >>> RepeatedPointTask(copies=3, patch=4, views=2).sample(jax.random.key(0), 5).x.shape
    (5, 20, 1)
    """

    copies: int = static(low=1)
    patch: int = static(low=1)
    noise: float = value(low=0, default=1.0)
    teacher: str = choice(*TEACHERS, default="none")
    units: int = static(low=1, default=20)
    gain: float = value(low=0, default=1.0)
    views: int = static(low=0, default=0)

    @property
    def length(self) -> int:
        return (self.copies + self.views) * self.patch

    def directions(self, key: Key[Array, ""]) -> Float[Array, "axes patch"] | None:
        # One row of random numbers per view: their order is the order of the view's coordinates.
        return draw(uniform, key, (self.views, self.copies * self.patch)) if self.views else None

    def inputs(self, key: Key[Array, ""], rows: int, truth: Any) -> Float[Array, "rows length"]:
        copies = jnp.tile(unit_rows(key, (rows, self.patch)), (1, self.copies))
        if not self.views:
            return copies
        places = jnp.argsort(truth.axes, axis=1)[:, : self.patch]
        return jnp.concatenate([copies, copies[:, places].reshape(rows, -1)], axis=1)


class VocabularyTask(RegressionTask):
    """Every patch is one of several hidden unit vectors, chosen at random. The noiseless label is
    the sum of the words' values, divided by √views.

    The values of the words run evenly from -1 to 1, so that the noiseless label has variance 1 with
    two words. Patches are blocks: the order of coordinates matters neither to a network whose
    windows match the patches nor to a fully connected one. The paper describes the inputs but not
    the labels: this label is a [reconstruction].

    Args:
        views: The number of patches.
        patch: The number of coordinates of a patch.
        noise: The standard deviation of the label noise.
        words: The number of hidden unit vectors.
        teacher: `local`, or `none` for labels of pure noise.
        units: Not used; every regression task has this field.
        gain: The factor of the noiseless label.

    >>> import jax
    >>> task = VocabularyTask(views=50, patch=10)
    >>> x = task.sample(jax.random.key(0), 8).x.reshape(-1, 10)
    >>> len(np.unique(np.round(np.asarray(x), 5), axis=0))
    2
    """

    views: int = static(low=1)
    patch: int = static(low=2)
    noise: float = value(low=0, default=0.5)
    words: int = static(low=2, default=2)
    teacher: str = choice("local", "none", default="local")
    units: int = static(low=1, default=1)
    gain: float = value(low=0, default=1.0)

    @property
    def length(self) -> int:
        return self.views * self.patch

    def directions(self, key: Key[Array, ""]) -> Float[Array, "axes patch"]:
        return unit_rows(key, (self.words, self.patch))

    def clean(self, x: Float[Array, "rows length 1"], truth: Any) -> Float[Array, " rows"]:
        # The word of a patch has inner product 1 with it, every other word less.
        word = jnp.argmax(x.reshape(len(x), self.views, self.patch) @ truth.axes.T, axis=-1)
        worth = jnp.linspace(-1.0, 1.0, self.words)[word].sum(1) / np.sqrt(self.views)
        return self.gain * worth if self.teacher == "local" else 0.0 * worth

    def inputs(self, key: Key[Array, ""], rows: int, truth: Any) -> Float[Array, "rows length"]:
        return truth.axes[_pick(key, (rows, self.views), self.words)].reshape(rows, -1)


class ConeTask(RegressionTask):
    """Every patch lies in a narrow cone about one of several hidden axes: the axis plus noise,
    normalised to unit length.

    Args:
        views: The number of patches.
        patch: The number of coordinates of a patch.
        noise: The standard deviation of the label noise.
        clusters: The number of hidden axes.
        spread: The size of the noise added to an axis.
        teacher: `local`, `dense` or `none` (see `RegressionTask`).
        units: The number of hidden units of the teacher.
        gain: The size of the teacher's readout.

    >>> import jax
    >>> ConeTask(views=3, patch=4, clusters=2).sample(jax.random.key(0), 5).x.shape
    (5, 12, 1)
    """

    views: int = static(low=1)
    patch: int = static(low=2)
    noise: float = value(low=0, default=1.0)
    clusters: int = static(low=1, default=4)
    spread: float = value(low=0, default=0.1)
    teacher: str = choice(*TEACHERS, default="none")
    units: int = static(low=1, default=20)
    gain: float = value(low=0, default=1.0)

    @property
    def length(self) -> int:
        return self.views * self.patch

    def directions(self, key: Key[Array, ""]) -> Float[Array, "axes patch"]:
        return unit_rows(key, (self.clusters, self.patch))

    def inputs(self, key: Key[Array, ""], rows: int, truth: Any) -> Float[Array, "rows length"]:
        axis = truth.axes[_pick(named(key, "clusters"), (rows, self.views), self.clusters)]
        aside = draw(normal, named(key, "aside"), (rows, self.views, self.patch))
        raw = axis + self.spread * aside / np.sqrt(self.patch)
        return (raw / jnp.linalg.norm(raw, axis=-1, keepdims=True)).reshape(rows, -1)


def _pick(key: Key[Array, ""], shape: tuple[int, ...], count: int) -> Any:
    return jnp.minimum((draw(uniform, key, shape) * count).astype(jnp.int32), count - 1)
