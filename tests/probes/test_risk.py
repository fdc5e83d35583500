"""Risks: ties, weights, classes."""

import jax.numpy as jnp
import numpy as np
import pytest

from separatrix.probes import class_risk, sign_risk


def test_ties_count_half_and_weights_count_rows():
    scores, y = jnp.array([0.0, 0.0, 1.0, -2.0]), jnp.array([1.0, -1.0, -1.0, -1.0])
    assert float(sign_risk(scores, y, jnp.full(4, 0.25))) == 0.5
    assert float(sign_risk(scores, y, jnp.array([0.5, 0.0, 0.25, 0.25]))) == 0.5
    assert float(sign_risk(jnp.zeros(3), jnp.ones(3), jnp.full(3, 1 / 3))) == pytest.approx(0.5)
    rng = np.random.default_rng(0)
    s, labels, weight = (
        rng.integers(-1, 2, 50),
        rng.choice([-1.0, 1.0], 50),
        rng.dirichlet(np.ones(50)),
    )
    expected = weight @ ((s * labels < 0) + 0.5 * (s == 0))
    assert float(
        sign_risk(jnp.asarray(s, jnp.float32), jnp.asarray(labels), jnp.asarray(weight))
    ) == pytest.approx(expected, rel=1e-5)


def test_the_risk_of_classes_shares_ties_fairly():
    rng = np.random.default_rng(1)
    scores, y, weight = (
        rng.integers(0, 3, (60, 4)),
        rng.integers(0, 4, 60),
        rng.dirichlet(np.ones(60)),
    )
    expected = 0.0
    for row, label, w in zip(scores, y, weight):
        best = np.flatnonzero(row == row.max())
        expected += w * (1 - (label in best) / len(best))
    measured = class_risk(
        jnp.asarray(scores, jnp.float32),
        jnp.asarray(y, jnp.float32),
        jnp.asarray(weight, jnp.float32),
    )
    assert float(measured) == pytest.approx(expected, rel=1e-5)
    assert float(
        class_risk(jnp.zeros((3, 4)), jnp.arange(3.0), jnp.full(3, 1 / 3))
    ) == pytest.approx(0.75)
