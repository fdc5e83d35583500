"""Images with a limited number of labels, a hidden order of pixels, and a held-out part."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from separatrix.errors import ParameterError
from separatrix.spec import static, value
from separatrix.streams import draw, named, uniform
from separatrix.tasks import Sample, Task
from separatrix.tasks.data_source import check_source, source_field
from separatrix.tasks.images import SHAPES, image_arrays

CLASSES = {"embedded-photographs": 2}  # ten elsewhere


class LabelledPool(NamedTuple):
    """What rows are drawn from: the stored arrays, the numbers of the training images in the order
    in which they get labels, and the order of pixels.
    """

    arrays: Any
    labelled: Any
    order: Any


def held_out_stride(count: int) -> int:
    """One of how many training images is held out for tuning: a larger share where there are few,
    so that enough are held out.

    >>> held_out_stride(1297), held_out_stride(50_000)
    (4, 10)
    """
    return 10 if count >= 10_000 else 4


def pool_size(count: int) -> int:
    """How many of `count` training images can be labelled: those that are not held out.

    >>> pool_size(50_000), pool_size(1297)
    (45000, 972)
    """
    return count - -(-count // held_out_stride(count))


class LabelledImages(Task):
    """Classes of images, of which `labels` training images have labels; rows of the online oracle
    are drawn from these.

    Which images have labels is hidden and drawn for each trial. `permuted=1` reorders the pixels of
    all images by one order, also drawn for each trial. Every tenth training image (every fourth
    where there are few) is held out: with `tuning=1` these are the test rows, and no result trains
    or tests on them. All three are values, so that trials that differ in them share a program.
    Channels have mean 0 and variance 1 over the training images.

    >>> import jax
    >>> task = LabelledImages("embedded-digits", labels=100)
    >>> x, y, _ = task.sample(jax.random.key(0), 3)
    >>> x.shape, y.shape
    ((3, 8, 8, 1), (3,))
    """

    source: str = source_field(default="embedded-digits")
    classes: int = static(low=2, default=10)
    labels: int = value(low=1, default=1000, integer=True)
    permuted: int = value(low=0, high=1, default=0, integer=True)
    tuning: int = value(low=0, high=1, default=0, integer=True)

    def check(self) -> None:
        check_source("LabelledImages", self.source)
        name = self.source.partition("@")[0]
        if self.classes != CLASSES.get(name, 10):
            raise ParameterError(
                "LabelledImages",
                "classes",
                f"{CLASSES.get(name, 10)}, as many as {name} has",
                self.classes,
            )

    @property
    def shape(self) -> tuple[int, ...]:
        return SHAPES[self.source.partition("@")[0]]

    def arrays(self) -> dict[str, np.ndarray]:
        return image_arrays(self.source, self.classes)

    def truth(self, key: Key[Array, ""], within: Any = None) -> Any:
        height, width, _ = self.shape
        shuffled = jnp.argsort(draw(uniform, named(key, "pixels"), (height * width,)))
        return named(key, "pool"), jnp.where(
            self.permuted == 1, shuffled, jnp.arange(height * width)
        )

    def bind(self, truth: Any, arrays: dict[str, Any]) -> LabelledPool:
        key, order = truth
        count = arrays["train_x"].shape[0]
        available = np.flatnonzero(np.arange(count) % held_out_stride(count))
        # Sorting by random numbers: the few that are equal (there are 2^23 values) keep the data's
        # order, which does no harm.
        shuffled = jnp.argsort(draw(uniform, key, (len(available),)))
        return LabelledPool(arrays, jnp.asarray(available)[shuffled], order)

    def draw(
        self, key: Key[Array, ""], rows: int, truth: LabelledPool, within: Any = None
    ) -> Sample:
        labels = jnp.minimum(self.labels, truth.labelled.shape[0])
        spot = (draw(uniform, named(key, "images"), (rows,)) * labels).astype(jnp.int32)
        chosen = truth.labelled[jnp.minimum(spot, labels - 1)]
        return self._rows(
            truth,
            jnp.asarray(truth.arrays["train_x"])[chosen],
            jnp.asarray(truth.arrays["train_y"])[chosen],
        )

    def draw_test(
        self, key: Key[Array, ""], rows: int, truth: LabelledPool, within: Any = None
    ) -> Sample:
        """Evenly spaced test images; for tuning, evenly spaced held-out training images."""
        del key
        arrays = truth.arrays
        test = _spaced(rows, arrays["test_x"].shape[0])
        count = arrays["train_x"].shape[0]
        held_out = held_out_stride(count) * _spaced(rows, count - pool_size(count))
        x = jnp.where(
            self.tuning == 1,
            jnp.asarray(arrays["train_x"])[held_out],
            jnp.asarray(arrays["test_x"])[test],
        )
        y = jnp.where(
            self.tuning == 1,
            jnp.asarray(arrays["train_y"])[held_out],
            jnp.asarray(arrays["test_y"])[test],
        )
        return self._rows(truth, x, y)

    def _rows(self, truth: LabelledPool, images: Any, classes: Any) -> Sample:
        x = (images.astype(jnp.float32) / 255.0 - truth.arrays["mean"]) / truth.arrays["spread"]
        x = x.reshape(len(images), -1, x.shape[-1])[:, truth.order].reshape(x.shape)
        return Sample(x, classes.astype(jnp.float32))

    def baselines(self) -> dict[str, float]:
        counts = np.bincount(self.arrays()["test_y"])
        return {"constant": 1.0 - float(counts.max() / counts.sum())}


def _spaced(rows: int, count: int) -> Int[np.ndarray, " rows"]:
    """`rows` indices, evenly spaced over `count`; where there are more rows, all indices again and
    again.
    """
    return np.arange(rows) * count // rows if rows <= count else np.arange(rows) % count
