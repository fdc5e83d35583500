"""The fused kernels, interpreted, against the ordinary spelling: outputs, gradients, second
derivatives, batches of trials, loops.
"""

import contextlib
import importlib
import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.engine import policy
from separatrix.learners import Rows, empirical_loss
from separatrix.networks import Frame
from separatrix.networks.kernels import batching as flat
from separatrix.networks.kernels import fused
from separatrix.networks.kernels import streaming as streamed
from separatrix.networks.kernels.streaming import Share
from separatrix.networks.kernels.warps import divisor, sums

ACTIVATIONS = [sx.ReLU(), sx.ClippedReLU(0.7), sx.Tanh(), sx.LSA(0.4)]
NETWORKS = {  # the input's shape; widths, windows and rows that no tile divides
    "shared": (sx.CNN(3, 5), (8, 1)),
    "shared, channels": (sx.CNN(2, 5), (6, 3)),
    "shared, images": (sx.CNN(3, 5, stride=2), (7, 7, 1)),
    "shared, one number": (sx.CNN(1, 1), (3, 1)),
    "grouped": (sx.CNN(3, 5, groups=2), (8, 1)),
    "local": (sx.LCN(3, 6), (8, 1)),
}
# Units, columns and steps ahead on both ways; as many units as divide what there is.
SHARES = [
    (Share(8, 2, 3), Share(4, 3, 2)),
    (Share(2, 1, 1), Share(1, 1, 4)),
    (Share(32, 3, 2), Share(32, 10, 1)),
    (Share(5, 4, 5), Share(5, 2, 3)),
    (Share(4, 1, 8), Share(2, 30, 1)),
    None,
]
ROWS = 75  # tiles and rounds of 32, the last not full
# Float32 keeps 6e-8 of a number. Outputs, gradients and products here are sums of at most about
# 20,000 terms (75 rows, 9 windows, 5 filters, 6 numbers), of either sign and in another order: 1e-5
# of the largest entry is 170 such roundings, about the square root of that many terms; a row, a
# unit or a number left out or counted twice is more than a thousandth.
TOLERANCE = 1e-5


def cut_with(shares, weights, patches, own=streamed.cut_of):
    """The cut with these shares, as far as they divide what there is; with None, the package's."""
    cut = own(weights, patches)
    if shares is None:
        return cut
    there, back = shares
    there = there._replace(units=divisor(cut.width, there.units))
    units, numbers = (
        divisor(there.units, back.units),
        back.columns if cut.long else divisor(cut.span, back.columns),
    )
    return cut._replace(there=there, back=back._replace(units=units, columns=numbers))


@contextlib.contextmanager
def cut_into(shares, kernels=True):
    """Within, kernels with these shares are used for every network, or none are."""
    with pytest.MonkeyPatch.context() as patch, fused.asked_for(kernels):
        patch.setattr(fused, "LEAST_UNITS", 1)
        patch.setattr(
            streamed, "cut_of", lambda weights, patches: cut_with(shares, weights, patches)
        )
        yield


def close(found, expected, tolerance=TOLERANCE):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        largest = max(float(np.abs(other).max()), 1e-3)
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * largest)


def drawn(network, shape, rng):
    """Normal numbers in place of all parameters."""
    shapes = jax.eval_shape(lambda key: network.init(key, shape), jax.random.key(0))
    return jax.tree.map(
        lambda leaf: jnp.asarray(rng.standard_normal(leaf.shape), jnp.float32), shapes
    )


def derivatives(kernels, shares, network, shape, params, along, x, y, within=None):
    """Scores, gradient and a Hessian-vector product of the training loss, linearised as the
    sharpness probe does.
    """
    layout, learner = network.layout(shape, within), sx.Learner(0.1, 1, "squared")
    rows = Rows(layout.cut(x), y, jnp.full(len(y), 1 / len(y), x.dtype))
    with cut_into(shares, kernels):
        slope, product = jax.linearize(
            jax.grad(lambda p: empirical_loss(learner, network, layout, p, rows)), params
        )
        return network.scores(params, rows.patches, layout), slope, product(along)


