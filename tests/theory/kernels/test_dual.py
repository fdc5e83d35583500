"""Duals: closed forms, SciPy's functions, and simulated Gaussian pairs."""

import math

import numpy as np
import pytest
from scipy import special, stats

from separatrix.errors import SeparatrixError
from separatrix.theory.kernels.dual import dual_of, owens_t, upper_orthant

ACTIVATIONS = {
    "relu": ({}, lambda z: np.maximum(z, 0), lambda z: 1.0 * (z > 0)),
    "clipped": (
        {"ceiling": 0.8},
        lambda z: np.clip(z, 0, 0.8),
        lambda z: 1.0 * ((z > 0) & (z < 0.8)),
    ),
    "lsa": ({"bias": 0.5}, lambda z: z - np.clip(z, -0.5, 0.5), lambda z: 1.0 * (abs(z) > 0.5)),
    "tanh": ({}, np.tanh, lambda z: 1 - np.tanh(z) ** 2),
}


def test_owens_function():
    rng = np.random.default_rng(0)
    h, a = 2 * rng.standard_normal(3000), 5 * rng.standard_normal(3000)
    # Float32, 12 nodes.
    np.testing.assert_allclose(owens_t(h, a), special.owens_t(h, a), rtol=0, atol=5e-7)


@pytest.mark.parametrize("correlation", [-0.999, -0.5, 0.0, 0.3, 0.97, 0.9999])
def test_orthants(correlation):
    law = stats.multivariate_normal(cov=[[1, correlation], [correlation, 1]])
    for a, b in [(0.0, 0.0), (0.0, 0.7), (-0.7, 0.0), (0.4, -1.2), (-0.3, -0.3), (2.0, 1.9)]:
        assert abs(float(upper_orthant(a, b, correlation)) - law.cdf([-a, -b])) < 2e-6


def test_relu_is_the_arc_cosine_kernel():
    """Cho & Saul: E[φφ] = (sin θ + (π − θ) cos θ)/2π and E[φ'φ'] = (π − θ)/2π."""
    angle = np.linspace(0, math.pi, 41)
    relu, cosine = dual_of("relu"), np.cos(angle)
    first = (np.sin(angle) + (math.pi - angle) * cosine) / (2 * math.pi)
    np.testing.assert_allclose(relu.values(1.0, 1.0, cosine), first, rtol=0, atol=3e-6)
    zeroth = (math.pi - angle) / (2 * math.pi)
    # arcsin has a root at ±1, where float32 leaves the square root of its precision.
    np.testing.assert_allclose(relu.slopes(1.0, 1.0, cosine), zeroth, rtol=0, atol=2e-4)
    np.testing.assert_allclose(relu.values(2.0, 3.0, 6 * cosine), 6 * first, rtol=0, atol=3e-5)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize(("left", "right", "correlation"), [(1.0, 1.0, 0.6), (0.5, 2.0, -0.8)])
def test_simulated_pairs(name, left, right, correlation):
    numbers, function, slope = ACTIVATIONS[name]
    rng, draws = np.random.default_rng(1), 400_000
    z, other = rng.standard_normal((2, draws))
    u = left * z
    v = right * (correlation * z + math.sqrt(1 - correlation**2) * other)
    dual, covariance = dual_of(name, **numbers), left * right * correlation
    for measured, products in [
        (dual.values(left, right, covariance), function(u) * function(v)),
        (dual.slopes(left, right, covariance), slope(u) * slope(v)),
        (dual.mean(left), function(u)),
    ]:
        assert abs(float(measured) - products.mean()) < 4 * products.std() / math.sqrt(draws)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_input_beside_itself(name):
    """Correlation 1: E[φ(u)²] by one-dimensional quadrature."""
    numbers, function, slope = ACTIVATIONS[name]
    z = np.linspace(-9, 9, 200_001)
    weight = np.exp(-(z**2) / 2)
    weight /= weight.sum()
    dual = dual_of(name, **numbers)
    for deviation in (0.4, 1.5):
        square = float(dual.values(deviation, deviation, deviation**2))
        assert abs(square - (weight * function(deviation * z) ** 2).sum()) < 1e-4
        steep = float(dual.slopes(deviation, deviation, deviation**2))
        assert abs(steep - (weight * slope(deviation * z) ** 2).sum()) < 1e-3


def test_a_zero_input_is_no_trouble():
    for name, (numbers, function, _) in ACTIVATIONS.items():
        value = float(dual_of(name, **numbers).values(0.0, 1.0, 0.0))
        assert np.isfinite(value)
        assert abs(value - function(np.zeros(1))[0]) < 1e-6


def test_unknown_activation():
    with pytest.raises(SeparatrixError, match="there is no activation with a kernel `rely`"):
        dual_of("rely")
