"""Random streams: the generator against JAX's, prefix stability, distributions, disjointness."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import separatrix as sx
from separatrix.errors import SeparatrixError
from separatrix.streams import (
    draw,
    laplace,
    level,
    named,
    normal,
    numbered,
    root_key,
    root_words,
    sign,
    threefry,
    uniform,
)


def words_of(key):
    return np.asarray(jax.random.key_data(key))


def test_threefry_is_jax_fold_in_bit_by_bit():
    for seed, counter in itertools.product([0, 1, 2**31 + 5], [0, 1, 12345, 2**32 - 1]):
        key = jax.random.key(np.uint32(seed))
        ours = np.asarray(jnp.stack(threefry(key, 0, np.uint32(counter))))
        np.testing.assert_array_equal(ours, words_of(jax.random.fold_in(key, np.uint32(counter))))


def test_threefry_is_jax_threefry_on_whole_arrays_of_counters():
    random = pytest.importorskip("jax.extend.random")
    rng = np.random.default_rng(0)
    key = jax.random.wrap_key_data(rng.integers(0, 2**32, 2, dtype=np.uint32))
    high, low = rng.integers(0, 2**32, (2, 1000), dtype=np.uint32)
    expected = random.threefry_2x32(words_of(key), jnp.concatenate([high, low]))
    np.testing.assert_array_equal(np.concatenate(threefry(key, high, low)), np.asarray(expected))


@pytest.mark.parametrize(
    "small, large",
    [((3,), (7,)), ((3, 4), (5, 9)), ((3, 4, 5), (6, 4, 8)), ((2, 3, 4, 5), (3, 5, 6, 7))],
)
def test_larger_arrays_contain_smaller_ones_in_every_axis(small, large):
    key = jax.random.key(3)
    # One axis at a time, and all at once.
    shapes = [
        small,
        large,
        *(
            tuple(large[i] if i == axis else n for i, n in enumerate(small))
            for axis in range(len(small))
        ),
    ]
    inner, *others = jax.device_get(
        jax.jit(lambda: [draw(uniform, key, shape) for shape in shapes])()
    )
    for other in others:
        np.testing.assert_array_equal(other[tuple(slice(n) for n in small)], inner)
    assert len(np.unique(inner)) == inner.size  # no counter is used twice


def test_arrays_too_large_for_the_counters_are_refused_in_one_sentence():
    for shape in [(2, 2**16 + 1), (2**16 + 1, 1, 1, 1), (1, 1, 1, 1, 1)]:
        with pytest.raises(SeparatrixError, match="cannot draw an array of shape"):
            draw(uniform, jax.random.key(0), shape)


ROWS = 100_000
# For each sampler: its distribution where it is continuous, and the fourth moment of its
# unit-variance law.
SAMPLERS = {
    uniform: (stats.uniform(), None),
    normal: (stats.norm(), 3.0),
    laplace: (stats.laplace(scale=0.5**0.5), 6.0),
    level: (stats.uniform(-(3**0.5), 2 * 3**0.5), 1.8),
    sign: (None, 1.0),
}


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda f: f.__name__)
def test_samplers_have_their_moments_and_distribution(sampler):
    law, fourth = SAMPLERS[sampler]
    x = np.asarray(draw(sampler, named(jax.random.key(0), sampler.__name__), (ROWS,)), np.float64)
    mean, variance = (0.5, 1 / 12) if sampler is uniform else (0.0, 1.0)
    # The seed is fixed; 4.5 standard errors would fail for one seed in 100,000.
    assert abs(x.mean() - mean) < 4.5 * np.sqrt(variance / ROWS)
    if fourth is not None and sampler is not sign:
        assert abs(x.var() - 1.0) < 4.5 * np.sqrt((fourth - 1.0) / ROWS)
    if law is None:
        assert set(np.unique(x)) == {-1.0, 1.0}
    else:
        # Kolmogorov–Smirnov at level 1e-4. The 23-bit lattice shifts the distribution by at most
        # 2^-23, far below 1/√rows.
        assert stats.kstest(x, law.cdf).pvalue > 1e-4


@pytest.mark.parametrize("sampler", [uniform, normal, laplace, level], ids=lambda f: f.__name__)
def test_samplers_are_finite_at_the_ends_and_odd_about_the_middle(sampler):
    bits = jnp.array(
        [0, 511, 512, 2**31 - 1, 2**31, 2**32 - 513, 2**32 - 512, 2**32 - 1], jnp.uint32
    )
    x = np.asarray(sampler(bits), np.float64)
    assert np.isfinite(x).all()
    assert (np.diff(x) >= 0).all()
    centre = 0.5 if sampler is uniform else 0.0
    np.testing.assert_allclose(x - centre, -(x - centre)[::-1], rtol=1e-6)
    if sampler is uniform:
        assert x[0] > 0
        assert x[-1] < 1


def test_neighbouring_entries_and_streams_are_uncorrelated():
    x = np.asarray(draw(normal, jax.random.key(1), (1000, 100)), np.float64)
    other = np.asarray(draw(normal, named(jax.random.key(1), "x"), (1000, 100)), np.float64)
    # Each correlation has standard error 1/√100,000 = 0.0032; 4.5 of them.
    for a, b in [(x[1:], x[:-1]), (x[:, 1:], x[:, :-1]), (x, other)]:
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.0145


def test_named_and_numbered_streams_all_differ():
    key = jax.random.key(0)
    keys = [
        key,
        *(
            named(key, name)
            for name in ["train", "test", "online", "truth", "batches", "init", "", "Train"]
        ),
    ]
    keys += [numbered(key, i) for i in range(5)] + [
        named(named(key, "train"), "test"),
        named(named(key, "test"), "train"),
    ]
    # The pitfall: fold_in(key, i) == split(key, n)[i], so integers make overlapping streams. Names
    # must not fall on them.
    keys += list(jax.random.split(key, 8))
    assert len({tuple(words_of(k)) for k in keys}) == len(keys)
    assert (words_of(jax.random.fold_in(key, 3)) == words_of(jax.random.split(key, 8)[3])).all()


def test_numbered_streams_are_the_same_when_the_number_is_traced():
    key = jax.random.key(0)
    traced = jax.jit(lambda i: jax.random.key_data(numbered(key, i)))(7)
    np.testing.assert_array_equal(np.asarray(traced), words_of(numbered(key, 7)))


def test_root_words_depend_on_every_part_and_not_on_the_order_of_names():
    base = ["data", 0, {"type": "T", "noise": 0.3}, 16]
    others = [
        ["model", 0, {"type": "T", "noise": 0.3}, 16],
        ["data", 1, {"type": "T", "noise": 0.3}, 16],
        ["data", 0, {"type": "T", "noise": 0.30000000000000004}, 16],
        ["data", 0, {"type": "U", "noise": 0.3}, 16],
        ["data", 0, {"type": "T", "noise": 0.3}, 17],
        ["data", 0, {"type": "T", "noise": 0.3}],
    ]
    words = {tuple(root_words(*parts)) for parts in [base, *others]}
    assert len(words) == 1 + len(others)
    assert tuple(root_words("data", 0, {"noise": 0.3, "type": "T"}, 16)) == tuple(root_words(*base))
    np.testing.assert_array_equal(words_of(root_key(root_words("a"))), root_words("a"))


def test_train_test_and_online_rows_of_a_trial_are_disjoint():
    task = sx.SignalTask(patches=3, dimension=2, noise=0.3)
    trial = sx.Trial(task, sx.CNN(field=1), sx.Learner(rate=1.0, steps=1), samples=500)
    data, model = (root_key(words) for words in trial.root())
    truth = task.truth(named(data, "truth"))
    keys = [
        named(data, "train"),
        named(data, "test"),
        *(numbered(named(data, "online"), i) for i in range(3)),
        named(model, "batches"),
    ]
    draws = jax.jit(jax.vmap(lambda key: task.draw(key, 500, truth).x))(jnp.stack(keys))
    rows = [tuple(row) for row in np.asarray(draws).reshape(-1, 6).tolist()]
    # Two continuous rows (6 numbers of 23 bits) coincide by chance with probability below 1e-30; a
    # shared counter would show.
    assert len(set(rows)) == len(rows)
    values = np.asarray(draws).reshape(len(keys), -1)
    for a, b in itertools.combinations(values, 2):
        assert (
            len(np.intersect1d(a, b)) < 10
        )  # nor do single numbers recur, in any order (2^-23 each, 3000 × 3000 pairs: about 1)
