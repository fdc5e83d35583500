"""Tiny runs of the study `digits`."""

import json

import pytest

import separatrix as sx
from separatrix.studies import find_study
from separatrix.studies.digits.settings import DigitsSettings
from separatrix.studies.digits.trials import NETWORKS, cells, measure_all, sweep_of

S = DigitsSettings(source="embedded-digits")


@pytest.fixture(scope="module")
def tiny():
    changes = {
        "source": "embedded-digits",
        "digits": "3,5",
        "seeds": "2",
        "filters": "2",
        "height": "4",
        "across": "4",
        "stride": "4",
        "epochs": "1",
        "sequences": "32",
        "batch": "8",
        "test": "64",
        "times": "2",
        "variations": "coarse-stride",
        "variation_digits": "5",
        "variation_seeds": "2",
    }
    s = find_study("digits").settings("quick", 0, changes)
    lab = sx.Lab(workers=0)
    return s, lab, find_study("digits").conclude(lab, s)


def test_a_tiny_run_measures_every_cell(tiny):
    s, lab, outcome = tiny
    plain = json.loads(json.dumps(outcome.plain(), allow_nan=False))
    assert [each["id"] for each in plain["findings"]] == [
        claim.id for claim in find_study("digits").claims
    ]
    assert [figure["name"] for figure in plain["figures"]] == ["figure3", "figure4", "curves"]
    accuracy, sensitivity = plain["tables"]
    assert len(accuracy["rows"]) == len(cells(s)) == 9 + 6
    assert [row[0] for row in sensitivity["rows"]] == ["as stated", "coarse-stride"]
    assert any(note["code"] == "embedded-data" for note in plain["notes"])
    # Figures hold the means of the rows.
    rows = lab.run(sweep_of(s)).to_pandas()
    for network, series in zip(NETWORKS, plain["figures"][1]["series"]):
        mine = rows[
            (rows["task.digits"] == 5) & (rows["task.apart"] == 2) & (rows["learner.steps"] == 4)
        ]
        mine = mine[
            mine["network.connectivity"]
            == {"CNN": "shared", "LCN": "local", "FCN": "full"}[network]
        ]
        mine = mine[(mine["network.stride"] == "[4, 4]") | (mine["network.connectivity"] == "full")]
        assert series["label"] == network
        assert series["y"][series["x"].index(5)] == pytest.approx(1 - mine["risk"].mean(), abs=1e-6)


def test_networks_of_a_seed_see_the_same_sequences(tiny):
    s, _, _ = tiny
    # At three digits there is one window: the LCN is the CNN, down to its start, but for the name
    # in the model's stream.
    trials = [t for t in sweep_of(s) if t.task.digits == 3]
    roots = {(t.network.connectivity, t.seed): t.root()[0].tolist() for t in trials}
    for seed in {t.seed for t in trials}:
        assert roots["shared", seed] == roots["local", seed] == roots["full", seed]


def test_without_trials_nothing_is_measured():
    assert measure_all(sx.Lab(budget=0.0), S).cells == {}
    outcome = find_study("digits").conclude(sx.Lab(budget=0.0), S).plain()
    assert {each["verdict"] for each in outcome["findings"]} == {"not measured"}
