"""Units whose weights all have one size, as ±1/k or ±1/√n: <w,x> lies on a lattice and a finite
Fourier sum is exact.

With w_i = a·ε_i the signs move into x, so E[χ_S σ(<w,x>+b)] = Π_{i in S} ε_i · κ_{|S|} where κ_d
depends on the degree alone.
"""

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import ParameterError, check_integer, check_number
from separatrix.theory.common import exponential, log_binomial
from separatrix.theory.patterns.parity_gradient import ParityGradient, check_units, symmetric_zeros
from separatrix.theory.patterns.units import UnitActivation


def lattice_coefficient(values: np.ndarray, degree: int) -> tuple[float, float, float]:
    """κ_d = E[y_1…y_d g(Σy)] for n uniform signs y: mantissa, logarithm of its scale, and the
    mantissa's rounding error.

    `values` holds g at Σy = n, n-2, …, -n. On n+1 points a discrete Fourier transform has no
    quadrature error.

    >>> mantissa, scale, error = lattice_coefficient(np.array([2.0, 0.0, -2.0]), 1)  # g(t) = t, n = 2
    >>> round(float(mantissa * np.exp(scale)), 12), error < 1e-12
    (1.0, True)
    """
    n = len(values) - 1
    check_integer("lattice_coefficient", "degree", degree, 0, n)
    # An even function has no odd degrees; an odd one, up to a constant, no even ones. Step
    # functions on a lattice often are.
    mirrored = values[::-1]
    if (degree % 2 and np.array_equal(values, mirrored)) or (
        degree % 2 == 0 and degree > 0 and np.ptp(values + mirrored) == 0
    ):
        return 0.0, -np.inf, 0.0
    # r of the n signs are -1; g_r = Σ_m G_m ω_m^r, and E[y_1…y_d ω^r] = e^{inθ/2} (-i)^d sin^d(θ/2)
    # cos^{n-d}(θ/2).
    waves = np.fft.fft(values) / (n + 1)
    m = np.arange(n + 1)
    half = np.pi * m / (n + 1)
    # nθ/2 = πnm/(n+1) = πm - πm/(n+1): reduced by hand, so that large n loses no digits.
    phase = np.where(m % 2 == 0, 1.0, -1.0) * np.exp(-1j * half) * (1, -1j, -1, 1j)[degree % 4]
    sine, cosine = np.sin(half), np.cos(half)
    with np.errstate(divide="ignore"):
        # An exponent of 0 must ignore a base of 0.
        logs = (degree * np.log(np.abs(sine)) if degree else np.zeros(n + 1)) + (
            (n - degree) * np.log(np.abs(cosine)) if degree < n else 0.0
        )
    scale = float(logs.max())
    sizes = np.exp(logs - scale)
    signs = np.where((cosine < 0) & ((n - degree) % 2 == 1), -1.0, 1.0)
    terms = (waves * phase).real * signs * sizes
    eps = np.finfo(np.float64).eps
    # Powers cost |log|·eps relatively; the transform's own error is about eps·log2(n)·max|g| on
    # every wave.
    error = (
        4
        * eps
        * float(
            (np.abs(waves) * sizes * (2.0 + np.abs(np.where(np.isfinite(logs), logs, 0.0)))).sum()
        )
    )
    error += eps * float(np.abs(values).max(initial=0.0)) * float(sizes.sum()) * np.log2(n + 2)
    return float(terms.sum()), scale, float(error)


def lattice_values(
    bits: int, size: float, bias: float, activation: UnitActivation
) -> tuple[np.ndarray, np.ndarray]:
    """σ' and σ at z = size·t + bias for t = n, n-2, …, -n.

    >>> slope, value = lattice_values(2, 1.0, 0.0, UnitActivation("relu"))
    >>> slope.tolist(), value.tolist()
    ([1.0, 0.0, 0.0], [2.0, 0.0, 0.0])
    """
    z = size * np.arange(bits, -bits - 1, -2) + bias
    return activation.derivative(z), activation.value(z)


