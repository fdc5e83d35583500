"""Sums over the threads of a warp."""

import jax.numpy as jnp
import numpy as np

from separatrix.networks.kernels.warps import sums


def test_sums_of_a_warp_are_those_of_their_vectors_however_many_there_are():
    rng = np.random.default_rng(6)
    for many in range(1, 33):
        vectors = rng.integers(-9, 9, (many, 32)).astype(
            np.float32
        )  # whole numbers: sums are exact
        total, place = (
            np.asarray(each) for each in sums(True, jnp.arange(32), list(map(jnp.asarray, vectors)))
        )
        assert set(place) == set(range(many))
        np.testing.assert_array_equal(total, vectors.sum(1)[place])
