"""Several hidden layers: against loops, as networks of one another, on padding, in trials."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.engine import Rounding, frame_of
from separatrix.learners import Rows, empirical_loss, project
from separatrix.networks import Frame, embed

CASES = {  # network, input shape
    "1-D shared": (sx.CNN(3, 2, depth=3), (9, 2)),
    "1-D strided pooled": (sx.CNN(3, 2, stride=2, depth=2, pool=(2, 1), next_field=1), (12, 1)),
    "1-D wrapped": (sx.CNN(3, 2, depth=2, border="wrap", next_field=2), (5, 2)),
    "1-D grouped": (sx.CNN(1, 2, depth=2, groups=3, next_field=2), (7, 2)),
    "1-D local": (sx.LCN(2, 2, depth=2, pool=2), (9, 1)),
    "2-D shared": (sx.CNN((2, 3), 3, depth=2, pool=(1, 2)), (6, 7, 2)),
    "2-D wrapped": (sx.CNN(3, 2, depth=2, stride=2, border="wrap", next_field=2), (4, 6, 1)),
    "2-D local": (sx.LCN(2, 2, depth=2, border="wrap"), (3, 4, 2)),
    "2-D grouped": (sx.CNN(2, 2, depth=2, groups=(2, 1)), (4, 5, 1)),
    "2-D pooled once": (sx.CNN(2, 3, pool=2), (6, 5, 2)),
    "full": (sx.FCN(5, depth=4), (4, 2)),
}


CASES = {
    name: (network.replace(activation=sx.Tanh(), offset=True), shape)
    for name, (network, shape) in CASES.items()
}


def loop_layer(network, x, weights, bias, field, stride):
    """One hidden layer on one row x (*space, channels), window by window: (*counts, width)."""
    space, axes = x.shape[:-1], x.ndim - 1
    field = (
        space
        if network.connectivity == "full"
        else (field,) * axes
        if isinstance(field, int)
        else field
    )
    wrap = network.border == "wrap"
    counts = [n // stride if wrap else (n - f) // stride + 1 for n, f in zip(space, field)]
    groups = network.groups if isinstance(network.groups, tuple) else (network.groups or 1,) * axes
    out = np.zeros((*counts, network.width))
    for number, corner in enumerate(itertools.product(*(range(c) for c in counts))):
        seen = []
        for step in itertools.product(*(range(f) for f in field)):
            place = tuple((c * stride + i) % n for c, i, n in zip(corner, step, space))
            seen.append(x[place])
        tile = [c * g // n for c, g, n in zip(corner, groups, counts)]
        group = (
            number
            if network.connectivity == "local"
            else tile[0]
            if axes == 1
            else tile[0] * groups[1] + tile[1]
        )
        out[corner] = np.tanh(weights[group] @ np.concatenate(seen) + bias[group])
    return out


def loop_pool(x, pool):
    counts = [n // pool for n in x.shape[:-1]]
    out = np.zeros((*counts, x.shape[-1]))
    for corner in itertools.product(*(range(c) for c in counts)):
        block = x[tuple(slice(c * pool, (c + 1) * pool) for c in corner)]
        out[corner] = block.reshape(-1, x.shape[-1]).mean(0)
    return out


def by_loops(network, params, x):
    scores = []
    for row in x:
        now = row
        for layer, (weights, bias) in enumerate(zip(params.weights, params.bias)):
            field = (
                network.field if layer == 0 or network.next_field is None else network.next_field
            )
            stride = network.stride if layer == 0 else 1
            if network.connectivity == "full" and layer:
                now = now.reshape(1, -1)
            pool = network.pool[layer] if isinstance(network.pool, tuple) else network.pool
            now = loop_pool(
                loop_layer(network, now, np.asarray(weights), np.asarray(bias), field, stride), pool
            )
        positions = now.size // network.width
        flat = now.reshape(positions, network.width)
        readout = (
            np.asarray(params.readout)
            if network.readout == "positions"
            else np.tile(np.asarray(params.readout) / positions, (positions, 1))
        )
        scores.append((flat * readout).sum() + float(params.offset))
    return np.array(scores)


def random_like(params, rng):
    return jax.tree.map(lambda part: jnp.asarray(rng.standard_normal(part.shape)), params)


@pytest.mark.parametrize("which", CASES)
def test_scores_are_layers_of_windows_and_counts_are_entries(which):
    network, shape = CASES[which]
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, *shape))
    for readout in ("positions", "pooled") if which == "1-D shared" else ("positions",):
        network = network.replace(readout=readout)
        drawn = jax.eval_shape(lambda key, n=network: n.init(key, shape), jax.random.key(0))
        with jax.enable_x64(True):
            params = random_like(drawn, rng)
            measured = jax.jit(network.apply)(params, jnp.asarray(x))
        np.testing.assert_allclose(measured, by_loops(network, params, x), rtol=0, atol=1e-11)
        assert network.parameter_count(shape) == sum(
            np.size(leaf) for leaf in jax.tree.leaves(params)
        )
        # Multiply-adds: every position's units times their inputs, layer by layer, and one for
        # every unit read.
        positions = [where.positions for where, _, _ in sx.networks.layers.layers(network, shape)]
        read = np.size(params.readout) if readout == "positions" else positions[-1] * network.width
        assert (
            network.flops(shape)
            == 2 * sum(p * w.shape[1] * w.shape[2] for p, w in zip(positions, params.weights))
            + 2 * read
        )


@pytest.mark.parametrize("shape", [(5, 2), (3, 4, 1)], ids=["1-D", "2-D"])
def test_a_deep_convolution_is_a_local_network_of_tied_weights_is_a_dense_network(shape):
    cnn = sx.CNN(
        2, 3, depth=3, border="wrap", activation=sx.Tanh()
    )  # wrapped: as many positions in every layer
    positions = cnn.windows(shape).positions
    lcn, fcn = (
        cnn.replace(connectivity="local"),
        sx.FCN(3 * positions, depth=3, activation=sx.Tanh()),
    )
    places = cnn.windows(shape).places()
    rng = np.random.default_rng(1)
    x = rng.standard_normal((4, *shape))
    with jax.enable_x64(True):
        params = random_like(
            jax.eval_shape(lambda key: cnn.init(key, shape), jax.random.key(0)), rng
        )
        tied = params._replace(
            weights=tuple(jnp.tile(w, (positions, 1, 1)) for w in params.weights),
            bias=tuple(jnp.tile(b, (positions, 1)) for b in params.bias),
        )
        dense = []
        for w in params.weights:  # unit (p, f) reads coordinate (q, c) wherever q is in window p
            small = np.asarray(w[0]).reshape(3, len(places[0]), -1)
            big = np.zeros((positions, 3, positions, small.shape[-1]))
            for p, q in itertools.product(range(positions), range(len(places[0]))):
                big[p, :, places[p, q]] += small[:, q]
            dense.append(jnp.asarray(big.reshape(1, 3 * positions, -1)))
        biases = tuple(jnp.tile(b[0], positions)[None] for b in params.bias)
        wide = sx.Params(tuple(dense), biases, params.readout.reshape(1, -1))
        outs = [
            jax.jit(n.apply)(p, jnp.asarray(x))
            for n, p in ((cnn, params), (lcn, tied), (fcn, wide))
        ]
    np.testing.assert_allclose(outs[1], outs[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(outs[2], outs[0], rtol=0, atol=1e-12)


def test_the_first_layer_starts_as_the_shallow_network_does_and_others_by_their_own_fan_in():
    shape = (30, 4)
    deep, shallow = sx.CNN(5, 60, depth=2), sx.CNN(5, 60)
    params, one = jax.jit(lambda key: (deep.init(key, shape), shallow.init(key, shape)))(
        jax.random.key(0)
    )
    np.testing.assert_array_equal(params.weights[0], one.weights)
    second = np.asarray(params.weights[1], np.float64)
    assert second.shape == (1, 60, 300)
    # Variance 2/fan_in with fan_in 5·60, within 4.5 standard errors.
    assert abs(np.mean(second**2) * 150 - 1) < 4.5 * np.sqrt(2 / second.size)


def test_projection_acts_on_every_layer():
    params = sx.Params((jnp.full((1, 2, 4), 2.0), jnp.full((1, 2, 2), 0.1)))
    ball, sphere = (project(params, kind).weights for kind in ("ball", "sphere"))
    np.testing.assert_allclose(ball[0], 0.5)
    np.testing.assert_allclose(ball[1], 0.1)
    np.testing.assert_allclose([np.linalg.norm(w, axis=-1) for w in sphere], 1.0, rtol=1e-6)


def test_what_depth_does_not_do_is_one_sentence():
    for call, words in [
        (lambda: sx.FCN(3, depth=0), "the `depth` of Network must be an integer >= 1, got 0"),
        (lambda: sx.CNN(3, pool=(2, 1)), "the `pool` of Network must be a positive integer"),
        (lambda: sx.CNN(3, depth=2, pool=0), "the `pool` of Network must be a positive integer"),
        (
            lambda: sx.FCN(3, depth=2, pool=2),
            "the `pool` of Network must be left out for a full network",
        ),
        (
            lambda: sx.FCN(3, depth=2, next_field=2),
            "the `next_field` of Network must be left out for a full network",
        ),
        (
            lambda: sx.CNN(sx.Views(2, 3), depth=2),
            "the `field` of Network must be left to networks of one hidden layer",
        ),
        (
            lambda: sx.FCN(8, depth=2, start=sx.CNN(1)),
            "the `start` of Network must be left to networks of one hidden layer",
        ),
        (
            lambda: sx.FCN(8, start=sx.CNN(1, depth=2)),
            "the `start` of Network must be a network of one hidden layer",
        ),
        (
            lambda: embed(sx.CNN(1, depth=2), None, (4, 1), to="full"),
            "the `network` of embed must be of one hidden layer without pooling",
        ),
        (
            lambda: sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(3, depth=2), sx.Learner(1.0, 1), 8),
            "the `field` of Network must be at most",
        ),
        (
            lambda: sx.CNN(1, depth=2, groups=5, pool=2).fits((8, 1)),
            "the `groups` of Network must be at most the number of positions",
        ),
    ]:
        with pytest.raises(sx.ParameterError, match=words):
            call()


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
