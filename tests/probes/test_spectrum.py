"""Spectra: dense Hessians, planted eigenvalues, and quadratics whose answers are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from separatrix.errors import SeparatrixError
from separatrix.probes import largest_eigenvalue
from separatrix.probes.spectrum import (
    critical_sharpness,
    gauss_newton_eigenvalue,
    hessian_trace,
    spectral_density,
    tridiagonalize,
)


def network_loss(seed=0):
    """A small tanh network's squared error, and its parameters as a dictionary."""
    rng = np.random.default_rng(seed)
    x, y = jnp.asarray(rng.standard_normal((30, 4))), jnp.asarray(rng.standard_normal(30))
    params = {
        "w": jnp.asarray(rng.standard_normal((4, 5)), jnp.float32),
        "v": jnp.asarray(rng.standard_normal(5), jnp.float32),
    }

    def outputs(p):
        return jnp.tanh(x @ p["w"]) @ p["v"]

    def loss_of(z):
        return jnp.mean((z - y) ** 2)

    return (lambda p: loss_of(outputs(p))), outputs, loss_of, params


def dense_hessian(loss, params):
    flat, restore = jax.flatten_util.ravel_pytree(params)
    return np.asarray(jax.hessian(lambda p: loss(restore(p)))(flat), float)


def test_trace_within_its_error():
    loss, _, _, params = network_loss()
    exact = np.trace(dense_hessian(loss, params))
    estimate = hessian_trace(loss, params, jax.random.key(0), vectors=200)
    # Four standard errors of a fixed key.
    assert abs(float(estimate.value) - exact) < 4 * float(estimate.error)
    # Hutchinson's variance with signs: 2 Σ_{i≠j} H_ij².
    hessian = dense_hessian(loss, params)
    off = hessian - np.diag(np.diag(hessian))
    assert abs(float(estimate.error) / np.sqrt(2 * (off**2).sum() / 200) - 1) < 0.25


def test_one_vector_has_no_error_to_show():
    loss, _, _, params = network_loss()
    assert np.isinf(float(hessian_trace(loss, params, jax.random.key(0), vectors=1).error))


def test_density_has_the_moments_of_the_hessian():
    loss, _, _, params = network_loss()
    values = np.linalg.eigvalsh(dense_hessian(loss, params))
    found = spectral_density(loss, params, jax.random.key(1), vectors=400, degree=12)
    np.testing.assert_allclose(np.asarray(found.weights).sum(1), 1, atol=1e-4)
    assert abs(float(found.moment(1)) - values.mean()) < 0.1 * np.abs(values).mean()
    assert abs(float(found.moment(2)) / (values**2).mean() - 1) < 0.1
    assert abs(float(found.share_above(0.5)) - (values > 0.5).mean()) < 0.05
    # Extreme nodes are the extreme eigenvalues.
    assert abs(float(found.nodes.max()) - values.max()) < 1e-3 * values.max()
    grid = np.linspace(values.min() - 2, values.max() + 2, 2000)
    mass = np.trapezoid(np.asarray(found.density(grid, 0.2)), grid)
    assert abs(mass - 1) < 1e-2


def test_density_of_planted_eigenvalues_is_exact_for_every_vector():
    """Two distinct eigenvalues: two products suffice, whatever the vector."""
    curvature = jnp.asarray([2.0] * 6 + [-1.0] * 4)
    found = spectral_density(
        lambda p: 0.5 * jnp.sum(curvature * p**2), jnp.ones(10), jax.random.key(0), 3, degree=2
    )
    np.testing.assert_allclose(np.sort(np.asarray(found.nodes), 1), [[-1, 2]] * 3, atol=1e-5)
    np.testing.assert_allclose(float(found.share_above(0.0)), 0.6, atol=1e-5)


def test_tridiagonal_matrix_is_the_projected_map():
    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((7, 7))
    matrix = jnp.asarray(matrix + matrix.T, jnp.float32)
    start = jnp.ones(7) / np.sqrt(7)
    diagonal, beside = tridiagonalize(lambda v: matrix @ v, start, 7)
    small = np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
    expected = np.linalg.eigvalsh(np.asarray(matrix))
    np.testing.assert_allclose(np.linalg.eigvalsh(small), expected, atol=1e-4)


def test_gauss_newton_against_the_dense_product():
    loss, outputs, loss_of, params = network_loss()
    flat, restore = jax.flatten_util.ravel_pytree(params)
    jacobian = np.asarray(jax.jacobian(lambda p: outputs(restore(p)))(flat), float)
    expected = np.linalg.eigvalsh(jacobian.T @ (2 / 30 * jacobian)).max()
    found = gauss_newton_eigenvalue(outputs, loss_of, params, tolerance=1e-4)
    assert abs(float(found.values) - expected) < 1e-3 * expected
    assert jax.tree.structure(found.vectors) == jax.tree.structure(params)
    # It is not the Hessian's: the network itself is curved.
    assert abs(float(largest_eigenvalue(loss, params).values) - expected) > 0.01 * expected


