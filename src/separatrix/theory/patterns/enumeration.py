"""The population gradient of a hidden unit against a parity: its form, and exact enumeration.

A network with |h| <= 1 has hinge loss 1 - E[f h]. For f the parity χ_I of a set I, a unit
u·σ(<w,x>+b) has the gradients
    ∂L/∂w_j = -u·E[χ_{I△j}(x) σ'(<w,x>+b)]   and   ∂L/∂u = -E[χ_I(x) σ(<w,x>+b)],
Fourier coefficients of σ' at the neighbours I△j of I, and of σ at I. The input distribution is
uniform on the cube {±1}^n.

On small cubes a fast Walsh-Hadamard transform enumerates all inputs. Inputs are numbered as in
`pattern_index`: bit i of the number is 1 if x_i = +1. Sets of coordinates are bit masks.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import ParameterError, SeparatrixError, check_integer
from separatrix.theory.common import exponential
from separatrix.theory.patterns.units import UnitActivation

LARGEST_CUBE = 24
_BLOCK = 1 << 22  # entries of a block of units (32 MiB), which bounds the memory of large batches


def check_cube(owner: str, bits: int) -> None:
    """Raise an error if 2^bits inputs are too many to enumerate.

    >>> check_cube("the gradient", 64)
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: the gradient cannot enumerate 2^64 inputs (at most 2^24); use
        `fourier_gradient`, ...
    """
    check_integer(owner, "bits", bits, 1)
    if bits > LARGEST_CUBE:
        raise SeparatrixError(
            f"{owner} cannot enumerate 2^{bits} inputs (at most 2^{LARGEST_CUBE}); use "
            "`fourier_gradient`, `split_gradient` or `degree_mass`, which need no enumeration"
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
    """Fourier mass by degree 0 … n of units σ'(<w,x>+b), or of σ itself; Theorem 12 depends on two
    of its entries.

    The masses sum to E[σ'²] = P(σ' = 1):

    >>> profile = degree_profile(np.ones(4), 0.5, UnitActivation("relu"))
    >>> profile.shape, float(profile.sum())
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


@dataclasses.dataclass(frozen=True)
class ParityGradient:
    """Population gradients of many units at once, each with its error.

    `first_layer` is (units, n), `readout` (units,). Errors are absolute and hold for every entry of
    a unit: `first_layer_error` and `readout_error` are sums of the parts listed in `errors`. The
    values are exp(`log_scale`) times `scaled_first_layer` and `scaled_readout`, so that logarithms
    of squared norms stay finite if float64 underflows. `exact_zero` marks units whose first-layer
    gradient vanishes by symmetry, `exact_zero_readout` those whose readout gradient does.

    >>> gradient = cube_gradient([[0.3, -0.2, 0.5]], 0.1, [0, 1], UnitActivation("relu"))
    >>> gradient.first_layer.round(3).tolist(), gradient.method
    ([[0.125, -0.125, -0.125]], 'enumeration')
    """

    scaled_first_layer: np.ndarray
    scaled_readout: np.ndarray
    log_scale: np.ndarray
    first_layer_error: np.ndarray
    readout_error: np.ndarray
    exact_zero: np.ndarray
    exact_zero_readout: np.ndarray
    method: str
    nodes: int = 0
    errors: tuple[tuple[str, np.ndarray], ...] = ()

    @property
    def first_layer(self) -> np.ndarray:
        """∂L/∂w, one row per unit (entries below 1e-308 underflow to 0)."""
        return self.scaled_first_layer * exponential(self.log_scale)[:, None]

    @property
    def readout(self) -> np.ndarray:
        """∂L/∂u of every unit."""
        return self.scaled_readout * exponential(self.log_scale)

    @property
    def squared(self) -> np.ndarray:
        """||∂L/∂w||² of every unit."""
        return exponential(self.log_squared)

    @property
    def log_squared(self) -> np.ndarray:
        """ln ||∂L/∂w||² of every unit, -inf for an exact zero; finite even if the square
        underflows.

        >>> zero = cube_gradient([[1.0, 0.4, 0.3]], 0.0, [0, 1, 2], UnitActivation("relu"))
        >>> zero.log_squared.tolist()
        [-inf]
        """
        with np.errstate(divide="ignore"):
            return np.log((self.scaled_first_layer**2).sum(1)) + 2 * self.log_scale

    @property
    def squared_error(self) -> np.ndarray:
        """A bound on the error of `squared`: 2·||g||·√n·e + n·e² for an error e of every entry."""
        size = self.scaled_first_layer.shape[1]
        error = np.sqrt(size) * self.first_layer_error
        return 2 * np.sqrt(self.squared) * error + error**2


