"""Dual activations: E[φ(u)φ(v)] and E[φ'(u)φ'(v)] for jointly Gaussian u and v, exactly.

The rectifiers of the three papers are sums of hinges, φ(z) = Σⱼ cⱼ (sⱼz − tⱼ)₊ with signs sⱼ: ReLU
has one, the clipped ReLU and the LSA activation two each. Products of hinges have closed forms in
the bivariate normal distribution, which Owen's T function gives to the precision of the arrays.
Tanh is smooth: its dual is a series of Hermite coefficients (Mehler's formula).
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from separatrix.errors import UnknownNameError, check_number

OWEN_NODES = 12  # Gauss-Legendre nodes of Owen's integral, whose second argument is at most 1
HERMITE_TERMS = 96  # of tanh's series; the last coefficients are below 1e-6 for deviations up to 3
HERMITE_NODES = 400  # of the quadrature that computes them
TINY = 1e-12  # the deviation of an input that is zero


@dataclasses.dataclass(frozen=True)
class Dual:
    """An activation as its dual sees it.

    `hinges` holds (coefficient, sign, threshold) of every hinge; it is empty for tanh, which is a
    series instead.

    >>> relu = Dual("relu", ((1.0, 1.0, 0.0),))
    >>> round(float(relu.mean(1.0)), 4)  # E[max(u, 0)] = 1/√(2π)
    0.3989
    """

    name: str
    hinges: tuple[tuple[float, float, float], ...]

    def values(self, left: Any, right: Any, covariance: Any) -> Array:
        """E[φ(u)φ(v)] for deviations `left`, `right` and the covariance of u and v (broadcast)."""
        return self._expect(left, right, covariance, slopes=False)

    def slopes(self, left: Any, right: Any, covariance: Any) -> Array:
        """E[φ'(u)φ'(v)]."""
        return self._expect(left, right, covariance, slopes=True)

    def mean(self, deviation: Any) -> Array:
        """E[φ(u)]."""
        deviation = jnp.maximum(jnp.asarray(deviation), TINY)
        total = jnp.zeros_like(deviation)  # tanh is odd
        for c, _, t in self.hinges:
            # E(su − t)₊ = σ(φ(t/σ) − (t/σ) Φ(−t/σ)), whatever the sign s.
            total = total + c * (deviation * _density(t / deviation) - t * ndtr(-t / deviation))
        return total

    def _expect(self, left: Any, right: Any, covariance: Any, slopes: bool) -> Array:
        left, right = (jnp.maximum(jnp.asarray(part), TINY) for part in (left, right))
        correlation = jnp.clip(covariance / (left * right), -1.0, 1.0)
        if not self.hinges:
            return _series(left, right, correlation, slopes)
        # (s u − t)₊ (z v − y)₊, where s u and z v have the correlation s z ρ. Pairs with the same
        # thresholds and the same product of signs have the same expectation.
        pairs: dict[tuple[float, float, float], float] = {}
        for c, s, t in self.hinges:
            for e, z, y in self.hinges:
                pairs[t, y, s * z] = pairs.get((t, y, s * z), 0.0) + c * e
        total = jnp.zeros_like(correlation)
        for (t, y, sign), weight in pairs.items():
            centred = t == 0 and y == 0
            product = _hinges(t / left, y / right, sign * correlation, slopes, centred)
            scale = sign if slopes else left * right
            total = total + weight * scale * product
        return total


def _relu(**numbers: float) -> tuple[tuple[float, float, float], ...]:
    del numbers
    return ((1.0, 1.0, 0.0),)


def _clipped(ceiling: float = 1.0) -> tuple[tuple[float, float, float], ...]:
    check_number("the clipped ReLU", "ceiling", ceiling, low=0, open_low=True)
    return ((1.0, 1.0, 0.0), (-1.0, 1.0, float(ceiling)))


def _lsa(bias: float = 0.0) -> tuple[tuple[float, float, float], ...]:
    check_number("the LSA activation", "bias", bias, low=0)
    return ((1.0, 1.0, float(bias)), (-1.0, -1.0, float(bias)))


DUALS: dict[str, Callable[..., tuple[tuple[float, float, float], ...]]] = {
    "relu": _relu,
    "clipped": _clipped,
    "lsa": _lsa,
    "tanh": lambda **_: (),
}


def dual_of(activation: str, **numbers: float) -> Dual:
    """The dual of an activation by name.

    Args:
      activation: "relu", "clipped" (with `ceiling`), "lsa" (with `bias`) or "tanh".
      **numbers: the activation's own numbers.

    Returns:
      A `Dual`, whose `values` and `slopes` are the two expectations.

    >>> float(dual_of("relu").values(1.0, 1.0, 1.0))  # half of the variance
    0.5
    >>> float(dual_of("relu").slopes(1.0, 1.0, 0.0))
    0.25
    """
    if activation not in DUALS:
        raise UnknownNameError("activation with a kernel", activation, DUALS)
    return Dual(activation, DUALS[activation](**numbers))


def _density(z: Any) -> Array:
    return jnp.exp(-0.5 * jnp.square(z)) / math.sqrt(2 * math.pi)


def owens_t(h: Any, a: Any) -> Array:
    """Owen's T(h, a) = (1/2π) ∫₀ᵃ exp(−h²(1 + x²)/2)/(1 + x²) dx.

    >>> round(float(owens_t(0.5, 2.0)), 5)
    0.14158
    """
    h, a = jnp.abs(jnp.asarray(h)), jnp.asarray(a)
    sign, a = jnp.sign(a), jnp.abs(a)
    beyond = a > 1
    # T(h, a) = (Φ(h) + Φ(ah))/2 − Φ(h)Φ(ah) − T(ah, 1/a) for a > 0.
    inner_a = jnp.where(beyond, 1 / jnp.where(beyond, a, 1.0), a)
    inner_h = jnp.where(beyond, jnp.minimum(a * h, 1e6), h)
    total = jnp.zeros_like(inner_a * inner_h)
    for node, weight in zip(*_owen_rule()):
        square = 1 + jnp.square(inner_a * node)
        total = total + weight * jnp.exp(-0.5 * jnp.square(inner_h) * square) / square
    inside = inner_a * total / (2 * math.pi)
    p, q = ndtr(h), ndtr(inner_h)
    return sign * jnp.where(beyond, 0.5 * (p + q) - p * q - inside, inside)


@functools.cache
def _owen_rule() -> tuple[np.ndarray, np.ndarray]:
    node, weight = np.polynomial.legendre.leggauss(OWEN_NODES)
    return (node + 1) / 2, weight / 2


def upper_orthant(a: Any, b: Any, correlation: Any) -> Array:
    """P(X > a, Y > b) for standard normal X and Y of a correlation.

    >>> round(float(upper_orthant(0.0, 0.0, 0.5)), 6)  # 1/4 + arcsin(ρ)/2π
    0.333333
    """
    a, b, correlation = jnp.broadcast_arrays(jnp.asarray(a, jnp.result_type(float)), b, correlation)
    h, k = -a, -b
    free = jnp.sqrt(jnp.maximum((1 - correlation) * (1 + correlation), 1e-14))

    def part(u: Array, v: Array) -> Array:
        # Owen's second argument (v − ρu)/(u√(1 − ρ²)); at u = 0 it is ±∞ with v's sign.
        top, bottom = v - correlation * u, u * free
        zero = jnp.abs(bottom) < 1e-12
        ratio = jnp.where(
            zero,
            jnp.sign(top) * jnp.where(u < 0, -1.0, 1.0) * 1e12,
            top / jnp.where(zero, 1.0, bottom),
        )
        return owens_t(u, jnp.clip(ratio, -1e12, 1e12))

    both_zero = (jnp.abs(h) < 1e-12) & (jnp.abs(k) < 1e-12)
    opposite = (h * k < 0) | ((h * k == 0) & (h + k < 0))
    value = 0.5 * (ndtr(h) + ndtr(k)) - part(h, k) - part(k, h) - jnp.where(opposite, 0.5, 0.0)
    return jnp.clip(jnp.where(both_zero, _quadrant(correlation), value), 0.0, 1.0)


def _quadrant(correlation: Array) -> Array:
    """P(X > 0, Y > 0)."""
    return 0.25 + jnp.arcsin(correlation) / (2 * math.pi)


def _hinges(a: Any, b: Any, correlation: Array, slopes: bool, centred: bool) -> Array:
    """E[(X − a)₊(Y − b)₊], or P(X > a, Y > b), of standard normal X and Y.

    `centred` says that a and b are 0, where the probability needs no integral.
    """
    orthant = _quadrant(correlation) if centred else upper_orthant(a, b, correlation)
    if slopes:
        return orthant
    free = jnp.sqrt(jnp.maximum((1 - correlation) * (1 + correlation), 1e-14))
    at_a = _density(a) * ndtr(-(b - correlation * a) / free)
    at_b = _density(b) * ndtr(-(a - correlation * b) / free)
    # Never negative but for rounding, which the division by a vanishing number would enlarge.
    square = jnp.maximum(jnp.square(a - b) + 2 * (1 - correlation) * a * b, 0.0)
    corner = free / (2 * math.pi) * jnp.exp(-0.5 * square / jnp.square(free))
    cross = correlation * (orthant + a * at_a + b * at_b) + corner
    first, second = at_a + correlation * at_b, correlation * at_a + at_b
    return jnp.maximum(cross - a * second - b * first + a * b * orthant, 0.0)


def _series(left: Array, right: Array, correlation: Array, slopes: bool) -> Array:
    """Mehler's formula for tanh: Σₙ cₙ(σ) cₙ(τ) ρⁿ, with coefficients at every deviation."""
    columns = _hermite(left, slopes), _hermite(right, slopes)
    total = jnp.zeros_like(correlation)
    for n in range(HERMITE_TERMS - 1, -1, -1):  # Horner
        total = total * correlation + columns[0][n] * columns[1][n]
    return total


def _hermite(deviation: Float[Array, "..."], slopes: bool) -> Float[Array, "terms ..."]:
    """E[f(σz) Hₙ(z)]/√n! for f = tanh or its derivative, by quadrature with normal weights."""
    z, weight, basis = _hermite_rule()
    values = jnp.tanh(deviation[..., None] * z)
    values = 1 - jnp.square(values) if slopes else values
    return jnp.moveaxis((values * weight) @ basis.T, -1, 0)


@functools.cache
def _hermite_rule() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    z = np.linspace(-9, 9, HERMITE_NODES)  # the trapezoidal rule is spectral on a Gaussian
    weight = np.exp(-0.5 * z**2)
    weight /= weight.sum()
    basis = [np.ones_like(z), z]
    for n in range(1, HERMITE_TERMS - 1):
        basis.append((z * basis[n] - math.sqrt(n) * basis[n - 1]) / math.sqrt(n + 1))
    return z, weight, np.stack(basis)
