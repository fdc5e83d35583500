"""Sharpness: warm starts, the edge of stability, trials that follow it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import separatrix as sx
from separatrix.probes import largest_eigenvalue, warm_start


def test_a_warm_start_sees_another_eigenvalue_overtake():
    # The old eigenvector is exactly the first axis; now the second is sharper by 3 %, in 400
    # dimensions.
    curvature = jnp.concatenate([jnp.array([1.0, 1.03]), jnp.linspace(-0.9, 0.8, 398)])
    params = jnp.full(400, 0.1)
    loss = lambda p: 0.5 * jnp.sum(curvature * p**2)  # noqa: E731
    start = warm_start(jnp.eye(400)[0], jax.grad(loss)(params))
    found = largest_eigenvalue(loss, params, start, tolerance=1e-3)
    assert float(found.values) == pytest.approx(1.03, rel=1e-3)


@pytest.mark.parametrize("convention", [1.0, 2.0])
def test_on_a_quadratic_gradient_descent_diverges_exactly_above_two_over_the_step(convention):
    rng = np.random.default_rng(5)
    factor = jnp.asarray(rng.standard_normal((12, 8)), jnp.float32)
    target = jnp.asarray(rng.standard_normal(12), jnp.float32)
    loss = lambda p: convention * 0.5 * jnp.sum((factor @ p - target) ** 2)  # noqa: E731
    sharp = float(largest_eigenvalue(loss, jnp.zeros(8), tolerance=1e-6).values)
    assert sharp == pytest.approx(convention * float(np.linalg.norm(factor, 2) ** 2), rel=1e-5)

    def distance_after(rate, steps=6000):
        best = jnp.linalg.lstsq(factor, target)[0]
        step = jax.jit(
            lambda p: jax.lax.fori_loop(0, steps, lambda _, q: q - rate * jax.grad(loss)(q), p)
        )
        return float(jnp.linalg.norm(step(best + 1e-3) - best))

    assert distance_after(2 / (1.002 * sharp)) < 1e-3  # (1 - 2/1.002)^6000 ≈ 6e-6
    assert distance_after(2 / (0.998 * sharp)) > 1e-1  # 1.004^6000 ≈ 3e10


@pytest.fixture(scope="module")
def trial():
    """A trial with a dense Hessian beside its sharpness; all tests below run it in one program
    (rates and stops are values).
    """

    @sx.probe("dense_sharpness")
    def measure(moment):
        flat, restore = ravel_pytree(moment.moving)
        return jnp.linalg.eigvalsh(jax.hessian(lambda p: moment.loss_of(restore(p)))(flat))[-1]

    probes = sx.Measure(
        ("sharpness", "sharpness_top", "sharpness_parts", "dense_sharpness"), test=16, times=20
    )
    learner = sx.Learner(rate=0.4, steps=400, loss="squared", stop=sx.Stop(after_edge=1000))
    network = sx.CNN(4, 6, stride=4, readout="pooled", offset=True)
    yield sx.Trial(sx.PatchSphereTask(views=3, patch=4), network, learner, 12, 1, probes)
    del sx.PROBES["dense_sharpness"]


def test_a_trial_follows_the_dense_sharpness_and_knows_when_it_reached_the_edge(programs, trial):
    (row,) = programs.run([trial], trial)
    exact = np.array(row["trace.dense_sharpness"])
    assert np.allclose(row["trace.sharpness"], exact, rtol=2e-3)
    assert np.all(np.array(row["trace.sharpness.residual"]) <= 1.1e-3 * exact)
    assert np.allclose(row["trace.sharpness_top.1"], exact, rtol=2e-3)
    for part in ("weights", "bias", "readout", "offset"):
        assert np.all(
            np.array(row[f"trace.sharpness_parts.{part}"]) <= exact * 1.001
        )  # interlacing: a block is never sharper
    assert row["trace.sharpness_parts.offset"][0] == pytest.approx(
        2.0, rel=1e-4
    )  # (f - y)² has second derivative 2 in its offset
    at = np.array(row["trace.sharpness"]) >= 0.99 * 2 / 0.4
    assert at.any()
    first = row["trace.step"][int(np.argmax(at))]
    assert row["edge_step"] == first
    # The same trial, told to stop 60 steps after the edge, stops at the first measurement from
    # there on, on the same path.
    early = trial.replace(learner=trial.learner.replace(stop=sx.Stop(after_edge=60)))
    (short,) = programs.run([early], trial)
    assert short["steps"] == next(step for step in row["trace.step"] if step >= first + 60)
    assert short["edge_step"] == first
    assert short["trace.loss"] == row["trace.loss"][: len(short["trace.loss"])]
    assert short["status"] == "exhausted"
    # A rate far above the edge is a status, not a crash.
    wild = trial.replace(learner=trial.learner.replace(rate=1e4))
    (row,) = programs.run([wild], trial)
    assert row["status"] in ("diverged", "non-finite")
    assert row["steps"] < 400


def test_an_edge_needs_plain_gradient_descent_and_a_sharpness():
    with pytest.raises(
        sx.ParameterError,
        match="`after_edge` of Stop must be None unless the learner is sgd with a constant rate",
    ):
        sx.Learner(sx.Ramp(0.1, 0.2), 10, stop=sx.Stop(after_edge=5))
    learner = sx.Learner(0.1, 10, "squared", stop=sx.Stop(after_edge=5))
    with pytest.raises(
        sx.ParameterError,
        match="`probes` of Measure must be with 'sharpness' when the learner stops `after_edge`",
    ):
        sx.Trial(sx.SphereTask(8, 4), sx.FCN(3), learner, 8)
