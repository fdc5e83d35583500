"""Exact population gradients: lattice weights, split cubes, and the choice of a method.

- Lattice: if all weights have one size, as ±1/k or ±1/√n, <w,x> lies on a lattice and a finite
  Fourier sum is exact. With w_i = a·ε_i the signs move into x, so E[χ_S σ(<w,x>+b)] = Π_{i in S}
  ε_i · κ_{|S|}, where κ_d depends only on the degree.
- Split: for kinked activations up to n = 44 the bits are split in two halves. For a step at t, Σ_x
  χ_S(x) 1[<w,x> > t] is a sum over inputs a of the first half, each with the sum of the second
  half's characters over <w,b> > t - <w,a>: a suffix sum of the sorted second half. It takes O(n
  2^{n/2}) instead of 2^n.
- `population_gradient` chooses the method; `window_gradient` is for units that see one window.
"""

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import (
    ParameterError,
    SeparatrixError,
    check_choice,
    check_integer,
    check_number,
)
from separatrix.theory.common import exponential, log_binomial
from separatrix.theory.patterns.enumeration import (
    ParityGradient,
    check_units,
    cube_gradient,
    preactivations,
    symmetric_zeros,
)
from separatrix.theory.patterns.fourier import fourier_gradient
from separatrix.theory.patterns.units import UnitActivation


