"""`separatrix bound`: terms, verdicts, and one sentence for bad input."""

import json
import re

import pytest

from separatrix.cli.bound import bound, evaluate, evaluate_floor
from separatrix.errors import SeparatrixError
from separatrix.theory.patterns import theorem4
from separatrix.theory.signal import floor_samples


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


def test_a_floor_is_printed_beside_the_bound(capsys):
    bound("floor", k=10, d=20, noise=0.3, network="LCN", alignment=0.8, json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed["samples at least"] == floor_samples("LCN", 10, 20, 0.3, alignment=0.8)
    assert printed["lower bound, σ²kd"] == pytest.approx(0.09 * 200)
    by_risk = evaluate_floor("LCN", 10, 20, 0.3, risk=0.1)
    assert by_risk["target"] == "risk 0.1"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"k": 0}, "the `patches` of a floor must be an integer in [1, 100000], got 0"),
        ({"noise": 0.0}, "the `noise` of a floor must be a number in [1e-06, 1e+06], got 0.0"),
        ({"noise": None}, "floor needs --noise"),
        ({"network": "RNN"}, "the `network` of a floor must be one of"),
        ({"alignment": 1.2}, "must be a number in (0, 1), got 1.2"),
        ({"risk": 0.0001}, "above the Bayes risk"),
        ({"risk": 0.1, "alignment": 0.5}, "one target"),
    ],
)
def test_floors_that_make_no_sense_are_one_sentence(changes, words):
    with pytest.raises(SeparatrixError, match=re.escape(words)):
        evaluate_floor(**{"network": "FCN", "k": 20, "d": 20, "noise": 0.3, **changes})
