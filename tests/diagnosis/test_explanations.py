"""Explanations of a diagnosis: shifts, patches and matched widths against NumPy, counting and exact
properties.
"""

import dataclasses
import time

import jax
import numpy as np
import pytest

import separatrix as sx
from separatrix.data.labelled import as_labelled
from separatrix.diagnosis import Settings
from separatrix.diagnosis.api import conclude, explain
from separatrix.diagnosis.bench import FULL, LOCAL, SHARED, Arm, Bench, Result, Unit
from separatrix.diagnosis.networks import Net, Weights, initial
from separatrix.diagnosis.page import figures, tables
from separatrix.diagnosis.patchwork import patch_geometry
from separatrix.diagnosis.shifts import distances, moved, translation
from separatrix.diagnosis.sights import fields_of, sight, whole
from separatrix.diagnosis.training import Recipe
from separatrix.diagnosis.widths import COSTS, cost_of, full_width, matched

QUICK = Settings(
    budget=600.0, first=2, splits=2, width=4, field=3, recipe=Recipe(48, 16, 2, (1e-2,))
)


def striped(count=160, side=8, seed=0):
    """Rows that a network can learn: class 1 is brighter on the left."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(count, side, side)).astype(np.float32), np.arange(count) % 2
    x[:, :, : side // 2] += 1.5 * y[:, None, None]
    return x, y


@pytest.fixture(scope="module")
def whole_story():
    """A diagnosis with its bench."""
    bench = Bench(as_labelled(*striped()), QUICK, sx.Lab())
    return bench, conclude(bench)


def answers(net, params, x, view):
    """The network, window by window."""
    hidden = [
        np.maximum(
            x[:, p].reshape(len(x), -1) @ params.weights[0 if net.shared else i]
            + params.bias[0 if net.shared else i],
            0,
        )
        for i, p in enumerate(view.places)
    ]
    pooled = np.tensordot(view.pool, np.array(hidden), 1)
    return np.einsum("grw,gwo->ro", pooled, params.readout) + params.offset


def test_a_shift_repeats_the_edge():
    image = np.random.default_rng(0).normal(size=(6, 7))
    framed = np.pad(image, 2, mode="edge")
    expected = [
        framed[:6, 2:-2],
        framed[4:, 2:-2],
        framed[2:-2, :7],
        framed[2:-2, 4:],
    ]  # down, up, right, left
    for where, shifted in zip(moved((6, 7, 1), 2), expected, strict=True):
        np.testing.assert_array_equal(image.reshape(-1)[where].reshape(6, 7), shifted)


@pytest.mark.parametrize("arm", [FULL, LOCAL, SHARED])
def test_the_translation_test_is_that_of_shifted_rows(whole_story, arm):
    """The rows themselves shifted in NumPy, and a plain network over them."""
    bench, found = whole_story
    accuracies, costs = [], []
    for split in range(2):
        unit = Unit(arm, 3, bench.sizes.ladder[-1], split)
        net, view, test = bench.net(arm, 3), bench.sight(arm, 3), bench.rows(split)[2]
        count = int(test.count)
        x, params = (
            test.x[:count, :, 0],
            Weights(*(np.asarray(part) for part in bench.params[unit])),
        )

        def right(rows, net=net, params=params, view=view, y=test.y[:count]):
            return np.mean(
                answers(net, params, rows.reshape(len(rows), 64, 1), view).argmax(1) == y
            )

        framed = np.pad(x.reshape(count, 8, 8), ((0, 0), (1, 1), (1, 1)), mode="edge")
        shifted = [
            framed[:, :8, 1:-1],
            framed[:, 2:, 1:-1],
            framed[:, 1:-1, :8],
            framed[:, 1:-1, 2:],
        ]
        accuracies.append(np.mean([right(rows) for rows in shifted]))
        costs.append(right(x) - accuracies[-1])
        assert right(x) == pytest.approx(
            bench.results[unit].accuracy, abs=1.01 / count
        )  # rounding may turn one row
    one = next(
        each
        for each in found.explanations.translation
        if each.network == str(arm) and each.shift == 1
    )
    slack = 1.01 / (2 * 40)  # one row of one split
    assert one.accuracy.estimate == pytest.approx(np.mean(accuracies), abs=slack)
    assert one.cost.estimate == pytest.approx(np.mean(costs), abs=slack)
    assert one.cost.low <= one.cost.estimate <= one.cost.high


def as_if_trained(data):
    """A bench whose networks are as they were drawn: what is tested does not depend on how well
    they answer.
    """
    bench, rng = Bench(data, QUICK, sx.Lab()), np.random.default_rng(5)
    for unit in [
        Unit(arm, 3, bench.sizes.ladder[-1], split)
        for arm in (FULL, LOCAL, SHARED)
        for split in range(2)
    ]:
        net, view = bench.net(unit.arm, 3), bench.sight(unit.arm, 3)
        bench.results[unit] = Result(0.5, np.zeros(bench.sizes.test), 0.01, 1, 0.5)
        bench.params[unit] = initial(
            net, len(view.places), view.places.shape[1] * data.shape[-1], len(view.pool), rng
        )
    return bench


def test_rows_that_are_the_same_everywhere_lose_nothing_by_a_shift():
    rng = np.random.default_rng(1)
    y = np.arange(120) % 2
    x = np.repeat((y + 0.1 * rng.normal(size=120))[:, None], 12, axis=1).astype(np.float32)
    found = translation(as_if_trained(as_labelled(x, y, kind="signal")), 3)
    assert {each.network for each in found} == {"full", "local", "shared"}
    assert all(each.cost.estimate == each.cost.low == each.cost.high == 0.0 for each in found)
    other = translation(as_if_trained(as_labelled(rng.normal(size=(120, 12)), y, kind="signal")), 3)
    assert any(each.cost.estimate != 0.0 for each in other)


def test_tables_and_tiny_rows_are_not_shifted():
    assert distances((3, 3, 1)) == ()
    x, y = striped(60)
    assert translation(as_if_trained(as_labelled(x.reshape(60, -1), y, kind="tabular")), 3) == ()


def test_weights_that_were_not_kept_are_trained_again_and_are_the_same():
    bench = Bench(as_labelled(*striped()), QUICK, sx.Lab())
    unit = Unit(SHARED, 3, bench.sizes.ladder[-1], 0)
    bench.run([unit])
    first = bench.params.pop(unit)
    again = bench.weights(unit)
    assert again is not None
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, first, again)))
    bench.params.clear()
    bench.begin -= 600.0  # the time is up
    assert bench.weights(unit) is None


def test_smooth_rows_have_patches_of_few_directions():
    """Rows of blocks of eight equal pixels: four neighbours hold at most two values, four pixels
    from anywhere nearly always four.
    """
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(200, 8)), 8, axis=1).astype(np.float32)
    bench = Bench(as_labelled(x, np.arange(200) % 2, kind="signal"), QUICK, sx.Lab())
    windows, scattered = patch_geometry(bench, 4)
    assert windows.numbers == scattered.numbers == 4
    assert windows.points == scattered.points
    assert windows.elbow.estimate <= 2 < scattered.elbow.estimate <= 4
    assert windows.elbow.count == 4
    for each in (windows, scattered):
        assert 0 < each.depth.low <= each.depth.estimate <= 0.5


# Matched cost.


@pytest.mark.parametrize("shape", [(9, 2), (8, 8, 1), (7, 6, 3), (16, 18, 2)])
def test_parameters_and_products_are_counted(shape):
    """Parameters are the entries of the arrays; every weight of a local or full network is used
    once a row, a shared one once a window.
    """
    rng, channels = np.random.default_rng(0), shape[-1]
    for shared, view in ((True, sight(shape, 3)), (False, sight(shape, 3)), (False, whole(shape))):
        net = Net(shared, 5, 3, 7 if view.counts else 0, view.counts)
        made = initial(net, len(view.places), view.places.shape[1] * channels, len(view.pool), rng)
        assert cost_of(net, view, channels, "parameters") == sum(
            part.size for part in made if part is not None
        )
        uses = len(view.places) if shared else 1
        second = made.deep.size * (view.pool.shape[1] if shared else 1) if view.counts else 0
        assert (
            cost_of(net, view, channels, "products")
            == uses * made.weights.size + second + made.readout.size
        )


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("network", ["full", "local"])
def test_no_other_width_comes_nearer(cost, network):
    shape = (8, 8, 1)
    view, own = sight(shape, 3), (whole(shape) if network == "full" else sight(shape, 3))
    target = cost_of(Net(True, 16, 10), view, 1, cost)
    found = matched(Net(False, 1, 10), own, target, 1, cost)
    away = {
        width: abs(cost_of(Net(False, width, 10), own, 1, cost) - target) for width in range(1, 300)
    }
    assert away[found.width] == min(away.values())
    if (network, cost) == ("local", "products"):
        assert found.width == 16  # which is why that network is not trained twice


@pytest.mark.parametrize("shape", [(28, 28, 1), (32, 32, 3)])
def test_the_full_network_of_images_costs_what_the_local_one_costs(shape):
    """With the products of both hidden layers; one unit more would cost more."""
    view, width = sight(shape, fields_of(shape)[1]), full_width(shape, 16, 8)
    target = cost_of(
        Net(False, 16, 0, 128, view.counts), view, shape[-1], "products"
    )  # no outputs: hidden layers only
    price = [
        cost_of(Net(False, units, 0, units, (1, 1)), whole(shape), shape[-1], "products")
        for units in (width, width + 1)
    ]
    assert price[0] <= target < price[1]


def test_matched_networks_are_measured_and_named_apart(whole_story):
    bench, found = whole_story
    rows = {(each.network, each.cost): each for each in found.explanations.matched}
    assert set(rows) == {
        ("shared", ""),
        ("full", ""),
        ("local", ""),
        ("full", "parameters"),
        ("full", "products"),
        ("local", "parameters"),
    }
    shared = rows["shared", ""]
    assert shared.gap is None
    for (network, cost), each in rows.items():
        if cost:
            unit = cost_of(
                bench.net(Arm(network, cost), 3)._replace(width=1),
                bench.sight(Arm(network), 3),
                1,
                cost,
            )
            # A network of one unit may already cost more; then one unit it is.
            assert abs(getattr(each, cost) - getattr(shared, cost)) <= unit / 2 + 2 or (
                each.width == 1 and getattr(each, cost) > getattr(shared, cost)
            )
            assert each.gap.low <= each.gap.estimate <= each.gap.high
            assert each.gap.estimate == pytest.approx(
                np.mean(
                    [
                        bench.results[Unit(SHARED, 3, bench.sizes.ladder[-1], s)].accuracy
                        - bench.results[
                            Unit(Arm(network, cost), 3, bench.sizes.ladder[-1], s)
                        ].accuracy
                        for s in range(2)
                    ]
                ),
                abs=1e-6,
            )
    # A full network is the same whatever the windows, unless its width follows them.
    assert bench.parameters(Unit(FULL, 3, 10, 0)) == bench.parameters(Unit(FULL, 5, 10, 0))
    same = Arm("full", "products")
    assert bench.parameters(Unit(same, 3, 10, 0)) != bench.parameters(Unit(same, 5, 10, 0))


# Explanations decide nothing.


def test_explanations_leave_the_verdict_alone(whole_story):
    _, found = whole_story
    without = conclude(
        Bench(as_labelled(*striped()), dataclasses.replace(QUICK, explain=False), sx.Lab())
    )
    assert (without.verdict, without.gains, without.accuracy, without.reasons) == (
        found.verdict,
        found.gains,
        found.accuracy,
        found.reasons,
    )
    assert without.explanations.plain() == {"translation": [], "geometry": [], "matched": []}
    assert not [note for note in without.notes if note.code == "unexplained"]


def test_what_the_budget_left_out_is_said():
    bench = Bench(as_labelled(*striped()), dataclasses.replace(QUICK, budget=1e-3), sx.Lab())
    found = conclude(bench)
    assert found.explanations.translation == found.explanations.matched == ()
    assert "the translation test" in next(
        note.message for note in found.notes if note.code == "unexplained"
    )


def test_the_page_shows_the_explanations(whole_story):
    bench, found = whole_story
    shown = {figure.name: figure for figure in figures(bench, found)}
    assert [series.label for series in shown["shifts"].series] == ["full", "shared", "local"]
    assert shown["shifts"].series[0].x == (0, 1, 2)
    for table in tables(found):
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert {"shifts", "geometry", "matched"} <= {table.name for table in tables(found)}
    assert "a shift of 1 pixel costs full" in found.explanations.line()


def test_resumed_explanations_are_the_same(tmp_path, monkeypatch):
    data = as_labelled(*striped())
    first = conclude(Bench(data, QUICK, sx.Lab(tmp_path / "out")))
    monkeypatch.setattr(Bench, "_trained", lambda *_: pytest.fail("a finished unit was run again"))
    again = Bench(data, QUICK, sx.Lab(tmp_path / "out"))
    assert conclude(again).explanations == first.explanations
    assert explain(again, 3).plain() == first.explanations.plain()


# The budget.


def test_the_deadline_leaves_time_for_the_page_and_for_explanations():
    """A start that took long says that the page will, too: 0.6 of it, at most 15 % of the budget."""
    data, settings = as_labelled(*striped()), dataclasses.replace(QUICK, budget=100.0)
    fast, slow, slower = (
        Bench(data, settings, sx.Lab(), time.monotonic() - since) for since in (0.0, 10.0, 50.0)
    )
    for bench, expected in (
        (fast, 97.0 - 1.5),
        (slow, 97.0 - 6.0 - 10.0),
        (slower, 97.0 - 15.0 - 50.0),
    ):
        assert expected - 5.0 < bench.left < expected + 0.1  # 5 s: a busy machine between two lines
    assert (
        fast.spare,
        Bench(data, dataclasses.replace(settings, explain=False), sx.Lab()).spare,
    ) == (3.0, 0.0)


def test_what_explanations_need_is_not_spent_on_the_verdict():
    bench = Bench(as_labelled(*striped()), QUICK, sx.Lab())
    units = [Unit(SHARED, 3, bench.sizes.ladder[-1], 0)]
    bench.spare = 1e6
    bench.run(units, ending=False)
    assert (len(bench.results), bench.ended) == (0, False)
    bench.run(units)
    assert (len(bench.results), bench.ended) == (0, True)
    bench.spare = 0.0
    bench.run(units)
    assert len(bench.results) == 1


def test_larger_samples_are_expected_to_take_longer():
    bench = Bench(as_labelled(*striped(1000)), QUICK, sx.Lab())
    small, _, large = (Unit(SHARED, 3, size, 0) for size in bench.sizes.ladder)
    bench.run([small])
    assert bench.careful(large) == pytest.approx(
        4 * bench.careful(small), rel=0.1
    )  # sixteen times the rows, four times the steps
    other = Unit(LOCAL, 3, bench.sizes.ladder[0], 0)  # a program that has to be compiled first
    assert bench.careful(other) > bench.careful(small)
