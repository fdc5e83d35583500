"""Classes of stored images, such as CIFAR-10's."""

import functools
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from separatrix.data import load
from separatrix.errors import ParameterError
from separatrix.spec import static
from separatrix.streams import draw, named, uniform
from separatrix.tasks.base import Sample, Task
from separatrix.tasks.data_source import check_source, indices, source_field


class Images(NamedTuple):
    """Images and classes for training and testing, the mean and the standard deviation of the
    training pixels by channel, and the hidden order of pixels.
    """

    train_x: Any
    train_y: Any
    test_x: Any
    test_y: Any
    mean: Any
    spread: Any
    order: Any = None


@functools.lru_cache(maxsize=4)
def image_arrays(source: str, classes: int) -> dict[str, np.ndarray]:
    """The images of the first `classes` classes of a source, as (rows, height, width, channels),
    loaded once per process.

    >>> image_arrays("embedded-digits", 10)["train_x"].shape
    (1297, 8, 8, 1)
    """
    data = load(source.partition("@")[0])
    out: dict[str, np.ndarray] = {}
    for split, x, y in (("train", data.train_x, data.train_y), ("test", data.test_x, data.test_y)):
        wanted = np.asarray(y) < classes
        images = np.asarray(x) if wanted.all() else np.asarray(x)[wanted]
        out |= {
            f"{split}_x": images.reshape(*images.shape[:3], -1),
            f"{split}_y": np.asarray(y)[wanted],
        }
    # Moments from counts of grey levels: no copy of the images in floating point.
    grey = np.arange(256) / 255
    levels = [
        np.bincount(out["train_x"][..., c].reshape(-1), minlength=256)
        for c in range(out["train_x"].shape[-1])
    ]
    means = [float(count @ grey / count.sum()) for count in levels]
    spreads = [
        float(np.sqrt(count @ (grey - mean) ** 2 / count.sum()))
        for count, mean in zip(levels, means)
    ]
    return out | {
        "mean": np.array(means, np.float32),
        "spread": np.maximum(np.array(spreads, np.float32), np.float32(1e-6)),
    }


class ImageTask(Task):
    """Images of a data set with their class numbers 0, 1, …; use a network with `outputs=classes`.

    Each channel is scaled to mean 0 and variance 1 over the training images. Training rows are
    drawn independently from the training images, so that an epoch repeats some images and omits
    others. Test rows are evenly spaced test images; all of them, once each, if as many rows are
    drawn.

    Args:
        source: The name of a data set of images.
        classes: How many classes to use, the first ones.
        permuted: Whether the pixels of all images are permuted by one unknown order, drawn per
            trial, which makes no difference to a fully connected network.

    >>> import jax
    >>> x, y, _ = ImageTask(source="embedded-digits").sample(jax.random.key(0), 3)
    >>> x.shape, y.shape
    ((3, 8, 8, 1), (3,))
    >>> ImageTask(source="embedded-digits", classes=11)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `classes` of ImageTask must be at most those of
        embedded-digits (10), got 11
    """

    source: str = source_field(default="embedded-digits")
    classes: int = static(low=2, default=10)
    permuted: bool = static(default=False)

    def check(self) -> None:
        check_source("ImageTask", self.source)
        name = self.source.partition("@")[0]
        most = {"embedded-photographs": 2}.get(name, 10)
        if self.classes > most:
            raise ParameterError(
                "ImageTask", "classes", f"at most those of {name} ({most})", self.classes
            )

    @property
    def shape(self) -> tuple[int, ...]:
        return SHAPES[self.source.partition("@")[0]]

    def arrays(self) -> dict[str, np.ndarray]:
        return image_arrays(self.source, self.classes)

    def truth(self, key: Key[Array, ""], within: Any = None) -> Int[Array, " pixels"] | None:
        if not self.permuted:
            return None
        height, width, _ = self.shape
        return jnp.argsort(draw(uniform, key, (height * width,)))

    def bind(self, truth: Any, arrays: dict[str, Any]) -> Images:
        return Images(**arrays, order=truth)

    def draw(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        chosen = indices(named(key, "images"), (rows,), truth.train_x.shape[0])
        return self._rows(truth, truth.train_x, truth.train_y, chosen)

    def draw_test(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        del key
        count = truth.test_x.shape[0]
        spaced = np.arange(rows) * count // rows if rows <= count else np.arange(rows) % count
        return self._rows(truth, truth.test_x, truth.test_y, jnp.asarray(spaced))

    def _rows(
        self, truth: Images, images: Any, classes: Any, chosen: Int[Array, " rows"]
    ) -> Sample:
        # Images stay bytes until a row is made of them.
        x = (jnp.asarray(images)[chosen].astype(jnp.float32) / 255.0 - truth.mean) / truth.spread
        if truth.order is not None:
            x = x.reshape(len(chosen), -1, x.shape[-1])[:, truth.order].reshape(x.shape)
        return Sample(x, jnp.asarray(classes)[chosen].astype(jnp.float32))

    def baselines(self) -> dict[str, float]:
        counts = np.bincount(self.arrays()["test_y"])
        return {"constant": 1.0 - float(counts.max() / counts.sum())}


# The shape of one image, so that no data set has to be loaded for it.
SHAPES = {
    "mnist": (28, 28, 1),
    "fashion-mnist": (28, 28, 1),
    "cifar10": (32, 32, 3),
    "embedded-digits": (8, 8, 1),
    "embedded-photographs": (32, 32, 3),
}
