"""The training loop against NumPy: gradients by hand, projection, bias ramp; optimizers; parts that
are trained; stopping.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import numpy_reference as reference
import separatrix as sx
from separatrix.learners import Rows, descend, empirical_loss, network_at, project
from separatrix.networks import Params, Patches
from separatrix.probes import network_risk

SHAPE, ROWS = (5, 3), 12
LSA = {"activation": sx.LSA(0.3), "readout": "sum", "bias": False}
RAMP = {"projection": "ball", "lsa_bias": sx.Ramp(0.0, 0.3)}
CASES = {
    "CNN logistic ramp ball": (sx.CNN(1, **LSA), sx.Learner(3.0, 20, **RAMP)),
    "LCN logistic ramp sphere": (
        sx.LCN(2, 2, **LSA),
        sx.Learner(2.0, 20, **(RAMP | {"projection": "sphere"})),
    ),
    "FCN hinge ramp ball": (sx.FCN(4, **LSA), sx.Learner(1.0, 20, loss="hinge", **RAMP)),
    "CNN hinge pooled": (
        sx.CNN(3, 4, readout="pooled", offset=True),
        sx.Learner(0.3, 20, loss="hinge"),
    ),
    "LCN logistic positions": (sx.LCN(2, 3, stride=2), sx.Learner(sx.Ramp(0.1, 0.5), 20)),
    "FCN squared stages": (
        sx.FCN(4, activation=sx.ClippedReLU(0.5)),
        sx.Learner(sx.Stages(0.2, 0.05), 20, loss="squared"),
    ),
}


def data(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], ROWS)
    x = 0.5 * rng.standard_normal((ROWS, *SHAPE))
    x[np.arange(ROWS), rng.integers(0, SHAPE[0], ROWS), 0] += y
    return x, y


def as_params(parts):
    return Params(
        **{
            name: jnp.asarray(part, jnp.float32)
            for name, part in ({"weights": None} | parts).items()
        }
    )


def trained(network, learner, params, times=(0, 5, 20), noise_key=None):
    """What `descend` leaves, on the rows of `data()`."""
    x, y = data()
    layout = network.layout(SHAPE)
    rows = Rows(
        layout.cut(jnp.asarray(x, jnp.float32)),
        jnp.asarray(y, jnp.float32),
        jnp.full(ROWS, 1 / ROWS),
    )

    def measure(p, step):
        loss = empirical_loss(learner, network_at(learner, network, step), layout, p, rows)
        return {"loss": loss, "risk": network_risk(network, p, layout, rows)}

    return jax.device_get(
        jax.jit(
            lambda p: descend(
                learner, network, layout, p, lambda step: rows, measure, times, None, noise_key
            )
        )(as_params(params))
    )


@pytest.mark.parametrize("name", CASES)
def test_twenty_steps_are_twenty_steps_by_hand(name):
    network, learner = CASES[name]
    x, y = data()
    params = reference.random_params(network, SHAPE, np.random.default_rng(1), scale=0.5)
    run = trained(network, learner, params)
    patches = reference.patches_of(x, network.field, network.stride)
    rows = patches, y, np.full(ROWS, 1 / ROWS)

    def rate(step):
        r = learner.rate
        if isinstance(r, sx.Ramp):
            return r.begin + (r.end - r.begin) * min(step / (r.share * 20), 1.0)
        return r.level if isinstance(r, sx.Constant) else r.first if step < 1 else r.later

    level = None if learner.lsa_bias is None else (lambda step: 0.3 * min(step / 10, 1.0))
    expected = reference.descend(
        network, params, lambda _: rows, 20, rate, learner.loss, learner.projection, level
    )
    for part, value in expected.items():
        np.testing.assert_allclose(
            getattr(run.params, part), value, rtol=1e-4, atol=1e-4, err_msg=part
        )
    loss = reference.loss_and_gradient(
        network, expected, *rows, learner.loss, None if level is None else 0.3
    )[0]
    assert run.trace["loss"][-1] == pytest.approx(loss, rel=1e-4, abs=1e-5)
    assert run.trace["risk"][-1] == pytest.approx(
        reference.risk(network, expected, patches, y), abs=1e-6
    )
    assert run.trace["step"].tolist() == [0, 5, 20]
    assert run.steps == 20
    assert run.status == sx.Status.EXHAUSTED
    if learner.projection == "sphere":
        np.testing.assert_allclose(np.linalg.norm(run.params.weights, axis=-1), 1.0, rtol=1e-5)


@pytest.mark.parametrize(
    "optimizer, options",
    [
        ("sgd", (("momentum", 0.9), ("nesterov", True))),
        ("adam", (("b1", 0.8),)),
        ("adadelta", ()),
        ("rmsprop", ()),
        ("adagrad", ()),
    ],
)
def test_optimizers_run_and_reduce_the_loss(optimizer, options):
    network = sx.CNN(3, 4, readout="pooled", offset=True)
    params = reference.random_params(network, SHAPE, np.random.default_rng(2), scale=0.5)
    rate = 1.0 if optimizer == "adadelta" else 0.02
    run = trained(network, sx.Learner(rate, 20, optimizer=optimizer, options=options), params)
    assert run.trace["loss"][-1] < run.trace["loss"][0]
    assert all(
        np.isfinite(part).all() and not np.allclose(part, params[name])
        for name, part in run.params._asdict().items()
    )


@pytest.mark.parametrize("times", [(0, 20), (0, 10, 20), (0, 1, 2, 20), (0, 5, 15, 20)])
def test_when_a_run_is_measured_does_not_change_it(times):
    # Steps are made in rounds that divide the times between measurements: 20, 10, 1 and 5 here. A
    # rate that changes tells whether each step knows its number.
    network, learner = sx.FCN(3), sx.Learner(sx.Ramp(0.0, 0.5), 20)
    params = reference.random_params(network, SHAPE, np.random.default_rng(1), scale=0.5)
    run, other = (
        trained(network, learner, params, times),
        trained(network, learner, params, (0, 3, 7, 20)),
    )
    assert run.steps == other.steps == 20
    assert run.trace["step"].tolist() == list(times)
    for one, two in zip(jax.tree.leaves(run.params), jax.tree.leaves(other.params), strict=True):
        np.testing.assert_allclose(
            one, two, rtol=1e-6, atol=1e-7
        )  # the same operations, perhaps fused otherwise
    assert not np.allclose(run.params.weights, params["weights"], atol=1e-3)


def test_adam_is_adam_by_hand():
    network = sx.FCN(2, **LSA)
    params = reference.random_params(network, SHAPE, np.random.default_rng(3))
    run = trained(network, sx.Learner(0.05, 20, optimizer="adam"), params)
    x, y = data()
    patches = reference.patches_of(x, None, 1)
    w, m, v = params["weights"].copy(), 0.0, 0.0
    for step in range(1, 21):
        g = reference.loss_and_gradient(
            network, {"weights": w}, patches, y, np.full(ROWS, 1 / ROWS), "logistic"
        )[1]["weights"]
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        w = w - 0.05 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    np.testing.assert_allclose(run.params.weights, w, rtol=1e-3, atol=1e-4)


def test_sparsity_is_the_proximal_step_of_an_l1_penalty_by_hand():
    network, level, rate = sx.FCN(2, **LSA), 0.3, 0.2
    params = reference.random_params(network, SHAPE, np.random.default_rng(4))
    run = trained(network, sx.Learner(rate, 20, sparsity=level), params)
    x, y = data()
    patches = reference.patches_of(x, None, 1)
    w = params["weights"].copy()
    for _ in range(20):
        g = reference.loss_and_gradient(
            network, {"weights": w}, patches, y, np.full(ROWS, 1 / ROWS), "logistic"
        )[1]["weights"]
        w = w - rate * g
        w = np.sign(w) * np.maximum(np.abs(w) - rate * level, 0.0)
    np.testing.assert_allclose(run.params.weights, w, rtol=1e-4, atol=1e-5)
    assert (w == 0).any()  # the penalty is large enough to matter
    assert ((run.params.weights == 0) == (w == 0)).all()


def noisy_steps(noise, steps=1, seed=0, width=1000):
    """What noise adds to the weights of a network whose gradient is 0: all units are off."""
    network = sx.FCN(width, readout="sum", bias=False)
    params = {"weights": np.zeros((1, width, math.prod(SHAPE)))}
    learner = sx.Learner(1.0, steps, gradient_noise=noise)
    run = trained(network, learner, params, times=(0, steps), noise_key=jax.random.key(seed))
    return np.asarray(run.params.weights).ravel()


def test_noise_on_gradients_has_the_size_that_the_learner_asks_for():
    one = noisy_steps(0.03)  # 15,000 entries: the deviation is exact to 0.6 %
    assert one.std() == pytest.approx(0.03, rel=0.03)
    assert abs(one.mean()) < 4 * 0.03 / math.sqrt(one.size)
    # Twice the noise is the same draw twice as large: the size is a value.
    np.testing.assert_allclose(noisy_steps(0.06), 2 * one, rtol=1e-5)
    assert np.abs(noisy_steps(0.03, seed=1) - one).max() > 0.03
    assert not noisy_steps(0.0).any()


def test_noise_is_drawn_afresh_at_every_step_and_for_every_part():
    network = sx.FCN(40)
    parts = reference.random_params(network, SHAPE, np.random.default_rng(5))
    key = jax.random.key(0)

    def moved(steps, noise):
        learner = sx.Learner(1e-3, steps, gradient_noise=noise)
        return trained(network, learner, parts, times=(0, steps), noise_key=key).params

    # At noise 1000 the gradients themselves are rounding: steps are independent normal draws.
    one, two = moved(1, 1e3), moved(2, 1e3)
    first = np.asarray(one.weights).ravel() - parts["weights"].ravel()
    second = np.asarray(two.weights).ravel() - np.asarray(one.weights).ravel()
    # 600 entries: a correlation of independent draws is below 4/√600.
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / math.sqrt(first.size)
    assert second.std() == pytest.approx(1.0, rel=0.15)
    bias = np.asarray(one.bias).ravel() - parts["bias"].ravel()
    assert not np.allclose(bias[:20], first[:20], atol=0.01)
    with pytest.raises(sx.SeparatrixError, match="needs a `noise_key`"):
        trained(network, sx.Learner(1e-3, 1, gradient_noise=0.1), parts, times=(0, 1))


def test_gradients_are_rounded_to_bfloat16_before_the_optimizer_sees_them():
    network = sx.FCN(4, **LSA)
    parts = reference.random_params(network, SHAPE, np.random.default_rng(6))
    plain, rounded = (
        trained(network, sx.Learner(1.0, 1, gradient_precision=name), parts, times=(0, 1))
        for name in ("float32", "bfloat16")
    )
    start = parts["weights"].astype(np.float32)
    gradient = start - np.asarray(plain.params.weights)
    # bfloat16 keeps 8 bits of the significand: round half to even by integers.
    bits = gradient.view(np.uint32).astype(np.uint64)
    kept = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16
    expected = kept.astype(np.uint32).view(np.float32)
    step = start - np.asarray(rounded.params.weights)
    # Both differences are exact to the rounding of the weights (2⁻²⁴ of them), and entries of the
    # bfloat16 grid are 2⁻⁸ of the gradient apart.
    np.testing.assert_allclose(step, expected, atol=2e-7 * (1 + np.abs(start).max()), rtol=0)
    assert np.abs(step - gradient).max() > 1e-5


def test_learners_without_noise_or_rounding_keep_the_identity_they_had():
    plain = sx.Learner(0.5, 3)
    assert plain == sx.Learner(0.5, 3, gradient_noise=None, gradient_precision="float32")
    assert "gradient" not in str(plain.canonical())
    changed = [plain.replace(gradient_noise=0.1), plain.replace(gradient_precision="bfloat16")]
    assert all("gradient" in str(each.canonical()) for each in changed)


def test_parts_that_are_not_trained_stay_bitwise_the_same():
    network = sx.LCN(2, 3, offset=True)
    params = reference.random_params(network, SHAPE, np.random.default_rng(4))
    run = trained(network, sx.Learner(0.5, 20, train=("readout",), projection="ball"), params)
    for part in ("weights", "bias", "offset"):
        np.testing.assert_array_equal(getattr(run.params, part), params[part].astype(np.float32))
    assert not np.allclose(run.params.readout, params["readout"])
    with pytest.raises(
        sx.SeparatrixError, match="nothing to train: the network has none of the parts readout"
    ):
        trained(
            sx.CNN(1, **LSA),
            sx.Learner(0.5, 1, train=("readout",)),
            {"weights": np.ones((1, 1, 3))},
        )


def test_projections_keep_short_weights_in_the_ball_and_zero_at_zero():
    weights = jnp.array([[[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]]])
    np.testing.assert_allclose(
        project(Params(weights), "ball").weights[0], [[0.6, 0.8], [0.3, 0.4], [0, 0]], rtol=1e-6
    )
    np.testing.assert_allclose(
        project(Params(weights), "sphere").weights[0], [[0.6, 0.8], [0.6, 0.8], [0, 0]], rtol=1e-6
    )
    assert project(Params(weights), "none").weights is weights


@jax.jit  # compiled once for all stops of one structure
def run_of(stop, losses, risks):
    network = sx.FCN(1, **LSA)
    rows = Rows(Patches(jnp.ones((1, 2, 2))), jnp.ones(2), jnp.full(2, 0.5))
    learner = sx.Learner(0.1, len(losses) - 1, stop=stop)

    def measure(params, step):
        return {"loss": losses[step], "risk": risks[step]}

    start = Params(jnp.ones((1, 1, 2)))
    return descend(
        learner,
        network,
        network.layout((2, 1)),
        start,
        lambda step: rows,
        measure,
        np.arange(len(losses)),
    )


def scripted(stop, losses, risks=None):
    """The end of a run whose measurements are given, one a step: status, steps, number of
    measurements.
    """
    table, other = (
        jnp.asarray(losses, jnp.float32),
        jnp.asarray(risks if risks is not None else losses, jnp.float32),
    )
    run = jax.device_get(run_of(stop, table, other))
    seen = int((run.trace["step"] >= 0).sum())
    assert run.trace["step"][:seen].tolist() == list(range(seen))
    assert np.isnan(run.trace["loss"][seen:]).all()  # nothing is measured after the end
    return sx.Status(int(run.status)), int(run.steps), seen


def test_a_run_stops_at_the_first_measurement_that_reaches_the_target():
    falling = [1.0, 0.8, 0.5, 0.3, 0.4, 0.2]
    assert scripted(sx.Stop(target=0.3), falling) == (
        sx.Status.REACHED,
        3,
        4,
    )  # reached exactly, and once is enough
    assert scripted(sx.Stop(target=0.3, metric="risk"), [1.0] * 6, falling) == (
        sx.Status.REACHED,
        3,
        4,
    )
    assert scripted(sx.Stop(target=0.3, metric="loss"), [1.0] * 6, falling) == (
        sx.Status.EXHAUSTED,
        5,
        6,
    )
    assert scripted(sx.Stop(target=1.0), falling) == (
        sx.Status.REACHED,
        0,
        1,
    )  # before any training
    assert scripted(sx.Stop(target=0.2), falling) == (
        sx.Status.REACHED,
        5,
        6,
    )  # at the very last step
    assert scripted(sx.Stop(), falling) == (sx.Status.EXHAUSTED, 5, 6)


def test_a_run_is_exhausted_on_a_plateau_also_of_negative_losses():
    flat = [1.0, 0.5, 0.499, 0.498, 0.1, 0.1]
    assert scripted(sx.Stop(plateau=0.05, patience=2), flat) == (sx.Status.EXHAUSTED, 3, 4)
    assert scripted(sx.Stop(plateau=0.05, patience=3), flat) == (
        sx.Status.EXHAUSTED,
        5,
        6,
    )  # 0.1 came in time
    assert scripted(sx.Stop(plateau=0.0, patience=2), flat) == (
        sx.Status.EXHAUSTED,
        5,
        6,
    )  # any improvement counts
    below_zero = [1.0, -0.5, -0.501, -0.502, -2.0, -3.0]
    assert scripted(sx.Stop(plateau=0.05, patience=2), below_zero) == (sx.Status.EXHAUSTED, 3, 4)
    # A loss is compared with the best so far: a detour that ends where it began is no improvement.
    assert scripted(sx.Stop(plateau=0.1, patience=3), [1.0, 0.95, 1.2, 0.94, 0.5, 0.1]) == (
        sx.Status.EXHAUSTED,
        3,
        4,
    )


def test_divergence_and_non_finite_losses_are_statuses():
    assert scripted(sx.Stop(ceiling=10.0), [1.0, 10.0, 11.0, 1.0, 1.0, 1.0]) == (
        sx.Status.DIVERGED,
        2,
        3,
    )
    assert scripted(sx.Stop(ceiling=10.0), [1.0, np.nan, 1.0, 1.0, 1.0, 1.0]) == (
        sx.Status.NON_FINITE,
        1,
        2,
    )
    assert scripted(sx.Stop(ceiling=10.0), [1.0, np.inf, 1.0, 1.0, 1.0, 1.0]) == (
        sx.Status.NON_FINITE,
        1,
        2,
    )
    # Not a number is never a success, whatever the risk says.
    assert scripted(
        sx.Stop(target=2.0), [3.0, np.nan, 1.0, 1.0, 1.0, 1.0], [3.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    ) == (sx.Status.NON_FINITE, 1, 2)


def test_a_real_run_diverges_and_overflows_without_a_crash(programs):
    learner = sx.Learner(100.0, 12, loss="squared")
    trial = sx.Trial(
        sx.SignalTask(3, 2, 0.3),
        sx.CNN(1, 2, activation=sx.Tanh()),
        learner,
        8,
        0,
        sx.Measure(test=16, times=12),
    )
    overflowing = trial.replace(learner=learner.replace(rate=1e30))
    rows = programs.run([trial, overflowing], trial)
    assert [row["status"] for row in rows] == ["diverged", "non-finite"]
    assert 1e6 < rows[0]["loss"] < np.inf
    assert not np.isfinite(rows[1]["loss"])
    assert rows[0]["steps"] < 12
