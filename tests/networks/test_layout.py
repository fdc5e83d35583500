"""Sharing groups and wrapped borders against plain loops: scores, counts, padding, embeddings,
distances, trials.
"""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.engine import Rounding, frame_of
from separatrix.learners import Rows, empirical_loss
from separatrix.networks import Frame, Params, distance, embed, windows

CASES = {  # shape, field, stride, border, groups
    "1-D": ((9, 2), 3, 1, "valid", 3),
    "1-D uneven": ((9, 1), 3, 1, "valid", 4),
    "1-D wrapped": ((6, 2), 4, 1, "wrap", 3),
    "1-D wrapped whole": ((5, 2), 5, 1, "wrap", 2),
    "1-D wrapped strided": ((6, 1), 3, 2, "wrap", 2),
    "1-D shared wrapped": ((6, 1), 2, 1, "wrap", None),
    "1-D as local": ((6, 1), 2, 1, "wrap", 6),
    "2-D": ((4, 5, 2), (2, 3), 1, "valid", (2, 3)),
    "2-D wrapped": ((3, 4, 1), (2, 3), 1, "wrap", (3, 2)),
    "2-D wrapped shared": ((3, 4, 1), 3, 1, "wrap", 1),
}


def loops(shape, field, stride, border, groups):
    """For every window, in order: the flat coordinates it sees, and its group."""
    *space, _ = shape
    axes = len(space)
    field, stride = ((n,) * axes if isinstance(n, int) else n for n in (field, stride))
    groups = (
        (1,) * axes
        if groups in (None, 1)
        else (groups,) * axes
        if isinstance(groups, int)
        else groups
    )
    counts = [
        n // s if border == "wrap" else (n - f) // s + 1 for n, f, s in zip(space, field, stride)
    ]
    out = []
    for corner in itertools.product(*(range(c) for c in counts)):
        seen = []
        for step in itertools.product(*(range(f) for f in field)):
            place = [(p * s + i) % n for p, s, i, n in zip(corner, stride, step, space)]
            seen.append(place[0] if axes == 1 else place[0] * space[1] + place[1])
        tile = [math.floor(p * g / n) for p, g, n in zip(corner, groups, counts)]
        out.append((seen, tile[0] if axes == 1 else tile[0] * groups[1] + tile[1]))
    return out, math.prod(groups)


def network_of(which, **options):
    _, field, stride, border, groups = CASES[which]
    return sx.CNN(field, 2, stride=stride, border=border, groups=groups, **options)


def made(which, network, rng):
    shape = CASES[which][0]
    places, groups = loops(*CASES[which])
    span = len(places[0][0]) * shape[-1]
    readout = {"positions": (len(places), 2), "pooled": (2,)}.get(network.readout)
    shapes = {"weights": (groups, 2, span), "bias": (groups, 2), "readout": readout}
    return Params(
        **{name: jnp.asarray(rng.standard_normal(s)) for name, s in shapes.items() if s is not None}
    )


def by_loops(which, network, params, x):
    places, _ = loops(*CASES[which])
    flat = x.reshape(len(x), -1, x.shape[-1])
    total = np.zeros(len(x))
    for p, (seen, group) in enumerate(places):
        z = flat[:, seen].reshape(len(x), -1) @ np.asarray(params.weights[group]).T + np.asarray(
            params.bias[group]
        )
        readout = {
            "positions": lambda p: params.readout[p],
            "pooled": lambda _: params.readout / len(places),
            "sum": lambda _: np.ones(2),
        }
        total += np.tanh(z) @ np.asarray(readout[network.readout](p))
    return total


@pytest.mark.parametrize("which", CASES)
def test_scores_and_embeddings_are_a_sum_over_windows_with_the_weights_of_their_groups(which):
    shape = CASES[which][0]
    rng = np.random.default_rng(3)
    x = rng.standard_normal((4, *shape))
    with jax.enable_x64(True):
        for readout in ("positions", "pooled", "sum") if which == "1-D" else ("positions",):
            network = network_of(which, readout=readout, activation=sx.Tanh())
            params = made(which, network, rng)

            def compute(params, network=network):
                larger = {to: embed(network, params, shape, to=to) for to in ("local", "full")}
                return [
                    network.apply(params, jnp.asarray(x)),
                    *(wide.apply(p, jnp.asarray(x)) for wide, p in larger.values()),
                ]

            expected = by_loops(which, network, params, x)
            for measured in jax.jit(compute)(params):
                np.testing.assert_allclose(measured, expected, rtol=0, atol=1e-12)
            assert network.parameter_count(shape) == sum(
                np.size(part) for part in params if part is not None
            )
            # Per hidden unit: span multiply-adds into it, one out of it.
            assert network.flops(shape) == 2 * len(loops(*CASES[which])[0]) * 2 * (
                params.weights.shape[-1] + 1
            )
    drawn = jax.eval_shape(lambda key: network_of(which).init(key, shape), jax.random.key(0))
    assert drawn.weights.shape == params.weights.shape
    assert drawn.bias.shape == params.bias.shape


