"""The study `pattern-search`, run small from end to end."""

import json

import pytest

import separatrix as sx
from separatrix.studies import find_study
from separatrix.studies.pattern_search.settings import PatternSearchSettings
from separatrix.studies.pattern_search.trials import (
    LEARNERS,
    OrderCell,
    learn_once,
    order_trials,
    work_of,
)
from separatrix.studies.pattern_search.verdicts import ORDERS_CHANCE, ScaledShare, lucky
from separatrix.theory.patterns import log_window

TINY = PatternSearchSettings(
    sizes=(6, 8), samples=300, repeats=2, learner_sizes=(6, 8), most_samples=1024
).replace(orders={"count": 12, "controls": 2, "filters": 8, "steps": 6, "batch": 8, "times": 2})


@pytest.fixture(scope="module")
def outcome():
    with sx.Lab(workers=0) as lab:
        return find_study("pattern-search").conclude(lab, TINY)


def test_every_claim_is_found_once(outcome):
    study = find_study("pattern-search")
    assert [finding.claim for finding in outcome.findings] == list(study.claims)
    verdicts = {finding.claim.id: finding.verdict for finding in outcome.findings}
    assert verdicts["malach.junta.search-gap"] == "supported"
    assert verdicts["malach.junta.statistical-queries"] == "supported"
    plain = outcome.plain()
    json.dumps(plain, allow_nan=False)
    assert [table["name"] for table in plain["tables"]] == [
        "learners",
        "orders",
        "queries",
        "search",
    ]
    for table in plain["tables"]:
        assert table["rows"], table["name"]
        assert all(len(row) == len(table["columns"]) for row in table["rows"]), table["name"]


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_finds_the_bits_and_counts_its_candidates(learner):
    row = learn_once(learner, 12, 8192, 1e12, seed=3)
    assert row["found"]
    assert row["below"] < row["samples"] <= 2 * max(row["below"], 8)
    assert row["candidates"] == work_of(learner, 12, 4)


def test_a_learner_that_costs_too_much_is_left_out():
    row = learn_once("low degree", 12, 8192, most_work=10.0, seed=3)
    assert not row["found"]
    assert row["candidates"] is None


def test_every_order_is_another_one():
    trials = order_trials(TINY)
    hidden, ordered = trials[OrderCell(8)], trials[OrderCell(8, control=True)]
    assert len({trial.seed for trial in hidden}) == TINY.orders.count
    assert all(trial.task.hidden for trial in hidden)
    assert not any(trial.task.hidden for trial in ordered)


def test_there_are_enough_orders_to_decide_on_their_luck():
    for scale in ("laptop", "full"):
        orders = find_study("pattern-search").settings(scale).orders
        largest = orders.sizes[-1]
        expected = orders.count * lucky(largest, log_window(largest))
        share = ScaledShare(round(expected), orders.count, orders.count / expected)
        interval = share.interval(ORDERS_CHANCE.level)
        assert 0.6 < interval.low < interval.high < 1.6  # the margin is a factor of 2


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"sizes": "16,8"}, "the `sizes` of pattern-search must be ascending"),
        ({"learner_sizes": "512"}, r"the `learner_sizes` of pattern-search must be .* \[4, 256\]"),
        ({"orders.count": "1"}, "the `count` of pattern-search.orders must be an integer >= 2"),
    ],
)
def test_bad_settings_are_one_sentence(changes, words):
    with pytest.raises(sx.SeparatrixError, match=words):
        find_study("pattern-search").settings("quick", 0, changes)
