"""Kernels for a batch of networks: each network is as it is alone, and sizes are checked."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kernel_cases import SHARES, close, normals, tiling_with
from separatrix.networks.kernels import batching, fused
from separatrix.networks.kernels.streaming import Share


@pytest.mark.parametrize("axes", [(0, 0, 0), (0, 0, None), (None, 0, 0), (0, None, None)])
def test_a_batch_of_networks_is_each_of_them_whatever_they_share(axes):
    rng = np.random.default_rng(4)
    sizes = (2, 6, 4), (2, 6), (2, 4, 40)
    operands = normals(rng, *((3, *size) if axis == 0 else size for size, axis in zip(sizes, axes)))

    def one(weights, coefficients, patches):
        return jax.value_and_grad(
            lambda w: fused.outputs(
                w, None, coefficients, patches, tiling=tiling_with(SHARES[0], w, patches)
            ).sum()
        )(weights)

    def unfused(weights, coefficients, patches):
        return jax.value_and_grad(
            lambda w: fused.unfused(jax.nn.relu, w, None, coefficients, patches).sum()
        )(weights)

    close(jax.jit(jax.vmap(one, axes))(*operands), jax.jit(jax.vmap(unfused, axes))(*operands))
    # Batches of batches, with weights of the outer one: those are in no other order.
    twice = [jnp.stack([each, 2 * each]) for each in operands]
    for outer in [(0, 0, 0), (None, 0, None)]:
        some = [more if axis == 0 else each for more, each, axis in zip(twice, operands, outer)]
        close(
            jax.jit(jax.vmap(jax.vmap(one, axes), outer))(*some),
            jax.jit(jax.vmap(jax.vmap(unfused, axes), outer))(*some),
        )


def test_networks_too_large_for_one_kernel_run_in_turn(monkeypatch):
    rng = np.random.default_rng(5)
    weights, coefficients, patches = normals(rng, (3, 2, 6, 4), (2, 6), (3, 2, 4, 44))

    def one(w, x):
        return fused.outputs(w, None, coefficients, x, tiling=tiling_with(SHARES[0], w, x))

    # No other test has these shapes: a batch of them is traced here for the first time.
    monkeypatch.setattr(batching, "TOGETHER", 500)
    many = jax.jit(jax.vmap(one))
    assert "scan" in str(jax.make_jaxpr(many)(weights, patches))
    alone = [one(w, x) for w, x in zip(weights, patches)]
    np.testing.assert_array_equal(many(weights, patches), jnp.stack(alone))


def test_arrays_with_more_places_than_kernels_know_are_refused(monkeypatch):
    monkeypatch.setattr(batching, "MOST", 900)
    weights, patches = jnp.ones((2, 12, 4)), jnp.ones((2, 4, 40))
    tiling = tiling_with((Share(1, 1, 1), Share(1, 1, 1)), weights, patches)
    with pytest.raises(
        ValueError, match="at most 900 numbers, got 960"
    ):  # of the results: 12 units, one a block, two positions, 40 rows
        fused.outputs(weights, None, jnp.ones((2, 12)), patches, tiling=tiling)