def test_critical_step_of_a_quadratic():
    """f(p − ηg) = f(p) exactly at η = 2 gᵀg / gᵀHg."""
    curvature, point = jnp.array([0.3, 2.0, 7.0]), jnp.array([1.0, -2.0, 0.5])
    g = curvature * point
    expected = float(g @ (curvature * g) / (g @ g))
    for start in (1e-6, 1.0, 1e5):
        measured = critical_sharpness(
            lambda p: 0.5 * jnp.sum(curvature * p**2), point, start, doublings=60, halvings=18
        )
        assert abs(float(measured) / expected - 1) < 1e-3


def test_critical_step_where_there_is_none():
    assert float(critical_sharpness(lambda p: jnp.sum(p), jnp.ones(2), doublings=8)) == 0.0
    assert np.isnan(float(critical_sharpness(lambda p: jnp.sum(p) * jnp.nan, jnp.ones(2))))


def test_all_can_be_compiled_and_batched():
    def loss(p):
        return jnp.sum(jnp.array([1.0, 3.0]) * p**2)

    points = jnp.ones((4, 2)) * jnp.arange(1, 5)[:, None]
    sharp = jax.jit(jax.vmap(lambda p: critical_sharpness(loss, p)))(points)
    np.testing.assert_allclose(sharp, np.full(4, float(sharp[0])), rtol=1e-2)
    traces = jax.jit(jax.vmap(lambda p: hessian_trace(loss, p, jax.random.key(0), 2).value))(points)
    np.testing.assert_allclose(traces, np.full(4, 8.0), rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: hessian_trace(lambda p: 0.0, {}, jax.random.key(0)), "has no spectrum"),
        (
            lambda: hessian_trace(lambda p: p.sum(), jnp.ones(2), jax.random.key(0), 0),
            "the `vectors` of hessian_trace must be an integer >= 1, got 0",
        ),
        (
            lambda: critical_sharpness(lambda p: p.sum(), jnp.ones(2, int)),
            "a Hessian needs parameters of a floating type, got int32",
        ),
    ],
)
def test_wrong_input_gets_one_sentence(make, sentence):
    with pytest.raises(SeparatrixError) as caught:
        make()
    assert sentence in str(caught.value)


def test_the_lanczos_matrix_is_that_of_matfree():
    decomp = pytest.importorskip("matfree.decomp")
    loss, _, _, params = network_loss(3)
    dense = jnp.asarray(dense_hessian(loss, params), jnp.float32)
    start = jnp.asarray(np.random.default_rng(5).standard_normal(len(dense)), jnp.float32)
    found = decomp.tridiag_sym(6, reortho="full", materialize=True)(lambda v: dense @ v, start)
    diagonal, beside = tridiagonalize(lambda v: dense @ v, start / jnp.linalg.norm(start), 6)
    matrix = np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
    # Signs of the basis are free; eigenvalues are not. Six products in single precision.
    scale = np.abs(np.linalg.eigvalsh(matrix)).max()
    assert np.allclose(
        np.linalg.eigvalsh(matrix), np.linalg.eigvalsh(found.J_small), atol=1e-4 * scale
    )


def test_the_trace_is_that_of_matfree():
    stochtrace = pytest.importorskip("matfree.stochtrace")
    loss, _, _, params = network_loss(4)
    dense = jnp.asarray(dense_hessian(loss, params), jnp.float32)
    if not hasattr(stochtrace, "estimator_monte_carlo"):
        pytest.skip("matfree before 0.6, whose estimators have other names")
    sampler = stochtrace.sampler_signs(dense[0], num=4000)
    estimate = stochtrace.estimator_monte_carlo(stochtrace.monte_carlo_trace(), sampler)
    theirs = float(estimate(lambda v: dense @ v, jax.random.key(1)))
    ours = hessian_trace(loss, params, jax.random.key(2), vectors=4000)
    # Two independent estimates with equal errors: 5 standard errors of their difference.
    assert abs(float(ours.value) - theirs) < 5 * np.sqrt(2) * float(ours.error)


def test_the_probes_measure_a_trial():
    import separatrix as sx

    measure = sx.Measure(("sharpness", "hessian_trace", "critical_sharpness"), 8, 2)
    learner = sx.Learner(0.1, 4, "squared")
    trial = sx.Trial(sx.SphereTask(6, 3), sx.FCN(4, offset=True), learner, 16, 0, measure)
    (row,) = sx.Lab(workers=0).run(sx.Sweep((trial,)), "probes").arrow.to_pylist()
    # The output's offset alone has curvature 2, and the Hessian's trace is at least its part.
    assert row["sharpness"] >= 2.0 - 1e-3
    assert row["hessian_trace"] + 5 * row["hessian_trace.error"] > 2.0
    assert 0 < row["critical_sharpness"] <= 1.01 * row["sharpness"] + 1.0
