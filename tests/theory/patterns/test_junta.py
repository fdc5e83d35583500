"""Window search and junta search against brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.theory.patterns import junta
from separatrix.theory.patterns.junta import junta_search, pack_columns, window_search
from separatrix.theory.patterns.readout import pattern_index


def consistent(x, y, support):
    """A set of bits explains the labels when no pattern has both."""
    seen = {}
    return all(
        seen.setdefault(tuple(row), label) == label
        for row, label in zip(x[:, support].tolist(), y.tolist())
    )


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 150), bits=st.integers(1, 9), data=st.data(), seed=st.integers(0, 10**6))
def test_junta_search_finds_exactly_the_consistent_sets(rows, bits, data, seed):
    window = data.draw(st.integers(1, min(bits, 4)))
    rng = np.random.default_rng(seed)
    x = rng.choice([-1, 1], (rows, bits))
    hidden = rng.permutation(bits)[:window]
    table = rng.choice([-1, 1], 2**window)
    y = table[pattern_index(x[:, hidden])]
    prefix, words = data.draw(st.sampled_from([(256, 8), (4, 1), (64, 1)]))
    result = junta_search(x, y, window, prefix=prefix, words=words, keep=200)
    expected = [s for s in itertools.combinations(range(bits), window) if consistent(x, y, list(s))]
    assert sorted(result.supports) == expected
    assert result.survivors == len(expected)
    assert result.candidates == math.comb(bits, window)
    assert result.unique == (len(expected) == 1)
    for support, found in zip(result.supports, result.tables):
        index = pattern_index(x[:, support])
        np.testing.assert_array_equal(found[index], y)
        assert not found[np.setdiff1d(np.arange(2**window), index)].any()


def test_the_search_tree_splits_when_its_table_would_not_fit(monkeypatch):
    monkeypatch.setattr(junta, "_TABLE", 30)
    rng = np.random.default_rng(0)
    x = rng.choice([-1, 1], (300, 14))
    result = junta_search(x, x[:, 0] * x[:, 5] * x[:, 12] * x[:, 13], 4)
    assert result.supports == ((0, 5, 12, 13),)


def test_window_search_tries_windows_only():
    rng = np.random.default_rng(1)
    x = rng.choice([-1, 1], (500, 40))
    found = window_search(x, x[:, 37] * x[:, 38] * x[:, 39], 3)
    assert found.supports == ((37, 38, 39),)
    assert found.candidates == 38
    scattered = x[:, 1] * x[:, 20] * x[:, 39]
    assert window_search(x, scattered, 3).survivors == 0
    assert "none of 38 candidates" in window_search(x, scattered, 3).verdict
    assert junta_search(x, scattered, 3).supports == ((1, 20, 39),)


def test_noise_leaves_no_candidate_and_few_samples_leave_many():
    rng = np.random.default_rng(2)
    x = rng.choice([-1, 1], (2000, 12))
    y = x[:, 0] * x[:, 6]
    noisy = y.copy()
    noisy[1500] *= -1  # beyond the prefix: only the confirmation sees it
    assert junta_search(x, noisy, 2).survivors == 0
    few = junta_search(x[:3], y[:3], 2)
    assert few.survivors > 1
    assert "more samples are needed" in few.verdict
    constant = junta_search(x, np.ones(len(x)), 2, keep=3)
    assert constant.survivors == math.comb(12, 2)
    assert len(constant.supports) == 3


def test_packing_keeps_every_bit():
    x = np.random.default_rng(3).choice([-1, 1], (130, 5))
    packed = pack_columns(x)
    assert packed.shape == (5, 3)
    bits = np.unpackbits(packed.view(np.uint8), axis=1, bitorder="little")
    np.testing.assert_array_equal(bits[:, :130].T, x > 0)
    assert not bits[:, 130:].any()


def test_real_sizes_read_few_rows():
    rng = np.random.default_rng(4)
    x = rng.choice(np.array([-1, 1], np.int8), (100_000, 64))
    result = junta_search(x, x[:, [3, 17, 40, 59]].prod(1), 4)
    assert result.supports == ((3, 17, 40, 59),)
    assert result.confirmed < 100
    # The prefix of every candidate, and all samples of the few that are confirmed.
    assert result.rows_read < 256 * result.candidates + 100 * len(x)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: junta_search(x, x[:, 0], 0), ParameterError, "`window`"),
        (lambda x: junta_search(x, x[:5, 0], 1), ParameterError, "`y`"),
        (lambda x: junta_search(x * 2, x[:, 0], 1), ParameterError, "`x`"),
        (
            lambda x: junta_search(x, x[:, 0], 12),
            SeparatrixError,
            "too many to search .*use window_search",
        ),
        (lambda x: window_search(x, x[:, 0], 21), ParameterError, "`window`"),
    ],
)
def test_bad_values_get_one_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call(np.random.default_rng(0).choice([-1, 1], (50, 200)))
