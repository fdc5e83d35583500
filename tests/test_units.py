"""Times and sizes for people."""

import pytest

from separatrix.units import human_bytes, human_seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 ms"),
        (0.0004, "0.4 ms"),
        (0.9996, "1 s"),
        (59.4, "59 s"),
        (3599.0, "1 h"),
        (10440.0, "2.9 h"),
        (100 * 86400.0, "100 d"),
    ],
)
def test_times_have_two_digits_and_the_largest_unit_that_fits(seconds, text):
    assert human_seconds(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (99, "99 B"), (1000, "1 kB"), (12e9, "12 GB"), (2e15, "2000 TB")],
)
def test_sizes_have_two_digits_and_the_largest_unit_that_fits(size, text):
    assert human_bytes(size) == text
