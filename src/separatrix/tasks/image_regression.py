"""Regression on real images, which a hidden teacher over small windows labels."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from separatrix.data import load
from separatrix.errors import check_integer
from separatrix.spec import choice, static, value
from separatrix.streams import draw, named, normal, uniform
from separatrix.tasks.base import Sample, Task
from separatrix.tasks.data_source import check_source, indices, source_field
from separatrix.tasks.images import SHAPES
from separatrix.tasks.regression import Teacher, unit_rows


class TaughtImages(NamedTuple):
    """The images of a trial and the teacher that labels them."""

    train_x: Any
    test_x: Any
    teacher: Any


@functools.lru_cache(maxsize=4)
def centred_images(source: str, side: int) -> dict[str, np.ndarray]:
    """The images of a source, averaged down to `side` pixels, centred at the training mean, and
    scaled so that a pixel has unit variance on average.

    >>> images = centred_images("embedded-photographs", 8)["train_x"]
    >>> images.shape[1:], round(float((images**2).mean()), 3)
    ((8, 8, 3), 1.0)
    """
    data = load(source.partition("@")[0])

    def small(stack: np.ndarray) -> np.ndarray:
        stack = np.asarray(stack, np.float32)
        stack = stack[..., None] if stack.ndim == 3 else stack
        check_integer("ImageRegressionTask", "side", side, 1, min(stack.shape[1:3]))
        step = min(stack.shape[1:3]) // side
        cut = stack[:, : side * step, : side * step]
        return cut.reshape(len(cut), side, step, side, step, cut.shape[-1]).mean((2, 4))

    train, test = small(data.train_x), small(data.test_x)
    mean = train.mean(0)
    scale = np.sqrt(np.mean((train - mean) ** 2))
    return {"train_x": (train - mean) / scale, "test_x": (test - mean) / scale}


class ImageRegressionTask(Task):
    """Images of a data set, labelled by a local teacher over windows of pixels, plus noise.

    The teacher is that of `RegressionTask`, over all windows. Training rows are different images;
    test rows are test images of the data set. The paper states neither `scale` nor `gain`, only the
    risk of the best constant, .124, which several pairs of them explain (docs/papers/liang.md).

    Args:
        source: The name of a data set of images.
        side: The side in pixels to which images are averaged down.
        field: The side of the teacher's windows in pixels.
        noise: The standard deviation of the label noise.
        teacher: `local`, or `none` for labels of pure noise.
        units: The number of hidden units of the teacher.
        gain: The size of the teacher's readout.
        scale: The root-mean-square value of a centred pixel.

    >>> import jax
    >>> task = ImageRegressionTask(side=8)
    >>> task.sample(jax.random.key(0), 5).x.shape
    (5, 8, 8, 3)
    """

    source: str = source_field(default="embedded-photographs")
    side: int = static(low=1, default=32)
    field: int = static(low=1, default=3)
    noise: float = value(low=0, default=1.0)
    teacher: str = choice("local", "none", default="local")
    units: int = static(low=1, default=20)
    gain: float = value(low=0, default=1.0)
    scale: float = value(low=0, open_low=True, default=1.0)

    def check(self) -> None:
        check_source("ImageRegressionTask", self.source)
        check_integer("ImageRegressionTask", "field", self.field, 1, self.side)

    @property
    def shape(self) -> tuple[int, int, int]:
        return (self.side, self.side, SHAPES[self.source.partition("@")[0]][-1])

    def arrays(self) -> dict[str, np.ndarray]:
        return centred_images(self.source, self.side)

    def bind(self, truth: Any, arrays: dict[str, Any]) -> TaughtImages:
        return TaughtImages(arrays["train_x"], arrays["test_x"], truth)

    def truth(self, key: Key[Array, ""], within: Any = None) -> Teacher:
        span = self.field**2 * self.shape[-1]
        return Teacher(
            unit_rows(named(key, "weights"), (self.units, span)),
            draw(uniform, named(key, "bias"), (self.units,)) - 0.5,
            draw(normal, named(key, "readout"), (self.units,)) * self.gain / np.sqrt(self.units),
            2.0 * draw(uniform, named(key, "offset"), (1,))[0] - 1.0,
        )

    def clean(
        self, x: Float[Array, "rows side side channels"], truth: Any
    ) -> Float[Array, " rows"]:
        if self.teacher == "none":
            return jnp.zeros(len(x), x.dtype)
        # A convolution: all windows of all images at once would take many times the memory.
        filters = truth.teacher.weights.T.reshape(self.field, self.field, x.shape[-1], self.units)
        layout = ("NHWC", "HWIO", "NHWC")
        hidden = jax.lax.conv_general_dilated(x, filters, (1, 1), "VALID", dimension_numbers=layout)
        return (
            jax.nn.relu(hidden - truth.teacher.bias).mean((1, 2)) @ truth.teacher.readout
            + truth.teacher.offset
        )

    def draw(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        count = truth.train_x.shape[0]
        # A random order of all images: the rows are different images, independent of the padding.
        # More rows than images wrap around.
        order = jnp.argsort(draw(uniform, named(key, "inputs"), (count,)))
        return self._labelled(key, truth, truth.train_x, order[jnp.arange(rows) % count])

    def draw_test(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        return self._labelled(
            key, truth, truth.test_x, indices(named(key, "inputs"), (rows,), truth.test_x.shape[0])
        )

    def _labelled(self, key: Key[Array, ""], truth: Any, images: Any, chosen: Any) -> Sample:
        x = jnp.asarray(images)[chosen] * self.scale
        return Sample(
            x, self.clean(x, truth) + self.noise * draw(normal, named(key, "noise"), chosen.shape)
        )

    def baselines(self) -> dict[str, float]:
        # The risk of the best constant is the variance of the teacher, which depends on the seed;
        # the probe `regression` measures it.
        return {"constant": 0.0} if self.teacher == "none" else {}
