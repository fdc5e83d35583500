"""The weighted path norm: its definition, and networks that must obey it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from separatrix.theory.stability import (
    path_certificate,
    tail_weight,
)


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
