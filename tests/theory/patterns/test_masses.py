"""Fourier mass by degree against the cube, the Gaussian limit and random supports."""

import math

import numpy as np
import pytest
from unit_draws import ACTIVATIONS, gaussian, names

from separatrix.theory.patterns import enumeration
from separatrix.theory.patterns.fourier import fourier_gradient
from separatrix.theory.patterns.hardness import (
    support_average,
)
from separatrix.theory.patterns.masses import degree_mass, gaussian_degree_mass
from separatrix.theory.patterns.units import UnitActivation


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=names)
@pytest.mark.parametrize("derivative", [True, False])
def test_degree_mass_agrees_with_the_cube_and_with_its_gaussian_limit(activation, derivative):
    w = gaussian(1, 14)[0]
    exact = enumeration.degree_profile(w, 0.3, activation, derivative=derivative)[:7]
    mass = degree_mass(w, 0.3, 6, activation, derivative=derivative)
    assert np.all(np.abs(mass.mass - exact) <= mass.error)
    assert mass.error[:4].max() < 0.05
    w = gaussian(1, 3000)[0]
    mass = degree_mass(w, 0.3, 6, activation, derivative=derivative)
    limit = gaussian_degree_mass(
        float(np.linalg.norm(w)), 0.3, 6, activation, derivative=derivative
    )
    np.testing.assert_allclose(mass.mass, limit, rtol=0.02, atol=1e-4)
    assert mass.error.max() < 1e-6


def test_degree_mass_is_what_random_supports_average_to():
    n, k, relu = 120, 3, UnitActivation("relu")
    w = gaussian(1, n)[0]
    mass = degree_mass(w, 0.4, k + 1, relu).mass
    expected = support_average(n, k, mass[k - 1], mass[k + 1]).first_layer
    rng = np.random.default_rng(0)
    # Permuting the weights is permuting the support.
    draws = fourier_gradient(
        np.stack([rng.permutation(w) for _ in range(600)]), 0.4, np.arange(k), relu
    ).squared
    assert abs(draws.mean() - expected) < 5 * draws.std() / math.sqrt(600)
