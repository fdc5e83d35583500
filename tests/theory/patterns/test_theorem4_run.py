"""Theorem 4's recipe: grouped filters against the whole network, and Theorem 10's bound."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from separatrix.learners import hinge
from separatrix.networks import CNN, LCN, ClippedReLU, Initial
from separatrix.tasks import PatternTask
from separatrix.theory.patterns import theorem10
from separatrix.theory.patterns.theorem4_run import (
    Theorem4Run,
    follow,
    regret_bound,
    start_from,
    starts_of,
)


def plain_descent(run: Theorem4Run, task: PatternTask, steps: int):
    """Theorem 4's recipe on the whole network, all filters and all inputs, by automatic
    differentiation.
    """
    network = (LCN if run.local else CNN)(
        run.window,
        run.filters,
        activation=ClippedReLU(run.ceiling),
        initial=Initial("signs", readout=0.0),
    )
    start = jax.jit(lambda key: network.init(key, (run.bits, 1)))(jax.random.key(5))
    x, y, weight = jax.jit(lambda key: task.population(task.truth(key)))(jax.random.key(0))

    def loss(moving):
        params = start._replace(weights=moving[0], readout=moving[1])
        return weight @ hinge(network.apply(params, x), y)

    step = jax.jit(jax.value_and_grad(loss))
    moving, losses = (start.weights, start.readout), []
    for _ in range(steps):
        value, slope = step(moving)
        losses.append(float(value))
        moving = jax.tree.map(lambda part, g: part - run.rate * g, moving, slope)
    moved = float(jnp.linalg.norm(moving[0] - start.weights, axis=(1, 2)).max())
    longest = float(jnp.linalg.norm(moving[1], axis=1).max())
    weights = np.asarray(start.weights, np.float64)
    return weights if run.local else weights[0], np.array(losses), moved, longest


@pytest.mark.parametrize("local", [False, True])
def test_grouped_filters_follow_the_whole_network(local):
    run = Theorem4Run(bits=5, window=2, filters=48, steps=12, local=local)
    task = PatternTask(5, 2, start=1, rule="table", table=(1, 1, -1, 1))
    weights, losses, moved, longest = plain_descent(run, task, run.steps)
    out = follow(run, [start_from(run, weights, np.array(task.table, float), place=1)])[0]
    np.testing.assert_allclose(out["loss"], losses, rtol=1e-5)
    assert out["moved"][-1] == pytest.approx(moved, rel=1e-4)
    assert out["readout"][-1] == pytest.approx(longest, rel=1e-4)
    assert losses[-1] < losses[0]


def test_regret_bound_is_theorem_10_on_every_beginning():
    run = Theorem4Run(4, 2, 64, 30, records=5)
    start = starts_of(run, seeds=[0])[0]
    out = follow(run, [start])[0]
    expected = [
        theorem10(out["rival"][:t], start.norm, out["gradient"][:t], run.rate).total
        for t in run.times()
    ]
    bounds = regret_bound(out["rival"], out["gradient"], start.norm, run.rate, run.times())
    np.testing.assert_allclose(bounds, expected, rtol=1e-12)
