"""Fourier sums against enumeration, with zero weights, and where gradients underflow."""

import numpy as np
import pytest
from unit_draws import ACTIVATIONS, gaussian, names

from separatrix.theory.patterns.enumeration import cube_gradient
from separatrix.theory.patterns.fourier import fourier_gradient
from separatrix.theory.patterns.units import UnitActivation


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