@pytest.mark.parametrize("which", NETWORKS)
def test_outputs_gradients_and_hessian_products_are_those_of_the_ordinary_spelling(which):
    plain, shape = NETWORKS[which]
    rng = np.random.default_rng(0)
    x, y = (
        jnp.asarray(rng.standard_normal((ROWS, *shape)), jnp.float32),
        jnp.asarray(rng.standard_normal(ROWS), jnp.float32),
    )
    options = zip(
        itertools.cycle(ACTIVATIONS),
        itertools.cycle(["positions", "pooled", "sum"]),
        itertools.cycle([True, False]),
        SHARES,
    )
    cases = []
    for activation, readout, bias, shares in options:
        network = plain.replace(
            activation=activation, readout=readout, bias=bias, offset=readout == "pooled"
        )
        cases.append((network, shares, drawn(network, shape, rng), drawn(network, shape, rng)))

    def every(many, in_kernels):
        return [
            derivatives(in_kernels, shares, n, shape, *each, x, y)
            for (n, shares, *_), each in zip(cases, many)
        ]

    given = [case[2:] for case in cases]
    close(
        jax.jit(lambda many: every(many, True))(given),
        jax.jit(lambda many: every(many, False))(given),
    )


# Groups, positions, units, numbers of a window, rows, bias: short windows and long ones, rows that
# are summed in one part and in several.
SIZES = [
    (1, 3, 5, 4, 75, True),
    (2, 2, 20, 20, 64, False),
    (2, 2, 6, 49, 192, True),
    (1, 1, 20, 140, 100, True),
    (1, 2, 6, 150, 2100, False),
]


@pytest.mark.parametrize("activation", [jax.nn.relu, jnp.tanh])
@pytest.mark.parametrize(
    ("shares", "sizes"),
    [*itertools.product(SHARES, SIZES[:2]), *itertools.product(SHARES[::2], SIZES[2:])],
)
def test_kernels_are_the_plain_function(activation, shares, sizes):
    (groups, positions, width, span, rows, bias), rng = sizes, np.random.default_rng(1)
    sizes = (groups, width, span), (groups, width), (positions, width), (positions, span, rows)
    weights, shift, coefficients, patches = (
        jnp.asarray(rng.standard_normal(size), jnp.float32) for size in sizes
    )
    given, slope = (
        (weights, shift if bias else None, coefficients),
        jnp.asarray(rng.standard_normal(rows), jnp.float32),
    )
    with jax.default_matmul_precision("float32"):
        expected, pull = jax.vjp(lambda *p: fused.plain(activation, *p), *given, patches)
    cut = cut_with(shares, weights, patches)
    found, pull_fused = jax.vjp(lambda *p: fused.outputs(*p, activation, cut=cut), *given, patches)
    close((found, pull_fused(slope)), (expected, pull(slope)))


@pytest.mark.parametrize("axes", [(0, 0, 0), (0, 0, None), (None, 0, 0), (0, None, None)])
def test_a_batch_of_networks_is_each_of_them_whatever_they_share(axes):
    rng = np.random.default_rng(4)
    sizes = (2, 6, 4), (2, 6), (2, 4, 40)
    given = [
        jnp.asarray(rng.standard_normal((3, *size) if axis == 0 else size), jnp.float32)
        for size, axis in zip(sizes, axes)
    ]

    def one(weights, coefficients, patches):
        return jax.value_and_grad(
            lambda w: fused.outputs(
                w, None, coefficients, patches, cut=cut_with(SHARES[0], w, patches)
            ).sum()
        )(weights)

    def plain(weights, coefficients, patches):
        return jax.value_and_grad(
            lambda w: fused.plain(jax.nn.relu, w, None, coefficients, patches).sum()
        )(weights)

    close(jax.vmap(one, axes)(*given), jax.vmap(plain, axes)(*given))
    # Batches of batches, with weights of the outer one: those are in no other order.
    twice = [jnp.stack([each, 2 * each]) for each in given]
    for outer in [(0, 0, 0), (None, 0, None)]:
        some = [more if axis == 0 else each for more, each, axis in zip(twice, given, outer)]
        close(
            jax.vmap(jax.vmap(one, axes), outer)(*some),
            jax.vmap(jax.vmap(plain, axes), outer)(*some),
        )


