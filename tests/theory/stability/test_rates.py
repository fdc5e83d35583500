"""Rates: limits that the papers state, and the flat interpolator."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from separatrix.errors import ParameterError
from separatrix.theory.stability import (
    ball_mixture,
    flat_interpolation,
    full_on_ball,
    full_on_sphere,
    radial,
    rates_for,
    shared_on_sphere,
)


def test_rates_have_the_limits_that_the_papers_state():
    d = np.array([1, 2, 5, 50, 1000])
    assert np.allclose(full_on_ball(d).upper, [1 / 6, 1 / 8, 1 / 14, 1 / 104, 1 / 2004])
    assert np.allclose(full_on_ball(d).lower, 2 / (d + 1))
    # The ball is the radial family's α = 1 (its lower bounds agree), the sphere its limit α = 0,
    # where nothing is promised.
    assert np.allclose(radial(d, 1.0).lower, full_on_ball(d).lower)
    assert np.all(radial(d, 0.0).upper == 0)
    assert np.all(radial(d, 0.0).lower == 0)
    assert full_on_sphere().upper == 0
    # α(d+3)/(2(d²+4αd+3α)) by hand at d = 2, α = 3: 15/(2·(4+24+9)).
    assert radial(2, 3.0).upper == pytest.approx(15 / 74)
    assert radial(3, 2.0).lower == pytest.approx(4 / 6)
    assert ball_mixture(4).upper == full_on_ball(4).upper


def test_an_upper_bound_never_promises_more_than_the_lower_bound_allows():
    d = np.arange(1, 60)[:, None]
    for alpha in (0.1, 0.5, 1.0, 3.0, 30.0):
        assert np.all(radial(d, alpha).upper <= radial(d, alpha).lower + 1e-12)
    assert np.all(full_on_ball(d).upper <= full_on_ball(d).lower)


def test_the_shared_rate_tends_to_one_sixth_linearly_in_m_over_d_and_is_marked():
    for m in (1, 5, 9):
        for d in (1000, 4000):
            assert shared_on_sphere(m, d).upper == pytest.approx(
                1 / 6 - m / (9 * d), abs=2 * (m / d) ** 2
            )
    rate = shared_on_sphere([10, 10], [10, 400])
    assert rate.reconstruction
    assert "[reconstruction]" in rate.label
    assert rate.upper[0] == 0  # a receptive field of everything: the sphere's own answer
    assert rate.conditions[1].met.tolist() == [False, True]
    assert not full_on_ball(3).reconstruction
    assert rates_for(10, 100)[0].value([1.0, 1e6]).tolist() == pytest.approx(
        [1.0, 1e6 ** -(90 / 580)]
    )


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: shared_on_sphere(11, 10),
            r"the `patch` of shared_on_sphere must be an integer in \[1, 10\], got 11",
        ),
        (lambda: full_on_ball(0), "the `dimension` of full_on_ball must be an integer >= 1, got 0"),
        (lambda: radial(3, -1.0), "the `alpha` of radial must be a number >= 0, got -1.0"),
        (
            lambda: flat_interpolation(0, 1.0),
            "the `samples` of flat_interpolation must be a number >= 1, got 0",
        ),
        (
            lambda: ball_mixture(2).value(10, "lower"),
            "the `side` of Rate must be one that the papers have a bound for, got 'lower'",
        ),
    ],
)
def test_bad_values_are_one_sentence(call, words):
    with pytest.raises(ParameterError, match=words):
        call()


def test_a_flat_interpolator_exists_on_the_sphere():
    # The construction behind `flat_interpolation`: a unit an example that is active on its own
    # example only, with |v| = 1. The Gram matrix of gradients is then 11ᵀ + diag(y² + 2), whose
    # largest eigenvalue over n is at most 1 + (D² + 2)/n, and nearly attained.
    rng = np.random.default_rng(3)
    n, d = 8, 30
    with jax.enable_x64(True):
        x = rng.standard_normal((n, d))
        x = jnp.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
        y = jnp.asarray(rng.standard_normal(n))
        level = jnp.sort(x @ x.T, axis=1)[:, -2].max() + 0.05
        size = jnp.abs(y) / (1 - level)
        start = {
            "w": size[:, None] * x,
            "b": -size * level,
            "v": jnp.sign(y),
            "beta": jnp.zeros(()),
        }

        def loss(p):
            out = jax.nn.relu(x @ p["w"].T + p["b"]) @ p["v"] + p["beta"]
            return 0.5 * jnp.mean((out - y) ** 2)

        assert float(loss(start)) < 1e-20
        flat, unflatten = jax.flatten_util.ravel_pytree(start)
        sharp = float(
            jnp.linalg.eigvalsh(jax.jit(jax.hessian(lambda p: loss(unflatten(p))))(flat))[-1]
        )
        reach = float(jnp.abs(y).max())
    assert 1 + 2 / n < sharp <= flat_interpolation(n, reach) + 1e-9
