"""The seeds that a run may use."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.errors import SeparatrixError
from separatrix.studies import (
    seeds_from,
)


@given(
    st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 500_000), st.integers(1, 500_000)
)
def test_seeds_of_two_runs_or_purposes_never_meet(one, two, count, other):
    drawn = {
        (seed, purpose): seeds_from(seed, n, purpose)
        for seed, n in ((one, count), (two, other))
        for purpose in (0, 1)
    }
    for (_, a), (_, b) in itertools.combinations(drawn.items(), 2):
        assert a.stop <= b.start or b.stop <= a.start
    assert len(seeds_from(one, count)) == count


@pytest.mark.parametrize("count", [0, -1, 500_001])
def test_a_number_of_seeds_that_would_meet_others_is_refused(count):
    with pytest.raises(
        SeparatrixError, match=r"the `seeds` of a study must be an integer in \[1, 500000\]"
    ):
        seeds_from(0, count)
