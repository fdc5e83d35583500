"""The fused kernels, interpreted, against the ordinary spelling: outputs, gradients, second derivatives, batches of trials, loops."""

import contextlib
import importlib
import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.engine import programs as engine
from separatrix.learners import Rows, empirical_loss
from separatrix.networks import Frame, fused, kernels

ACTIVATIONS = [sx.ReLU(), sx.ClippedReLU(0.7), sx.Tanh(), sx.LSA(0.4)]
NETWORKS = {  # the input's shape; widths, windows and rows that no tile divides
    "shared": (sx.CNN(3, 5), (8, 1)),
    "shared, channels": (sx.CNN(2, 5), (6, 3)),
    "shared, images": (sx.CNN(3, 5, stride=2), (7, 7, 1)),
    "shared, one number": (sx.CNN(1, 1), (3, 1)),
    "grouped": (sx.CNN(3, 5, groups=2), (8, 1)),
    "local": (sx.LCN(3, 6), (8, 1)),
}
TILES = [(64, 4), (32, 6), (128, 5), (32, 1), (64, 4, 32), (32, 32, 0, 2)]  # rows, units, the second kernel's rows and numbers of a window
ROWS = 75  # two tiles of 64 and three of 32, the last not full
# Float32 keeps 6e-8 of a number. Outputs, gradients and products here are sums of at most about 20,000 terms (75 rows, 9 windows, 5 filters,
# 6 numbers), of either sign and in another order: 1e-5 of the largest entry is 170 such roundings, about the square root of that many
# terms; a row, a unit or a number left out or counted twice is more than a thousandth.
TOLERANCE = 1e-5


@contextlib.contextmanager
def tiled(tiles):
    """Within, kernels with these tiles are used for every network that they can hold; with None, none are."""
    with pytest.MonkeyPatch.context() as patch, fused.asked_for(tiles is not None):
        patch.setattr(fused, "LEAST_UNITS", 1)
        if tiles is not None:
            patch.setattr(fused, "tiles_for", lambda span, rows: kernels.Tiles(*tiles))
        yield


def close(found, expected, tolerance=TOLERANCE):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        largest = max(float(np.abs(other).max()), 1e-3)
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * largest)


def drawn(network, shape, rng):
    """Normal numbers in place of all parameters."""
    shapes = jax.eval_shape(lambda key: network.init(key, shape), jax.random.key(0))
    return jax.tree.map(lambda leaf: jnp.asarray(rng.standard_normal(leaf.shape), jnp.float32), shapes)


def derivatives(tiles, network, shape, params, along, x, y, within=None):
    """Scores, gradient and a Hessian-vector product of the training loss, linearised as the sharpness probe does."""
    layout, learner = network.layout(shape, within), sx.Learner(0.1, 1, "squared")
    rows = Rows(layout.cut(x), y, jnp.full(len(y), 1 / len(y), x.dtype))
    with tiled(tiles):
        slope, product = jax.linearize(jax.grad(lambda p: empirical_loss(learner, network, layout, p, rows)), params)
        return network.scores(params, rows.patches, layout), slope, product(along)


@pytest.mark.parametrize("which", NETWORKS)
def test_outputs_gradients_and_hessian_products_are_those_of_the_ordinary_spelling(which):
    plain, shape = NETWORKS[which]
    rng = np.random.default_rng(0)
    x, y = jnp.asarray(rng.standard_normal((ROWS, *shape)), jnp.float32), jnp.asarray(rng.standard_normal(ROWS), jnp.float32)
    options = zip(itertools.cycle(ACTIVATIONS), itertools.cycle(["positions", "pooled", "sum"]), itertools.cycle([True, False]), TILES)
    cases = []
    for activation, readout, bias, tiles in options:
        network = plain.replace(activation=activation, readout=readout, bias=bias, offset=readout == "pooled")
        cases.append((network, tiles, drawn(network, shape, rng), drawn(network, shape, rng)))

    def every(many, in_kernels):
        return [derivatives(tiles if in_kernels else None, n, shape, *each, x, y) for (n, tiles, *_), each in zip(cases, many)]

    given = [case[2:] for case in cases]
    close(jax.jit(lambda many: every(many, True))(given), jax.jit(lambda many: every(many, False))(given))


