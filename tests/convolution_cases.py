"""Checks that every implementation of a convolution must pass, whoever uses it."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

GRIDS = [((1, 1), (3, 2)), ((2, 3), (3, 3)), ((1, 1), (1, 1))]  # stride, field


def by_loops(x, filters, stride):
    """The convolution, window by window."""
    tall, wide = filters.shape[1:3]
    counts = [(n - f) // s + 1 for n, f, s in zip(x.shape[1:3], (tall, wide), stride)]
    out = np.zeros((len(x), *counts, len(filters)))
    for row, i, j, unit in itertools.product(*map(range, out.shape)):
        window = x[row, i * stride[0] : i * stride[0] + tall, j * stride[1] : j * stride[1] + wide]
        out[row, i, j, unit] = (window * filters[unit]).sum()
    return out


def check_outputs(implementation, stride, field):
    """Outputs are the sums over windows."""
    rng = np.random.default_rng(0)
    x, filters = rng.standard_normal((2, 6, 7, 3)), rng.standard_normal((4, *field, 3))
    with jax.enable_x64(True):
        measured = implementation(jnp.asarray(x), jnp.asarray(filters), stride)
    np.testing.assert_allclose(measured, by_loops(x, filters, stride), rtol=0, atol=1e-12)


def check_gradients(implementation):
    """Gradients of a batch of trials are the numerical derivatives of each trial's loops."""
    rng = np.random.default_rng(1)
    x, filters = rng.standard_normal((3, 2, 5, 5, 2)), rng.standard_normal((3, 4, 3, 3, 2))

    def loss(x, filters):
        return jnp.square(implementation(x, filters, (1, 1))).sum()

    with jax.enable_x64(True):
        gradient = jax.jit(jax.vmap(jax.grad(loss, argnums=(0, 1))))(x, filters)
        for trial in range(3):
            for part, array in enumerate((x, filters)):
                place = tuple(rng.integers(n) for n in array.shape[1:])
                ends = []
                for step in (1e-5, -1e-5):
                    moved = [x[trial].copy(), filters[trial].copy()]
                    moved[part][place] += step
                    ends.append(np.square(by_loops(*moved, (1, 1))).sum())
                assert float(gradient[part][trial][place]) == pytest.approx(
                    (ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-6
                )


def check_batched_filters(implementation):
    """Filters may be batched where images are shared."""
    x = jnp.ones((2, 4, 4, 1))
    filters = jnp.arange(3.0).reshape(3, 1, 1, 1, 1) * jnp.ones((3, 1, 2, 2, 1))
    out = jax.vmap(lambda f: implementation(x, f, (1, 1)))(filters)
    np.testing.assert_allclose(out[:, 0, 0, 0, 0], [0.0, 4.0, 8.0])
