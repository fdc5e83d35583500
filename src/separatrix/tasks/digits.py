"""Sequences of digits, the label a parity of three of them: the experiments of Malach &
Shalev-Shwartz on MNIST.
"""

import functools
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt8

from separatrix.data import load
from separatrix.errors import ParameterError, check_choice, check_integer
from separatrix.spec import choice, static, value
from separatrix.streams import named
from separatrix.tasks.base import Sample, Task
from separatrix.tasks.data_source import check_source, indices, source_field

# The rows and columns of a 28x28 digit that a crop retains. Digits of MNIST fill 20x20 pixels about
# their centre of mass.
CROPS = {"tight": (slice(2, 26), slice(4, 24)), "whole": (slice(0, 28), slice(0, 28))}
LABELS = ("centre", "ends")
CHUNK = 8192  # digits resized at a time


class Digits(NamedTuple):
    """Digit images and digit values for training and testing, with the mean and the standard
    deviation of the training pixels.
    """

    train_x: Any
    train_y: Any
    test_x: Any
    test_y: Any
    mean: Any
    spread: Any


def averaging(wide: int, narrow: int) -> Float[np.ndarray, "narrow wide"]:
    """The matrix that resizes a line of `wide` pixels to `narrow` by averaging over areas; it
    repeats pixels if the line grows.

    >>> averaging(4, 2).tolist()
    [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]
    """
    edges = np.arange(narrow + 1) * (wide / narrow)
    low, high = edges[:-1, None], edges[1:, None]
    left = np.arange(wide)[None, :]
    overlap = np.clip(np.minimum(high, left + 1) - np.maximum(low, left), 0.0, None)
    return overlap / overlap.sum(1, keepdims=True)


def resized(
    images: UInt8[np.ndarray, "rows tall wide"], height: int, width: int
) -> UInt8[np.ndarray, "rows height width"]:
    """Images resized by averaging over areas, rounded to bytes.

    >>> resized(np.full((1, 8, 8), 7, np.uint8), 24, 4).shape
    (1, 24, 4)
    """
    down, across = averaging(images.shape[1], height), averaging(images.shape[2], width)
    out = np.empty((len(images), height, width), np.uint8)
    for start in range(0, len(images), CHUNK):
        part = images[start : start + CHUNK].astype(np.float64)
        out[start : start + CHUNK] = np.rint(down @ part @ across.T)
    return out


@functools.lru_cache(maxsize=8)
def digit_arrays(source: str, crop: str, height: int, width: int) -> dict[str, np.ndarray]:
    """The digits of a source, cropped and resized once per process.

    >>> digit_arrays("embedded-digits", "tight", 8, 8)["train_x"].shape
    (1297, 8, 8)
    """
    data = load(source.partition("@")[0])
    # Digits that are smaller than 28x28 have no margin to cut off.
    rows, columns = (
        CROPS[crop] if data.train_x.shape[1:] == (28, 28) else (slice(None), slice(None))
    )
    train, test = (
        resized(np.asarray(x[:, rows, columns]), height, width) for x in (data.train_x, data.test_x)
    )
    pixels = train.astype(np.float32) / 255
    return {
        "train_x": train,
        "train_y": np.array(data.train_y),
        "test_x": test,
        "test_y": np.array(data.test_y),
        "mean": np.asarray(np.float32(pixels.mean(dtype=np.float64))),
        "spread": np.asarray(np.float32(pixels.std(dtype=np.float64))),
    }


