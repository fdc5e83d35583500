"""How filters lie to the subspace of the patches, against closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest

from separatrix.errors import SeparatrixError
from separatrix.learners import Rows
from separatrix.networks import CNN, Params
from separatrix.probes.activation import example_moment
from separatrix.probes.coupling import coupling, patch_moment


def moment(x, weights, readout):
    """A shared network over disjoint windows of three coordinates."""
    network = CNN(3, len(weights), stride=3, readout="pooled")
    layout = network.layout((x.shape[1], 1))
    rows = Rows(layout.cut(x[:, :, None]), jnp.zeros(len(x)), jnp.full(len(x), 1 / len(x)))
    params = Params(jnp.asarray(weights)[None], jnp.zeros((1, len(weights))), jnp.asarray(readout))
    return example_moment()._replace(params=params, network=network, layout=layout, train=rows)


def test_filters_inside_beside_and_across_the_patch_plane():
    # All patches lie in the plane of the first two coordinates, and fill it.
    x = jnp.array([[1.0, 0.0, 0.0, 0.0, 1.0, 0.0], [-1.0, 0.0, 0.0, 0.0, -1.0, 0.0]])
    inside, across, between = [3.0, 4.0, 0.0], [0.0, 0.0, 2.0], [1.0, 0.0, 1.0]
    found = coupling(moment(x, [inside], [1.0]))
    assert float(found["dimension"]) == 2
    assert float(found["inside"]) == pytest.approx(1.0, abs=1e-6)
    assert float(found["rank"]) == pytest.approx(1.0, abs=1e-6)
    assert float(coupling(moment(x, [across], [1.0]))["angle"]) == pytest.approx(90.0, abs=0.05)
    assert float(coupling(moment(x, [between], [1.0]))["angle"]) == pytest.approx(45.0, abs=0.05)
    # Path norms 5·2 and 2·5 weigh both alike: half inside, two directions of equal weight.
    both = coupling(moment(x, [inside, across], [2.0, -5.0]))
    assert float(both["inside"]) == pytest.approx(0.5, abs=1e-6)
    assert float(both["rank"]) == pytest.approx(2.0, abs=1e-5)


def test_the_moment_of_patches_is_that_of_numpy():
    x = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32)
    patches = x.reshape(-1, 3)
    found = patch_moment(moment(jnp.asarray(x), np.ones((1, 3), np.float32), [1.0]))
    assert np.allclose(found, patches.T @ patches / len(patches), atol=1e-5)


def test_deep_networks_are_refused():
    deep = example_moment()._replace(params=Params((jnp.ones((1, 1, 2)), jnp.ones((1, 1, 1)))))
    with pytest.raises(SeparatrixError, match="one hidden layer"):
        coupling(deep)
