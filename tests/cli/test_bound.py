"""`separatrix bound`: terms, verdicts, and one sentence for bad input."""

import json

import pytest

from separatrix.cli.bound import bound, evaluate
from separatrix.errors import SeparatrixError
from separatrix.theory.patterns import theorem4


def test_terms_are_the_theorem(capsys):
    bound("theorem4", 64, 6, 1e9, 1e8, json=True)
    printed = json.loads(capsys.readouterr().out)
    expected = theorem4(64, 6, 1e9, 1e8)
    assert printed["total"] == pytest.approx(float(expected.total))
    assert printed["drift"] + printed["comparator"] + printed["descent"] == pytest.approx(
        printed["total"]
    )
    assert printed["verdict"].startswith("vacuous")


def test_too_few_filters_promise_nothing(capsys):
    bound("theorem4", 4, 2, 10, 5000)
    assert "no promise: a condition is not met" in capsys.readouterr().out


def test_epsilon_gives_sizes_that_keep_the_promise():
    found = evaluate("theorem4", 4, 2, epsilon=0.5)
    assert theorem4(4, 2, found["q of the least work"], found["T of the least work"]).total <= 0.5


def test_huge_windows_overflow_in_words():
    assert evaluate("theorem4", 2000, 1200, 1e6, 1e6)["total"] == "more than a float64 holds"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("theorem4", 4, 6, 10, 10), "must be an integer in [1, 4], got 6"),
        (("theorem4", 4, 2, -1, 10), "the `filters` of theorem4 must be an integer >= 1, got -1"),
        (("theorem4", 4, 2, 0.5, 10), "must be an integer >= 1, got 0.5"),
        (("theorem4", 4, 2, 10), "theorem4 needs --T"),
        (("corollary5", 4, 2), "corollary5 needs --epsilon"),
        (("theorem12", 4, 2, 0.5), "must be an integer >= 1"),
        (("theorem44", 4, 2), "did you mean `theorem4`"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, words):
    with pytest.raises(SeparatrixError) as caught:
        evaluate(*arguments)
    assert words in str(caught.value)
