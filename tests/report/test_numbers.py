"""Numbers as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.report import interval, number
from separatrix.report.numbers import cell, duration, memory, probability, tick


@pytest.mark.parametrize(
    "value, text",
    [
        (0.6415732, "0.6416"),
        (0.25, "0.25"),
        (1000, "1000"),
        (12345, "12,345"),
        (12345.678, "12,346"),
        (0.00078270, "0.0007827"),
        (1.444e-7, "1.44×10⁻⁷"),
        (-2.5e8 - 0.5, "−2.5×10⁸"),
        (0.99987348, "0.99987"),
        (0.0, "0"),
        (float("nan"), "—"),
        (None, "—"),
        (1234567, "1,234,567"),
        (3.0, "3"),
        (1.0001, "1"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    "values, text",
    [
        ((0.6415732, 0.6080525, 0.6842418), "0.642 [0.608, 0.684]"),
        ((0.99989799, 0.99987348, 0.9999194), "0.99990 [0.99987, 0.99992]"),
        ((0.000899091, 0.00084953, 0.00094711), "0.000899 [0.000850, 0.000947]"),
        ((-0.37836, -0.3947, -0.35672), "−0.378 [−0.395, −0.357]"),
        ((240, 131, 522), "240 [131, 522]"),
        ((1.0, 0.001, 1000.0), "1 [0.001, 1000]"),
        ((0.5, None, 0.7), "0.500 [—, 0.700]"),
        ((None, 64, 128), "between 64 and 128"),
        ((None, 4096, None), "at least 4096"),
        ((None, None, 64), "at most 64"),
        ((0.0, 0.0, 0.0), "0 [0, 0]"),
        ((-0.0001, -0.3, 0.3), "0.000 [−0.300, 0.300]"),
        ((None, None, None), "not measured"),
    ],
)
def test_intervals(values, text):
    assert interval(*values) == text


@given(st.floats(-1e12, 1e12), st.floats(0, 1e6), st.floats(0, 1e6))
def test_an_interval_is_written_as_it_is(middle, below, above):
    low, high = middle - below, middle + above
    text = interval(middle, low, high)
    found = [
        _value(part)
        for part in text.replace("[", "").replace("]", "").replace(", ", " ").split(" ")
    ]
    for value, wanted in zip(found, (middle, low, high)):
        assert math.isclose(
            value, wanted, rel_tol=0.006, abs_tol=0.006 * max(abs(low), abs(high), 1e-300)
        )


def _value(text):
    mantissa, _, exponent = text.replace(",", "").replace("−", "-").partition("×10")
    return float(mantissa) * 10 ** int(
        (exponent or "0").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    )


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_numbers_keep_three_digits(value):
    assert math.isclose(_value(number(value)), value, rel_tol=5.1e-3)


def test_cells_times_sizes_and_ticks():
    assert cell(1e-12, "p-value") == cell(1e-12, "p") == cell(1e-12, "p (two-sided)") == "<0.001"
    assert cell(1e-12, "gap") == "10⁻¹²".join(["1×", ""])
    assert probability(0.0005) == "<0.001"
    assert cell({"a": [1, None]}) == "a 1, —"
    assert [duration(each) for each in (0, 59.4, 3599.6, 90061)] == [
        "0 s",
        "59.4 s",
        "1 h 0 min",
        "25 h 1 min",
    ]
    assert [memory(each) for each in (0, 2048, 3 * 2**30)] == ["0 bytes", "2 KiB", "3 GiB"]
    assert [tick(each, powers=True) for each in (1e-5, 1.0, 10.0, 5e6)] == [
        "10⁻⁵",
        "1",
        "10¹",
        "5×10⁶",
    ]