def test_networks_too_large_for_one_kernel_run_in_turn(monkeypatch):
    rng = np.random.default_rng(5)
    given = [
        jnp.asarray(rng.standard_normal(size), jnp.float32)
        for size in ((3, 2, 6, 4), (2, 6), (3, 2, 4, 40))
    ]

    def many(w, c, x):
        return jax.vmap(
            lambda w, x: fused.outputs(w, None, c, x, cut=cut_with(SHARES[0], w, x)), (0, 0)
        )(w, x)

    together = many(*given)
    monkeypatch.setattr(flat, "TOGETHER", 500)
    jax.clear_caches()
    in_turn = jax.make_jaxpr(many)(*given)
    assert "scan" in str(in_turn)
    np.testing.assert_array_equal(many(*given), together)
    jax.clear_caches()


def test_arrays_with_more_places_than_kernels_know_are_refused(monkeypatch):
    monkeypatch.setattr(flat, "MOST", 900)
    weights, patches = jnp.ones((2, 12, 4)), jnp.ones((2, 4, 40))
    cut = cut_with((Share(1, 1, 1), Share(1, 1, 1)), weights, patches)
    with pytest.raises(
        ValueError, match="at most 900 numbers, got 960"
    ):  # of the results: 12 units, one a block, two positions, 40 rows
        fused.outputs(weights, None, jnp.ones((2, 12)), patches, cut=cut)


def test_signs_are_bits_of_a_row_in_the_order_of_units_and_a_unit_at_zero_is_not_active():
    weights = jnp.array([[[1.0], [-1.0], [0.0], [2.0], [-3.0], [0.5]]])  # two blocks of three units
    cut = cut_with((Share(3, 1, 1), Share(3, 1, 1)), weights, jnp.ones((2, 1, 33)))
    given = (
        jax.tree_util.Partial(jax.nn.relu),
        weights,
        None,
        jnp.ones((2, 6)),
        jnp.ones((2, 1, 33)).at[1].set(-1.0),
    )
    active = streamed.there(cut, "signs", *given)[1]
    expected = np.broadcast_to(np.array([[0b001, 0b010], [0b101, 0b010]])[:, :, None], (2, 2, 33))
    np.testing.assert_array_equal(active, expected)


def test_sums_of_a_warp_are_those_of_their_vectors_however_many_there_are():
    rng = np.random.default_rng(6)
    for many in range(1, 33):
        vectors = rng.integers(-9, 9, (many, 32)).astype(
            np.float32
        )  # whole numbers: sums are exact
        total, place = (
            np.asarray(each) for each in sums(True, jnp.arange(32), list(map(jnp.asarray, vectors)))
        )
        assert set(place) == set(range(many))
        np.testing.assert_array_equal(total, vectors.sum(1)[place])


def test_a_subclass_of_a_rectifier_is_not_taken_for_one():
    class Softer(sx.ReLU):
        """Half of it."""

        def __call__(self, z):
            return 0.5 * super().__call__(z) + z

    given = [jnp.ones(size) for size in ((1, 3, 4), (1, 3), (2, 3), (2, 4, 40))]
    found = jax.grad(lambda w: fused.outputs(w, *given[1:], Softer()).sum())(given[0])
    close(found, jax.grad(lambda w: fused.plain(Softer(), w, *given[1:]).sum())(given[0]))


def test_the_activations_numbers_have_gradients():
    rng = np.random.default_rng(2)
    given = [
        jnp.asarray(rng.standard_normal(size), jnp.float32)
        for size in ((1, 3, 4), (1, 3), (2, 3), (2, 4, 40))
    ]
    found = jax.grad(lambda function: fused.outputs(*given, function).sum())(sx.LSA(0.4))
    close(found, jax.grad(lambda function: fused.plain(function, *given).sum())(sx.LSA(0.4)))