def lattice_coefficient(values: np.ndarray, degree: int) -> tuple[float, float, float]:
    """κ_d = E[y_1…y_d g(Σy)] for n uniform signs y: mantissa, logarithm of its scale, and the
    mantissa's rounding error.

    `values` holds g at Σy = n, n-2, …, -n. On n+1 points a discrete Fourier transform has no
    quadrature error.

    For g(t) = t and n = 2:

    >>> mantissa, scale, error = lattice_coefficient(np.array([2.0, 0.0, -2.0]), 1)
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

    The derivative of this unit is half of one plus the majority of three bits:

    >>> round(lattice_degree_mass(3, 1.0, 0.0, 1, UnitActivation("relu")), 12)
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


LARGEST_SPLIT = 44


def _characters(bits: int, members: np.ndarray) -> np.ndarray:
    """Π_{i in members} x_i on the cube of `bits` bits."""
    mask = int((1 << members.astype(np.int64)).sum())
    outside = len(members) - np.bitwise_count(np.arange(1 << bits) & mask).astype(np.int64)
    return 1.0 - 2.0 * (outside & 1)


def _single_bits(values: np.ndarray, bits: int) -> np.ndarray:
    """Σ_a values(a)·a_j for every bit j."""
    totals = [values.reshape(-1, 2, 1 << j).sum((0, 2)) for j in range(bits)]
    return np.array([high - low for low, high in totals])


def _half(
    z: np.ndarray,
    other_z: np.ndarray,
    character: np.ndarray,
    other_character: np.ndarray,
    activation: UnitActivation,
) -> tuple[np.ndarray, float]:
    """Gradient sums for the bits of one half, and the sum for the readout.

    `z` holds the preactivations of this half with the bias, `other_z` those of the other half
    without; `character` and `other_character` are the characters of the two halves.
    """
    bits = len(z).bit_length() - 1
    order = np.argsort(other_z, kind="stable")
    ranked = other_z[order]
    characters = np.append(np.cumsum(other_character[order][::-1])[::-1], 0.0)
    moments = np.append(np.cumsum((other_character * other_z)[order][::-1])[::-1], 0.0)
    slope, value = np.zeros(len(z)), np.zeros(len(z))
    # Sorted queries read memory in order, which is several times faster than random access.
    turn = np.argsort(z)
    for change, place in activation.kinks:
        first = np.empty(len(z), np.int64)
        first[turn] = np.searchsorted(ranked, place - z[turn], side="right")
        slope += change * characters[first]
        value += change * ((z - place) * characters[first] + moments[first])
    return _single_bits(character * slope, bits), float(character @ value)


def split_gradient(
    weights: ArrayLike,
    bias: ArrayLike,
    support: ArrayLike,
    activation: UnitActivation,
    readout: ArrayLike = 1.0,
) -> ParityGradient:
    """The gradient of ReLU or clipped ReLU units against a parity, exact up to rounding, for n up
    to 44 bits.

    A unit takes about 0.03 s at n = 32 and doubles with every two bits. For tanh the Fourier sum is
    accurate at every n. A kink that an input hits exactly counts as the lower side.

    >>> w = np.random.default_rng(0).standard_normal((1, 28)) / np.sqrt(28)
    >>> gradient = split_gradient(w, 0.2, [3, 4, 5], UnitActivation("relu"))
    >>> gradient.method, bool(gradient.first_layer_error.max() < 1e-8)
    ('split', True)
    """
    rows, offsets, chosen, sizes = check_units("split_gradient", weights, bias, support, readout)
    units, n = rows.shape
    if not activation.kinks:
        raise ParameterError(
            "split_gradient",
            "activation",
            "'relu' or 'clipped' (use `fourier_gradient`)",
            activation.name,
        )
    if not 2 <= n <= LARGEST_SPLIT:
        raise SeparatrixError(
            f"split_gradient cannot halve {n} bits (2 to {LARGEST_SPLIT} are possible); use "
            "`fourier_gradient`, whose error is then negligible"
        )
    cut = n // 2
    left, right = chosen[chosen < cut], chosen[chosen >= cut] - cut
    low_character, high_character = _characters(cut, left), _characters(n - cut, right)
    first, last = np.empty((units, n)), np.empty(units)
    for i in range(units):
        low = preactivations(rows[i, :cut], float(offsets[i]))
        high = preactivations(rows[i, cut:], 0.0)
        sums, total = _half(low, high, low_character, high_character, activation)
        first[i, :cut] = sums
        first[i, cut:] = _half(
            high + float(offsets[i]),
            low - float(offsets[i]),
            high_character,
            low_character,
            activation,
        )[0]
        last[i] = -total * 2.0**-n
    first *= -sizes[:, None] * 2.0**-n
    zero, zero_last = symmetric_zeros(n, len(chosen), offsets, activation)
    first[zero], last[zero_last] = 0.0, 0.0
    # Characters sum to integers, so the first layer is exact but for inputs within rounding of a
    # kink, 2^-n each.
    near = 2.0 ** (1 - n) + 2e-14
    rounding = 2 * np.finfo(np.float64).eps * 2.0 ** (n - cut)
    largest = np.abs(rows).sum(1) + np.abs(offsets) + max(place for _, place in activation.kinks)
    return ParityGradient(
        first,
        last,
        np.zeros(units),
        np.where(zero, 0.0, near * np.abs(sizes)),
        np.where(zero_last, 0.0, rounding * largest),
        zero,
        zero_last,
        "split",
    )


METHODS = ("auto", "enumeration", "lattice", "split", "fourier")


def choose_method(weights: np.ndarray, activation: UnitActivation) -> str:
    """The method that is exact, or most accurate, for these weights.

    >>> choose_method(np.full((2, 4096), 1 / 64), UnitActivation("relu"))
    'lattice'
    >>> choose_method(np.random.default_rng(0).standard_normal((2, 64)), UnitActivation("relu"))
    'fourier'
    """
    bits = weights.shape[1]
    if is_lattice(weights).all():
        return "lattice"
    if bits <= 12 or (bits <= 20 and len(weights) << bits <= 1 << 24):
        return "enumeration"
    # Between the cube and about 36 bits the Fourier sum of a kinked activation leaves an error of
    # 2^{-n/2}.
    return "split" if activation.kinks and bits <= 36 else "fourier"


def population_gradient(
    weights: ArrayLike,
    bias: ArrayLike,
    support: ArrayLike,
    activation: UnitActivation,
    readout: ArrayLike = 1.0,
    method: str = "auto",
) -> ParityGradient:
    """The population gradient of fully connected units against the parity of the bits in `support`,
    with its error.

    Args:
        weights: The weights, (units, bits).
        bias: The biases, a number or one per unit.
        support: The indices of the bits whose parity is the label.
        activation: The activation.
        readout: The readout weights, a number or one per unit.
        method: `enumeration`, `lattice`, `split`, `fourier`, or `auto` for the most accurate.

    >>> rng = np.random.default_rng(0)
    >>> small, large = rng.standard_normal((2, 10)) / 3, rng.standard_normal((2, 2000)) / 45
    >>> for weights in (small, large):
    ...     print(population_gradient(weights, 0.3, [0, 1, 2], UnitActivation("relu")).method)
    enumeration
    fourier
    """
    check_choice("population_gradient", "method", method, METHODS)
    rows = check_units("population_gradient", weights, bias, support, readout)[0]
    chosen = choose_method(rows, activation) if method == "auto" else method
    run = {
        "enumeration": cube_gradient,
        "lattice": lattice_gradient,
        "split": split_gradient,
        "fourier": fourier_gradient,
    }[chosen]
    return run(weights, bias, support, activation, readout)


def window_gradient(
    filters: ArrayLike, bias: ArrayLike, activation: UnitActivation, readout: ArrayLike = 1.0
) -> ParityGradient:
    """The gradient of filters that see a window of k bits, against the parity of a window of k
    bits.

    Of the n-k+1 windows only the matching one contributes, in a convolutional and in a locally
    connected network: for any other window, χ_I·x_j contains a bit that the filter does not see,
    and the expectation is exactly 0. So `readout` is u at the matching window and the rows of the
    result are the gradients of the q filters there; the other windows of a locally connected
    network have gradient 0.

    Two of the filters of Theorem 4 for k = 2:

    >>> gradient = window_gradient([[0.5, 0.5], [0.5, -0.5]], -0.5, UnitActivation("relu"))
    >>> gradient.first_layer.tolist(), gradient.readout.tolist()
    ([[-0.25, -0.25], [0.25, -0.25]], [-0.125, 0.125])
    """
    rows = np.atleast_2d(np.asarray(filters, np.float64))
    return cube_gradient(rows, bias, np.arange(rows.shape[1]), activation, readout)


def network_squared_norm(
    gradient: ParityGradient, windows: int = 1, *, shared: bool = True
) -> tuple[float, float]:
    """||∂L/∂W||² of a whole network, and its mean per unit: q units, or q per window if weights are
    not shared.

    >>> gradient = window_gradient([[0.5, 0.5], [0.5, -0.5]], -0.5, UnitActivation("relu"))
    >>> [round(v, 6) for v in network_squared_norm(gradient)]
    [0.25, 0.125]
    >>> [round(v, 6) for v in network_squared_norm(gradient, windows=5, shared=False)]
    [0.25, 0.025]
    """
    check_integer("network_squared_norm", "windows", windows, 1)
    total = float(gradient.squared.sum())
    return total, total / (len(gradient.log_squared) * (1 if shared else windows))
