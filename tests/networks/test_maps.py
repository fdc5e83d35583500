"""Maps of windows against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from separatrix.errors import ParameterError
from separatrix.networks import CNN, LCN, Maps
from separatrix.networks.maps import see


def windows_of(x: np.ndarray, side: int, stride: int) -> np.ndarray:
    """Windows of (rows, length, channels) or (rows, height, width, channels), flat."""
    space = x.shape[1:-1]
    corners = np.ndindex(*((n - side) // stride + 1 for n in space))
    cuts = [
        x[(slice(None), *(slice(stride * c, stride * c + side) for c in corner))]
        for corner in corners
    ]
    return np.stack([cut.reshape(len(x), -1) for cut in cuts])


@pytest.mark.parametrize("shape", [(24, 2), (7, 9, 3)])
@pytest.mark.parametrize(("side", "stride"), [(2, 1), (3, 3), (4, 1)])
def test_windows_of_every_size_in_one_frame(shape, side, stride):
    x = np.random.default_rng(0).normal(size=(5, *shape)).astype(np.float32)
    maps = Maps(side=side, stride=stride, positions=60)
    seen = see(maps, shape, shape, field=4, stride=1)
    patches = np.asarray(seen.patches(jnp.asarray(x)))
    expected = windows_of(x, side, stride)
    count, _, span = expected.shape
    assert np.allclose(patches[:count, :span].transpose(0, 2, 1), expected)
    assert not patches[count:].any()
    assert not patches[:, span:].any()


def test_scrambling_moves_places_and_twisting_stays_inside_windows():
    shape = (20, 1)
    plain, scrambled, twisted = (
        see(Maps(side=5, stride=5, positions=6, **control), shape, shape, 8, 1)
        for control in ({}, {"scramble": 3}, {"twist": 3})
    )
    real = np.asarray(plain.signs) != 0
    assert sorted(np.asarray(scrambled.places)[real]) == list(range(20))
    assert not np.array_equal(scrambled.places, plain.places)
    for window in range(4):
        inside = real[window]
        assert set(np.asarray(twisted.places)[window, inside]) == set(
            np.asarray(plain.places)[window, inside]
        )
    signs = np.asarray(twisted.signs)[real]
    assert set(signs) == {-1.0, 1.0}
    assert np.array_equal(np.asarray(scrambled.signs), np.asarray(plain.signs))


def test_maps_of_the_networks_own_windows_change_nothing():
    x = jax.random.normal(jax.random.key(0), (4, 9, 9, 2))
    for make in (CNN, LCN):
        plain, mapped = (make(3, 4, stride=2, maps=maps) for maps in (None, Maps()))
        params = plain.init(jax.random.key(1), (9, 9, 2))
        assert np.allclose(plain.apply(params, x), mapped.apply(params, x), atol=1e-5)


def test_smaller_windows_in_a_larger_frame_are_the_smaller_network():
    shape, x = (18, 1), jax.random.normal(jax.random.key(0), (6, 18, 1))
    framed = LCN(5, 3, maps=Maps(side=3, stride=3, positions=14))
    small = LCN(3, 3, stride=3)
    params = framed.init(jax.random.key(1), shape)
    own = params._replace(
        weights=params.weights[:6, :, :3], bias=params.bias[:6], readout=params.readout[:6]
    )
    assert not np.asarray(params.weights[6:]).any()
    assert np.allclose(framed.apply(params, x), small.apply(own, x), atol=1e-5)


def test_a_bias_per_place():
    shape, x = (12, 1), jax.random.normal(jax.random.key(0), (6, 12, 1))
    network = CNN(4, 3, stride=4, place_bias=1)
    params = network.init(jax.random.key(1), shape)
    assert params.bias.shape == (3, 3)
    params = params._replace(bias=jax.random.normal(jax.random.key(2), (3, 3)))
    patches = windows_of(np.asarray(x), 4, 4)
    z = np.einsum("prs,ws->prw", patches, np.asarray(params.weights[0]))
    for flag in (0, 1):
        bias = np.asarray(params.bias) if flag else np.asarray(params.bias[:1])
        active = np.maximum(z + bias[:, None], 0)
        expected = np.einsum("prw,pw->r", active, np.asarray(params.readout))
        found = network.replace(place_bias=flag).apply(params, x)
        assert np.allclose(found, expected, atol=1e-5)


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ParameterError, match="`side` of Maps"):
        Maps(side=3)
    with pytest.raises(ParameterError, match="`maps` of Network"):
        CNN(3, 2, groups=2, maps=Maps())
    with pytest.raises(ParameterError, match="`place_bias` of Network"):
        LCN(3, 2, place_bias=1)
