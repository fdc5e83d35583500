"""Lemma 6's readout: exact on the whole cube, and the probability that a draw allows it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.errors import SeparatrixError
from separatrix.theory.patterns import readout


def test_lemma6_check_refuses_cubes_that_do_not_fit():
    with pytest.raises(SeparatrixError, match=r"2\^30 inputs are too many.*check bits = window"):
        readout.lemma6_error(np.full((4, 2), 0.5), [1, 1, 1, 1], 0, 30)


@settings(max_examples=25, deadline=None)
@given(bits=st.integers(1, 9), data=st.data(), seed=st.integers(0, 10**6))
def test_lemma6_readout_is_exact_on_the_whole_cube(bits, data, seed):
    window = data.draw(st.integers(1, min(bits, 5)))
    start = data.draw(st.integers(0, bits - window))
    rng = np.random.default_rng(seed)
    filters = rng.choice([-1 / window, 1 / window], (40 * 2**window, window))
    table = rng.choice([-1.0, 1.0], 2**window)
    certificate = readout.lemma6_readout(filters, table, start, bits)
    if certificate.covered:
        assert readout.lemma6_error(filters, table, start, bits) < 1e-13
    if certificate.balanced:
        assert certificate.norm <= certificate.norm_bound
    # Independent evaluation, straight from the definition.
    x = readout.cube(bits)
    h = sum(
        np.maximum(x[:, j : j + window] @ filters.T + (1 / window - 1), 0) @ certificate.readout[j]
        for j in range(bits - window + 1)
    )
    f = table[readout.pattern_index(x[:, start : start + window])]
    assert certificate.covered == bool(np.abs(h - f).max() < 1e-12)


def test_an_uncovered_pattern_shows_as_an_error_of_one():
    filters = np.array([[0.5, 0.5], [0.5, -0.5], [-0.5, 0.5]])
    assert readout.lemma6_error(filters, [1, 1, 1, 1], 0, 3) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("filters", "window", "minimum"), [(5, 1, 2), (6, 2, 1), (9, 1, 3), (7, 2, 1)]
)
def test_exact_coverage_failure_equals_enumeration(filters, window, minimum):
    patterns_count = 2**window
    draws = np.indices((patterns_count,) * filters).reshape(filters, -1)
    counts = np.stack([(draws == z).sum(0) for z in range(patterns_count)])
    failure = readout.coverage_failure(filters, window, minimum)
    assert failure.exact == pytest.approx(float((counts.min(0) < minimum).mean()), abs=1e-12)
    assert failure.exact <= failure.union + 1e-12


def test_measured_coverage_agrees_with_the_exact_probability_and_stays_below_delta():
    for window in (2, 4, 6):
        q = math.floor(readout.needed_filters(window, 0.05)) + 1
        result = readout.coverage_draws(q, window, draws=4000, seed=window)
        failure = readout.coverage_failure(q, window)
        spread = 4 * math.sqrt(max(failure.exact, 1e-3) / 4000)
        assert abs(result.unbalanced / 4000 - failure.exact) < spread
        assert failure.exact <= failure.union <= failure.chernoff <= 0.05
        assert result.uncovered == 0
        assert result.largest_norm_ratio <= 1
    # At q = 2^k ln 2^k, coupon collecting: about 1/e of all draws cover everything.
    scarce = round(2**6 * math.log(2**6))
    covered = 1 - readout.coverage_failure(scarce, 6, minimum=1).exact
    assert covered == pytest.approx(math.exp(-1), abs=0.05)
    assert readout.coverage_draws(scarce, 6, 4000).uncovered / 4000 == pytest.approx(
        1 - covered, abs=0.03
    )
