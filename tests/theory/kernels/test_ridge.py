"""Kernel ridge regression: plain solves, and leaving rows out one by one."""

import numpy as np
import pytest

from separatrix.errors import SeparatrixError
from separatrix.theory.kernels import KernelRidge, KernelSpec, ridge_path, shallow_kernel


def test_weights_solve_the_ridge_equations_and_errors_leave_one_out():
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((9, 12))
    kernel, y = factor @ factor.T, rng.standard_normal(9)
    path = ridge_path(kernel, y, ridges=(0.01, 0.3))
    scale = np.trace(kernel) / 9
    expected = np.linalg.solve(kernel + path.ridge * scale * np.eye(9), y)
    np.testing.assert_allclose(path.weights, expected, rtol=1e-9)
    for ridge, error in zip(path.ridges, path.errors):
        residuals = []
        for i in range(9):
            rest = np.delete(np.arange(9), i)
            inner = kernel[np.ix_(rest, rest)] + ridge * scale * np.eye(8)
            residuals.append(y[i] - kernel[i, rest] @ np.linalg.solve(inner, y[rest]))
        assert abs(np.mean(np.square(residuals)) - error) < 1e-9


def test_further_rows_choose_the_ridge_that_is_best_on_them():
    rng = np.random.default_rng(2)
    x, w = rng.standard_normal((40, 12)), rng.standard_normal(12)
    y = x @ w + 2.0 * rng.standard_normal(40)
    train, check = x[:15], x[15:]
    ridges = (1e-4, 0.1, 10.0)
    path = ridge_path(train @ train.T, y[:15], ridges, (check @ train.T, y[15:]))
    scale = np.trace(train @ train.T) / 15
    errors = []
    for ridge in ridges:  # the same regression in its primal form
        inner = train.T @ train + ridge * scale * np.eye(12)
        primal = np.linalg.solve(inner, train.T @ y[:15])
        errors.append(np.mean((check @ primal - y[15:]) ** 2))
    np.testing.assert_allclose(path.errors, errors, rtol=1e-6)
    assert path.ridge == ridges[int(np.argmin(errors))] != ridges[0]
    with pytest.raises(SeparatrixError, match="one row per label and 15 columns"):
        ridge_path(train @ train.T, y[:15], ridges, (check @ train.T, y[14:]))


def test_a_local_kernel_learns_a_k_pattern_with_fewer_samples_than_a_full_one():
    """The parity of three neighbours: windows of three see it as one of few low-degree terms."""
    rng = np.random.default_rng(1)
    x = rng.choice([-1.0, 1.0], (900, 12))
    y = x[:, 5] * x[:, 6] * x[:, 7]
    # A bias makes odd degrees visible to the rectifier's kernel.
    accuracy = {}
    for name, spec in {
        "local": KernelSpec("local", 3, bias_scale=0.5),
        "full": KernelSpec("full", bias_scale=0.5),
    }.items():
        model = KernelRidge(spec).fit(x[:300], y[:300])
        accuracy[name] = (np.sign(model.predict(x[300:])) == y[300:]).mean()
    assert accuracy["local"] > 0.95
    assert accuracy["full"] < 0.75


def test_predictions_are_kernels_times_weights():
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((20, 5)), rng.standard_normal(20)
    model = KernelRidge(KernelSpec("full")).fit(x, y)
    expected = shallow_kernel(KernelSpec("full"), x[:4], x) @ model.path.weights
    np.testing.assert_allclose(model.predict(x[:4]), expected, rtol=1e-6)


def test_wrong_input_gets_one_sentence():
    with pytest.raises(SeparatrixError, match="square, with one row per label"):
        ridge_path(np.ones((2, 3)), np.ones(2))
    with pytest.raises(SeparatrixError, match="numbers > 0"):
        ridge_path(np.eye(2), np.ones(2), ridges=(0.0,))
    with pytest.raises(SeparatrixError, match="fit a KernelRidge before it predicts"):
        KernelRidge(KernelSpec("full")).predict(np.ones((1, 2)))
