"""Initialisations: moments and values, for every connectivity."""

import functools

import jax
import numpy as np
import pytest

import separatrix as sx

SHAPE = (12, 5)


@functools.cache
def initial(network, seed=0):
    params = jax.device_get(jax.jit(lambda key: network.init(key, SHAPE))(jax.random.key(seed)))
    return {
        name: np.asarray(part, np.float64)
        for name, part in params._asdict().items()
        if part is not None
    }


NETWORKS = {
    "full": (lambda **o: sx.FCN(400, **o), 60, 400),
    "local": (lambda **o: sx.LCN(3, 60, **o), 15, 600),
}
NETWORKS["shared"] = (lambda **o: sx.CNN(3, 400, **o), 15, 4000)


@pytest.mark.parametrize("which", NETWORKS)
def test_scaled_weights_and_readouts_have_their_variances(which):
    make, fan_in, units = NETWORKS[which]
    params = initial(make(initial=sx.Initial("scaled", scale=1.5, readout=0.8)))
    w, u = params["weights"], params["readout"]
    # 4.5 standard errors of a mean and of a variance of n independent normal numbers, fixed key.
    for array, variance in [(w, 1.5**2 / fan_in), (u, 0.8**2 / units)]:
        assert abs(array.mean()) < 4.5 * np.sqrt(variance / array.size)
        assert abs(array.var() / variance - 1) < 4.5 * np.sqrt(2 / array.size)
    assert not params["bias"].any()
    assert u.size == units


def test_normal_weights_ignore_the_fan_in_and_pooled_readouts_count_filters():
    params = initial(
        sx.FCN(400, initial=sx.Initial("normal", scale=0.02), readout="pooled", offset=True)
    )
    w, u = params["weights"], params["readout"]
    assert abs(w.std() / 0.02 - 1) < 4.5 * np.sqrt(0.5 / w.size)
    assert abs(u.var() * 400 - 1) < 4.5 * np.sqrt(2 / u.size)
    assert params["offset"] == 0.0


def test_directions_have_the_given_norm_and_no_preferred_axis():
    w = initial(
        sx.LCN(3, 60, initial=sx.Initial("directions", scale=0.05), readout="sum", bias=False)
    )["weights"]
    assert set(
        initial(
            sx.LCN(3, 60, initial=sx.Initial("directions", scale=0.05), readout="sum", bias=False)
        )
    ) == {"weights"}
    np.testing.assert_allclose(np.linalg.norm(w, axis=-1), 0.05, rtol=1e-5)
    unit = w.reshape(-1, 15) / 0.05
    # Coordinates of a uniform direction have mean 0 and second moment 1/15 (variance of the square
    # below 2/15²).
    assert np.abs(unit.mean(0)).max() < 4.5 * np.sqrt(1 / 15 / len(unit))
    assert np.abs((unit**2).mean(0) * 15 - 1).max() < 4.5 * np.sqrt(2 / len(unit))


@pytest.mark.parametrize("which", NETWORKS)
def test_signs_are_theorem_4s_initialisation(which):
    make, fan_in, _ = NETWORKS[which]
    params = initial(make(initial=sx.Initial("signs", readout=0.0)))
    w = params["weights"]
    np.testing.assert_allclose(np.unique(w), [-1 / fan_in, 1 / fan_in], rtol=1e-6)
    assert abs(np.sign(w).mean()) < 4.5 / np.sqrt(w.size)
    np.testing.assert_allclose(params["bias"], 1 / fan_in - 1, rtol=1e-6)
    assert not params["readout"].any()


def test_initial_parameters_depend_on_the_key_and_not_on_the_other_parts():
    network = sx.CNN(3, 400, initial=sx.Initial("scaled", scale=1.5, readout=0.8))
    assert not np.allclose(initial(network)["weights"], initial(network, seed=1)["weights"])
    assert (
        abs(
            np.corrcoef(
                initial(network)["weights"].ravel()[:4000],
                initial(network)["readout"].ravel()[:4000],
            )[0, 1]
        )
        < 0.075
    )
