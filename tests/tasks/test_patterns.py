"""The pattern task: labels, hidden order, populations and baselines against an enumeration in
NumPy.
"""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.streams import named

TABLE = (1, -1, -1, 1, 1, 1, -1, 1)
TASKS = {
    "parity": sx.PatternTask(7, 3, start=2),
    "last window": sx.PatternTask(7, 3, start=4),
    "all bits": sx.PatternTask(4, 4, probability=0.9),
    "random": sx.PatternTask(6, 3, start=1, rule="random", rule_seed=5, probability=0.3),
    "table": sx.PatternTask(6, 3, start=3, rule="table", table=TABLE, probability=0.7),
    "spread": sx.PatternTask(8, 3, spread=True),
    "hidden": sx.PatternTask(7, 3, start=2, hidden=True),
    "hidden spread table": sx.PatternTask(
        7, 3, spread=True, hidden=True, rule="table", table=TABLE, probability=0.6
    ),
}


def relevant(task):
    if task.spread:
        return [round(i * (task.bits - 1) / (task.window - 1)) for i in range(task.window)]
    return list(range(task.start, task.start + task.window))


def label(task, x, table):
    """The label of one input whose bits stand in their original order."""
    seen = [x[i] for i in relevant(task)]
    if task.rule == "parity":
        return float(np.prod(seen))
    return float(table[sum(2**i for i, bit in enumerate(seen) if bit > 0)])


@functools.cache
def drawn(task):
    """Truth, 200 rows and the population of a task."""

    def everything(key):
        truth = task.truth(named(key, "truth"))
        return truth, task.draw(named(key, "rows"), 200, truth), task.population(truth)

    return jax.device_get(jax.jit(everything)(jax.random.key(1)))


def truth_of(task, seed=0):
    truth = jax.jit(task.truth)(jax.random.key(seed))
    return truth, np.asarray(truth.order), np.asarray(truth.table)


@pytest.mark.parametrize("name", TASKS)
def test_drawn_labels_are_the_rule_on_the_relevant_bits(name):
    task = TASKS[name]
    (order, table), sample, _ = drawn(task)
    assert sample.x.shape == (200, task.bits, 1)
    assert set(np.unique(sample.x)) == {-1.0, 1.0}
    original = np.empty((200, task.bits))
    original[:, order] = sample.x[:, :, 0]  # column i shows bit order[i]
    np.testing.assert_array_equal(sample.y, [label(task, row, table) for row in original])


@pytest.mark.parametrize("name", TASKS)
def test_populations_are_every_input_once_with_its_probability(name):
    task = TASKS[name]
    (order, table), _, whole = drawn(task)
    x = whole.x[:, :, 0]
    assert {tuple(row) for row in x} == set(itertools.product([-1.0, 1.0], repeat=task.bits))
    assert whole.weight.sum() == pytest.approx(1.0, abs=1e-5)
    chance = np.where(x > 0, task.probability, 1 - task.probability).prod(1)
    np.testing.assert_allclose(whole.weight, chance, rtol=1e-5)
    original = np.empty_like(x)
    original[:, order] = x
    labels = np.array([label(task, row, table) for row in original])
    np.testing.assert_array_equal(whole.y, labels)
    # The best constant rule errs on the rarer label.
    rare = min(chance[labels > 0].sum(), chance[labels < 0].sum())
    assert task.baselines() == {"constant": pytest.approx(rare, abs=1e-6), "bayes": 0.0}


def test_bits_are_independent_with_the_given_probability():
    task = sx.PatternTask(6, 2, probability=0.3)
    truth = truth_of(task)[0]
    x = np.asarray(jax.jit(lambda key: task.draw(key, 20_000, truth).x)(jax.random.key(2)))[
        :, :, 0
    ].astype(np.float64)
    # 4.5 standard errors of means over 20,000 rows, fixed key.
    assert np.abs((x > 0).mean(0) - 0.3).max() < 4.5 * np.sqrt(0.3 * 0.7 / 20_000)
    assert np.abs(np.corrcoef(x.T) - np.eye(6)).max() < 4.5 / np.sqrt(20_000)


def test_the_hidden_order_is_a_permutation_drawn_anew_for_each_key_and_uniform():
    task = sx.PatternTask(3, 1, hidden=True)
    keys = jax.vmap(lambda i: named(jax.random.wrap_key_data(jnp.stack([i, i])), "truth"))(
        jnp.arange(6000, dtype=jnp.uint32)
    )
    orders = np.asarray(jax.jit(jax.vmap(lambda key: task.truth(key).order))(keys))
    assert (np.sort(orders, 1) == np.arange(3)).all()
    shares = np.unique(orders, axis=0, return_counts=True)[1] / 6000
    assert len(shares) == 6
    assert np.abs(shares - 1 / 6).max() < 4.5 * np.sqrt(
        1 / 6 * 5 / 6 / 6000
    )  # 4.5 standard errors, fixed keys


def test_a_random_rule_depends_on_its_own_seed_and_not_on_the_trial():
    task = sx.PatternTask(8, 6, rule="random", rule_seed=3)
    table = np.asarray(task.rule_table())
    assert table.shape == (64,)
    assert set(np.unique(table)) == {-1.0, 1.0}
    np.testing.assert_array_equal(truth_of(task, seed=0)[2], table)
    np.testing.assert_array_equal(truth_of(task, seed=1)[2], table)
    other = np.asarray(task.replace(rule_seed=4).rule_table())
    assert 10 < (other != table).sum() < 54  # 64 fair coins: 22 = 5.5 standard deviations
    # The seed may be a traced number, as it is in a compiled program.
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda t: t.rule_table())(task)), table)


def test_spread_bits_reach_from_end_to_end_without_repetition():
    for bits in range(1, 30):
        for window in range(1, bits + 1):
            places = np.asarray(np.round(np.linspace(0, bits - 1, window)))
            assert len(set(places)) == window
    assert sx.PatternTask(30, 4, spread=True).relevant().tolist() == [0, 10, 19, 29]
    assert sx.PatternTask(5, 5, spread=True).relevant().tolist() == [0, 1, 2, 3, 4]


def test_populations_too_large_to_enumerate_are_refused_in_one_sentence():
    with pytest.raises(sx.SeparatrixError, match=r"a population of 2\^21 inputs is too large"):
        sx.PatternTask(21, 3).population(None)


def test_a_users_own_input_distribution_is_used():
    class Ones(sx.PatternTask):
        def inputs(self, key, rows):
            return jnp.ones((rows, self.bits))

    task = Ones(5, 3)
    assert (task.draw(jax.random.key(0), 4, truth_of(task)[0]).y == 1).all()
