"""The network of the map is every network between FCN and CNN, and is trained in its place."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.engine.plan import Device, make_plan
from separatrix.errors import SeparatrixError
from separatrix.learners import project
from separatrix.networks import LSA, Network, Params
from separatrix.studies.signal.trials import SignalRecipe, signal_learner, signal_network
from separatrix.studies.signal_map.settings import SCALES, Spot
from separatrix.studies.signal_map.trials import base_norm, base_rate, map_network, map_trial

K, D = 6, 3


PLACES = [(1, 1), (1, 3), (1, 6), (2, 1), (2, 6), (3, 2), (4, 4), (6, 1), (6, 6)]


@pytest.mark.parametrize("reach, groups", PLACES)
def test_a_place_is_the_grouped_network_with_wrapped_windows(reach, groups):
    mine = map_network(K, reach, groups, bias=0.2, norm=0.9)
    params = mine.init(jax.random.key(0), (K, D))
    other = Network(
        "shared",
        1,
        reach,
        activation=LSA(0.2),
        readout="sum",
        bias=False,
        groups=groups,
        border="wrap",
    )
    weights = (
        params.weights[0, :groups]
        .reshape(groups, 1, K, D)[:, :, :reach]
        .reshape(groups, 1, reach * D)
    )
    x = jax.random.normal(jax.random.key(1), (40, K, D))
    np.testing.assert_allclose(
        mine.apply(params, x), other.apply(Params(weights), x), rtol=1e-5, atol=1e-5
    )
    assert (
        other.parameter_count((K, D))
        == reach * groups * D
        == int((np.asarray(params.weights) != 0).sum())
    )
    np.testing.assert_allclose(np.linalg.norm(params.weights[0, :groups], axis=-1), 0.9, rtol=1e-5)


@pytest.mark.parametrize("name, reach, groups", [("CNN", 1, 1), ("LCN", 1, K)])
def test_the_left_corners_are_the_papers_networks(name, reach, groups):
    mine, other = map_network(K, reach, groups, bias=0.5, norm=0.7), signal_network(name, K, 0.5)
    params = mine.init(jax.random.key(0), (K, D))
    x = jax.random.normal(jax.random.key(1), (40, K, D))
    same = Params(params.weights[0, :groups, :D].reshape(groups, 1, D))
    np.testing.assert_allclose(mine.apply(params, x), other.apply(same, x), rtol=1e-5, atol=1e-5)


def test_the_upper_right_corner_is_the_fcn_up_to_relabelling():
    mine, other = map_network(K, K, K, bias=0.2, norm=0.9), signal_network("FCN", K, 0.2)
    full = np.asarray(
        jax.random.normal(jax.random.key(2), (K, K, D))
    )  # any weights of the FCN: unit, patch, channel
    filters = np.stack(
        [np.roll(full[unit], -unit, axis=0) for unit in range(K)]
    )  # seen from the unit's own patch
    x = jax.random.normal(jax.random.key(1), (40, K, D))
    want = other.apply(Params(jnp.asarray(full.reshape(1, K, K * D))), x)
    np.testing.assert_allclose(
        mine.apply(Params(jnp.asarray(filters.reshape(1, K, K * D))), x), want, rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("reach, groups", [(1, 1), (2, 3), (6, 2)])
def test_training_stays_on_its_place(reach, groups):
    """Gradients reach nothing beyond the field or the last group, and equal those of the grouped
    network.
    """
    mine = map_network(K, reach, groups, bias=0.1, norm=0.9)
    params = mine.init(jax.random.key(0), (K, D))
    other = Network(
        "shared",
        1,
        reach,
        activation=LSA(0.1),
        readout="sum",
        bias=False,
        groups=groups,
        border="wrap",
    )
    x = jax.random.normal(jax.random.key(1), (40, K, D))

    def small(weights):
        return (
            weights[0, :groups].reshape(groups, 1, K, D)[:, :, :reach].reshape(groups, 1, reach * D)
        )

    slope = jax.grad(lambda w: jnp.square(mine.apply(Params(w), x)).mean())(params.weights)
    want = jax.grad(lambda w: jnp.square(other.apply(Params(w), x)).mean())(small(params.weights))
    np.testing.assert_allclose(small(slope), want, rtol=1e-3, atol=1e-4)
    moved = project(Params(params.weights - 10.0 * slope), "ball").weights
    assert np.array_equal(np.asarray(moved) != 0, np.asarray(params.weights) != 0)


def test_wrong_places_are_refused():
    with pytest.raises(
        SeparatrixError, match="the `reach` of MapNetwork must be at most its units"
    ):
        map_network(4, 5, 1, 0.5, 0.05)


def test_corners_have_the_recipes_of_the_signal_study():
    for name, place in (("CNN", (1, 1)), ("LCN", (1, 8)), ("FCN", (8, 8))):
        recipe = signal_learner(name, 8, 100, SignalRecipe())
        assert base_rate(Spot(*place), 8) == pytest.approx(recipe.rate.level)
        assert base_norm(Spot(*place), 8) == pytest.approx(
            signal_network(name, 8, 0.5).initial.scale
        )


@pytest.mark.parametrize("scale", SCALES)
def test_one_program_serves_the_whole_map(scale):
    s = SCALES[scale]
    trials = [map_trial(s, spot, recipe, 64, 0) for spot in s.spots() for recipe in s.recipes()]
    assert make_plan(sx.Sweep(tuple(trials)), Device("cpu")).programs == 1
    assert make_plan(sx.Sweep(tuple(trials)), Device("gpu")).programs == 1
