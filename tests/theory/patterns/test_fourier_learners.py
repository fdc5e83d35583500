"""Junta learners: exact coefficients on the whole cube, random functions, and limits."""

import itertools

import numpy as np
import pytest

from separatrix.errors import SeparatrixError
from separatrix.theory.patterns.fourier_learners import (
    coefficients,
    low_degree,
    low_degree_and_linear,
    solve_binary,
)
from separatrix.theory.patterns.readout import pattern_index


def rows(seed, count, bits):
    return np.random.default_rng(seed).choice([-1, 1], (count, bits))


def test_coefficients_are_averages_of_products():
    x = rows(0, 131, 9)  # not a multiple of 64
    y = np.sign(x[:, 0] + x[:, 3] + x[:, 4])
    for degree in (1, 2, 3):
        sets, values = coefficients(x, y, degree)
        assert len(sets) == len(list(itertools.combinations(range(9), degree)))
        expected = [(x[:, part].prod(1) * y).mean() for part in sets]
        np.testing.assert_allclose(values, expected, atol=1e-12)


@pytest.mark.parametrize("learner", [low_degree, low_degree_and_linear])
@pytest.mark.parametrize("seed", range(6))
def test_random_functions_of_three_bits(learner, seed):
    rng = np.random.default_rng(seed)
    x, support = rows(seed, 4000, 14), sorted(rng.choice(14, 3, replace=False).tolist())
    table = rng.choice([-1, 1], 8)
    y = table[pattern_index(x[:, support])]
    if np.all(table == table[0]):
        pytest.skip("a constant")
    learnt = learner(x, y, 3)
    # A table may not depend on all of its bits.
    inside = [bit for bit in support if _depends(x, y, bit, support)]
    assert learnt.support == tuple(inside)
    predicted = learnt.table[pattern_index(x[:, list(learnt.support)])]
    np.testing.assert_array_equal(predicted, y)


def _depends(x, y, bit, support):
    others = [b for b in support if b != bit]
    index, own = pattern_index(x[:, others]), x[:, bit] > 0
    return any(len(set(y[(index == i) & own]) | set(y[(index == i) & ~own])) > 1 for i in range(4))


def test_parities_of_many_bits_are_linear_algebra():
    """Six of sixty bits: 5·10⁷ sets for a search, 61 unknowns at the last degree here."""
    x = rows(3, 400, 60)
    support = [2, 11, 23, 34, 45, 58]
    learnt = low_degree_and_linear(x[:, :], x[:, support].prod(1), 2)
    assert not learnt.found  # told that there are two bits, it must not invent a rule
    learnt = low_degree_and_linear(x[:, 40:], x[:, [45, 58]].prod(1), 2)
    assert learnt.support == (5, 18)


def test_noisy_labels_give_nothing():
    x = rows(4, 500, 10)
    y = x[:, 1] * x[:, 2]
    y[::7] *= -1
    assert not low_degree(x, y, 2).found


def test_binary_systems_against_enumeration():
    rng = np.random.default_rng(5)
    for _ in range(40):
        matrix, right = rng.random((5, 6)) < 0.5, rng.random(5) < 0.5
        solution = solve_binary(matrix, right)
        every = np.array(list(itertools.product([0, 1], repeat=6)))
        solvable = ((every @ matrix.T.astype(int)) % 2 == right).all(1).any()
        assert (solution is not None) == solvable
        if solution is not None:
            np.testing.assert_array_equal(matrix.astype(int) @ solution % 2, right)


def test_too_many_candidates_are_refused():
    with pytest.raises(SeparatrixError, match="use fewer bits, or window_search"):
        low_degree(rows(6, 10, 400), np.ones(10, int), 5)
