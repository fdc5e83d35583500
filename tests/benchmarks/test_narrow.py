"""The spelling for windows of few numbers against the matrix product: outputs, gradients, second derivatives, and where it is used."""

import importlib.util
import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.learners import Rows, empirical_loss
from separatrix.networks import Frame

_SPEC = importlib.util.spec_from_file_location("narrow", Path(__file__).parents[2] / "benchmarks" / "narrow.py")
narrow = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(narrow)

ACTIVATIONS = [sx.ReLU(), sx.ClippedReLU(0.7), sx.Tanh(), sx.LSA(0.4)]
READOUTS = ["positions", "pooled", "sum"]
NETWORKS = {  # of one filter more than a power of two; the input's shape
    "shared": (sx.CNN(3, 5), (8, 1)),
    "shared, disjoint": (sx.CNN(5, 5, stride=5), (20, 1)),
    "shared, channels": (sx.CNN(2, 5), (6, 3)),
    "shared, images": (sx.CNN(3, 5, stride=2), (7, 7, 1)),
    "shared, wrapped": (sx.CNN(4, 5, border="wrap"), (6, 1)),
    "shared, views": (sx.CNN(sx.Views(4, 3, seed=1), 5), (9, 1)),
    "shared, one number": (sx.CNN(1, 1), (3, 1)),
    "grouped": (sx.CNN(3, 5, groups=2), (8, 1)),
    "local": (sx.LCN(3, 5), (8, 1)),
}
# Float32 keeps 6e-8 of a number. Outputs, gradients and products here are sums of at most about 3000 terms (11 rows, 9 windows, 5 filters,
# 6 numbers), of either sign and in another order: 1e-5 of the largest entry is 170 such roundings, and a wrong term is far more.
TOLERANCE = 1e-5


@pytest.fixture
def as_narrow(monkeypatch):
    """Makes networks take one of the spellings, whatever the device."""
    own = sx.Network.scores

    def mixed(network, *given):
        return narrow.scores(network, *given) if narrow.fits(network) else own(network, *given)

    return lambda on: monkeypatch.setattr(sx.Network, "scores", mixed if on else own)


def close(found, expected, tolerance=TOLERANCE):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        largest = max(float(np.abs(other).max()), 1e-3)
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * largest)


def derivatives(network, shape, params, along, x, y, learner, within=None):
    """Scores, gradient and a Hessian-vector product of the training loss."""
    layout = network.layout(shape, within)
    rows = Rows(layout.cut(x), y, jnp.full(len(y), 1 / len(y), x.dtype))

    def loss(p):
        return empirical_loss(learner, network, layout, p, rows)

    slope, product = jax.jvp(jax.grad(loss), (params,), (along,))
    return network.scores(params, rows.patches, layout), slope, product


def drawn(network, shape, rng, dtype=np.float32):
    """Normal numbers in place of all parameters."""
    shapes = jax.eval_shape(lambda key: network.init(key, shape), jax.random.key(0))
    return jax.tree.map(lambda leaf: jnp.asarray(rng.standard_normal(leaf.shape), dtype), shapes)


def options_of(which):
    """Every activation, readout and bias for the first network; for the others each activation with one readout and bias."""
    if which == "shared":
        return itertools.product(ACTIVATIONS, READOUTS, [True, False])
    return zip(ACTIVATIONS, [*READOUTS, "pooled"], [True, True, False, False])


@pytest.mark.parametrize("which", NETWORKS)
def test_outputs_gradients_and_hessian_products_are_those_of_the_matrix_product(which, as_narrow):
    plain, shape = NETWORKS[which]
    rng = np.random.default_rng(0)
    x, y = jnp.asarray(rng.standard_normal((11, *shape)), jnp.float32), jnp.asarray(rng.standard_normal(11), jnp.float32)
    cases = []
    for activation, readout, bias in options_of(which):
        network = plain.replace(activation=activation, readout=readout, bias=bias, offset=readout == "pooled")
        cases.append((network, drawn(network, shape, rng), drawn(network, shape, rng)))
    learner, found = sx.Learner(0.1, 1, "squared"), {}
    for on in (False, True):
        as_narrow(on)

        def every(many, on=on):
            return [derivatives(network, shape, *each, x, y, learner) for (network, *_), each in zip(cases, many)]

        found[on] = jax.jit(every)([case[1:] for case in cases])
    close(found[True], found[False])


