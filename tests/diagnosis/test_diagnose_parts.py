"""The parts of a diagnosis against NumPy, exact properties and simulation."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from separatrix.diagnosis import VERDICTS, Gain, Settings
from separatrix.diagnosis.data_splits import sizes_of, split_rows
from separatrix.diagnosis.gains import Paired, decide, gain_interval, overlaps
from separatrix.diagnosis.networks import Net, Weights, deep_of, initial, outputs_of
from separatrix.diagnosis.rounds import waiting
from separatrix.diagnosis.saved import labels_saved, size_reaching
from separatrix.diagnosis.sights import controlled, fields_of, sight, whole
from separatrix.diagnosis.training import Recipe, Rows, score, train
from separatrix.diagnosis.verdict import OPEN, UNSETTLED, judge, recommended
from separatrix.errors import SeparatrixError
from separatrix.inference.intervals import Interval

NAMES = ("locality", "convolution", "sharing", "patches", "local less full", "shared less full")


def weights_of(net, view, channels, seed=0):
    return initial(
        net,
        len(view.places),
        view.places.shape[1] * channels,
        len(view.pool),
        np.random.default_rng(seed),
    )


def reference(net, params, x, view):
    """The network, window by window."""
    out = np.tile(params.offset, (len(x), 1))
    hidden = np.zeros((len(view.places), len(x), net.width))
    for p, place in enumerate(view.places):
        group = 0 if net.shared else p
        seen = x[:, place, :].reshape(len(x), -1)
        hidden[p] = np.maximum(seen @ params.weights[group] + params.bias[group], 0)
    for g, shares in enumerate(view.pool):
        out = out + np.tensordot(shares, hidden, 1) @ params.readout[g]
    return out


@pytest.mark.parametrize("shape", [(9, 2), (7, 6, 1)])
@pytest.mark.parametrize("shared", [True, False])
def test_the_network_is_that_of_a_loop_over_windows(shape, shared):
    net, view = Net(shared, 3, 4), sight(shape, 3)
    x = (
        np.random.default_rng(1)
        .normal(size=(5, int(np.prod(shape[:-1])), shape[-1]))
        .astype(np.float32)
    )
    params = weights_of(net, view, shape[-1])
    np.testing.assert_allclose(
        outputs_of(net, params, x, view.places, view.pool),
        reference(net, params, x, view),
        atol=1e-5,
    )


@pytest.mark.parametrize(
    ("shape", "field"), [((16, 16, 1), 3), ((17, 20, 2), 5), ((16, 16, 1), 16)]
)
@pytest.mark.parametrize("shared", [True, False])
def test_the_second_layer_is_that_of_loops_over_cells(shape, field, shared):
    """The largest answer of 2 x 2 windows, then windows over these cells, one at a time."""
    view = sight(shape, field)
    net = Net(shared, 3, 4, 5, view.counts)
    x = (
        np.random.default_rng(1)
        .normal(size=(6, int(np.prod(shape[:-1])), shape[-1]))
        .astype(np.float32)
    )
    params = weights_of(net, view, shape[-1])
    (high, wide), deep = view.counts, deep_of(view.counts)
    first = [
        np.maximum(
            x[:, p].reshape(6, -1) @ params.weights[0 if shared else i]
            + params.bias[0 if shared else i],
            0,
        )
        for i, p in enumerate(view.places)
    ]
    k, side = deep.pool, deep.side
    cells = {
        (r, c): np.max(
            [first[(k * r + i) * wide + k * c + j] for i in range(k) for j in range(k)], axis=0
        )
        for r in range(high // k)
        for c in range(wide // k)
    }
    last = []
    for n, (r, c) in enumerate(np.ndindex(*deep.counts)):
        seen = np.concatenate(
            [cells[r + i, c + j] for i in range(side) for j in range(side)], axis=1
        )
        group = 0 if shared else n
        last.append(np.maximum(seen @ params.deep[group] + params.deep_bias[group], 0))
    expected = (
        np.einsum("gp,prw,gwo->ro", view.pool, np.array(last), params.readout) + params.offset
    )
    np.testing.assert_allclose(
        outputs_of(net, params, x, view.places, view.pool), expected, atol=2e-5
    )


def test_a_full_network_of_an_image_has_two_dense_layers():
    view, rng = whole((16, 16, 1)), np.random.default_rng(2)
    net, x = Net(False, 7, 3, 7, view.counts), rng.normal(size=(4, 256, 1)).astype(np.float32)
    params = weights_of(net, view, 1)
    hidden = np.maximum(
        np.maximum(x[:, :, 0] @ params.weights[0] + params.bias[0], 0) @ params.deep[0]
        + params.deep_bias[0],
        0,
    )
    np.testing.assert_allclose(
        outputs_of(net, params, x, view.places, view.pool),
        hidden @ params.readout[0] + params.offset,
        atol=1e-5,
    )


def test_a_local_network_does_not_notice_permuted_patches_and_a_full_one_no_permuted_pixels():
    """For every local network there is one that answers the same under the control: the same
    weights in another order.
    """
    rng = np.random.default_rng(0)
    view, x = sight((8, 8, 1), 3), rng.normal(size=(6, 64, 1)).astype(np.float32)
    other = controlled(view, "patches", 64, rng)
    assert (np.sort(other.places) == np.sort(view.places)).all()
    assert (other.places != view.places).any()
    net = Net(False, 4, 2)
    params = weights_of(net, view, 1)
    order = np.array(
        [[list(old).index(pixel) for pixel in new] for old, new in zip(view.places, other.places)]
    )
    moved = params._replace(weights=np.take_along_axis(params.weights, order[:, :, None], axis=1))
    before, after = (
        outputs_of(net, params, x, view.places, view.pool),
        outputs_of(net, moved, x, other.places, other.pool),
    )
    np.testing.assert_allclose(before, after, atol=1e-5)
    assert controlled(whole((8, 8, 1)), "patches", 64, rng).places.shape == (1, 64)


def test_permuted_pixels_are_one_order_for_all_windows():
    view = sight((12, 1), 4)
    other = controlled(view, "pixels", 12, np.random.default_rng(3))
    order = {}
    for old, new in zip(view.places.ravel(), other.places.ravel()):
        assert order.setdefault(int(old), int(new)) == new
    assert len(set(order.values())) == len(order)


@pytest.mark.parametrize(
    "shape",
    [
        (28, 28, 1),
        (32, 32, 3),
        (8, 8, 1),
        (3, 1),
        (1, 1),
        (13, 1),
        (2, 5, 3),
        (1000, 1),
        (224, 224, 3),
    ],
)
def test_every_shape_has_fields_that_fit_and_cost_little(shape):
    for field in fields_of(shape):
        view = sight(shape, field)
        assert 1 <= view.stride <= field
        np.testing.assert_allclose(view.pool.sum(1), 1.0, rtol=1e-5)
        assert view.places.max() < np.prod(shape[:-1])
    with pytest.raises(SeparatrixError, match="at most the input's smaller side"):
        sight(shape, min(shape[:-1]) + 1)


def test_explained_variance_is_that_of_numpy_and_ignores_padding():
    rng = np.random.default_rng(0)
    y, guess = rng.normal(size=10).astype(np.float32), rng.normal(size=(10, 1)).astype(np.float32)
    accuracy, loss, rows = score(guess, y, 7)
    expected = 1 - np.mean((guess[:7, 0] - y[:7]) ** 2) / y[:7].var()
    assert abs(float(accuracy) - expected) < 1e-5
    assert abs(float(np.mean(rows[:7])) - expected) < 1e-5
    assert abs(float(loss) - np.mean((guess[:7, 0] - y[:7]) ** 2)) < 1e-5


def test_the_rate_is_chosen_on_validation_rows():
    """With a rate that does nothing and one that learns, the second wins, and what it learns
    carries over to the test.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4, 1)).astype(np.float32)
    y = (x[:, 0, 0] > 0).astype(np.float32)
    rows = [
        Rows(x[part], y[part], 100) for part in (slice(0, 100), slice(100, 200), slice(200, 300))
    ]
    view, net, recipe = (
        whole((4, 1)),
        Net(False, 8, 2),
        Recipe(steps=64, batch=32, looks=4, rates=(1e-9, 3e-2)),
    )
    given = jax.tree.map(
        jnp.asarray,
        (weights_of(net, view, 1), rng.integers(0, 100, (64, 32)), view.places, view.pool),
    )
    out = train(net, recipe, *given, 16, *jax.tree.map(jnp.asarray, rows))
    assert float(out["rate"]) == pytest.approx(3e-2)
    assert float(out["accuracy"]) > 0.85
    params = Weights(*(np.asarray(part) for part in out["params"]))
    again = np.argmax(reference(net, params, x[200:], view), 1) == y[200:]
    assert abs(again.mean() - float(out["accuracy"])) < 0.011