@pytest.mark.parametrize("name", ["CNN", "LCN"])
def test_a_padded_batch_of_trials_is_each_of_them_and_padding_has_no_gradient(name):
    network = {
        "CNN": sx.CNN(2, 3, readout="pooled", offset=True),
        "LCN": sx.LCN(2, 3, activation=sx.Tanh()),
    }[name]
    shape, frame = (5, 3), Frame((8, 4), 5)
    rng = np.random.default_rng(3)
    x = np.zeros((3, 40, *frame.shape), np.float32)
    x[:, :, :5, :3] = rng.standard_normal((3, 40, *shape))
    y = jnp.asarray(rng.standard_normal((3, 40)), jnp.float32)
    params = jax.vmap(lambda key: network.init(key, shape, frame))(
        jax.random.split(jax.random.key(0), 3)
    )

    def one(kernels):
        return jax.jit(
            jax.vmap(
                lambda p, x, y: derivatives(kernels, SHARES[0], network, shape, p, p, x, y, frame)
            )
        )

    found = one(True)(params, jnp.asarray(x), y)
    close(found, one(False)(params, jnp.asarray(x), y))
    units, slope = np.asarray(network.layout(shape, frame).units), np.asarray(found[1].weights)
    assert not slope[:, units[: slope.shape[1]] == 0].any()


def trial_below_the_edge():
    task = sx.SphereTask(dimension=10, patch=5, noise=0.5)
    network = sx.CNN(5, 8, stride=5, readout="pooled", offset=True)
    return sx.Trial(
        task,
        network,
        sx.Learner(0.1, 30, "squared"),
        samples=12,
        measure=sx.Measure(("sharpness",), test=16),
    )


def test_a_whole_batch_of_trials_ends_where_the_ordinary_spelling_does(monkeypatch):
    trial, rows = trial_below_the_edge(), {}
    asked = []
    monkeypatch.setattr(
        streamed, "call", lambda *given, own=streamed.call: asked.append(given[1]) or own(*given)
    )
    for name, operations in {"product": np.inf, "fused": 0.0}.items():
        monkeypatch.setitem(policy.KERNELS, jax.default_backend(), operations)
        programs = sx.engine.Programs()
        rows[name] = programs.run(trial.at_seeds(range(4)), trial, 2)  # two batches, one program
        assert programs.tally.kernels == (name == "fused")
        assert set(asked) == (set() if name == "product" else {"units_there", "units_back"})
    for name, i in itertools.product(("loss", "sharpness"), range(2)):
        # Thirty steps below the edge of stability do not make errors grow; Lanczos stops at a
        # residual of 1e-3, an error of about its square.
        np.testing.assert_allclose(
            rows["fused"][i][f"trace.{name}"], rows["product"][i][f"trace.{name}"], rtol=1e-4
        )


def test_where_kernels_do_not_compile_a_program_is_made_without_them_and_says_so(monkeypatch):
    def fail(*_):
        raise NotImplementedError("no such device")

    trial = trial_below_the_edge().replace(measure=sx.Measure((), test=1))
    expected = sx.engine.Programs().run([trial], trial, 1)
    monkeypatch.setitem(policy.KERNELS, jax.default_backend(), 0.0)
    monkeypatch.setattr(streamed, "call", fail)
    programs = sx.engine.Programs()
    with pytest.warns(
        UserWarning,
        match="a program was made without kernels, which did not compile: no such device",
    ):
        assert programs.run([trial], trial, 1)[0]["loss"] == expected[0]["loss"]
    assert programs.tally.kernels == 0


def test_small_programs_have_no_kernels(monkeypatch):
    monkeypatch.setitem(policy.KERNELS, jax.default_backend(), 1e13)
    monkeypatch.setattr(streamed, "call", lambda *_: pytest.fail("a kernel"))
    trial = trial_below_the_edge().replace(measure=sx.Measure((), test=1))
    sx.engine.Programs().run([trial], trial, 1)


