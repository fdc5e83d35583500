"""The task of the open questions is SignalTask bit by bit; its floors and networks are right."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.engine.plan import Device, make_plan
from separatrix.errors import SeparatrixError
from separatrix.streams import named
from separatrix.studies.signal.settings import NETWORKS
from separatrix.studies.signal.trials import signal_network
from separatrix.studies.signal_open.settings import (
    COUNTED,
    SCALES,
    SIGNED,
    VARIANTS,
    OpenCell,
    OpenSettings,
)
from separatrix.studies.signal_open.trials import (
    open_network,
    open_plan,
    open_trial,
    simulate_floor,
    variant_task,
)
from separatrix.theory.signal import best_linear_risk, true_signal_risk

FRAME = variant_task("plain", 8, 7, 0.3)


@jax.jit
def padded(task, key):
    """Rows of a task whose numbers and sizes are all traced, in arrays of the frame's sizes: as a
    program draws them.
    """
    truth = task.truth(named(key, "truth"), FRAME)
    return task.draw(named(key, "rows"), 100, truth, FRAME)[:2], truth


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "dimensions"])
def test_a_variant_has_the_rows_of_the_signal_task(variant):
    task, key = variant_task(variant, 5, 4, 0.3), jax.random.key(3)
    (x, y), _ = padded(task, key)
    plain = task.plain().sample(key, 100)
    # The same bits, but a norm may be summed in another order.
    np.testing.assert_allclose(x[:, :5, :4], plain.x, atol=2e-6)
    assert np.array_equal(y, plain.y)
    assert not np.any(x[:, 5:])
    assert not np.any(x[:, :, 4:])


def test_narrow_patches_hold_a_signal_of_norm_one():
    task = variant_task("dimensions", 5, 6, 1e-6)
    (x, y), truth = padded(task, jax.random.key(3))
    x, truth = np.asarray(x)[:, :5, :6] * np.asarray(y)[:, None, None], np.asarray(truth)[:6]
    assert not np.any(x[:, 1::2, 4:])  # two thirds of six dimensions
    norms = np.linalg.norm(x, axis=2)
    np.testing.assert_allclose(norms.max(1), 1.0, atol=1e-4)
    rows = norms[:, 1] > 0.5
    short = truth[:4] / np.linalg.norm(truth[:4])
    np.testing.assert_allclose(x[rows, 1, :4], np.tile(short, (rows.sum(), 1)), atol=1e-4)
    assert rows.any()
    with pytest.raises(SeparatrixError, match="narrow"):
        task.plain()


def test_variants_share_their_programs():
    s = OpenSettings(
        variants=("uneven", "one", "two", "three", "dependent", "laplace", "uniform", "sign"),
        full_patches=(6, 8),
    )
    for network in NETWORKS:
        trials = [
            open_trial(s, OpenCell(variant, network, k), 1.0, 100, 0)
            for variant in SIGNED
            if variant not in COUNTED  # larger patches, which have a program of their own
            for k in (6, 8)
        ]
        assert len(trials) == 16
        assert make_plan(sx.Sweep(tuple(trials)), Device("cpu")).programs == 1


def test_a_wrong_variant_is_refused():
    with pytest.raises(
        SeparatrixError, match="the `signals` of VariantTask must be 2 when the label is a product"
    ):
        variant_task("product", 5, 4, 0.3).replace(signals=1)


def test_floors_agree_with_closed_forms():
    rows = 50_000  # a standard error is about .001; the tolerance is four of them
    plain = simulate_floor("plain", 8, 5, 0.3, 0.5, rows)
    assert plain["risk"] == pytest.approx(true_signal_risk(8, 0.3, 0.5), abs=4 * plain["error"])
    for variant, signals in (("plain", 1), ("two", 2), ("three", 3)):
        want = best_linear_risk(8, 0.4, signals)
        got = simulate_floor(variant, 8, 5, 0.4, 0.5, rows)["linear"]
        assert got == pytest.approx(want, abs=4 * np.sqrt(want * (1 - want) / rows) + 1e-4)
    # Common noise adds up over the patches: the sum has variance σ²(k(1-ρ) + k²ρ).
    spread = 0.2 * np.sqrt(6 * 0.5 + 36 * 0.5)
    want = float(jax.scipy.stats.norm.cdf(-1 / spread))
    assert simulate_floor("dependent", 6, 4, 0.2, 0.5, rows)["linear"] == pytest.approx(
        want, abs=0.008
    )
    # Uneven noise has the same total variance as even noise.
    assert simulate_floor("uneven", 8, 4, 0.3, 0.5, rows)["linear"] == pytest.approx(
        best_linear_risk(8, 0.3), abs=0.008
    )


@pytest.mark.parametrize("variant", ["uneven", "dependent", "laplace", "uniform", "sign"])
def test_floors_are_those_of_the_trials_distribution(variant):
    """The floor is simulated with NumPy; the trials' rows are drawn with JAX: the same rule has the
    same risk on both.
    """
    task, bias = variant_task(variant, 6, 4, 0.35), 0.4
    wrong, rows = 0.0, 0
    for key in jax.random.split(jax.random.key(5), 200):
        (x, y), truth = padded(task, key)
        inner = np.asarray(x) @ np.asarray(truth)
        score = (inner - np.clip(inner, -bias, bias)).sum(1)
        wrong, rows = (
            wrong + float((0.5 * (1 - np.sign(score * np.asarray(y)))).sum()),
            rows + len(y),
        )
    found = simulate_floor(variant, 6, 4, 0.35, bias, rows=100_000)
    error = np.sqrt(found["risk"] * (1 - found["risk"]) * (1 / rows + 1e-5))
    # Non-Gaussian floors differ between signals: 200 of them add some spread to the binomial error.
    assert wrong / rows == pytest.approx(found["risk"], abs=4 * error + 0.004)


@pytest.mark.parametrize("network", ["CNN", "LCN"])
def test_no_local_network_expresses_the_product(network):
    """Of the four sign patterns over the same noise at the same two patches, at least one is wrong,
    whatever the weights.
    """
    net = open_network("product", network, 5, 0.5)
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(4)
    patterns = list(itertools.product((-1.0, 1.0), repeat=2))
    noise = 0.3 * rng.standard_normal((50, 5, 4))
    x = np.stack(
        [
            noise + a * truth * np.eye(5)[0][:, None] + b * truth * np.eye(5)[3][:, None]
            for a, b in patterns
        ]
    )
    y = np.array([a * b for a, b in patterns])
    start, apply = jax.jit(lambda key: net.init(key, (5, 4))), jax.jit(net.apply)
    for seed in range(20):
        params = start(jax.random.key(seed))
        params = params._replace(offset=jnp.asarray(rng.normal()), readout=params.readout * 5)
        scores = np.stack([np.asarray(apply(params, jnp.asarray(each, jnp.float32))) for each in x])
        wrong = (0.5 * (1 - np.sign(scores * y[:, None]))).sum(0)
        assert (wrong >= 1).all()


def test_the_papers_networks_are_odd_and_the_product_is_even():
    x = jax.random.normal(jax.random.key(0), (30, 5, 4))
    for network in NETWORKS:
        net = signal_network(network, 5, 0.1)
        params, apply = (
            jax.jit(lambda key, net=net: net.init(key, (5, 4)))(jax.random.key(1)),
            jax.jit(net.apply),
        )
        np.testing.assert_allclose(apply(params, -x), -apply(params, x), atol=1e-5)


def test_the_fcn_starts_as_the_cnn():
    full = open_network("plain", "FCN from CNN", 5, 0.5)
    x = jax.random.normal(jax.random.key(1), (30, 5, 4))

    @jax.jit
    def started(key):
        params, small = (network.init(key, (5, 4)) for network in (full, full.start))
        return params, full.apply(params, x), full.start.apply(small, x)

    params, scores, inner_scores = started(jax.random.key(0))
    np.testing.assert_allclose(scores, inner_scores, atol=1e-5)
    assert full.parameter_count((5, 4)) == 5 * 20
    norms = np.linalg.norm(params.weights, axis=-1)
    np.testing.assert_allclose(norms, signal_network("FCN", 5, 0.5).initial.scale, rtol=1e-5)


@pytest.mark.parametrize("network", NETWORKS)
def test_two_layers_are_odd_and_contain_what_one_layer_knows(network):
    """Four equal filters along the signal, passed on evenly, add up over the patches as one layer's
    do: the sign of a clear signal.
    """
    net = open_network("depth-two", network, 5, 0.5)
    start = jax.jit(lambda key: net.init(key, (5, 4)))(jax.random.key(0))
    first, second = (np.zeros(weights.shape, np.float32) for weights in start.weights)
    truth = np.eye(4, dtype=np.float32)[1]
    if network == "FCN":
        for unit in range(20):
            first[0, unit, 4 * (unit // 4) : 4 * (unit // 4) + 4] = truth
            second[0, unit, 4 * (unit // 4) : 4 * (unit // 4) + 4] = 0.5
    else:
        first[:], second[:] = truth, 0.5
    params, apply = start._replace(weights=(first, second)), jax.jit(net.apply)
    x = np.zeros((5, 5, 4), np.float32)
    x[np.arange(5), np.arange(5)] = truth  # a signal in each patch
    # Layer one: 1 - .25 in each of four filters; layer two: 4 · .5 · .75 - .25; the sum over four
    # units.
    np.testing.assert_allclose(apply(params, x), 4 * (1.5 - 0.25), rtol=1e-5)
    np.testing.assert_allclose(apply(params, -x), -4 * (1.5 - 0.25), rtol=1e-5)


def test_local_networks_are_tried_at_the_largest_size_on_the_product():
    s = SCALES["laptop"]
    assert open_plan(s, OpenCell("product", "LCN", 6)).start == s.product.largest
    assert open_plan(s, OpenCell("product", "FCN", 6)).start < s.product.largest