def lattice_degree_mass(
    bits: int,
    size: float,
    bias: float,
    degree: int,
    activation: UnitActivation,
    *,
    derivative: bool = True,
) -> float:
    """Fourier mass at one degree of a unit with weights ±size: C(n,d)·κ_d², exact for n in the
    thousands.

    >>> round(lattice_degree_mass(3, 1.0, 0.0, 1, UnitActivation("relu")), 12)  # half the majority of three bits
    0.1875
    """
    check_integer("lattice_degree_mass", "bits", bits, 1)
    check_integer("lattice_degree_mass", "degree", degree, 0, bits)
    check_number("lattice_degree_mass", "size", size, 0, open_low=True)
    if activation.vanishes(degree, bias, derivative=derivative, ties=bits % 2 == 0):
        return 0.0
    values = lattice_values(bits, size, bias, activation)[0 if derivative else 1]
    mantissa, scale, _ = lattice_coefficient(values, degree)
    return float(mantissa**2 * exponential(2 * scale + log_binomial(bits, degree)))


def is_lattice(weights: np.ndarray) -> np.ndarray:
    """Which rows have weights of one size only (and not zero).

    >>> is_lattice(np.array([[0.5, -0.5], [0.5, 0.4]])).tolist()
    [True, False]
    """
    sizes = np.abs(weights)
    return (sizes.min(1) > 0) & (sizes.max(1) <= sizes.min(1) * (1 + 1e-9))


def lattice_gradient(
    weights: ArrayLike,
    bias: ArrayLike,
    support: ArrayLike,
    activation: UnitActivation,
    readout: ArrayLike = 1.0,
) -> ParityGradient:
    """The population gradient of units whose weights all have one size: exact up to rounding, for
    any n.

    >>> w = np.random.default_rng(0).choice([-1.0, 1.0], (3, 4096)) / 64
    >>> gradient = lattice_gradient(w, 0.25, np.arange(12), UnitActivation("relu"))
    >>> bool((gradient.first_layer_error < 1e-8 * np.sqrt(gradient.squared)).all())
    True
    """
    rows, offsets, chosen, sizes = check_units("lattice_gradient", weights, bias, support, readout)
    if not is_lattice(rows).all():
        raise ParameterError(
            "lattice_gradient", "weights", "of one size in every unit", "weights of several sizes"
        )
    units, n = rows.shape
    k = len(chosen)
    inside = np.isin(np.arange(n), chosen)
    signs = np.sign(rows)
    product = signs[:, inside].prod(1)
    first, last, scales = np.zeros((units, n)), np.zeros(units), np.zeros(units)
    first_error, last_error = np.zeros(units), np.zeros(units)
    known: dict[tuple[float, float], tuple[tuple[float, float, float], ...]] = {}
    for i in range(units):
        key = (float(np.abs(rows[i, 0])), float(offsets[i]))
        if key not in known:
            slope, value = lattice_values(n, *key, activation)
            above = lattice_coefficient(slope, k + 1) if k < n else (0.0, -np.inf, 0.0)
            known[key] = (lattice_coefficient(slope, k - 1), above, lattice_coefficient(value, k))
        below, above, at = known[key]
        scales[i] = max(below[1], above[1], at[1])
        if scales[i] == -np.inf:
            scales[i] = 0.0
        shift = [float(np.exp(part[1] - scales[i])) for part in (below, above, at)]
        # The sign of I△j is the sign of I times that of w_j, whether j joins or leaves.
        entry = np.where(inside, below[0] * shift[0], above[0] * shift[1])
        first[i] = -sizes[i] * product[i] * signs[i] * entry
        last[i] = -product[i] * at[0] * shift[2]
        whole = float(np.exp(scales[i]))
        first_error[i] = abs(sizes[i]) * whole * max(below[2] * shift[0], above[2] * shift[1])
        last_error[i] = whole * at[2] * shift[2]
    zero, zero_last = symmetric_zeros(n, k, offsets, activation, ties=n % 2 == 0)
    zero, zero_last = zero | (first == 0).all(1), zero_last | (last == 0)
    first[zero], last[zero_last] = 0.0, 0.0
    return ParityGradient(
        first,
        last,
        scales,
        np.where(zero, 0.0, first_error),
        np.where(zero_last, 0.0, last_error),
        zero,
        zero_last,
        "lattice",
        n + 1,
    )
