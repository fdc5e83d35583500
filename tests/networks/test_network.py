"""Scores of networks of one hidden layer: against loops, on padding, with several outputs."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from numpy_reference import loss_and_gradient, patches_of, random_params, unit_by_unit
from separatrix.learners import Rows, empirical_loss
from separatrix.networks import Frame, Params, embed, windows

ACTIVATIONS = [sx.ReLU(), sx.ClippedReLU(0.7), sx.Tanh(), sx.LSA(0.4)]


READOUTS = ["positions", "pooled", "sum"]


INPUTS = {  # shape, field, stride
    "1-D": ((7, 2), 3, 1),
    "1-D strided": ((8, 1), 3, 2),
    "1-D one window": ((4, 1), 3, 2),  # one window that does not cover the input
    "2-D": ((4, 5, 2), (2, 3), 1),
    "2-D strided": ((5, 6, 1), 2, (2, 3)),
}


def network_of(connectivity, field, stride, width=3, **options):
    if connectivity == "full":
        return sx.FCN(width, **options)
    return sx.Network(connectivity, width, field, stride, **options)


def as_params(parts, dtype=np.float32):
    return Params(
        **{name: jnp.asarray(part, dtype) for name, part in ({"weights": None} | parts).items()}
    )


@pytest.mark.parametrize("connectivity", ["full", "local", "shared"])
@pytest.mark.parametrize("which", INPUTS)
def test_scores_are_a_sum_over_windows_and_filters(which, connectivity):
    shape, field, stride = INPUTS[which]
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, *shape))
    # Every activation and readout on the first input; on the others each readout with one
    # activation.
    pairs = (
        itertools.product(ACTIVATIONS, READOUTS)
        if which == "1-D"
        else zip(ACTIVATIONS[1:], READOUTS)
    )
    networks, parts = [], []
    for activation, readout in pairs:
        options = {
            "activation": activation,
            "readout": readout,
            "bias": readout != "sum",
            "offset": readout == "pooled",
        }
        networks.append(network_of(connectivity, field, stride, **options))
        parts.append(random_params(networks[-1], shape, rng))
    applied = jax.jit(
        lambda many, x: [network.apply(params, x) for network, params in zip(networks, many)]
    )
    outputs = applied([as_params(params) for params in parts], jnp.asarray(x, jnp.float32))
    for network, params, measured in zip(networks, parts, outputs):
        # Sums of at most 72 products in float32.
        np.testing.assert_allclose(measured, unit_by_unit(network, params, x), rtol=2e-5, atol=2e-5)


PADDED = {
    "CNN": sx.CNN(2, 3, readout="pooled", offset=True),
    "LCN": sx.LCN(3, 2, activation=sx.Tanh(), stride=2),
    "FCN": sx.FCN(3),
}


@pytest.mark.parametrize("name", PADDED)
def test_a_padded_network_computes_the_same_and_its_gradients_vanish_on_padding(name):
    network, shape, frame = PADDED[name], (5, 3), Frame((8, 4), 5)
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((6, *shape)), rng.choice([-1.0, 1.0], 6)
    wide_x = np.zeros((6, *frame.shape), np.float32)
    wide_x[:, :5, :3] = x
    learner, weight = sx.Learner(1.0, 1), np.full(6, 1 / 6)

    def init(key):
        return network.init(key, shape), network.init(key, shape, frame)

    params, wide = jax.jit(init)(jax.random.key(4))
    grads, outs = {}, {}
    for which, (p, inputs, layout) in {
        "exact": (params, jnp.asarray(x, jnp.float32), network.layout(shape)),
        "padded": (wide, jnp.asarray(wide_x), network.layout(shape, frame)),
    }.items():
        rows = Rows(
            layout.cut(inputs),
            jnp.asarray(y, jnp.float32),
            jnp.asarray(weight, jnp.float32),
        )

        def both(p, rows=rows, layout=layout):
            return network.scores(p, rows.patches, layout), jax.grad(
                lambda p: empirical_loss(learner, network, layout, p, rows)
            )(p)

        outs[which], grads[which] = jax.jit(both)(p)
    np.testing.assert_allclose(outs["padded"], outs["exact"], rtol=1e-5, atol=1e-6)

    reference = {
        part: np.asarray(v, np.float64) for part, v in params._asdict().items() if v is not None
    }
    patches = patches_of(x, network.field, network.stride)
    expected = loss_and_gradient(network, reference, patches, y, weight, "logistic")[1]
    for part, exact in grads["exact"]._asdict().items():
        if exact is None:
            continue
        np.testing.assert_allclose(exact, expected[part], rtol=1e-4, atol=1e-6)
        padded, start = np.asarray(getattr(grads["padded"], part)), np.asarray(getattr(wide, part))
        units = np.asarray(network.layout(shape, frame).units)
        # Real weights and readouts begin at normal numbers, padding at 0; biases begin at 0
        # everywhere.
        real = (
            units[: len(start)] > 0
            if part == "bias"
            else np.ones(()) > 0
            if part == "offset"
            else start != 0
        )
        np.testing.assert_allclose(
            padded[real].ravel(), np.asarray(exact).ravel(), rtol=1e-4, atol=1e-6
        )
        assert not padded[~real].any()
        if part != "bias":
            np.testing.assert_allclose(
                start[real].ravel(), np.asarray(getattr(params, part)).ravel(), rtol=1e-5
            )


def test_inputs_of_the_wrong_shape_and_fields_too_large_are_one_sentence():
    for call in [
        lambda: windows((8,), 3, 1),
        lambda: windows((2, 2, 2, 2), 1, 1),
        lambda: windows((8, 1), 9, 1),
        lambda: windows((8, 1), (2, 2), 1),
        lambda: windows((4, 4, 1), 2, (1, 1, 1)),
        lambda: windows((4, 4, 1), "22", 1),
    ]:
        with pytest.raises(sx.ParameterError, match=r"^the `[\w ]+` of Network must be"):
            call()


class Arms(sx.Task):
    """Three classes: which of three coordinates is the largest."""

    classes: int = sx.static(low=2, default=3)

    @property
    def shape(self):
        return (3, 1)

    def draw(self, key, rows, truth=None, within=None):
        x = jax.random.normal(key, (rows, 3, 1))
        return sx.Sample(x, jnp.argmax(x[:, :, 0], 1).astype(jnp.float32))


@pytest.mark.parametrize("readout", ["positions", "pooled"])
@pytest.mark.parametrize(
    "make",
    [lambda **o: sx.CNN(2, 3, **o), lambda **o: sx.LCN(2, 3, **o), lambda **o: sx.FCN(3, **o)],
)
def test_every_output_is_the_network_with_its_own_readout(make, readout):
    several, one = (make(readout=readout, offset=True, outputs=n) for n in (4, 1))
    shape, x = (5, 2), jax.random.normal(jax.random.key(1), (6, 5, 2))

    def run(key):
        params = several.init(key, shape)
        params = params._replace(offset=jnp.arange(4.0))
        singles = [
            params._replace(readout=params.readout[..., c], offset=params.offset[c])
            for c in range(4)
        ]
        wide, big = embed(several, params, shape, to="full")
        return (
            params,
            several.apply(params, x),
            jnp.stack([one.apply(p, x) for p in singles], 1),
            wide.apply(big, x),
        )

    params, scores, expected, embedded = jax.jit(run)(jax.random.key(0))
    assert scores.shape == (6, 4)
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(embedded, expected, rtol=1e-5, atol=1e-5)
    assert several.parameter_count(shape) == sum(np.size(part) for part in params)
    assert several.flops(shape) == one.flops(shape) + 3 * (
        one.flops(shape) // (several.windows(shape).span + 1)
    )


def test_a_trial_of_three_classes_learns_them(programs):
    measure = sx.Measure(("risk", "train_risk"), test=500)
    trial = sx.Trial(
        Arms(), sx.FCN(16, offset=True, outputs=3), sx.Learner(0.5, 200), 400, 0, measure
    )
    (row,) = programs.run([trial], trial)
    assert row["trace.loss"][0] > 0.5
    # Which coordinate is largest is a linear rule for three outputs; chance is 2/3.
    assert row["risk"] < 0.1
    assert row["train_risk"] < 0.1


def test_outputs_that_do_not_fit_are_one_sentence():
    learner = sx.Learner(1.0, 1)
    for call, words in [
        (lambda: sx.FCN(3, outputs=0), "the `outputs` of Network must be an integer >= 1, got 0"),
        (
            lambda: sx.FCN(3, outputs=3, readout="sum"),
            "the `readout` of Network must be trained when there are several outputs",
        ),
        (
            lambda: sx.Trial(Arms(), sx.FCN(3, outputs=4), learner, 8),
            r"the `outputs` of Network must be the number of the task's classes \(3\), got 4",
        ),
        (
            lambda: sx.Trial(Arms(), sx.FCN(3), learner, 8),
            r"the `outputs` of Network must be the number of the task's classes \(3\), got 1",
        ),
        (
            lambda: sx.Trial(sx.PatternTask(4, 2), sx.FCN(3, outputs=2), learner, 8),
            "the `outputs` of Network must be 1 for labels of ±1, got 2",
        ),
        (
            lambda: sx.Trial(Arms(), sx.FCN(3, outputs=3), sx.Learner(1.0, 1, "hinge"), 8),
            "the `loss` of Learner must be one of logistic, squared",
        ),
        (
            lambda: sx.FCN(3, outputs=3, start=sx.CNN(1)),
            "the `start` of Network must be a network with the same `outputs`",
        ),
    ]:
        with pytest.raises(sx.ParameterError, match=words):
            call()
