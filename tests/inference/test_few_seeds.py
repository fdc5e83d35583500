"""Intervals over few seeds, against SciPy's and by their coverage."""

import numpy as np
import pytest
from scipy import stats

from separatrix.errors import SeparatrixError
from separatrix.inference.intervals import gap_over_seeds, mean_over_seeds


def test_intervals_are_those_of_scipy():
    rng = np.random.default_rng(0)
    for sizes in ((2, 2), (4, 4), (5, 3)):
        a, b = rng.normal(1, 2, sizes[0]), rng.normal(0, 0.5, sizes[1])
        theirs = stats.ttest_1samp(a, 0).confidence_interval(0.95)
        assert (mean_over_seeds(a).low, mean_over_seeds(a).high) == pytest.approx(tuple(theirs))
        theirs = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
        assert (gap_over_seeds(a, b).low, gap_over_seeds(a, b).high) == pytest.approx(tuple(theirs))


def test_four_seeds_cover_the_mean_in_95_of_100_cases():
    rng = np.random.default_rng(1)
    found = [mean_over_seeds(rng.normal(size=4)) for _ in range(2000)]
    share = np.mean([each.low <= 0 <= each.high for each in found])
    assert abs(share - 0.95) < 4.5 * np.sqrt(0.95 * 0.05 / 2000)


def test_equal_and_too_few_values():
    assert mean_over_seeds(np.full(3, 0.5)).low == mean_over_seeds(np.full(3, 0.5)).high == 0.5
    assert gap_over_seeds(np.full(3, 0.5), np.full(2, 0.25)).high == 0.25
    for wrong in (np.array([0.5]), np.array([0.5, np.nan]), np.zeros((2, 2))):
        with pytest.raises(SeparatrixError, match="at least two finite numbers"):
            mean_over_seeds(wrong)