def test_one_group_is_the_convolution_and_as_many_as_positions_the_local_network():
    shape, x = (6, 2), jax.random.normal(jax.random.key(1), (5, 6, 2))
    networks = [sx.CNN(3, 2, **o) for o in ({}, {"groups": 1}, {"groups": 4})] + [sx.LCN(3, 2)]

    def run(key):
        starts = [network.init(key, shape) for network in networks]
        return starts, [network.apply(p, x) for network, p in zip(networks, starts)]

    starts, outs = jax.jit(run)(jax.random.key(0))
    np.testing.assert_array_equal(outs[0], outs[1])
    np.testing.assert_array_equal(
        starts[2].weights, starts[3].weights
    )  # the same stream: the same start
    np.testing.assert_allclose(outs[2], outs[3], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(starts[0].weights[0], starts[3].weights[0])


def test_more_groups_embed_only_where_they_refine():
    shape, rng = (8, 1), np.random.default_rng(0)
    two = sx.CNN(1, 2, groups=2)
    params = Params(
        jnp.asarray(rng.standard_normal((2, 2, 1)), jnp.float32), jnp.ones((2, 2)), jnp.ones((8, 2))
    )
    x = jnp.asarray(rng.standard_normal((3, 8, 1)), jnp.float32)
    four, finer = embed(two, params, shape, to="shared", groups=4)
    assert finer.weights.shape == (4, 2, 1)
    np.testing.assert_allclose(four.apply(finer, x), two.apply(params, x), rtol=1e-5, atol=1e-6)
    with pytest.raises(
        sx.ParameterError,
        match="the `groups` of embed must be groups that each lie inside one of the network's 2, "
        "got 3",
    ):
        embed(two, params, shape, to="shared", groups=3)
    # A grouped network that starts as a convolution, and a full one that starts as a grouped
    # network.
    for network in (sx.CNN(1, 2, groups=4, start=sx.CNN(1, 2)), sx.FCN(16, start=two)):
        start = jax.jit(lambda key, n=network: n.init(key, shape))(jax.random.key(0))
        far = distance(start, network.start, shape) if network.connectivity == "full" else None
        assert far is None or (float(far.off_locality), float(far.off_sharing)) == pytest.approx(
            (0.0, 0.0), abs=1e-6
        )
        assert far is not None or np.ptp(np.asarray(start.weights), axis=0).max() == 0.0


@pytest.mark.parametrize("to", ["local", "full"])
def test_distance_is_what_differs_within_groups_and_lies_outside_of_wrapped_windows(to):
    shape, network, rng = (6, 2), sx.CNN(6, 2, border="wrap", groups=2), np.random.default_rng(1)
    params = Params(
        jnp.asarray(rng.standard_normal((2, 2, 12)), jnp.float32),
        jnp.zeros((2, 2)),
        jnp.zeros((6, 2)),
    )
    wide = embed(network, params, shape, to=to).params
    assert float(distance(wide, network, shape).off_sharing) < 1e-5
    noise = rng.standard_normal(wide.weights.shape).astype(np.float32)
    block = noise.reshape(6, 2, 6, 2)
    if to == "full":  # window p sees the coordinates p, p+1, … around the edge
        block = np.stack([np.roll(block[p], -p, axis=1) for p in range(6)])
    expected = (
        sum(((block[g] - block[g].mean(0)) ** 2).sum() for g in (slice(0, 3), slice(3, 6))) ** 0.5
    )
    moved = distance(wide._replace(weights=wide.weights + noise), network, shape)
    assert float(moved.off_sharing) == pytest.approx(expected, rel=1e-4)
    assert float(moved.off_locality) == 0.0  # every window sees the whole input


def test_a_padded_grouped_network_computes_the_same_and_its_gradients_vanish_on_padding():
    network, shape, frame = sx.CNN(2, 3, groups=3, readout="pooled"), (6, 3), Frame((9, 4), 5)
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
    for small, large in ((params, wide), (slope, wide_slope)):
        blocks = np.asarray(large.weights).reshape(3, 5, 2, 4)
        np.testing.assert_allclose(
            blocks[:, :3, :, :3].reshape(3, 3, 6), small.weights, rtol=1e-4, atol=1e-6
        )
        assert not blocks[:, 3:].any()
        assert not blocks[..., 3:].any()


def test_grouped_trials_are_padded_and_wrapped_ones_are_not(programs):
    learner, measure = sx.Learner(0.5, 6), sx.Measure(("risk", "alignment"), test=64)
    rounding = Rounding(samples=4.0, sizes=2.0)
    grouped = sx.Trial(
        sx.SignalTask(6, 5, 0.3), sx.CNN(1, 3, groups=3, readout="pooled"), learner, 20, 1, measure
    )
    frame = frame_of(grouped, rounding)
    assert frame.task.patches == 16
    (exact,), (padded,) = programs.run([grouped], grouped), programs.run([grouped], frame)
    for name in ("loss", "risk", "alignment"):
        assert exact[name] == pytest.approx(padded[name], rel=1e-4, abs=1e-5)
    wrapped = grouped.replace(network=sx.CNN(4, 3, border="wrap", groups=3))
    framed = frame_of(wrapped, rounding)
    assert (framed.task, framed.network) == (wrapped.task, wrapped.network)
    (row,) = programs.run([wrapped], framed)
    assert row["loss"] < row["trace.loss"][0]


def test_a_wrapped_network_of_the_whole_input_is_a_full_network_of_rotated_weights():
    rng = np.random.default_rng(5)
    network = sx.LCN(5, 1, border="wrap", readout="sum")
    w, b = rng.standard_normal((5, 1, 10)), rng.standard_normal((5, 1))
    x = jnp.asarray(rng.standard_normal((4, 5, 2)), jnp.float32)
    rotated = np.stack([np.roll(w[p].reshape(5, 2), p, axis=0).reshape(-1) for p in range(5)])
    params = Params(jnp.asarray(w, jnp.float32), jnp.asarray(b, jnp.float32))
    full = Params(
        jnp.asarray(rotated[None], jnp.float32), jnp.asarray(b.reshape(1, 5), jnp.float32)
    )
    np.testing.assert_allclose(
        network.apply(params, x), sx.FCN(5, readout="sum").apply(full, x), rtol=1e-5, atol=1e-5
    )


def test_groups_and_borders_that_do_not_fit_are_one_sentence():
    task, learner = sx.SignalTask(4, 3, 0.3), sx.Learner(1.0, 1)
    for call, words in [
        (
            lambda: sx.Trial(task, sx.CNN(1, groups=5), learner, 8),
            r"the `groups` of Network must be at most the number of positions \(4,\)",
        ),
        (
            lambda: sx.CNN(2, groups=2).windows((4, 4, 1)),
            "the `groups` of Network must be a tuple of 2 positive integers",
        ),
        (
            lambda: sx.CNN(2, groups=(2, 2)).windows((4, 1)),
            "the `groups` of Network must be a positive integer",
        ),
        (lambda: sx.CNN(2, groups=0), "the `groups` of Network must be a positive integer"),
        (
            lambda: sx.LCN(2, groups=2),
            "the `groups` of Network must be None unless the connectivity is 'shared'",
        ),
        (
            lambda: sx.FCN(2, border="wrap"),
            "the `border` of Network must be 'valid' for a full network",
        ),
        (lambda: sx.CNN(2, border="zero"), "the `border` of Network must be one of"),
        (
            lambda: windows((7, 1), 2, 2, "wrap"),
            r"the `stride` of Network must be a divisor of the input's size \(7,\)",
        ),
        (
            lambda: windows((7, 1), 8, 1, "wrap"),
            "the `field` of Network must be at most the input's size",
        ),
        (
            lambda: sx.CNN(2, groups=2, start=sx.CNN(3)),
            "the `start` of Network must be a network with the same `field`",
        ),
    ]:
        with pytest.raises(sx.ParameterError, match=words):
            call()


def test_later_fields_at_their_defaults_do_not_change_what_a_network_is():
    plain = sx.CNN(3, 2)
    assert sx.CNN(3, 2, groups=None, border="valid").canonical() == plain.canonical()
    assert "groups" not in plain.canonical()
    others = [
        sx.CNN(3, 2, groups=2),
        sx.CNN(3, 2, groups=3),
        sx.CNN(3, 2, border="wrap"),
        sx.CNN(3, 2, readout="pooled", outputs=2),
    ]
    assert len({network.canonical() for network in [plain, *others]}) == 5
    assert sx.FCN(8, start=others[0]).canonical() != sx.FCN(8, start=plain).canonical()
    for network in others:
        assert network.columns()["groups"] == network.groups
