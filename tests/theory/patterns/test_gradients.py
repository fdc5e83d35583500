"""Lattice and split gradients, exact zeros, and the choice of a method."""

import itertools
import math

import numpy as np
import pytest
from unit_draws import ACTIVATIONS, gaussian, names

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.theory.patterns import enumeration
from separatrix.theory.patterns.enumeration import cube_gradient
from separatrix.theory.patterns.fourier import fourier_gradient
from separatrix.theory.patterns.gradients import (
    lattice_degree_mass,
    lattice_gradient,
    network_squared_norm,
    population_gradient,
    split_gradient,
    window_gradient,
)
from separatrix.theory.patterns.readout import cube
from separatrix.theory.patterns.units import UnitActivation


@pytest.mark.parametrize("activation", ACTIVATIONS[:2], ids=names[:2])
def test_split_enumeration_is_exact_and_confirms_the_fourier_sum_beyond_the_cube(activation):
    w, b = gaussian(3, 11), np.array([0.0, 0.4, -0.3])
    exact, split = (run(w, b, [2, 3, 9], activation) for run in (cube_gradient, split_gradient))
    np.testing.assert_allclose(split.first_layer, exact.first_layer, atol=1e-16)
    np.testing.assert_allclose(split.readout, exact.readout, atol=1e-15)
    w = gaussian(3, 30)
    support = np.arange(7, 12)
    split, fourier = (
        split_gradient(w, 0.3, support, activation),
        fourier_gradient(w, 0.3, support, activation),
    )
    assert (
        np.abs(split.first_layer - fourier.first_layer).max()
        <= fourier.first_layer_error.max()
        < 1e-5
    )
    assert np.abs(split.readout - fourier.readout).max() <= fourier.readout_error.max() < 1e-8
    with pytest.raises(SeparatrixError, match="use `fourier_gradient`"):
        split_gradient(gaussian(1, 50), 0.0, [0], activation)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=names)
@pytest.mark.parametrize(("bits", "window"), [(4, 1), (7, 3), (8, 4), (12, 5), (9, 9)])
def test_lattice_sum_agrees_with_enumeration_also_where_inputs_hit_the_kink(
    activation, bits, window
):
    rng = np.random.default_rng(bits)
    for size, bias in itertools.product(
        (1 / window, 1 / math.sqrt(bits)), (0.0, 1 / window - 1, 0.3)
    ):
        w = rng.choice([-size, size], (3, bits))
        exact, lattice = (
            run(w, bias, np.arange(window), activation) for run in (cube_gradient, lattice_gradient)
        )
        assert np.all(
            np.abs(lattice.first_layer - exact.first_layer).max(1)
            <= lattice.first_layer_error + 1e-15
        )
        assert np.all(np.abs(lattice.readout - exact.readout) <= lattice.readout_error + 1e-15)
        assert np.all(exact.exact_zero[lattice.exact_zero])
        for degree in (0, 1, window):
            mass = lattice_degree_mass(bits, size, bias, degree, activation)
            assert mass == pytest.approx(
                enumeration.degree_profile(w[0], bias, activation)[degree], abs=1e-14
            )


def test_lattice_sum_equals_exact_integer_arithmetic_at_many_bits():
    # κ_d of a step with Python's integers: Σ_r K_r(d) over n - 2r > t, Krawtchouk polynomials.
    n, d, size, bias = 201, 7, 1 / math.sqrt(201), 0.4
    total = 0
    for r in range(n + 1):
        if size * (n - 2 * r) + bias > 0:
            total += sum(
                (-1) ** i * math.comb(d, i) * math.comb(n - d, r - i) for i in range(min(d, r) + 1)
            )
    exact = total / 2**n
    gradient = lattice_gradient(
        np.full((1, n), size), bias, np.arange(d + 1), UnitActivation("relu")
    )
    assert gradient.first_layer[0, 0] == pytest.approx(-exact, rel=1e-10)


def test_lattice_and_fourier_agree_at_thousands_of_bits_for_a_smooth_unit():
    # Perturbed ever so slightly, a lattice unit is in general position; tanh does not notice.
    n, k = 2048, 6
    w = np.random.default_rng(0).choice([-1.0, 1.0], (2, n)) / math.sqrt(n)
    lattice = lattice_gradient(w, 0.3, np.arange(k), ACTIVATIONS[2])
    fourier = fourier_gradient(w, 0.3, np.arange(k), ACTIVATIONS[2])
    np.testing.assert_allclose(fourier.first_layer, lattice.first_layer, rtol=1e-6)
    np.testing.assert_allclose(fourier.readout, lattice.readout, rtol=1e-6)