# Rows that fill every tile need no masks; 30 numbers, a bias and a coefficient are as many sums as a warp has threads.
SIZES = [(1, 3, 5, 4, 75, True), (2, 2, 20, 20, 64, False), (2, 2, 6, 30, 192, True), (1, 2, 5, 27, 100, False)]
CASES = [*itertools.product(TILES, SIZES[:2]), *itertools.product([TILES[0], TILES[4], (32, 6, 64, 10)], SIZES[2:])]


@pytest.mark.parametrize(("tiles", "sizes"), CASES)
def test_kernels_are_the_plain_function(tiles, sizes):
    (groups, positions, width, span, rows, bias), rng = sizes, np.random.default_rng(1)
    sizes = (groups, width, span), (groups, width), (positions, width), (positions, span, rows)
    weights, shift, coefficients, patches = (jnp.asarray(rng.standard_normal(size), jnp.float32) for size in sizes)
    given, slope = (weights, shift if bias else None, coefficients), jnp.asarray(rng.standard_normal(rows), jnp.float32)
    with jax.default_matmul_precision("float32"):
        expected, pull = jax.vjp(lambda *p: fused.plain(jax.nn.relu, *p), *given, patches)
    found, pull_fused = jax.vjp(lambda *p: fused.outputs(*p, tiles=kernels.Tiles(*tiles)), *given, patches)
    close((found, pull_fused(slope)), (expected, pull(slope)))


def test_windows_longer_than_a_warp_can_sum_are_refused():
    with pytest.raises(ValueError, match="at most 30 numbers, got 31"):
        fused.outputs(jnp.ones((1, 2, 31)), None, jnp.ones((3, 2)), jnp.ones((3, 31, 40)))


def test_signs_are_bits_of_a_row_in_the_order_of_units_and_a_unit_at_zero_is_not_active():
    weights = jnp.array([[[1.0], [-1.0], [0.0], [2.0], [-3.0], [0.5]]])  # two blocks of three units
    cut = kernels.cut_of(kernels.Tiles(32, 3), weights, jnp.ones((2, 1, 33)))
    given = jax.tree_util.Partial(jax.nn.relu), weights, None, jnp.ones((2, 6)), jnp.ones((2, 1, 33)).at[1].set(-1.0)
    active = kernels.there(cut, True, *given)[1]
    expected = np.broadcast_to(np.array([[0b001, 0b010], [0b101, 0b010]])[:, :, None], (2, 2, 33))
    np.testing.assert_array_equal(active, expected)


def test_a_subclass_of_a_rectifier_is_not_taken_for_one():
    class Softer(sx.ReLU):
        """Half of it."""

        def __call__(self, z):
            return 0.5 * super().__call__(z) + z

    given = [jnp.ones(size) for size in ((1, 3, 4), (1, 3), (2, 3), (2, 4, 40))]
    found = jax.grad(lambda w: fused.outputs(w, *given[1:], Softer(), kernels.Tiles(64, 4)).sum())(given[0])
    close(found, jax.grad(lambda w: fused.plain(Softer(), w, *given[1:]).sum())(given[0]))


def test_the_activations_numbers_have_gradients():
    rng = np.random.default_rng(2)
    given = [jnp.asarray(rng.standard_normal(size), jnp.float32) for size in ((1, 3, 4), (1, 3), (2, 3), (2, 4, 40))]
    found = jax.grad(lambda function: fused.outputs(*given, function, kernels.Tiles(64, 4)).sum())(sx.LSA(0.4))
    close(found, jax.grad(lambda function: fused.plain(function, *given).sum())(sx.LSA(0.4)))


@pytest.mark.parametrize("name", ["CNN", "LCN"])
def test_a_padded_batch_of_trials_is_each_of_them_and_padding_has_no_gradient(name):
    network = {"CNN": sx.CNN(2, 3, readout="pooled", offset=True), "LCN": sx.LCN(2, 3, activation=sx.Tanh())}[name]
    shape, frame = (5, 3), Frame((8, 4), 5)
    rng = np.random.default_rng(3)
    x = np.zeros((3, 40, *frame.shape), np.float32)
    x[:, :, :5, :3] = rng.standard_normal((3, 40, *shape))
    y = jnp.asarray(rng.standard_normal((3, 40)), jnp.float32)
    params = jax.vmap(lambda key: network.init(key, shape, frame))(jax.random.split(jax.random.key(0), 3))

    def one(tiles):
        return jax.jit(jax.vmap(lambda p, x, y: derivatives(tiles, network, shape, p, p, x, y, frame)))

    found = one((64, 4))(params, jnp.asarray(x), y)
    close(found, one(None)(params, jnp.asarray(x), y))
    units, slope = np.asarray(network.layout(shape, frame).units), np.asarray(found[1].weights)
    assert not slope[:, units[: slope.shape[1]] == 0].any()


