"""The streaming kernels: what the forward kernel saves for the backward kernel."""

import jax
import jax.numpy as jnp
import numpy as np

from kernel_cases import tiling_with
from separatrix.networks.kernels import streaming
from separatrix.networks.kernels.streaming import Share


def test_signs_are_bits_of_a_row_in_the_order_of_units_and_a_unit_at_zero_is_not_active():
    weights = jnp.array([[[1.0], [-1.0], [0.0], [2.0], [-3.0], [0.5]]])  # two blocks of three units
    tiling = tiling_with((Share(3, 1, 1), Share(3, 1, 1)), weights, jnp.ones((2, 1, 33)))
    given = (
        jax.tree_util.Partial(jax.nn.relu),
        weights,
        None,
        jnp.ones((2, 6)),
        jnp.ones((2, 1, 33)).at[1].set(-1.0),
    )
    active = streaming.forward(tiling, "signs", *given)[1]
    expected = np.broadcast_to(np.array([[0b001, 0b010], [0b101, 0b010]])[:, :, None], (2, 2, 33))
    np.testing.assert_array_equal(active, expected)