class DigitSequenceTask(Task):
    """Images of several handwritten digits side by side. The label is +1 if the sum of three of
    them is even, otherwise -1.

    The three are the middle digit and the digits `apart` places to its left and right. Every row is
    a new sequence of digits, drawn independently from the training digits of `source`, or from its
    test digits for tests. So a digit is not used equally often within an epoch: its number of uses
    varies like a Poisson count.

    Args:
        digits: The number of digits, odd and at least 3.
        apart: The distance of the outer two relevant digits from the middle: 1 for the three middle
            digits (Figure 3 of the paper), `digits // 2` for the first, the middle and the last
            (Figure 4).
        source: The name of a data set of digits.
        height: The height in pixels to which each digit is resized, by averaging over areas.
        width: The width in pixels to which each digit is resized.
        crop: `tight` crops a 28x28 image to rows 2-25 and columns 4-23 first, `whole` does not;
            smaller images are never cropped.
        scaling: `unit` scales grey levels to [0, 1], `standard` to mean 0 and variance 1 over the
            training digits.

    >>> import jax
    >>> task = DigitSequenceTask(digits=5, height=8)
    >>> x, y, _ = task.sample(jax.random.key(0), 3)
    >>> x.shape, y.shape
    ((3, 8, 40, 1), (3,))
    >>> DigitSequenceTask(digits=4)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `digits` of DigitSequenceTask must be an odd integer >= 3,
        got 4
    """

    digits: int = static(low=1)
    # A value, so that both labels share a program.
    apart: int = value(low=1, default=1, integer=True)
    source: str = source_field(default="embedded-digits")
    height: int = static(low=1, default=24)
    width: int = static(low=1, default=8)
    crop: str = choice(*CROPS, default="tight")
    scaling: str = choice("unit", "standard", default="unit")

    def check(self) -> None:
        if self.digits < 3 or self.digits % 2 == 0:
            raise ParameterError("DigitSequenceTask", "digits", "an odd integer >= 3", self.digits)
        check_integer("DigitSequenceTask", "apart", self.apart, 1, self.digits // 2)
        check_source("DigitSequenceTask", self.source)

    @classmethod
    def labelled(cls, digits: int, label: str, **options: Any) -> "DigitSequenceTask":
        """The task of Figure 3 ("centre") or Figure 4 ("ends").

        >>> DigitSequenceTask.labelled(7, "ends").relevant().tolist()
        [0, 3, 6]
        """
        check_choice("DigitSequenceTask", "label", label, LABELS)
        return cls(digits, apart=1 if label == "centre" else digits // 2, **options)

    @property
    def shape(self) -> tuple[int, int, int]:
        return (self.height, self.width * self.digits, 1)

    def relevant(self) -> Int[Array, "3"]:
        """The positions of the three digits that determine the label.

        >>> DigitSequenceTask(digits=7).relevant().tolist()
        [2, 3, 4]
        """
        return self.digits // 2 + self.apart * jnp.arange(-1, 2)

    def arrays(self) -> dict[str, np.ndarray]:
        return digit_arrays(self.source, self.crop, self.height, self.width)

    def bind(self, truth: Any, arrays: dict[str, Any]) -> Digits:
        del truth
        return Digits(**arrays)

    def draw(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        return self._sequences(key, rows, truth, truth.train_x, truth.train_y)

    def draw_test(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        return self._sequences(key, rows, truth, truth.test_x, truth.test_y)

    def _sequences(
        self, key: Key[Array, ""], rows: int, digits: Digits, images: Any, values: Any
    ) -> Sample:
        # Digits stay bytes until a row is made of them, so that a batch converts only its own.
        chosen = indices(named(key, "digits"), (rows, self.digits), images.shape[0])
        # (rows, digits, height, width)
        pixels = jnp.asarray(images)[chosen].astype(jnp.float32) / 255.0
        if self.scaling == "standard":
            pixels = (pixels - digits.mean) / digits.spread
        x = pixels.transpose(0, 2, 1, 3).reshape(rows, *self.shape)
        seen = jnp.asarray(values)[chosen[:, self.relevant()]].astype(jnp.int32)
        return Sample(x, jnp.where(seen.sum(1) % 2 == 0, 1.0, -1.0))

    def baselines(self) -> dict[str, float]:
        # Three independent digits, each even with probability p: the mean label is (2p - 1)³.
        even = float((self.arrays()["test_y"] % 2 == 0).mean())
        return {"constant": (1.0 - abs(2.0 * even - 1.0) ** 3) / 2.0}