# Splits.


def test_splits_of_large_data_share_no_row_and_parts_never_do():
    sizes = sizes_of(20_000, Settings())
    parts = [split_rows(np.arange(20_000), sizes, 0, number) for number in range(6)]
    together = np.concatenate([np.concatenate(part) for part in parts])
    assert len(set(together.tolist())) == len(together) == 6 * sum(sizes[:3])
    later = split_rows(np.arange(20_000), sizes, 0, 7)
    assert len(set(np.concatenate(later).tolist())) == sum(sizes[:3])


def test_identical_rows_stay_on_one_side():
    groups = np.repeat(np.arange(100), 5)
    sizes = sizes_of(len(groups), Settings())
    for number in range(5):
        learn, check, test = (
            set(groups[part].tolist()) for part in split_rows(groups, sizes, 0, number)
        )
        assert not learn & check
        assert not (learn | check) & test
        assert len(learn) > 20


def test_too_few_rows_are_one_sentence():
    with pytest.raises(SeparatrixError, match="needs at least 16 rows, got 9"):
        sizes_of(9, Settings())


# Intervals.


def simulated(rng, splits, shared_test, shared_train, gain=0.0):
    """Differences whose test and training noise is partly the same in all splits."""
    pairs, rows = [], 400
    common_rows = rng.normal(size=rows)
    common_train = rng.normal() * 0.02
    for _ in range(splits):
        own = np.where(np.arange(rows) < shared_test * rows, common_rows, rng.normal(size=rows))
        train_noise = (
            np.sqrt(shared_train) * common_train + np.sqrt(1 - shared_train) * rng.normal() * 0.02
        )
        pairs.append(Paired(gain + 0.4 * own + train_noise, 0.0, 0.0))
    return pairs


