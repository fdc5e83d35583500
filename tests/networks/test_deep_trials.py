"""Several hidden layers in padded programs: scores and gradients, and whole trials with probes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.engine import Rounding, frame_of
from separatrix.learners import Rows, empirical_loss
from separatrix.networks import Frame

PADDED = {
    "CNN": sx.CNN(2, 3, depth=2, readout="pooled", offset=True, pool=(2, 1)),
    "LCN": sx.LCN(1, 2, depth=2, activation=sx.Tanh()),
    "FCN": sx.FCN(3, depth=2),
}


@pytest.mark.parametrize("name", PADDED)
def test_a_padded_deep_network_computes_the_same_and_does_not_move_on_padding(name):
    network, shape, frame = PADDED[name], (6, 3), Frame((9, 4), 5)
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((6, *shape)), rng.choice([-1.0, 1.0], 6)
    wide_x = np.zeros((6, *frame.shape), np.float32)
    wide_x[:, :6, :3] = x
    learner, found = sx.Learner(1.0, 1), []

    def both(key, length):  # the true length is traced, as in a program that serves several
        for inputs, true, within in ((x, shape, None), (wide_x, (length, 3), frame)):
            layout, params = network.layout(true, within), network.init(key, true, within)
            rows = Rows(
                layout.cut(jnp.asarray(inputs, jnp.float32)),
                jnp.asarray(y, jnp.float32),
                jnp.full(6, 1 / 6),
            )
            slope = jax.grad(
                lambda p, layout=layout, rows=rows: empirical_loss(
                    learner, network, layout, p, rows
                )
            )(params)
            found.append((network.scores(params, rows.patches, layout), params, slope))
        return found

    (out, params, slope), (wide_out, wide, wide_slope) = jax.jit(both)(jax.random.key(0), 6)
    np.testing.assert_allclose(wide_out, out, rtol=1e-5, atol=1e-6)
    for small, large, start in zip(
        jax.tree.leaves(params.weights),
        jax.tree.leaves(wide.weights),
        jax.tree.leaves(wide.weights),
    ):
        real = np.asarray(start) != 0
        np.testing.assert_allclose(np.asarray(large)[real], np.asarray(small).ravel(), rtol=1e-5)
    for small, large, start in zip(
        jax.tree.leaves(slope.weights),
        jax.tree.leaves(wide_slope.weights),
        jax.tree.leaves(wide.weights),
    ):
        real = np.asarray(start) != 0
        np.testing.assert_allclose(
            np.asarray(large)[real], np.asarray(small).ravel(), rtol=1e-4, atol=1e-6
        )
        assert not np.asarray(large)[~real].any()


def test_deep_trials_run_padded_with_probes_and_projected_weights(programs):
    network = sx.CNN(1, 3, depth=2, activation=sx.LSA(0.1), readout="pooled", next_field=2)
    learner = sx.Learner(0.5, 8, projection="ball", lsa_bias=sx.Ramp(0.0, 0.1))
    names = (
        "risk",
        "alignment",
        "signal_gradient",
        "weight_norm",
        "weight_shift",
        "weight_gradient_norm",
    )
    trial = sx.Trial(sx.SignalTask(6, 5, 0.3), network, learner, 20, 1, sx.Measure(names, test=64))
    frame = frame_of(trial, Rounding(samples=4.0, sizes=2.0))
    assert frame.task.patches == 16
    (exact,), (padded,) = programs.run([trial], trial), programs.run([trial], frame)
    for name in ("loss", *names):
        assert exact[name] == pytest.approx(padded[name], rel=1e-3, abs=1e-4), name
    assert exact["loss"] < exact["trace.loss"][0]
    assert (
        0 < exact["weight_norm"] <= np.sqrt(6) + 1e-5
    )  # two layers of three units in the unit ball
