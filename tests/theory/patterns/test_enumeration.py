"""The Walsh-Hadamard transform and gradients by enumeration, against their definitions."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit_draws import ACTIVATIONS, gaussian, names

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.theory.patterns import enumeration
from separatrix.theory.patterns.enumeration import cube_gradient
from separatrix.theory.patterns.readout import cube


@settings(max_examples=30, deadline=None)
@given(bits=st.integers(1, 8), seed=st.integers(0, 10**6))
def test_walsh_hadamard_equals_the_definition(bits, seed):
    values = np.random.default_rng(seed).standard_normal(2**bits)
    x = cube(bits)
    slow = [
        (values * x[:, list(s)].prod(1)).mean()
        for s in (tuple(i for i in range(bits) if mask >> i & 1) for mask in range(2**bits))
    ]
    np.testing.assert_allclose(enumeration.walsh_hadamard(values), slow, atol=1e-13)
    # Parseval, degree by degree.
    profile = enumeration.degree_sums(enumeration.walsh_hadamard(values) ** 2)
    assert profile.sum() == pytest.approx((values**2).mean())


def test_walsh_hadamard_takes_batches_and_refuses_what_does_not_fit():
    batch = np.random.default_rng(0).standard_normal((3, 2, 16))
    np.testing.assert_allclose(
        enumeration.walsh_hadamard(batch)[2, 1], enumeration.walsh_hadamard(batch[2, 1])
    )
    with pytest.raises(ParameterError, match="2\\^n"):
        enumeration.walsh_hadamard(np.ones(6))
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