@pytest.mark.parametrize(("tests", "trains"), [(0.0, 0.0), (0.5, 0.0), (0.25, 0.4)])
def test_intervals_cover_also_where_splits_overlap(tests, trains):
    """Nominal 95 %: over 500 studies the rate must lie within 4 standard errors (of 1 %) of it; too
    wide is allowed up to 99.5 %.
    """
    rng = np.random.default_rng(5)
    found = [
        gain_interval(simulated(rng, 8, tests, trains), (tests, trains), 0.95) for _ in range(500)
    ]
    rate = np.mean([interval.contains(0.0) for interval in found])
    assert 0.91 <= rate <= 0.995
    if tests + trains:
        naive = np.mean(
            [
                gain_interval(simulated(rng, 8, tests, trains), (0.0, 0.0), 0.95).contains(0.0)
                for _ in range(500)
            ]
        )
        assert naive < rate


def test_decisions_need_the_whole_interval():
    rng = np.random.default_rng(0)
    assert decide(simulated(rng, 12, 0, 0, gain=0.2), (0, 0), 0.015, 0.98) == "pays"
    assert decide(simulated(rng, 12, 0, 0, gain=-0.2), (0, 0), 0.015, 0.98) == "does not pay"
    assert decide(simulated(rng, 3, 0, 0, gain=0.015), (0, 0), 0.015, 0.98) == "cannot tell"
    assert decide(simulated(rng, 1, 0, 0, gain=0.5), (0, 0), 0.015, 0.98) == "cannot tell"
    wrong = sum(decide(simulated(rng, 6, 0, 0), (0, 0), 0.015, 0.98) == "pays" for _ in range(300))
    assert wrong <= 10  # at most 1 % are expected, and the margin makes it fewer


def test_a_lucky_arrangement_is_not_locality():
    """The gain over random arrangements is no larger than these differ among themselves."""
    rng = np.random.default_rng(1)
    seconds = rng.normal(0.6, 0.05, 12)
    pairs = [Paired(np.full(50, 0.68 - s) + 0.001 * rng.normal(size=50), 0.68, s) for s in seconds]
    assert decide(pairs, (0, 0), 0.015, 0.98, random=False) == "pays"
    assert decide(pairs, (0, 0), 0.015, 0.98, random=True) == "cannot tell"


def test_overlaps_are_mean_shares():
    assert overlaps([np.arange(10), np.arange(5, 15)]) == 0.5
    assert overlaps([np.arange(3)]) == 0.0


# Labels saved.


def test_labels_saved_are_read_off_learning_curves():
    assert size_reaching((100, 400, 1600), np.array([0.5, 0.7, 0.9]), 0.8) == pytest.approx(800)
    noise = 1e-4 * np.random.default_rng(0).normal(size=(6, 3))
    fast, slow = np.array([0.7, 0.8, 0.9]) + noise, np.array([0.5, 0.7, 0.8]) + noise
    found = labels_saved((100, 400, 1600), fast, slow, ("shared", "full"))
    assert found.low < 4.0 < found.high
    assert found.high < 4.1
    never = labels_saved((100, 400, 1600), slow - 0.3, fast, ("shared", "full"))
    assert (never.censoring, str(never)) == ("left", "<= 1.0")
    at_once = labels_saved((100, 400, 1600), fast + 0.2, slow, ("shared", "full"))
    assert (at_once.censoring, str(at_once)) == ("right", ">= 16.0")
    assert labels_saved((100,), fast[:, :1], slow[:, :1], ("shared", "full")) is None


