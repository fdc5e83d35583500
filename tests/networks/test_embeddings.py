"""Embeddings shared → local → full: equal functions, and the distance a full network travels from
its start.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from numpy_reference import random_params
from separatrix.networks import Params, distance, embed, windows

INPUTS = {"1-D": ((7, 2), 3, 2), "2-D": ((4, 5, 1), (2, 3), (1, 2))}


def in_float64(parts):
    return Params(
        **{
            name: jnp.asarray(part, jnp.float64)
            for name, part in ({"weights": None} | parts).items()
        }
    )


@pytest.mark.parametrize(
    "which, readout", [*itertools.product(INPUTS, ["positions", "pooled", "sum"])]
)
def test_embedded_networks_compute_the_same_function_to_machine_precision(which, readout):
    shape, field, stride = INPUTS[which]
    rng = np.random.default_rng(0)
    network = sx.CNN(
        field,
        3,
        stride=stride,
        readout=readout,
        activation=sx.Tanh(),
        bias=readout != "sum",
        offset=readout == "pooled",
    )
    with jax.enable_x64(True):
        params = in_float64(random_params(network, shape, rng))
        x = jnp.asarray(rng.standard_normal((6, *shape)))
        larger = {}

        def compute(params, x):
            for to in ("local", "full"):
                larger[to] = embed(network, params, shape, to=to)
            half = embed(
                *larger["local"], shape, to="full"
            ).params  # by way of a local network, step by step
            outputs = {to: (wide.apply(p, x), p) for to, (wide, p) in larger.items()}
            return network.apply(params, x), outputs, half

        expected, outputs, half = jax.device_get(jax.jit(compute)(params, x))
    for to, (measured, wide) in outputs.items():
        assert measured.dtype == np.float64
        # Sums of at most 40 terms of size 1: a few units in the last place.
        np.testing.assert_allclose(measured, expected, rtol=0, atol=1e-13)
        assert larger[to].network.connectivity == to
        assert larger[to].network.parameter_count(shape) == sum(
            np.size(part) for part in wide if part is not None
        )
    np.testing.assert_array_equal(half.weights, outputs["full"][1].weights)


def test_embedding_into_a_smaller_network_is_one_sentence():
    fcn = sx.FCN(2)
    with pytest.raises(
        sx.ParameterError,
        match="the `to` of embed must be at least as large as 'full', got 'local'",
    ):
        embed(fcn, Params(jnp.ones((1, 2, 4))), (4, 1), to="local")
    with pytest.raises(sx.ParameterError, match="the `to` of embed must be one of"):
        embed(fcn, Params(jnp.ones((1, 2, 4))), (4, 1), to="dense")


@pytest.mark.parametrize("to", ["local", "full"])
def test_distance_measures_what_was_added_off_the_subspaces(to):
    shape, cnn = (6, 2), sx.CNN(3, 2)
    rng = np.random.default_rng(1)
    params = Params(
        **{k: jnp.asarray(v, jnp.float32) for k, v in random_params(cnn, shape, rng).items()}
    )
    wide = jax.jit(lambda p: embed(cnn, p, shape, to=to).params)(params)
    far = jax.jit(lambda p: distance(p, cnn, shape))
    off_locality, off_sharing = far(wide)
    assert off_locality == 0.0
    assert off_sharing < 1e-6
    # Add something known: noise everywhere, then split it into the part outside the windows and the
    # spread inside them.
    noise = 0.1 * rng.standard_normal(wide.weights.shape).astype(np.float32)
    positions = windows(shape, 3, 1).positions
    block = noise.reshape(positions, 2, -1, 2)
    if to == "full":
        inside = np.stack([block[p][:, p : p + 3] for p in range(positions)])
        outside = np.sqrt((block**2).sum() - (inside**2).sum())
    else:
        inside, outside = block, 0.0
    moved = far(wide._replace(weights=wide.weights + noise))
    assert moved.off_locality == pytest.approx(outside, rel=1e-5)
    assert moved.off_sharing == pytest.approx(np.linalg.norm(inside - inside.mean(0)), rel=1e-4)


def test_a_full_network_begins_as_the_convolutional_one_it_starts_in():
    shape, cnn = (6, 2), sx.CNN(3, 2, activation=sx.Tanh(), initial=sx.Initial("signs"))
    fcn = sx.FCN(8, activation=sx.Tanh(), start=cnn)
    x = jax.random.normal(jax.random.key(1), (5, *shape))

    def both(key):
        return (
            cnn.apply(cnn.init(key, shape), x),
            fcn.apply(fcn.init(key, shape), x),
            distance(fcn.init(key, shape), cnn, shape),
        )

    small, large, (off_locality, off_sharing) = jax.jit(both)(jax.random.key(0))
    np.testing.assert_allclose(large, small, rtol=1e-5, atol=1e-6)
    assert off_locality == 0.0
    assert off_sharing < 1e-6


def test_a_width_that_does_not_fit_the_start_is_one_sentence():
    with pytest.raises(
        sx.ParameterError,
        match="the `width` of Network must be 8, the units of the network it starts in, got 7",
    ):
        jax.eval_shape(
            lambda key: sx.FCN(7, start=sx.CNN(3, 2)).init(key, (6, 1)), jax.random.key(0)
        )
