"""Tuning: one grid for everyone, the lowest mean risk wins, ties stay untuned."""

import math

import separatrix as sx
from separatrix.inference import SearchPlan
from separatrix.studies.tuning import Tunable, choose, mean_risks, run_grids, tune_all

TASK = sx.SignalTask(3, 2, 0.3)


def trial(rate, samples, seed):
    return sx.Trial(TASK, sx.CNN(1), sx.Learner(rate=rate, steps=3), samples, seed)


def test_ties_and_names_without_scores_stay_untuned():
    scores = {"a": {1.0: 0.2, 3.0: 0.2}, "b": {1.0: 0.3, 3.0: 0.2}, "c": {1.0: math.inf}}
    chosen = choose(scores, ["a", "b", "c", "d"], 3.0)
    assert {name: choice.option for name, choice in chosen.items()} == {
        "a": 3.0,
        "b": 3.0,
        "c": 1.0,
        "d": 3.0,
    }
    assert chosen["a"].scores == scores["a"]
    assert chosen["d"].scores == {}


def test_names_that_are_tuned_together_share_the_option_with_the_lowest_mean():
    scores = {("CNN", 1): {1.0: 0.1, 3.0: 0.3}, ("CNN", 2): {1.0: 0.4, 3.0: 0.3}}
    names = [*scores, ("CNN", 3)]
    chosen = choose(scores, names, 1.0, lambda name: name[0])
    assert {choice.option for choice in chosen.values()} == {1.0}
    assert chosen["CNN", 2].scores == scores["CNN", 2]


def test_grids_come_back_by_learner_and_option():
    grids = {
        name: {rate: [trial(rate, samples, seed) for seed in range(2)] for rate in (0.1, 1.0)}
        for name, samples in (("few", 4), ("many", 8))
    }
    lab = sx.Lab(workers=0)
    rows = run_grids(lab, grids)
    assert {row["samples"] for row in rows["many"][0.1]} == {8}
    assert {row["learner.rate.level"] for row in rows["few"][1.0]} == {1.0}
    risks = mean_risks(lab, grids)
    assert risks["few"][1.0] == sum(row["risk"] for row in rows["few"][1.0]) / 2
    assert mean_risks(lab, {"none": {0.1: []}}) == {"none": {0.1: math.inf}}


def test_tuning_compares_all_options_about_the_untuned_threshold():
    learner = Tunable(trial, lambda row: row["risk"] <= 0.4, SearchPlan(2, 16, max_trials=8))
    chosen = tune_all(sx.Lab(workers=0), {"CNN": learner}, [1.0, 3.0], range(2), (1.0,), 8)
    assert set(chosen["CNN"].scores) == {1.0, 3.0}
    assert chosen["CNN"].about is not None
    best = min(chosen["CNN"].scores.values())
    assert chosen["CNN"].scores[chosen["CNN"].option] == best