def test_exact_zeros_are_exactly_zero_and_flagged_by_every_method():
    relu, tanh = UnitActivation("relu"), UnitActivation("tanh")
    for run, bits in (
        (cube_gradient, 9),
        (split_gradient, 9),
        (fourier_gradient, 9),
        (fourier_gradient, 500),
    ):
        gradient = run(gaussian(2, bits), np.array([0.0, 0.2]), np.arange(3), relu)
        assert gradient.exact_zero.tolist() == [True, False]
        assert not gradient.first_layer[0].any()
        assert gradient.log_squared[0] == -np.inf
        assert gradient.first_layer[1].all()
    assert fourier_gradient(gaussian(1, 100), 0.0, np.arange(4), tanh).exact_zero.all()
    assert not fourier_gradient(gaussian(1, 100), 0.0, np.arange(4), relu).exact_zero.any()
    # k = 1 keeps the constant 1/2 at degree 0.
    assert fourier_gradient(gaussian(1, 100), 0.0, [3], relu).first_layer[0, 3] == pytest.approx(
        -0.5
    )
    # Even n and weights of one size: inputs hit the kink, so the value at the kink decides.
    even = np.full((1, 8), 1 / math.sqrt(8))
    assert not lattice_gradient(even, 0.0, np.arange(3), relu).exact_zero.any()
    assert lattice_gradient(
        even, 0.0, np.arange(3), UnitActivation("relu", at_kink=0.5)
    ).exact_zero.all()
    # A clipped unit is symmetric about the bias ceiling/2: even windows have no gradient there.
    clipped = UnitActivation("clipped", ceiling=1.0)
    assert fourier_gradient(gaussian(1, 60), 0.5, np.arange(4), clipped).exact_zero.all()
    np.testing.assert_allclose(
        cube_gradient(gaussian(1, 10), 0.5, np.arange(4), clipped).first_layer, 0, atol=1e-15
    )


def test_windows_other_than_the_matching_one_have_no_gradient():
    n, k, start = 6, 3, 2
    filters, b = gaussian(4, k), 0.2
    x = cube(n)
    f = x[:, start : start + k].prod(1)
    relu = UnitActivation("relu")
    seen = window_gradient(filters, b, relu)
    for j in range(n - k + 1):
        part = x[:, j : j + k]
        first = -np.einsum("x,xi,xl->il", f, relu.derivative(part @ filters.T + b), part) / len(x)
        last = -(f @ relu.value(part @ filters.T + b)) / len(x)
        if j == start:
            np.testing.assert_allclose(first, seen.first_layer, atol=1e-15)
            np.testing.assert_allclose(last, seen.readout, atol=1e-15)
        else:
            np.testing.assert_allclose(first, 0, atol=1e-15)
            np.testing.assert_allclose(last, 0, atol=1e-15)
    total, per_unit = network_squared_norm(seen, n - k + 1, shared=False)
    assert total == pytest.approx(seen.squared.sum())
    assert per_unit == pytest.approx(total / (4 * (n - k + 1)))


def test_population_gradient_picks_a_method_and_all_methods_agree():
    relu = UnitActivation("relu")
    sign = np.full((1, 15), 1 / math.sqrt(15))
    assert population_gradient(sign, 0.3, [0, 1], relu).method == "lattice"
    assert population_gradient(gaussian(2, 30), 0.3, [0, 1], relu).method == "split"
    assert (
        population_gradient(gaussian(2, 30), 0.3, [0, 1], UnitActivation("tanh")).method
        == "fourier"
    )
    for method in ("enumeration", "lattice"):
        np.testing.assert_allclose(
            population_gradient(sign, 0.3, [0, 1], relu, method=method).first_layer,
            population_gradient(sign, 0.3, [0, 1], relu).first_layer,
            atol=1e-15,
        )
    with pytest.raises(ParameterError, match="one of 'auto'"):
        population_gradient(sign, 0.3, [0, 1], relu, method="sample")
    with pytest.raises(ParameterError, match=r"`support`.*distinct indices in \[0, 14\]"):
        population_gradient(sign, 0.3, [0, 15], relu)
