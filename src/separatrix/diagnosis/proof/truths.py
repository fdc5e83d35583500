"""Synthetic data whose truth is known: what a diagnosis must get right.

The signal is even: a class shows its own pattern with a random sign, so that no linear function of
the pixels tells classes apart and the pixels of the pattern must be seen together. (The papers' ±w
at a fixed place is linear. There a network whose windows see scattered pixels learns as well as one
whose windows see neighbours, and "neither pays" would be the truth.)
"""

from collections.abc import Callable

import numpy as np

from separatrix.data.labelled import Labelled, as_labelled
from separatrix.errors import UnknownNameError

ROWS, LENGTH, PATTERN = 16_000, 128, 16


def signal_rows(
    seed: int, noise: float, moving: bool, permuted: bool = False, rows: int = ROWS
) -> tuple[np.ndarray, np.ndarray]:
    """Noise with one of two orthogonal patterns, of either sign, at a random or a fixed place;
    `permuted` reorders all pixels once.

    >>> x, y = signal_rows(0, 0.1, moving=True, rows=10)
    >>> x.shape, sorted(set(y.tolist()))
    ((10, 128), [0, 1])
    """
    rng = np.random.default_rng([seed, 21])
    y = rng.integers(0, 2, rows)
    x = (noise * rng.standard_normal((rows, LENGTH))).astype(np.float32)
    first = rng.choice([-1.0, 1.0], PATTERN)
    flips = rng.permutation(
        np.repeat([-1.0, 1.0], PATTERN // 2)
    )  # half of the signs: the patterns are orthogonal, and all pixels count alike
    patterns = np.stack([first, first * flips]) / np.sqrt(PATTERN)
    last = LENGTH - PATTERN
    place = rng.integers(0, last + 1, rows) if moving else np.full(rows, rng.integers(0, last + 1))
    x[np.arange(rows)[:, None], place[:, None] + np.arange(PATTERN)] += (
        rng.choice([-1.0, 1.0], rows)[:, None] * patterns[y]
    )
    return (x[:, rng.permutation(LENGTH)] if permuted else x), y


def linear_rows(
    seed: int, permuted: bool = False, rows: int = ROWS
) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows labelled by the sign of a random linear function.

    >>> linear_rows(0, rows=10)[0].shape
    (10, 128)
    """
    rng = np.random.default_rng([seed, 22])
    x = rng.standard_normal((rows, LENGTH)).astype(np.float32)
    y = (x @ rng.standard_normal(LENGTH) > 0).astype(int)
    return (x[:, rng.permutation(LENGTH)] if permuted else x), y


TRUTHS: dict[str, tuple[str, Callable[[int], tuple[np.ndarray, np.ndarray]]]] = {
    "moving signal": ("convolution pays", lambda seed: signal_rows(seed, 0.1, moving=True)),
    "fixed signal": (
        "locality pays, sharing does not",
        lambda seed: signal_rows(seed, 0.35, moving=False),
    ),
    "linear teacher": ("neither pays", linear_rows),
    "moving signal, permuted": (
        "neither pays",
        lambda seed: signal_rows(seed, 0.1, moving=True, permuted=True),
    ),
    "fixed signal, permuted": (
        "neither pays",
        lambda seed: signal_rows(seed, 0.35, moving=False, permuted=True),
    ),
    "linear teacher, permuted": ("neither pays", lambda seed: linear_rows(seed, permuted=True)),
}


def truth(name: str, seed: int) -> tuple[Labelled, str]:
    """A synthetic data set and the verdict that is true of it.

    >>> truth("fixed signal", 0)[1]
    'locality pays, sharing does not'
    """
    if name not in TRUTHS:
        raise UnknownNameError("synthetic truth", name, TRUTHS)
    verdict, make = TRUTHS[name]
    x, y = make(seed)
    return as_labelled(x, y, name=name, kind="signal"), verdict
