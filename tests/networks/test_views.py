"""Views: what they see, their statistics against counting, and networks over them against the
formula of the paper.
"""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.networks import embed, windows
from separatrix.spec import from_message, to_message

KINDS = ("subsets", "windows", "permutation")


@pytest.mark.parametrize("kind", KINDS)
def test_views_are_what_their_kind_says_and_depend_on_the_seed_alone(kind):
    views = sx.Views(7, 4, seed=3, kind=kind, blocks=2)
    places = views.places(10)
    assert places.shape == (9, 4)
    np.testing.assert_array_equal(places[:2], [[0, 1, 2, 3], [4, 5, 6, 7]])
    assert all(len(set(row)) == 4 and min(row) >= 0 and max(row) < 10 for row in places.tolist())
    np.testing.assert_array_equal(places, sx.Views(7, 4, 3, kind, 2).places(10))
    assert (places[2:] != views.replace(seed=4).places(10)[2:]).any()
    if kind == "windows":
        assert (np.diff(places, axis=1) == 1).all()
    if kind == "permutation":  # two blocks fit into each permutation of ten
        for pair in (places[2:4], places[4:6], places[6:8]):
            assert len(np.unique(pair)) == 8
        assert (
            set(places[2:4].ravel()) != set(places[4:6].ravel())
            or (places[2:4] != places[4:6]).any()
        )


def test_subsets_and_windows_are_uniform():
    # Counts of 4,000 draws of 10 subsets (15 windows of 12): each within 4.5 standard deviations of
    # its binomial mean.
    subsets = sx.Views(4000, 3, seed=1).places(5)
    starts = sx.Views(4000, 4, seed=1, kind="windows").places(18)[:, 0]
    for counts, cells in [
        (
            [
                np.sum((np.sort(subsets) == each).all(1))
                for each in itertools.combinations(range(5), 3)
            ],
            10,
        ),
        (np.bincount(starts, minlength=15), 15),
    ]:
        assert len(counts) == cells
        assert np.abs(np.array(counts) - 4000 / cells).max() < 4.5 * math.sqrt(
            4000 / cells * (1 - 1 / cells)
        )
    # The coordinates of a subset come in random order: each of the 6 orders equally often.
    orders = np.unique(np.argsort(subsets, axis=1), axis=0, return_counts=True)[1]
    assert len(orders) == 6
    assert np.abs(orders - 4000 / 6).max() < 4.5 * math.sqrt(4000 * 5 / 36)


@pytest.mark.parametrize("kind", KINDS)
def test_overlap_and_coverage_are_counted_pair_by_pair(kind):
    views = sx.Views(6, 3, seed=0, kind=kind, blocks=1)
    sets = [set(row) for row in views.places(11).tolist()]
    pairs = [len(a & b) / 3 for a, b in itertools.combinations(sets, 2)]
    assert views.overlap(11) == pytest.approx(np.mean(pairs))
    assert views.coverage(11) == pytest.approx(len(set.union(*sets)) / 11)
    where = windows((11, 2), views, 1)
    assert (where.overlap(), where.coverage()) == (views.overlap(11), views.coverage(11))
    assert sx.Views(1, 3).overlap(11) == 0.0


@pytest.mark.parametrize("make", [sx.CNN, sx.LCN], ids=["shared", "local"])
def test_a_pooled_network_over_views_is_the_formula_of_the_paper(make):
    # f(x) = Σ_k v_k (1/L) Σ_l relu(w_k·x_l − b_k) + β; the bias is added here, so b = −bias.
    rng = np.random.default_rng(0)
    views, d, m, K = sx.Views(5, 3, seed=2, blocks=2), 8, 3, 4
    L = 7
    network = make(views, K, readout="pooled", offset=True)
    local = make is sx.LCN
    count = L * K * m + L * K + K + 1 if local else K * (m + 2) + 1
    assert network.parameter_count((d, 1)) == count
    groups = L if local else 1
    w, b, v, beta = (
        rng.standard_normal((groups, K, m)),
        rng.standard_normal((groups, K)),
        rng.standard_normal(K),
        0.7,
    )
    x = rng.standard_normal((6, d))
    expected = np.full(6, beta)
    for l, seen in enumerate(views.places(d)):
        for k in range(K):
            g = l if local else 0
            expected += v[k] / L * np.maximum(x[:, seen] @ w[g, k] - b[g, k], 0.0)
    with jax.enable_x64(True):
        params = sx.Params(jnp.asarray(w), jnp.asarray(-b), jnp.asarray(v), jnp.asarray(beta))
        inputs = jnp.asarray(x[:, :, None])
        np.testing.assert_allclose(network.apply(params, inputs), expected, rtol=0, atol=1e-12)
        wide, big = embed(network, params, (d, 1), to="full")
        np.testing.assert_allclose(wide.apply(big, inputs), expected, rtol=0, atol=1e-12)
    assert wide.parameter_count((d, 1)) == L * K * (d + 2) + 1


