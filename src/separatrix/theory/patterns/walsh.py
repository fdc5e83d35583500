"""Functions on the cube {±1}^n by enumeration: the fast Walsh-Hadamard transform and the mass of
each degree.

Inputs are numbered as in `pattern_index`: bit i of the number is 1 where x_i = +1. Sets of
coordinates are bit masks.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import ParameterError, SeparatrixError, check_integer
from separatrix.theory.patterns.units import UnitActivation

LARGEST_CUBE = 24
_BLOCK = (
    1 << 22
)  # entries of a block of units: 32 MiB, so that a batch of units never takes memory in proportion


def check_cube(owner: str, bits: int) -> None:
    """Raise one sentence unless 2^bits inputs can be enumerated.

    >>> check_cube("the gradient", 64)
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: the gradient cannot enumerate 2^64 inputs (at most 2^24); use `fourier_gradient`, ...
    """
    check_integer(owner, "bits", bits, 1)
    if bits > LARGEST_CUBE:
        raise SeparatrixError(
            f"{owner} cannot enumerate 2^{bits} inputs (at most 2^{LARGEST_CUBE}); use `fourier_gradient`, "
            "`split_gradient` or `degree_mass`, which need no enumeration"
        )


def walsh_hadamard(values: ArrayLike) -> np.ndarray:
    """All Fourier coefficients E[f(x) Π_{i in S} x_i] of functions given on the whole cube (last
    axis, 2^n values).

    Entry S of the result belongs to the set with bit mask S. O(n 2^n), in place on one copy.

    >>> walsh_hadamard([-1.0, 1.0, -1.0, 1.0]).tolist()  # f(x) = x_0
    [0.0, 1.0, 0.0, 0.0]
    """
    out = np.array(values, np.float64)
    size = out.shape[-1] if out.ndim else 0
    bits = size.bit_length() - 1
    if size < 2 or size != 1 << bits:
        raise ParameterError(
            "walsh_hadamard",
            "values",
            "an array whose last axis has 2^n >= 2 entries",
            np.shape(values),
        )
    check_cube("walsh_hadamard", bits)
    flat = out.reshape(-1, size)
    half = np.empty((len(flat), size // 2))
    for i in range(bits):
        pairs = flat.reshape(len(flat), -1, 2, 1 << i)
        low, high = pairs[:, :, 0], pairs[:, :, 1]
        difference = half.reshape(len(flat), -1, 1 << i)
        np.subtract(high, low, out=difference)  # code bit 1 is x_i = +1
        low += high
        high[...] = difference
    out /= size
    return out


def preactivations(weights: ArrayLike, bias: ArrayLike = 0.0) -> np.ndarray:
    """<w, x> + b on the whole cube, for weights (..., n) and biases (...): shape (..., 2^n).

    >>> preactivations([1.0, 10.0]).tolist()
    [-11.0, -9.0, 9.0, 11.0]
    """
    weights = np.asarray(weights, np.float64)
    check_cube("preactivations", weights.shape[-1])
    z = np.zeros((*weights.shape[:-1], 1)) + np.asarray(bias, np.float64)[..., None]
    for i in range(weights.shape[-1]):
        w = weights[..., i : i + 1]
        z = np.concatenate([z - w, z + w], axis=-1)
    return z


def degree_sums(squares: np.ndarray) -> np.ndarray:
    """Sum an array over masks (last axis, 2^n) by the number of bits set: shape (..., n+1).

    >>> degree_sums(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [1.0, 5.0, 4.0]
    """
    size = squares.shape[-1]
    degrees = np.bitwise_count(np.arange(size)).astype(np.int64)
    flat = squares.reshape(-1, size)
    sums = np.stack([np.bincount(degrees, row, minlength=size.bit_length()) for row in flat])
    return sums.reshape(*squares.shape[:-1], -1)


def unit_blocks(units: int, bits: int) -> Iterator[slice]:
    """Slices of units whose cubes fit a block of memory together.

    >>> [block.stop - block.start for block in unit_blocks(units=5, bits=21)]
    [2, 2, 1]
    """
    step = max(1, _BLOCK >> bits)
    for first in range(0, units, step):
        yield slice(first, min(first + step, units))


def degree_profile(
    weights: ArrayLike, bias: ArrayLike, activation: UnitActivation, *, derivative: bool = True
) -> np.ndarray:
    """Fourier mass by degree 0 … n of units σ'(<w,x>+b), or of σ itself: the whole of Theorem 12 is
    in two of its entries.

    >>> profile = degree_profile(np.ones(4), 0.5, UnitActivation("relu"))
    >>> profile.shape, float(profile.sum())  # the masses sum to E[σ'²] = P(σ' = 1)
    ((5,), 0.6875)
    """
    weights = np.asarray(weights, np.float64)
    rows = np.atleast_2d(weights)
    offsets = np.broadcast_to(np.asarray(bias, np.float64), rows.shape[:1])
    out = np.empty((len(rows), rows.shape[1] + 1))
    check_cube("degree_profile", rows.shape[1])
    for block in unit_blocks(len(rows), rows.shape[1]):
        z = preactivations(rows[block], offsets[block])
        spectrum = walsh_hadamard(activation.derivative(z) if derivative else activation.value(z))
        out[block] = degree_sums(spectrum**2)
    return out.reshape(*weights.shape[:-1], -1)
