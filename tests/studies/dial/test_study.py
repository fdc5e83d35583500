"""Tiny runs of the study `dial`."""

import json

import pytest

import separatrix as sx
from separatrix.studies import find_study
from separatrix.studies.dial.settings import CORNERS, DialSettings
from separatrix.studies.dial.trials import DialResults, tuning_cells
from separatrix.studies.dial.verdicts import needed

SOURCE = "embedded-digits"


S = DialSettings(sources=(SOURCE,), depths=(1,))


@pytest.fixture(scope="module")
def tiny():
    changes = {
        "sources": SOURCE,
        "depths": "1",
        "filters": "1",
        "rates": "0.01,0.1",
        "tune_seeds": "1",
        "seeds": "2",
        "steps": "6",
        "batch": "8",
        "test": "40",
        "times": "2",
    }
    s = find_study("dial").settings("quick", 0, changes)
    return s, find_study("dial").conclude(sx.Lab(workers=0), s)


def test_a_tiny_run_measures_every_cell(tiny):
    s, outcome = tiny
    plain = json.loads(json.dumps(outcome.plain(), allow_nan=False))
    assert [each["id"] for each in plain["findings"]] == [
        claim.id for claim in find_study("dial").claims
    ]
    assert [each["name"] for each in plain["figures"]] == [
        f"decomposition-{SOURCE}",
        f"labels-{SOURCE}",
        f"map-{SOURCE}",
        f"map-{SOURCE}-permuted",
    ]
    rows = plain["tables"][2]["rows"]
    assert len(rows) == len(tuning_cells(s)) + 4 * 4 == 24
    assert {row[2] for row in rows} == {*CORNERS, "shared, whole field"}
    assert {row[9] for row in rows} == {2}
    first = plain["figures"][0]["series"][0]
    told = {
        row[2]: float(row[7].split()[0]) for row in rows if row[5] == "in order" and row[6] == 972
    }
    assert dict(zip(first["x"], first["y"])) == pytest.approx(
        {name: told[name] for name in CORNERS}, abs=6e-4
    )
    assert plain["findings"][-1]["verdict"] == "supported"  # the symmetry, by the audit


def test_without_trials_only_the_symmetry_is_measured():
    outcome = find_study("dial").conclude(sx.Lab(budget=0.0), S)
    *others, symmetry = outcome.findings
    assert {each.verdict for each in others} == {"not measured"}
    assert symmetry.verdict == "supported"
    assert needed(S, DialResults({}, {}), SOURCE, "CNN") is None
