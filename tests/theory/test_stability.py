"""Rates of flat networks against their limits, and the weighted path norm against exact Hessians."""

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
    path_certificate,
    radial,
    rates_for,
    shared_on_sphere,
    tail_weight,
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


def by_hand(patches, u, t):
    """g̃, spelled out."""
    beyond = patches[patches @ u > t]
    if not len(beyond):
        return 0.0
    share = len(beyond) / len(patches)
    return share**2 * (beyond @ u - t).mean() * np.sqrt(1 + np.linalg.norm(beyond.mean(0)) ** 2)


def test_the_weight_of_a_unit_is_the_definition_and_blind_to_padding():
    rng = np.random.default_rng(0)
    patches = rng.standard_normal((40, 3))
    directions = rng.standard_normal((7, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    levels = rng.standard_normal(7)
    expected = [
        min(by_hand(patches, u, t), by_hand(patches, -u, -t)) for u, t in zip(directions, levels)
    ]
    padded = np.concatenate([patches, 50 * np.ones((10, 3))])
    weight = np.concatenate([np.full(40, 1 / 40), np.zeros(10)])
    found = tail_weight(
        *(jnp.asarray(each, jnp.float32) for each in (padded, weight, directions, levels))
    )
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("views", [1, 5])
def test_every_network_obeys_the_certificate_whatever_its_parameters(views):
    # The bound is a theorem for all parameters: random networks of all sizes must satisfy it with
    # exact float64 Hessians. `tight` has half the last term, which is what the proof really gives,
    # so that a wrong factor would show sooner.
    n, m, k = 30, 3, 4

    @jax.jit
    def check(p, x, y):
        def parts(p):
            return p[: k * m].reshape(k, m), p[k * m : k * m + k], p[-k - 1 : -1], p[-1]

        def loss(p):
            w, b, v, beta = parts(p)
            out = jax.nn.relu(jnp.einsum("nlm,km->nlk", x, w) + b).mean(1) @ v + beta
            return 0.5 * jnp.mean((out - y) ** 2)

        w, b, v, _ = parts(p)
        sharp, patches = jnp.linalg.eigvalsh(jax.hessian(loss)(p))[-1], x.reshape(-1, m)
        found = path_certificate(
            w, b, v, patches, jnp.full(len(patches), 1 / len(patches)), sharp, loss(p)
        )
        tight = sharp / 2 - 0.5 + (found.radius + 1) * jnp.sqrt(2 * loss(p)) / 2 - found.left
        return found, found.holds, tight, (jnp.abs(v) * jnp.linalg.norm(w, axis=1)).sum()

    rng = np.random.default_rng(views)
    with jax.enable_x64(True):
        for scale in (0.05, 0.3, 1.0, 3.0) * 6:
            p = scale * rng.standard_normal(k * (m + 2) + 1)
            found, holds, tight, path = check(
                p, rng.standard_normal((n, views, m)), rng.standard_normal(n)
            )
            assert bool(holds)
            assert float(found.right - found.left) > 0
            assert float(tight) > 0
            assert float(found.path) == pytest.approx(float(path))


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
        flat, back = jax.flatten_util.ravel_pytree(start)
        sharp = float(jnp.linalg.eigvalsh(jax.hessian(lambda p: loss(back(p)))(flat))[-1])
        reach = float(jnp.abs(y).max())
    assert 1 + 2 / n < sharp <= flat_interpolation(n, reach) + 1e-9
