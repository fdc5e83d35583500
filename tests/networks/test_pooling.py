"""Pooled heads and max pooling against NumPy."""

import jax
import numpy as np
import pytest

from separatrix.errors import ParameterError
from separatrix.networks import CNN, LCN, Heads, Maps

SHAPE = (6, 6, 1)
X = np.random.default_rng(0).normal(size=(5, *SHAPE)).astype(np.float32)


def hidden(params, x: np.ndarray, side: int) -> np.ndarray:
    """ReLU of one shared layer at stride 1: (rows, height, width, filters)."""
    weights, bias = np.asarray(params.weights[0]), np.asarray(params.bias[0])
    count = x.shape[1] - side + 1
    out = np.empty((len(x), count, count, len(weights)))
    for i in range(count):
        for j in range(count):
            patch = x[:, i : i + side, j : j + side].reshape(len(x), -1)
            out[:, i, j] = np.maximum(patch @ weights.T + bias, 0)
    return out


@pytest.mark.parametrize(("means", "maximum"), [(1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("maps", [None, Maps(side=3, stride=1, positions=25)])
def test_heads_of_a_shared_layer(means, maximum, maps):
    network = CNN(3, 4, heads=Heads((2, 2), means, maximum), maps=maps, outputs=3)
    params = network.init(jax.random.key(0), SHAPE)
    active = hidden(params, X, 3)
    readout = np.asarray(params.readout)
    assert readout.shape == (5, 4, 3)
    expected = 0.0
    if means:
        for region, (a, b) in enumerate(np.ndindex(2, 2)):
            part = active[:, 2 * a : 2 * a + 2, 2 * b : 2 * b + 2].mean((1, 2))
            expected = expected + part @ readout[region]
    if maximum:
        expected = expected + active.max((1, 2)) @ readout[4]
    assert np.allclose(network.apply(params, X), expected, atol=1e-5)
    assert not readout[4 if not maximum else slice(0, 4 * (1 - means))].any()


def test_a_head_that_is_masked_learns_nothing():
    network = CNN(3, 4, heads=Heads((2, 2), 0, 1))
    params = network.init(jax.random.key(0), SHAPE)
    slope = jax.grad(lambda p: network.apply(p, X).sum())(params)
    assert not np.asarray(slope.readout[:4]).any()
    assert np.asarray(slope.readout[4]).any()


def test_heads_of_a_local_layer_read_every_window():
    network = LCN(3, 2, heads=Heads(None, 1, 0))
    params = network.init(jax.random.key(0), SHAPE)
    plain = LCN(3, 2)
    own = params._replace(readout=params.readout[:-1])
    assert np.allclose(network.apply(params, X), plain.apply(own, X), atol=1e-5)
    assert network.parameter_count(SHAPE) == plain.parameter_count(SHAPE) + 2


@pytest.mark.parametrize("maps", [None, Maps()])
def test_two_layers_with_max_pooling_between(maps):
    network = CNN(3, 4, depth=2, next_field=2, pool=(2, 1), pooling="max", maps=maps)
    params = network.init(jax.random.key(0), SHAPE)
    first = hidden(params._replace(weights=params.weights[0], bias=params.bias[0]), X, 3)
    cells = first.reshape(5, 2, 2, 2, 2, 4).max((2, 4))
    second = np.maximum(
        cells.reshape(5, -1) @ np.asarray(params.weights[1][0]).T + np.asarray(params.bias[1][0]), 0
    )
    expected = second @ np.asarray(params.readout[0])
    assert np.allclose(network.apply(params, X), expected, atol=1e-5)


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ParameterError, match="`maximum` of Heads"):
        Heads(2, 0, 0)
    with pytest.raises(ParameterError, match="`heads` of Network"):
        CNN(3, 2, readout="pooled", heads=Heads(2))