@pytest.mark.parametrize(
    ("network", "precision", "kernels"),
    [
        (sx.FCN(8, activation=sx.LSA(0.4)), "float32", True),
        (sx.FCN(8, bias=False), "float32", True),
        (sx.FCN(8), "tf32", False),  # in less precision the library's products are faster
        (sx.FCN(64), "float32", False),  # as they are where a network is not thin
    ],
)
def test_a_thin_full_network_with_many_inputs_has_kernels_and_ends_where_the_ordinary_spelling_does(
    monkeypatch, network, precision, kernels
):
    learner = sx.Learner(0.1, 6, "logistic")
    trial = sx.Trial(
        sx.SignalTask(8, 16, 0.3),
        network,
        learner,
        samples=40,
        precision=precision,
        measure=sx.Measure((), test=16),
    )
    expected = sx.engine.Programs().run(trial.at_seeds(range(2)), trial, 2)
    turned = []
    monkeypatch.setattr(
        fused,
        "row_by_row",
        lambda patches, own=fused.row_by_row: turned.append(patches) or own(patches),
    )
    for least in (policy.KERNELS, policy.KERNELS_OF_FULL):
        monkeypatch.setitem(least, jax.default_backend(), 0.0)
    programs = sx.engine.Programs()
    found = programs.run(trial.at_seeds(range(2)), trial, 2)
    assert programs.tally.kernels == kernels
    assert len(turned) == kernels  # once, outside of the steps
    for name in ("loss", "risk"):
        np.testing.assert_allclose(
            [row[name] for row in found], [row[name] for row in expected], rtol=1e-5
        )


@pytest.mark.parametrize(
    ("task", "least"), [(sx.SphereTask(10, 5, 0.5), 0.0), (sx.SignalTask(8, 16, 0.3), 5e14)]
)
def test_a_full_network_with_few_inputs_or_less_to_do_has_no_kernels(monkeypatch, task, least):
    monkeypatch.setitem(policy.KERNELS, jax.default_backend(), 0.0)
    monkeypatch.setitem(policy.KERNELS_OF_FULL, jax.default_backend(), least)
    trial, programs = (
        trial_below_the_edge().replace(
            task=task, network=sx.FCN(8), measure=sx.Measure((), test=1)
        ),
        sx.engine.Programs(),
    )
    programs.run([trial], trial, 1)
    assert programs.tally.kernels == 0


def test_units_are_not_kept_for_the_way_back():
    network, shape, rows = sx.CNN(3, 7, readout="pooled"), (8, 1), 33
    layout, params = network.layout(shape), network.init(jax.random.key(0), shape)
    patches = layout.cut(jnp.ones((rows, *shape)))
    with cut_into(None):
        back = jax.vjp(lambda p: network.scores(p, patches, layout), params)[1]
    assert (
        max(leaf.size for leaf in jax.tree.leaves(back))
        <= patches.size
        < rows * layout.windows.positions * 7
    )


def test_timing_runs_interpreted(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    timing = importlib.import_module("fused_timing")
    monkeypatch.setattr(
        "sys.argv",
        [
            "fused_timing.py",
            "--interpret",
            "--shapes",
            "sphere-CNN",
            "--seconds",
            "300",
            "--threads",
            "1",
        ],
    )
    timing.main()
    assert [
        line
        for line in capsys.readouterr().out.splitlines()
        if "| sphere-CNN | kernels" in line and "rror" not in line
    ]


def test_a_network_with_scores_of_its_own_knows_nothing_of_kernels(monkeypatch):
    class Loud(sx.Network):
        """Twice the outputs."""

        def scores(self, params, patches, layout):
            return 2 * super().scores(params, patches, layout)

    trial = sx.Trial(
        sx.SignalTask(8, 16, 0.3),
        Loud("full", 8),
        sx.Learner(0.1, 2),
        samples=40,
        measure=sx.Measure((), test=16),
    )
    for least in (policy.KERNELS, policy.KERNELS_OF_FULL):
        monkeypatch.setitem(least, jax.default_backend(), 0.0)
    programs = sx.engine.Programs()
    assert np.isfinite(programs.run([trial], trial, 1)[0]["loss"])
    assert programs.tally.kernels == 0
