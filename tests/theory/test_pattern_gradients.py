"""Exact population gradients: four methods against brute force and each other, the identity, the
exact zeros.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.theory.patterns import walsh
from separatrix.theory.patterns.degree_mass import degree_mass, gaussian_degree_mass
from separatrix.theory.patterns.fourier_gradient import fourier_gradient
from separatrix.theory.patterns.gradient_separation import (
    crossing,
    separation_row,
    separation_table,
)
from separatrix.theory.patterns.hardness import support_average, theorem12
from separatrix.theory.patterns.lattice_gradient import lattice_degree_mass, lattice_gradient
from separatrix.theory.patterns.parity_gradient import cube_gradient
from separatrix.theory.patterns.population_gradient import (
    network_squared_norm,
    population_gradient,
    window_gradient,
)
from separatrix.theory.patterns.readout import cube
from separatrix.theory.patterns.split_gradient import split_gradient
from separatrix.theory.patterns.units import UnitActivation

ACTIVATIONS = [
    UnitActivation("relu"),
    UnitActivation("clipped", ceiling=0.8),
    UnitActivation("tanh"),
]
names = [activation.name for activation in ACTIVATIONS]


def gaussian(units, bits, seed=0):
    return np.random.default_rng([seed, units, bits]).standard_normal((units, bits)) / math.sqrt(
        bits
    )


@settings(max_examples=30, deadline=None)
@given(bits=st.integers(1, 8), seed=st.integers(0, 10**6))
def test_walsh_hadamard_equals_the_definition(bits, seed):
    values = np.random.default_rng(seed).standard_normal(2**bits)
    x = cube(bits)
    slow = [
        (values * x[:, list(s)].prod(1)).mean()
        for s in (tuple(i for i in range(bits) if mask >> i & 1) for mask in range(2**bits))
    ]
    np.testing.assert_allclose(walsh.walsh_hadamard(values), slow, atol=1e-13)
    # Parseval, degree by degree.
    profile = walsh.degree_sums(walsh.walsh_hadamard(values) ** 2)
    assert profile.sum() == pytest.approx((values**2).mean())


def test_walsh_hadamard_takes_batches_and_refuses_what_does_not_fit():
    batch = np.random.default_rng(0).standard_normal((3, 2, 16))
    np.testing.assert_allclose(walsh.walsh_hadamard(batch)[2, 1], walsh.walsh_hadamard(batch[2, 1]))
    with pytest.raises(ParameterError, match="2\\^n"):
        walsh.walsh_hadamard(np.ones(6))
    with pytest.raises(
        SeparatrixError, match=r"cannot enumerate 2\^25 inputs .*use `fourier_gradient`"
    ):
        cube_gradient(np.ones((1, 25)), 0.0, [0], ACTIVATIONS[0])


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=names)
def test_enumeration_equals_the_gradient_of_the_hinge_loss(activation):
    # Independent: differentiate the population hinge loss of a whole network numerically, |h| <= 1.
    n, support, q = 5, [1, 2, 4], 3
    w, b, u = gaussian(q, n), np.array([0.11, -0.23, 0.37]), np.array([0.2, -0.1, 0.15])
    x = cube(n)
    f = x[:, support].prod(1)

    def loss(weights, readout):
        return np.maximum(0, 1 - f * (activation.value(x @ weights.T + b) @ readout)).mean()

    gradient = cube_gradient(w, b, support, activation, readout=u)
    step = 1e-6
    for i, j in itertools.product(range(q), range(n)):
        change = np.zeros((q, n))
        change[i, j] = step
        assert (loss(w + change, u) - loss(w - change, u)) / (2 * step) == pytest.approx(
            gradient.first_layer[i, j], abs=1e-8
        )
    for i in range(q):
        change = step * np.eye(q)[i]
        assert (loss(w, u + change) - loss(w, u - change)) / (2 * step) == pytest.approx(
            gradient.readout[i], abs=1e-8
        )


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=names)
@pytest.mark.parametrize("bits", [8, 10, 12])
def test_the_identity_of_theorem12_holds_to_machine_precision(activation, bits):
    w, b = gaussian(1, bits), 0.17
    for k in (1, 2, bits // 2, bits - 1, bits):
        supports = list(itertools.combinations(range(bits), k))
        spectrum = walsh.walsh_hadamard(activation.derivative(walsh.preactivations(w[0], b)))
        masks = np.array([sum(1 << i for i in s) for s in supports])
        direct = (spectrum[masks[:, None] ^ (1 << np.arange(bits))] ** 2).sum(1).mean()
        profile = walsh.degree_profile(w[0], b, activation)
        value = walsh.degree_profile(w[0], b, activation, derivative=False)
        average = support_average(
            bits, k, profile[k - 1], profile[k + 1] if k < bits else 0.0, value[k]
        )
        assert average.first_layer == pytest.approx(direct, rel=1e-11)
        readout = walsh.walsh_hadamard(activation.value(walsh.preactivations(w[0], b)))
        assert average.readout == pytest.approx((readout[masks] ** 2).mean(), rel=1e-11)
        assert (
            average.first_layer
            <= theorem12(bits, k).sharper * (1 + 1e-12)
            <= theorem12(bits, k).first_layer * (1 + 1e-11)
        )


def test_the_sharper_bound_is_attained_when_all_mass_sits_at_degree_k_minus_1():
    for n, k in ((9, 3), (12, 5)):
        assert support_average(n, k, 1.0, 0.0).first_layer == pytest.approx(theorem12(n, k).sharper)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=names)
@pytest.mark.parametrize(("bits", "window"), [(5, 1), (8, 2), (11, 3), (13, 6), (16, 4), (12, 12)])
def test_fourier_sum_agrees_with_enumeration_within_its_stated_error(activation, bits, window):
    w, b = gaussian(6, bits), np.array([0.0, 0.3, -0.7, 1.5, 0.05, -0.2])
    support = np.arange(window) + (bits - window) // 2
    exact, fourier = (
        run(w, b, support, activation, 0.5) for run in (cube_gradient, fourier_gradient)
    )
    error = np.abs(fourier.first_layer - exact.first_layer).max(1)
    assert np.all(error <= fourier.first_layer_error + 1e-15)
    assert np.all(np.abs(fourier.readout - exact.readout) <= fourier.readout_error + 1e-15)
    assert np.all(np.abs(fourier.squared - exact.squared) <= fourier.squared_error + 1e-15)
    limit = 1e-9 if activation.name == "tanh" else 0.02 * 2 ** (-(bits - 5) / 2)
    assert fourier.first_layer_error.max() < limit  # the statement is worth something


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
                walsh.degree_profile(w[0], bias, activation)[degree], abs=1e-14
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


def test_zero_weights_inside_and_outside_the_support_are_safe():
    w = gaussian(1, 10)
    w[0, [2, 7]] = 0.0
    for activation in ACTIVATIONS:
        exact, fourier = (
            run(w, 0.3, [1, 2, 3], activation) for run in (cube_gradient, fourier_gradient)
        )
        assert (
            np.abs(exact.first_layer - fourier.first_layer).max()
            <= fourier.first_layer_error.max() + 1e-15
        )


def test_gradients_that_underflow_keep_their_logarithm():
    n, k = 3000, 150
    gradient = fourier_gradient(gaussian(1, n), 0.3, np.arange(k), UnitActivation("tanh"))
    assert gradient.squared[0] == 0.0
    assert -5000 < gradient.log_squared[0] < -800


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=names)
@pytest.mark.parametrize("derivative", [True, False])
def test_degree_mass_agrees_with_the_cube_and_with_its_gaussian_limit(activation, derivative):
    w = gaussian(1, 14)[0]
    exact = walsh.degree_profile(w, 0.3, activation, derivative=derivative)[:7]
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


@pytest.mark.parametrize("initialisation", ["gaussian", "sign", "theorem4"])
def test_theorem12_holds_in_the_separation_table_and_the_signal_dies_faster_than_any_polynomial(
    initialisation,
):
    rows = separation_table(
        [16, 64, 256, 1024], UnitActivation("clipped"), None, initialisation, draws=4, plain_draws=4
    )
    for row in rows:
        assert row.full.high <= row.sharper <= row.paper
        assert row.full_readout.high <= row.paper_readout
        assert row.full_error <= 0.05 * row.full.mean
    # The local exponent of n in E||grad||² grows with n: superpolynomial.
    logs = np.log([row.full.mean for row in rows])
    slopes = np.diff(logs) / np.log(4)
    assert np.all(np.diff(slopes) < 0)
    assert slopes[-1] < -7


def test_the_crossing_depends_on_what_is_held_fixed():
    rows = separation_table([8, 16, 32, 64], UnitActivation("relu"), plain_draws=2)
    assert crossing(rows, bounded=False) == 8
    assert crossing(rows) == 32
    network = rows[-1].network(filters=16, bounded=True)
    assert network["full"] / network["shared"] == pytest.approx(rows[-1].bounded_ratio)


def test_lattice_rows_equal_their_plain_draws():
    row = separation_row(64, 6, UnitActivation("relu"), "sign", 0.3, plain_draws=3)
    assert row.plain.mean == pytest.approx(row.full.mean, rel=1e-9)
    assert row.plain.high - row.plain.low < 1e-9 * row.plain.mean
