"""Statistical queries: counts by enumeration, and an adversarial oracle that hides the target."""

import itertools
import math

import numpy as np
import pytest

from separatrix.errors import SeparatrixError
from separatrix.theory.patterns.queries import (
    hidden_below,
    samples_per_query,
    sq_dimension,
    sq_queries,
)


def cube(bits):
    return np.array(list(itertools.product([-1, 1], repeat=bits)))


def test_parities_are_orthogonal_and_as_many_as_counted():
    x = cube(6)
    sets = list(itertools.combinations(range(6), 3))
    values = np.array([x[:, list(part)].prod(1) for part in sets])
    np.testing.assert_array_equal(values @ values.T / 64, np.eye(len(sets)))
    assert sq_dimension(6, 3, ordered=False) == len(sets)
    assert sq_dimension(6, 3) == 4
    np.testing.assert_array_equal(sq_dimension([6, 8], 3), [4, 6])


@pytest.mark.parametrize("seed", range(5))
def test_a_query_rules_out_at_most_one_over_tolerance_squared(seed):
    """Bessel: any query with |q| ≤ 1 correlates beyond τ with at most 1/τ² of the parities."""
    rng, x, tolerance = np.random.default_rng(seed), cube(8), 0.25
    parities = np.array([x[:, list(p)].prod(1) for p in itertools.combinations(range(8), 3)])
    # A query may copy a majority of some parities: the worst kind.
    query = np.sign(parities[rng.choice(len(parities), 5)].sum(0) + 0.1 * rng.standard_normal(256))
    correlated = (np.abs(parities @ query / 256) > tolerance).sum()
    assert correlated <= 1 / tolerance**2


def test_bounds():
    assert sq_queries(1001, 0.1) == pytest.approx(10.0)
    assert sq_queries(2, 0.1) == 1.0
    assert hidden_below(20, 3) == pytest.approx(1 / math.sqrt(1140))


def test_samples_answer_a_query():
    """Hoeffding's count, checked by simulation of a fair coin's mean."""
    rows = math.ceil(samples_per_query(0.1, 0.05))
    means = np.random.default_rng(0).choice([-1, 1], (2000, rows)).mean(1)
    assert (np.abs(means) > 0.1).mean() <= 0.05


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sq_dimension(4, 5), "the `window` of sq_dimension must be"),
        (lambda: sq_queries(10, 0.0), "the `tolerance` of sq_queries must be"),
        (lambda: samples_per_query(0.1, 2.0), "the `delta` of samples_per_query must be"),
    ],
)
def test_wrong_input_gets_one_sentence(make, sentence):
    with pytest.raises(SeparatrixError) as caught:
        make()
    assert sentence in str(caught.value)


def test_counts_beyond_floats_are_infinite():
    assert sq_dimension(4096, 2000, ordered=False) == np.inf
    assert hidden_below(4096, 2000) == 0
