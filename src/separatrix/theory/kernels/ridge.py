"""Kernel ridge regression on ±1 labels or numbers, with the ridge chosen by leave-one-out error or
on further rows.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import linalg

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.theory.kernels.shallow import KernelSpec, shallow_kernel

# Ridges relative to the kernel's mean diagonal. Below the first a float32 kernel is only rounding.
RIDGES = tuple(10.0**power for power in np.arange(-5, 3.5, 0.5))


class RidgePath(NamedTuple):
    """Mean squared errors along a path of ridges, and the dual weights of the best.

    The errors are leave-one-out errors, or those on the rows that were given to choose on. `ridge`
    is the chosen one, relative to the mean diagonal of the kernel.
    """

    ridges: Float[np.ndarray, " ridges"]
    errors: Float[np.ndarray, " ridges"]
    ridge: float
    weights: Float[np.ndarray, " rows"]


def ridge_path(
    kernel: Float[np.ndarray, "rows rows"],
    y: Float[np.ndarray, " rows"],
    ridges: tuple[float, ...] = RIDGES,
    check: tuple[Float[np.ndarray, "others rows"], Float[np.ndarray, " others"]] | None = None,
) -> RidgePath:
    """Solve (K + λI) α = y for several λ from one eigendecomposition, and choose λ.

    The leave-one-out residual of row i is αᵢ / [(K + λI)⁻¹]ᵢᵢ, so every row judges every ridge
    without another solve.

    Args:
      kernel: a symmetric positive matrix.
      y: labels (±1) or numbers.
      ridges: the λ to try, relative to the mean of the kernel's diagonal, each > 0.
      check: further rows that choose λ instead of the leave-one-out error: their kernel with the
        rows of `kernel`, and their labels.

    Returns:
      The path and the dual weights at the ridge with the smallest error.

    >>> path = ridge_path(np.eye(4), np.ones(4), ridges=(0.1, 1.0))
    >>> path.errors.round(6).tolist(), path.ridge
    ([1.0, 1.0], 0.1)
    >>> ridge_path(np.eye(4), np.ones(4), (0.1, 1.0), (np.eye(4), np.full(4, 0.5))).ridge
    1.0
    """
    kernel, y = np.asarray(kernel, float), np.asarray(y, float)
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or len(kernel) != len(y):
        shapes = f"{kernel.shape} with {len(y)} labels"
        raise ParameterError("ridge_path", "kernel", "square, with one row per label", shapes)
    if not ridges or min(ridges) <= 0:
        raise ParameterError("ridge_path", "ridges", "numbers > 0", ridges)
    if check is not None and np.shape(check[0]) != (len(check[1]), len(y)):
        shapes = f"{np.shape(check[0])} with {len(check[1])} labels"
        allowed = f"a kernel of one row per label and {len(y)} columns"
        raise ParameterError("ridge_path", "check", allowed, shapes)
    values, vectors = linalg.eigh(kernel)
    scale = float(np.trace(kernel)) / len(y)
    rotated = vectors.T @ y
    errors, solutions = [], []
    for ridge in ridges:
        inverse = 1 / (np.maximum(values, 0) + ridge * scale)
        alpha = vectors @ (inverse * rotated)
        if check is None:
            residuals = alpha / (np.square(vectors) @ inverse)
        else:
            residuals = np.asarray(check[0], float) @ alpha - np.asarray(check[1], float)
        errors.append(float(np.mean(np.square(residuals))))
        solutions.append(alpha)
    best = int(np.argmin(errors))
    return RidgePath(np.array(ridges), np.array(errors), ridges[best], solutions[best])


@dataclasses.dataclass
class KernelRidge:
    """Kernel ridge regression with the kernel of an infinitely wide network.

    Args:
      spec: which kernel.
      ridges: the relative ridges to choose from.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.choice([-1.0, 1.0], (200, 6))
    >>> model = KernelRidge(KernelSpec("full")).fit(x[:150], x[:150, 0] * x[:150, 1])
    >>> bool((np.sign(model.predict(x[150:])) == x[150:, 0] * x[150:, 1]).mean() > 0.9)
    True
    """

    spec: KernelSpec
    ridges: tuple[float, ...] = RIDGES
    path: RidgePath | None = dataclasses.field(default=None, init=False)
    _x: Any = dataclasses.field(default=None, init=False, repr=False)

    def fit(self, x: np.ndarray, y: np.ndarray) -> "KernelRidge":
        """Learn from inputs (rows, length[, channels]) and their labels."""
        self.path = ridge_path(shallow_kernel(self.spec, x), y, self.ridges)
        self._x = x
        return self

    def predict(self, x: np.ndarray) -> Float[np.ndarray, " rows"]:
        """The regression's values at further inputs; their signs are the predicted labels."""
        if self.path is None:
            raise SeparatrixError("fit a KernelRidge before it predicts")
        return shallow_kernel(self.spec, x, self._x).astype(float) @ self.path.weights
