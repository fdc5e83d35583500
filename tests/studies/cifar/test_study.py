"""Tiny runs of the study `cifar`."""

import json

import separatrix as sx
from separatrix.studies import find_study
from separatrix.studies.cifar.settings import CifarSettings
from separatrix.studies.cifar.trials import cells

S = CifarSettings(source="embedded-digits", depths=(2,))


def test_a_tiny_run():
    changes = {
        "source": "embedded-digits",
        "depths": "2",
        "cnn_widths": "1",
        "fcn_widths": "1,3",
        "seeds": "2",
        "epochs": "1",
        "test": "50",
        "times": "1",
        "batch": "256",
        "control": "true",
    }
    s = find_study("cifar").settings("quick", 0, changes)
    plain = json.loads(
        json.dumps(find_study("cifar").conclude(sx.Lab(workers=0), s).plain(), allow_nan=False)
    )
    assert [each["id"] for each in plain["findings"]] == [
        "malach.cifar.cnn-ahead",
        "malach.cifar.parameters-do-not-explain",
    ]
    assert len(plain["tables"][0]["rows"]) == len(cells(s)) == 5
    assert [series["label"] for series in plain["figures"][0]["series"]] == [
        "CNN, depth 2",
        "FCN, depth 2",
        "best constant answer",
    ]
    assert plain["findings"][0]["conditions_met"] is False


def test_without_trials_it_is_not_measured():
    findings = find_study("cifar").conclude(sx.Lab(budget=0.0), S).findings
    assert {finding.verdict for finding in findings} == {"not measured"}