def test_the_start_over_views_has_the_papers_variances():
    # Hidden N(0, 2/fan_in) with fan_in the 5 coordinates a unit sees, biases 0, readout N(0, 1/K),
    # β 0: within 4.5 standard errors.
    network = sx.LCN(
        sx.Views(40, 5, kind="permutation"),
        100,
        readout="pooled",
        offset=True,
        initial=sx.Initial("scaled", readout=1.0),
    )
    params = jax.jit(lambda key: network.init(key, (50, 1)))(jax.random.key(0))
    for part, variance in ((params.weights, 2 / 5), (params.readout, 1 / 100)):
        part = np.asarray(part, np.float64)
        assert abs(np.mean(part**2) / variance - 1) < 4.5 * math.sqrt(2 / part.size)
    assert not np.asarray(params.bias).any()
    assert float(params.offset) == 0.0


def test_views_of_several_channels_and_of_images_see_all_channels_of_their_positions():
    views = sx.Views(3, 4, seed=1)
    x = np.arange(2 * 3 * 2 * 5, dtype=np.float32).reshape(2, 3, 2, 5)
    expected = np.stack([x.reshape(2, 6, 5)[:, seen].reshape(2, -1).T for seen in views.places(6)])
    np.testing.assert_array_equal(windows((3, 2, 5), views, 1).patches(jnp.asarray(x)), expected)
    whole = sx.Views(2, 6, kind="permutation")  # as large as the input, but in another order
    np.testing.assert_array_equal(
        windows((6, 5), whole, 1).patches(jnp.asarray(x.reshape(2, 6, 5)))[1],
        x.reshape(2, 6, 5)[:, whole.places(6)[1]].reshape(2, -1).T,
    )


def test_trials_over_views_run_and_know_their_views(programs):
    network = sx.CNN(sx.Views(4, 2, blocks=1), 3, readout="pooled", offset=True)
    trial = sx.Trial(
        sx.SignalTask(5, 3, 0.3), network, sx.Learner(0.5, 6), 20, 1, sx.Measure(test=32)
    )
    from separatrix.engine import Rounding, frame_of

    frame = frame_of(trial, Rounding(samples=4.0, sizes=2.0))
    assert frame.task == trial.task
    (row,) = programs.run([trial], frame)
    assert row["loss"] < row["trace.loss"][0]
    assert from_message(to_message(trial)) == trial
    others = [
        trial.replace(network=network.replace(field=network.field.replace(**o)))
        for o in ({"seed": 1}, {"kind": "windows"}, {"count": 5})
    ]
    assert len({t.identity for t in [trial, *others]}) == 4
    assert trial.columns()["network.field.count"] == 4


def test_views_that_do_not_fit_are_one_sentence():
    for call, words in [
        (
            lambda: sx.Views(0, 2),
            "the `count` of Views must be at least 1 when there are no `blocks`, got 0",
        ),
        (lambda: sx.Views(2, 0), "the `size` of Views must be an integer >= 1, got 0"),
        (lambda: sx.Views(2, 2, kind="disks"), "the `kind` of Views must be one of"),
        (
            lambda: sx.CNN(sx.Views(2, 9)).windows((8, 1)),
            "the `size` of Views must be at most 8, the positions of the input, got 9",
        ),
        (
            lambda: sx.CNN(sx.Views(2, 3, blocks=3)).windows((8, 1)),
            "the `blocks` of Views must be at most 2",
        ),
        (lambda: sx.CNN(sx.Views(2, 3), stride=2), "the `stride` of Network must be 1 for views"),
        (lambda: sx.CNN(sx.Views(2, 3), border="wrap"), "the `border` of Network must be 'valid'"),
        (
            lambda: sx.FCN(2, field=sx.Views(2, 3)),
            "the `field` of Network must be None for a fully connected network",
        ),
    ]:
        with pytest.raises(sx.ParameterError, match=words):
            call()
