"""A whole diagnosis, short: what it says, and that it says it again."""

import dataclasses

import numpy as np
import pytest

from separatrix.diagnosis import VERDICTS, Settings, diagnose
from separatrix.diagnosis.verdict import judge
from separatrix.errors import SeparatrixError

from .conftest import SHORT, bumps, short_diagnosis


def test_it_answers(found):
    assert found.verdict in VERDICTS
    assert found.about["splits"] == 2
    assert set(found.networks) == {"shared", "local", "full"}
    assert found.window == 3
    assert "12 groups" in found.about["using"]
    assert {"shared", "boosted trees", "shared, twisted"} <= set(found.scores)


def test_resumed_it_says_the_same_without_training(found, ledger):
    again, trials = short_diagnosis(ledger)
    first, second = found.plain(), again.plain()
    assert first["about"].pop("seconds") > 0
    assert second["about"].pop("seconds") > 0
    assert first == second
    assert trials == 0


def test_without_time_it_cannot_tell():
    x, y = bumps()
    told = diagnose(x, y, kind="signal", budget=1e-6, **SHORT)
    assert told.verdict == "cannot tell"
    assert "missing-models" in {note.code for note in told.notes}
    assert "--budget" in told.action


def test_a_leak_is_the_first_warning():
    rng = np.random.default_rng(0)
    groups = np.arange(180) % 30
    y = np.where(rng.permutation(30) < 5, 1, 0)[groups]  # classes, and groups, that are uneven
    x = 3.0 * rng.normal(size=(30, 24))[groups] + 0.3 * rng.normal(size=(180, 24))
    x[:2], y[:2] = x[2:4], y[2:4]
    short = SHORT | {"test": 40, "check": 20}
    told = diagnose(x, y, groups=groups, kind="signal", budget=600, **short)
    warnings = [note.code for note in told.notes if note.severity == "warning"]
    assert warnings[0] == "group-leak"
    assert len(warnings) > 3, "the first screen has room for three"
    assert "split by group" in repr(told)


def test_few_of_many_labels_are_not_the_last_word(monkeypatch):
    def neither(bench):
        return dataclasses.replace(judge(bench), verdict="neither pays", locality="does not pay")

    monkeypatch.setattr("separatrix.diagnosis.api.judge", neither)
    monkeypatch.setattr("separatrix.diagnosis.verdict.RESERVE", 0.5)
    x, y = bumps()
    told = diagnose(x, y, kind="signal", **SHORT)
    assert told.verdict == "cannot tell"
    assert "more labels may change that" in told.headline
    assert "--budget 8m compares 6400 labels" in told.action


def test_settings_are_checked():
    for wrong in ({"margin": 0}, {"metric": "f1"}, {"sure": 1.0}, {"first": 0}, {"budget": -1}):
        with pytest.raises(SeparatrixError):
            Settings(**wrong)
    assert Settings(budget=480).most_labels == 6400
    assert Settings(budget=479).most_labels == 1600
    with pytest.raises(SeparatrixError, match="`settings` of diagnose must be a Settings"):
        diagnose(np.eye(30), np.arange(30) % 2, settings={"seed": 1})
    with pytest.raises(SeparatrixError, match="leave out --ordered"):
        diagnose(np.eye(30), np.arange(30) % 2, split=np.arange(30) > 20, ordered=True)
    late = diagnose(np.eye(40), np.arange(40) % 2, ordered=True, budget=1e-6)
    assert late.about["using"].endswith("10 rows kept for testing")
    with pytest.raises(SeparatrixError, match="`target` of diagnose"):
        diagnose(np.eye(30), np.arange(30) % 2, target=3)
    for y, metric, words in (
        (np.arange(30) % 3, "auc", "'accuracy', 'balanced-accuracy' for 3 classes, got 'auc'"),
        (np.linspace(0, 1, 30) ** 2, "average-precision", "'r2' for a regression"),
    ):
        with pytest.raises(SeparatrixError, match=words):
            diagnose(np.eye(30), y, metric=metric)
