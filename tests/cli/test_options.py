"""Options that several commands share."""

from hypothesis import given
from hypothesis import strategies as st

from separatrix.cli.options import seconds_from
from separatrix.errors import SeparatrixError


@given(st.floats(1e-3, 1e6), st.sampled_from([("", 1), ("s", 1), ("m", 60), ("h", 3600)]))
def test_budgets_are_read_in_their_unit(number, unit):
    text = f"{number:.3f}"
    assert seconds_from(text + unit[0]) == float(text) * unit[1]


@given(st.text())
def test_any_other_budget_is_refused_in_one_sentence(text):
    try:
        seconds = seconds_from(text)
    except SeparatrixError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert (seconds is None and text == "") or seconds > 0