def check_units(
    owner: str, weights: ArrayLike, bias: ArrayLike, support: ArrayLike, readout: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weights (units, n), biases (units,), the sorted support and readouts (units,), all checked.

    >>> check_units("gradient", [[1.0, 2.0]], 0.0, [2], 1.0)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `support` of gradient must be distinct indices in [0, 1],
        got [2]
    """
    rows = np.atleast_2d(np.asarray(weights, np.float64))
    if rows.ndim != 2 or not rows.size or not np.all(np.isfinite(rows)):
        raise ParameterError(
            owner, "weights", "a finite array of shape (units, bits)", np.shape(weights)
        )
    if np.any(np.all(rows == 0, axis=1)):
        raise ParameterError(
            owner, "weights", "rows that are not all zero", "a unit whose weights are all zero"
        )
    chosen = np.sort(np.asarray(support))
    bits = rows.shape[1]
    good = chosen.ndim == 1 and len(chosen) and np.issubdtype(chosen.dtype, np.integer)
    if not good or chosen[0] < 0 or chosen[-1] >= bits or len(set(chosen.tolist())) < len(chosen):
        raise ParameterError(
            owner, "support", f"distinct indices in [0, {bits - 1}]", np.asarray(support).tolist()
        )
    offsets = np.broadcast_to(np.asarray(bias, np.float64), rows.shape[:1])
    sizes = np.broadcast_to(np.asarray(readout, np.float64), rows.shape[:1])
    return rows, offsets, chosen, sizes


def window_support(bits: int, window: int, start: int = 0) -> np.ndarray:
    """The bits of a window, j* … j*+k-1.

    >>> window_support(bits=8, window=3, start=5).tolist()
    [5, 6, 7]
    """
    check_integer("window_support", "window", window, 1, bits)
    check_integer("window_support", "start", start, 0, bits - window)
    return start + np.arange(window)


def symmetric_zeros(
    bits: int, window: int, bias: np.ndarray, activation: UnitActivation, ties: ArrayLike = False
) -> tuple[np.ndarray, np.ndarray]:
    """Which units have a first-layer, and a readout, gradient that symmetry makes exactly 0.

    `ties` says which units can have <w,x> = 0 exactly.

    >>> zero = symmetric_zeros(5, 3, np.array([0.0, 0.1]), UnitActivation("relu"))
    >>> [z.tolist() for z in zero]
    [[True, False], [True, False]]
    """
    degrees = [d for d in (window - 1, window + 1) if d <= bits]
    tied = np.broadcast_to(np.asarray(ties, bool), bias.shape)
    first = [
        all(activation.vanishes(d, float(b), derivative=True, ties=bool(t)) for d in degrees)
        for b, t in zip(bias, tied)
    ]
    last = [activation.vanishes(window, float(b), derivative=False) for b in bias]
    return np.array(first, bool), np.array(last, bool)


def cube_gradient(
    weights: ArrayLike,
    bias: ArrayLike,
    support: ArrayLike,
    activation: UnitActivation,
    readout: ArrayLike = 1.0,
) -> ParityGradient:
    """The gradient by enumerating the cube (n <= 24): the reference for the other methods.

    >>> gradient = cube_gradient(np.ones((1, 3)), 0.0, [0, 1, 2], UnitActivation("tanh"))
    >>> gradient.readout.round(4).tolist()
    [0.3224]
    """
    rows, offsets, chosen, sizes = check_units("cube_gradient", weights, bias, support, readout)
    units, bits = rows.shape
    check_cube("cube_gradient", bits)
    mask = int((1 << chosen).sum())
    neighbours = mask ^ (1 << np.arange(bits))
    first, last = np.empty((units, bits)), np.empty(units)
    ties = np.empty(units, bool)
    for block in unit_blocks(units, bits):
        z = preactivations(rows[block], offsets[block])
        ties[block] = np.abs(z).min(1) <= 64 * np.finfo(np.float64).eps * np.abs(z).max(1)
        first[block] = -sizes[block, None] * walsh_hadamard(activation.derivative(z))[:, neighbours]
        last[block] = -walsh_hadamard(activation.value(z))[:, mask]
    zero, zero_last = symmetric_zeros(bits, len(chosen), offsets, activation, ties)
    if activation.kinks:
        # Sums of slopes 0 and 1 are exact, so a computed 0 is an exact one: lattice weights have
        # more symmetries than b = 0.
        zero |= (first == 0).all(1)
    first[zero], last[zero_last] = 0.0, 0.0
    rounding = 4 * bits * np.finfo(np.float64).eps
    largest = np.abs(rows).sum(1) + np.abs(offsets)
    top = np.minimum(largest, activation.bound)
    return ParityGradient(
        first,
        last,
        np.zeros(units),
        rounding * np.abs(sizes),
        rounding * top,
        zero,
        zero_last,
        "enumeration",
    )