def test_in_double_precision_they_agree_to_its_rounding(as_narrow):
    network, shape = sx.CNN(5, 6, stride=5, activation=sx.Tanh(), readout="pooled", offset=True), (20, 1)
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        params, along = (drawn(network, shape, rng, np.float64) for _ in range(2))
        x, y = jnp.asarray(rng.standard_normal((7, *shape))), jnp.asarray(rng.standard_normal(7))
        found = {}
        for on in (False, True):
            as_narrow(on)
            found[on] = derivatives(network, shape, params, along, x, y, sx.Learner(0.1, 1, "squared"))
        close(found[True], found[False], 1e-13)


@pytest.mark.parametrize("name", ["CNN", "LCN"])
def test_a_padded_batch_of_trials_is_each_of_them_and_padding_has_no_gradient(name, as_narrow):
    network = {"CNN": sx.CNN(2, 3, readout="pooled", offset=True), "LCN": sx.LCN(2, 3, activation=sx.Tanh())}[name]
    shape, frame, learner = (5, 3), Frame((8, 4), 5), sx.Learner(0.1, 1, "squared")
    rng = np.random.default_rng(2)
    x = np.zeros((4, 6, *frame.shape), np.float32)
    x[:, :, :5, :3] = rng.standard_normal((4, 6, *shape))
    y = jnp.asarray(rng.standard_normal((4, 6)), jnp.float32)
    params = jax.vmap(lambda key: network.init(key, shape, frame))(jax.random.split(jax.random.key(0), 4))

    def one(p, x, y):
        return derivatives(network, shape, p, p, x, y, learner, frame)

    as_narrow(False)
    expected = [one(jax.tree.map(lambda leaf, i=i: leaf[i], params), jnp.asarray(x[i]), y[i]) for i in range(4)]
    as_narrow(True)
    found = jax.jit(jax.vmap(one))(params, jnp.asarray(x), y)
    close(found, jax.tree.map(lambda *leaves: jnp.stack(leaves), *expected))
    units = np.asarray(network.layout(shape, frame).units)
    slope = np.asarray(found[1].weights)
    assert not slope[:, units[: slope.shape[1]] == 0].any()


def test_a_whole_trial_ends_where_the_other_spelling_does(as_narrow):
    task = sx.SphereTask(dimension=10, patch=5, noise=0.5)
    network = sx.CNN(5, 8, stride=5, readout="pooled", offset=True)
    trial = sx.Trial(task, network, sx.Learner(0.1, 30, "squared"), samples=12, measure=sx.Measure(("sharpness",), test=16))
    rows = {}
    for on in (False, True):
        as_narrow(on)
        rows[on] = sx.engine.Programs().run([trial], trial)[0]
    for name in ("loss", "sharpness"):
        # Thirty steps below the edge of stability do not make errors grow; Lanczos stops at a residual of 1e-3, an error of about its square.
        np.testing.assert_allclose(rows[True][f"trace.{name}"], rows[False][f"trace.{name}"], rtol=1e-4)


def test_units_are_not_kept_for_the_way_back(as_narrow):
    # An array of all units' size is what the spelling is there to avoid: none may lie between the way there and the way back.
    network, shape, rows = sx.CNN(3, 7, readout="pooled"), (8, 1), 11
    layout, params = network.layout(shape), network.init(jax.random.key(0), shape)
    patches = layout.cut(jnp.ones((rows, *shape)))
    units = rows * layout.windows.positions * 7
    kept = {}
    for on in (False, True):
        as_narrow(on)
        back = jax.vjp(lambda p: network.scores(p, patches, layout), params)[1]
        kept[on] = max(leaf.size for leaf in jax.tree.leaves(back))
    assert kept[False] == units
    assert kept[True] <= max(patches.size, layout.windows.positions * 7 * 3) < units
