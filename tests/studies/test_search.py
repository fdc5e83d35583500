"""Searches of thresholds with trials: shared trials, other criteria, and budgets that end."""

import separatrix as sx
from separatrix.inference import SearchPlan
from separatrix.notes import Note
from separatrix.studies.search import Query, find_thresholds
from sharp_searches import sharp_search

TASK, LEARNER = sx.SignalTask(3, 2, 0.3), sx.Learner(rate=1.0, steps=3)


def query(threshold):
    """A search whose outcomes are known: a trial succeeds from some size on."""
    return Query(
        lambda samples, seed: sx.Trial(TASK, sx.CNN(field=1), LEARNER, samples, seed),
        lambda row: row["samples"] >= threshold,
        SearchPlan(minimum=2, maximum=64, max_trials=48, width=1.0),
        first_seed=5,
    )


def test_searches_that_share_trials_end_where_each_alone_does():
    lab = sx.Lab(workers=0)
    together = find_thresholds(lab, {"a": query(8), "b": query(16)}, "demo", batch=16)
    for name, threshold in (("a", 8), ("b", 16)):
        search = together[name]
        assert search.threshold.low <= threshold <= 2 * search.threshold.high
        assert search.rows["seed"].min() == 5
        assert search.threshold.trials == len(search.rows)
        # A size's trials have consecutive seeds, so that a resumed search finds them.
        for _, rows in search.rows.groupby("samples"):
            assert sorted(rows["seed"]) == list(range(5, 5 + len(rows)))
    before = lab.tally.trials
    again = find_thresholds(lab, {"a": query(8), "b": query(16)}, "demo", batch=16)
    assert lab.tally.trials == before
    assert {name: search.threshold for name, search in again.items()} == {
        name: search.threshold for name, search in together.items()
    }


def test_another_criterion_uses_the_same_trials():
    (search,) = find_thresholds(sx.Lab(workers=0), {"a": query(8)}, "demo", batch=16).values()
    assert search.under(lambda row: row["samples"] >= 8) == search.threshold
    assert search.under(lambda row: True).censoring == "left"


def test_a_search_without_a_trial_is_missing():
    assert find_thresholds(sx.Lab(budget=0.0), {"a": query(8)}, "demo", batch=16) == {}


def test_warnings_say_where_they_are_from():
    (search,) = find_thresholds(sx.Lab(workers=0), {"a": query(1)}, "demo", batch=16).values()
    serious = [note for note in search.threshold.notes if note.severity != "info"]
    assert search.warnings("CNN") == [
        Note(note.code, note.severity, f"CNN: {note.message}") for note in serious
    ]


def test_a_search_that_failed_for_want_of_training_says_so():
    assert sharp_search(64.0, "right", train_risk=0.3).failed_to_train(0.2)
    assert not sharp_search(64.0, "right", train_risk=0.1).failed_to_train(0.2)
    assert not sharp_search(64.0, "", train_risk=0.3).failed_to_train(0.2)  # it got there
    assert not sharp_search(64.0, "right").failed_to_train(0.2)  # nothing is known of it
