"""Activations: values and slopes."""

import jax
import jax.numpy as jnp
import numpy as np

import separatrix as sx


def test_lsa_is_the_difference_of_two_rectifiers_with_their_slopes():
    z = jnp.array([-2.0, -0.6, -0.3, 0.0, 0.2, 0.6, 3.0])
    for b in (0.0, 0.4):
        expected = jax.nn.relu(z - b) - jax.nn.relu(-z - b)
        np.testing.assert_allclose(sx.LSA(b)(z), expected, atol=1e-6)
        inside = np.abs(np.asarray(z)) < b
        slope = np.asarray(jax.grad(lambda z, b=b: sx.LSA(b)(z).sum())(z))
        if b:
            np.testing.assert_array_equal(slope, np.where(inside, 0.0, 1.0))
        else:  # linear away from 0; at the kink any slope in [0, 1] is a subgradient
            np.testing.assert_array_equal(np.delete(slope, 3), 1.0)