def trial_below_the_edge():
    task = sx.SphereTask(dimension=10, patch=5, noise=0.5)
    network = sx.CNN(5, 8, stride=5, readout="pooled", offset=True)
    return sx.Trial(task, network, sx.Learner(0.1, 30, "squared"), samples=12, measure=sx.Measure(("sharpness",), test=16))


def test_a_whole_batch_of_trials_ends_where_the_ordinary_spelling_does(monkeypatch):
    trial, rows = trial_below_the_edge(), {}
    asked = []
    monkeypatch.setattr(kernels, "_call", lambda *given, own=kernels._call: asked.append(given[1]) or own(*given))
    for name, operations in {"product": np.inf, "fused": 0.0}.items():
        monkeypatch.setitem(engine.KERNELS, jax.default_backend(), operations)
        programs = sx.engine.Programs()
        rows[name] = programs.run(trial.at_seeds(range(4)), trial, 2)  # two batches, one program
        assert programs.tally.kernels == (name == "fused")
        assert set(asked) == (set() if name == "product" else {"units_there", "signs_back"})
    for name, i in itertools.product(("loss", "sharpness"), range(2)):
        # Thirty steps below the edge of stability do not make errors grow; Lanczos stops at a residual of 1e-3, an error of about its square.
        np.testing.assert_allclose(rows["fused"][i][f"trace.{name}"], rows["product"][i][f"trace.{name}"], rtol=1e-4)


def test_where_kernels_do_not_compile_a_program_is_made_without_them_and_says_so(monkeypatch):
    def fail(*_):
        raise NotImplementedError("no such device")

    trial = trial_below_the_edge().replace(measure=sx.Measure((), test=1))
    expected = sx.engine.Programs().run([trial], trial, 1)
    monkeypatch.setitem(engine.KERNELS, jax.default_backend(), 0.0)
    monkeypatch.setattr(kernels, "_call", fail)
    programs = sx.engine.Programs()
    with pytest.warns(UserWarning, match="a program was made without kernels, which did not compile: no such device"):
        assert programs.run([trial], trial, 1)[0]["loss"] == expected[0]["loss"]
    assert programs.tally.kernels == 0


def test_small_programs_have_no_kernels(monkeypatch):
    monkeypatch.setitem(engine.KERNELS, jax.default_backend(), 1e13)
    monkeypatch.setattr(kernels, "_call", lambda *_: pytest.fail("a kernel"))
    trial = trial_below_the_edge().replace(measure=sx.Measure((), test=1))
    sx.engine.Programs().run([trial], trial, 1)


def test_a_full_network_has_none_however_much_there_is_to_do(monkeypatch):
    monkeypatch.setitem(engine.KERNELS, jax.default_backend(), 0.0)
    trial, programs = trial_below_the_edge().replace(network=sx.FCN(8), measure=sx.Measure((), test=1)), sx.engine.Programs()
    programs.run([trial], trial, 1)
    assert programs.tally.kernels == 0


def test_units_are_not_kept_for_the_way_back():
    network, shape, rows = sx.CNN(3, 7, readout="pooled"), (8, 1), 33
    layout, params = network.layout(shape), network.init(jax.random.key(0), shape)
    patches = layout.cut(jnp.ones((rows, *shape)))
    with tiled((64, 7)):
        back = jax.vjp(lambda p: network.scores(p, patches, layout), params)[1]
    assert max(leaf.size for leaf in jax.tree.leaves(back)) <= patches.size < rows * layout.windows.positions * 7


def test_timing_runs_interpreted(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    timing = importlib.import_module("fused_timing")
    monkeypatch.setattr("sys.argv", ["fused_timing.py", "--interpret", "--shapes", "sphere-CNN", "--seconds", "300", "--threads", "1"])
    monkeypatch.setattr(timing, "TILES", timing.TILES[:1])
    timing.main()
    assert [line for line in capsys.readouterr().out.splitlines() if "| sphere-CNN | fused" in line and "rror" not in line]
