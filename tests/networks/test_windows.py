"""Windows cut what loops cut."""

import jax.numpy as jnp
import numpy as np
import pytest

from numpy_reference import patches_of
from separatrix.networks import windows

INPUTS = {  # shape, field, stride
    "1-D": ((7, 2), 3, 1),
    "1-D strided": ((8, 1), 3, 2),
    "1-D one window": ((4, 1), 3, 2),  # one window that does not cover the input
    "2-D": ((4, 5, 2), (2, 3), 1),
    "2-D strided": ((5, 6, 1), 2, (2, 3)),
}


@pytest.mark.parametrize("which", INPUTS)
def test_windows_cut_what_loops_cut(which):
    shape, field, stride = INPUTS[which]
    x = np.random.default_rng(1).standard_normal((3, *shape)).astype(np.float32)
    where = windows(shape, field, stride)
    expected = patches_of(x, field, stride)
    assert (where.positions, where.span) == expected.shape[:2]
    np.testing.assert_array_equal(where.patches(jnp.asarray(x)), expected.astype(np.float32))