# Verdicts.


def gains(*decisions, behind=False):
    level = (
        Interval(-0.2, -0.3, -0.1, 0.98, "", 6) if behind else Interval(0.2, 0.1, 0.3, 0.98, "", 6)
    )
    given = (*decisions, "cannot tell", "cannot tell")
    return {
        name: Gain(name, "a", "b", level, (), decision, level)
        for name, decision in zip(NAMES, given)
    }


YES, NO, UNSURE = "pays", "does not pay", "cannot tell"


@pytest.mark.parametrize(
    ("decisions", "behind", "verdict"),
    [
        ((YES, YES, YES, YES), False, "convolution pays"),
        ((NO, YES, YES, YES), False, "convolution pays"),
        ((YES, NO, NO, UNSURE), False, "locality pays, sharing does not"),
        ((YES, YES, YES, NO), False, "locality pays, sharing does not"),
        ((NO, NO, YES, YES), False, "neither pays"),
        ((YES, YES, YES, YES), True, "neither pays"),
        ((YES, YES, UNSURE, YES), False, "locality pays, sharing unsettled"),
        ((NO, YES, YES, UNSURE), False, "locality pays, sharing unsettled"),
        ((UNSURE, UNSURE, UNSURE, YES), False, "cannot tell"),
        ((NO, UNSURE, YES, YES), False, "cannot tell"),
    ],
)
def test_verdicts_follow_from_decisions(decisions, behind, verdict):
    found, reasons = judge(gains(*decisions, behind=behind), learned=True)
    assert found == verdict
    assert len(reasons) >= 4


def test_a_network_behind_the_full_one_gives_no_gain_of_its_own():
    # Seed 89 of the permuted linear teacher: the shared network is 15 points behind, and scrambling
    # happens to cost it something.
    found = gains(NO, YES, NO, UNSURE)
    behind = dataclasses.replace(
        found["shared less full"], sure=Interval(-0.15, -0.17, -0.13, 0.98, "", 6)
    )
    verdict, reasons = judge(found | {"shared less full": behind}, learned=True)
    assert verdict == "neither pays"
    assert "ahead of the shared one" in reasons[-1]
    assert (
        judge(gains(YES, YES, NO, UNSURE) | {"shared less full": behind}, learned=True)[0]
        == "locality pays, sharing does not"
    )


def test_a_network_within_the_margin_of_the_full_one_is_not_behind():
    found = gains(YES, YES, NO, UNSURE)
    for estimate, verdict in (
        (-0.009, "locality pays, sharing does not"),
        (-0.011, "neither pays"),
    ):
        level = Interval(
            estimate, estimate - 0.005, estimate + 0.005, 0.98, "", 9
        )  # surely below 0 both times
        full = {
            name: dataclasses.replace(found[name], sure=level)
            for name in ("local less full", "shared less full")
        }
        assert judge(found | full, learned=True)[0] == verdict


def test_where_sharing_is_not_settled_the_network_that_is_ahead_is_recommended_and_rounds_go_on():
    ahead, behind = (
        dataclasses.replace(gains(*[UNSURE] * 4)["sharing"], ladder=Interval(e, -1, 1, 0.95, "", 6))
        for e in (0.004, -0.004)
    )
    assert (recommended(UNSETTLED, ahead), recommended(UNSETTLED, behind)) == ("shared", "local")
    assert [recommended(verdict, ahead) for verdict in VERDICTS if verdict != UNSETTLED] == [
        "shared",
        "local",
        "full",
        "full",
    ]
    assert UNSETTLED in OPEN
    assert waiting(gains(YES, YES, UNSURE, YES))  # so that there is something to go on with


def test_without_the_full_network_nothing_is_said_to_pay():
    found = gains(YES, YES, YES, YES)
    missing = {
        name: dataclasses.replace(found[name], ladder=None, sure=None)
        for name in ("local less full", "shared less full")
    }
    verdict, reasons = judge(found | missing, learned=True)
    assert verdict == "cannot tell"
    assert "was not trained" in reasons[-1]
    assert judge(gains(NO, NO, YES, YES) | missing, learned=True)[0] == "neither pays"


def test_nothing_learned_means_cannot_tell():
    assert judge(gains(YES, YES, YES, YES), learned=False)[0] == "cannot tell"
