"""Networks against plain loops: scores, counts, windows, padding."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from numpy_reference import loss_and_gradient, patches_of, random_params, unit_by_unit
from separatrix.learners import Rows, empirical_loss
from separatrix.networks import Frame, Params, windows

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


def test_lsa_is_the_difference_of_two_rectifiers_with_their_slopes():
    z = jnp.array([-2.0, -0.6, -0.3, 0.0, 0.2, 0.6, 3.0])
    for b in (0.0, 0.4):
        expected = jax.nn.relu(z - b) - jax.nn.relu(-z - b)
        np.testing.assert_allclose(sx.LSA(b)(z), expected, atol=1e-6)
        inside = np.abs(np.asarray(z)) < b
        slope = np.asarray(jax.grad(lambda z, b=b: sx.LSA(b)(z).sum())(z))
        if b:
            np.testing.assert_array_equal(slope, np.where(inside, 0.0, 1.0))
        else:  # linear away from 0; at the kink any slope in [0, 1] is a subgradient
            np.testing.assert_array_equal(np.delete(slope, 3), 1.0)


@pytest.mark.parametrize("which", INPUTS)
def test_windows_cut_what_loops_cut(which):
    shape, field, stride = INPUTS[which]
    x = np.random.default_rng(1).standard_normal((3, *shape)).astype(np.float32)
    where = windows(shape, field, stride)
    expected = patches_of(x, field, stride)
    assert (where.positions, where.span) == expected.shape[:2]
    np.testing.assert_array_equal(where.patches(jnp.asarray(x)), expected.astype(np.float32))


@pytest.mark.parametrize(
    "connectivity, readout", [*itertools.product(["full", "local", "shared"], READOUTS)]
)
def test_parameter_count_is_the_number_of_entries_and_flops_follow_the_formula(
    connectivity, readout
):
    for which, bias, offset in [("1-D strided", True, False), ("2-D", False, True)]:
        shape, field, stride = INPUTS[which]
        network = network_of(connectivity, field, stride, readout=readout, bias=bias, offset=offset)
        arrays = jax.eval_shape(lambda key, n=network, s=shape: n.init(key, s), jax.random.key(0))
        expected = random_params(network, shape, np.random.default_rng(0))
        assert {
            name: part.shape for name, part in arrays._asdict().items() if part is not None
        } == {name: np.shape(part) for name, part in expected.items()}
        assert network.parameter_count(shape) == sum(np.size(part) for part in expected.values())
        positions, span, _ = patches_of(np.zeros((1, *shape)), network.field, network.stride).shape
        # Per hidden unit: span multiply-adds into it, one out of it.
        assert network.flops(shape) == 2 * positions * 3 * span + 2 * positions * 3


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
