"""Fourier mass of one unit by degree, for any number of bits: exact double Fourier sums, and the
Gaussian limit.

The mass at degree d is Σ_{|S|=d} (Σ_m c_m P_S(s_m))². Exchanging the sums leaves, for every pair of
nodes, the elementary symmetric polynomial e_d of the products tan(s w_i)·tan(s' w_i): O(n·d) per
pair. It gives the expected squared gradient of a fully connected unit without averaging over
supports, where plain draws have heavy tails (a product of k squared Gaussians has relative variance
3^k).
"""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import ParameterError, check_integer, check_number
from separatrix.theory.common import exponential, log_binomial
from separatrix.theory.patterns.fourier import build_waves, turned, wave_blocks
from separatrix.theory.patterns.units import UnitActivation


@dataclasses.dataclass(frozen=True)
class DegreeMass:
    """Fourier mass at degrees 0 … `len(mass) - 1` of a unit's σ' or σ, each with its error (`Waves`
    explains what the error covers).
    """

    mass: np.ndarray
    error: np.ndarray
    nodes: int


def degree_mass(
    weights: ArrayLike,
    bias: float,
    highest: int,
    activation: UnitActivation,
    *,
    derivative: bool = True,
    tolerance: float = 1e-8,
    node_limit: int = 128,
) -> DegreeMass:
    """Fourier mass at every degree up to `highest` of σ'(<w,x>+b) (or σ), for n in the thousands.

    For weights in general position. Use `lattice_degree_mass` for weights of one size and
    `degree_profile` for n <= 24; for kinked activations and n below about 40 the error is large.

    Args:
        weights: The weights of one unit.
        bias: Its bias.
        highest: The highest degree.
        activation: The activation.
        derivative: Whether to expand σ' or σ.
        tolerance: The wanted error relative to a typical coefficient.
        node_limit: The largest number of nodes of the sum.

    >>> w = np.random.default_rng(0).standard_normal(200) / np.sqrt(200)
    >>> result = degree_mass(w, 0.0, 3, UnitActivation("relu"))
    >>> bool(abs(result.mass[1] - 1 / (2 * np.pi)) < 0.01), bool(result.mass[2] < 1e-20)
    (True, True)
    """
    w = np.asarray(weights, np.float64)
    if w.ndim != 1 or not w.size or not np.any(w) or not np.all(np.isfinite(w)):
        raise ParameterError(
            "degree_mass", "weights", "a finite vector that is not all zero", np.shape(weights)
        )
    n = len(w)
    check_integer("degree_mass", "highest", highest, 0, n)
    check_integer("degree_mass", "node_limit", node_limit, 1, 1024)
    check_number("degree_mass", "bias", bias)
    largest = w[np.argsort(-np.abs(w))[: max(1, highest)]]
    waves = build_waves(w, bias, largest, activation, tolerance=tolerance, node_limit=node_limit)
    amplitude = waves.slope if derivative else waves.value
    count = len(waves.nodes)
    tangents, products = np.empty((count, n)), np.empty(count)
    for nodes, cosines, block in wave_blocks(w, waves.step, count):
        products[nodes], tangents[nodes] = np.multiply.reduce(cosines, axis=1), block

    mass = np.zeros(highest + 1)
    constant = waves.slope_constant if derivative else waves.value_constant
    mass[0] = (float(turned(amplitude, 0) @ products) + constant) ** 2
    if highest >= 1:
        linear = 0.0 if derivative else waves.value_linear
        mass[1] = float((((turned(amplitude, 1) * products) @ tangents + linear * w) ** 2).sum())
    if highest >= 2:
        left, right = np.triu_indices(count)
        symmetric = _elementary(tangents, left, right, highest)
        for degree in range(2, highest + 1):
            term = turned(amplitude, degree) * products
            double = np.where(left == right, 1.0, 2.0) * term[left] * term[right]
            mass[degree] = max(float(double @ symmetric[degree]), 0.0)

    aliasing, truncation = (
        (waves.slope_aliasing, waves.slope_truncation)
        if derivative
        else (waves.value_aliasing, waves.value_truncation)
    )
    # Every coefficient is off by at most e; there are C(n,d) of them, so the root of the mass is
    # off by √C(n,d)·e.
    root = exponential(0.5 * log_binomial(n, np.arange(highest + 1))) * (aliasing + truncation)
    rounding = 4 * (n + 64) * np.finfo(np.float64).eps * mass
    return DegreeMass(mass, 2 * np.sqrt(mass) * root + root**2 + rounding, count)


def _elementary(
    tangents: np.ndarray, left: np.ndarray, right: np.ndarray, highest: int
) -> np.ndarray:
    """e_0 … e_highest of tan(s w_i)·tan(s' w_i) over i, for every pair of nodes."""
    sums = np.zeros((highest + 1, len(left)))
    sums[0] = 1.0
    columns = np.ascontiguousarray(tangents.T)
    for column in columns:
        sums[1:] += sums[:-1] * (column[left] * column[right])
    return sums


def gaussian_degree_mass(
    scale: float, bias: float, highest: int, activation: UnitActivation, *, derivative: bool = True
) -> np.ndarray:
    """The limit of many small weights: squared Hermite coefficients of φ(scale·Z + b), Z standard
    normal, degrees 0 … highest.

    `scale` is ||w||. The relative difference from n bits is of order 1/n.

    >>> mass = gaussian_degree_mass(1.0, 0.0, 4, UnitActivation("relu"))
    >>> mass.round(6).tolist()
    [0.25, 0.159155, 0.0, 0.026526, 0.0]
    """
    check_number("gaussian_degree_mass", "scale", scale, 0, open_low=True)
    check_number("gaussian_degree_mass", "bias", bias)
    check_integer("gaussian_degree_mass", "highest", highest, 0, 400)
    # Gauss-Legendre on short pieces that end at the kinks: spectral accuracy without a smooth
    # integrand across them.
    reach = 12.0 + np.sqrt(2.0 * highest)
    kinks = [(place - bias) / scale for _, place in activation.kinks]
    ends = np.unique(
        np.concatenate([np.linspace(-reach, reach, 101), [z for z in kinks if abs(z) < reach]])
    )
    points, weights = np.polynomial.legendre.leggauss(24)
    width = np.diff(ends)[:, None] / 2
    z = (ends[:-1, None] + width * (points + 1)).ravel()
    measure = (width * weights).ravel() * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    inner = scale * z + bias
    values = (activation.derivative(inner) if derivative else activation.value(inner)) * measure
    before, now = np.zeros_like(z), np.ones_like(z)
    mass = np.empty(highest + 1)
    for degree in range(highest + 1):
        mass[degree] = float(values @ now) ** 2
        # Normalised Hermite polynomials: √(d+1) h_{d+1} = z h_d - √d h_{d-1}.
        before, now = now, (z * now - np.sqrt(degree) * before) / np.sqrt(degree + 1)
    odd = [d for d in range(highest + 1) if activation.vanishes(d, bias, derivative=derivative)]
    mass[odd] = 0.0
    return mass
