"""The family of networks: one program per group of windows."""

import jax
import pytest

from separatrix.diagnosis.networks import (
    first_candidates,
    full_candidates,
    network_of,
    refined,
    windows_of,
)


@pytest.mark.parametrize("shape", [(120, 1), (13, 1), (131, 2), (1000, 3), (8, 8, 1), (28, 28, 1)])
def test_every_candidate_fits_and_groups_share_shapes(shape):
    for group in windows_of(shape):
        for connectivity in ("shared", "local"):
            shapes = set()
            for first in first_candidates(group, connectivity, shape):
                for candidate in refined(first)[:3]:
                    network = network_of(candidate, group, shape, 1, scramble=1, twist=2)
                    network.fits(shape)
                    params = jax.eval_shape(lambda n=network: n.init(jax.random.key(0), shape))
                    shapes.add(tuple(leaf.shape for leaf in jax.tree.leaves(params)))
            assert len(shapes) == 1


def test_windows():
    strided, tiles = windows_of((120, 1))
    assert strided.sides == (4, 8, 15)
    assert tiles.sides == tiles.strides == (4, 5, 6, 8, 10, 12, 15)
    assert windows_of((120, 1), field=7)[0].sides == (7,)
    assert len(windows_of((720, 1))[1].sides) <= 8
    assert windows_of((28, 28, 1))[1].depth == 2
    assert all("units" in each.words(1) for each in full_candidates())
