"""The spellings of a convolution: equal to loops, also under vmap, and so are their gradients."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.networks.convolutions import FASTEST, SPELLINGS, chosen


def by_loops(x, filters, stride):
    tall, wide = filters.shape[1:3]
    counts = [(n - f) // s + 1 for n, f, s in zip(x.shape[1:3], (tall, wide), stride)]
    out = np.zeros((len(x), *counts, len(filters)))
    for row, i, j, unit in itertools.product(*map(range, out.shape)):
        window = x[row, i * stride[0] : i * stride[0] + tall, j * stride[1] : j * stride[1] + wide]
        out[row, i, j, unit] = (window * filters[unit]).sum()
    return out


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("stride, field", [((1, 1), (3, 2)), ((2, 3), (3, 3)), ((1, 1), (1, 1))])
def test_every_spelling_is_the_sum_over_windows(name, stride, field):
    rng = np.random.default_rng(0)
    x, filters = rng.standard_normal((2, 6, 7, 3)), rng.standard_normal((4, *field, 3))
    with jax.enable_x64(True):
        found = SPELLINGS[name](jnp.asarray(x), jnp.asarray(filters), stride)
    np.testing.assert_allclose(found, by_loops(x, filters, stride), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", SPELLINGS)
def test_gradients_of_a_batch_of_trials_are_those_of_each(name):
    rng = np.random.default_rng(1)
    x, filters = rng.standard_normal((3, 2, 5, 5, 2)), rng.standard_normal((3, 4, 3, 3, 2))

    def loss(spelling, x, filters):
        return jnp.square(spelling(x, filters, (1, 1))).sum()

    with jax.enable_x64(True):
        slope = jax.jit(
            jax.vmap(jax.grad(lambda a, b: loss(SPELLINGS[name], a, b), argnums=(0, 1)))
        )(x, filters)
        for trial in range(3):  # against numerical derivatives of the loops
            for part, given in enumerate((x, filters)):
                place = tuple(rng.integers(n) for n in given.shape[1:])
                ends = []
                for step in (1e-5, -1e-5):
                    moved = [x[trial].copy(), filters[trial].copy()]
                    moved[part][place] += step
                    ends.append(np.square(by_loops(*moved, (1, 1))).sum())
                assert float(slope[part][trial][place]) == pytest.approx(
                    (ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-6
                )


def test_filters_alone_may_be_batched():
    x, filters = (
        jnp.ones((2, 4, 4, 1)),
        jnp.arange(3.0).reshape(3, 1, 1, 1, 1) * jnp.ones((3, 1, 2, 2, 1)),
    )
    for name, spelling in SPELLINGS.items():
        out = jax.vmap(lambda f, spelling=spelling: spelling(x, f, (1, 1)))(filters)
        np.testing.assert_allclose(out[:, 0, 0, 0, 0], [0.0, 4.0, 8.0], err_msg=name)


def test_the_choice_follows_the_kind_of_device(monkeypatch):
    for kind, name in FASTEST.items():
        monkeypatch.setattr(jax, "default_backend", lambda kind=kind: kind)
        assert chosen() is SPELLINGS[name]
    monkeypatch.setattr(jax, "default_backend", lambda: "abacus")
    assert chosen() is SPELLINGS["convolution"]
    assert sx.CNN(3, 8, depth=2).costs((32, 32, 3)).hidden == 8 * (30**2 + 28**2)
    monkeypatch.setitem(
        FASTEST, "abacus", "columns"
    )  # which holds the windows of both layers as well
    assert sx.CNN(3, 8, depth=2).costs((32, 32, 3)).hidden == (8 + 27) * 30**2 + (8 + 72) * 28**2
