"""The study `digits`: what its verdicts follow from, and a tiny run."""

import json

import numpy as np
import pytest

import separatrix as sx
from separatrix.engine import Device
from separatrix.engine.plan import make_plan
from separatrix.errors import SeparatrixError
from separatrix.studies import find_study
from separatrix.studies.digits.figures import sensitivity_table
from separatrix.studies.digits.settings import SCALES, VARIATIONS, DigitsSettings
from separatrix.studies.digits.trials import (
    NETWORKS,
    Cell,
    Measured,
    Results,
    cells,
    measure_all,
    network_of,
    sweep_of,
    task_of,
)
from separatrix.studies.digits.verdicts import findings

S = DigitsSettings(source="embedded-digits")
# What the paper reports in words, as accuracies: network -> {n: accuracy}.
CENTRE = {
    "CNN": {3: 0.79, 5: 0.79, 19: 0.76},
    "LCN": {3: 0.79, 5: 0.8, 19: 0.78},
    "FCN": {3: 0.78, 5: 0.74, 19: 0.5},
}
ENDS = {"CNN": {5: 0.5, 19: 0.5}, "LCN": {5: 0.5, 19: 0.5}, "FCN": {5: 0.74, 19: 0.49}}


def made(centre=CENTRE, ends=ENDS, spread=0.004, seeds=5, variation=""):
    """Results with these means; seeds lie `spread` about them, alike for all networks."""
    noise = spread * np.linspace(-1, 1, seeds)
    found = {}
    for label, table in (("centre", centre), ("ends", ends)):
        for network, points in table.items():
            for n, mean in points.items():
                found[Cell(label, network, n, variation)] = Measured(
                    mean + noise, np.array([0]), np.zeros((seeds, 1)), 1.0
                )
    return Results(found, 0.5, variation)


def verdicts(results):
    return {
        each.claim.id.removeprefix("malach.digits."): each.verdict for each in findings(S, results)
    }


def changed(table, network, n, value):
    return table | {network: table[network] | {n: value}}


def test_the_papers_figures_support_every_claim():
    assert set(verdicts(made()).values()) == {"supported"}


@pytest.mark.parametrize(
    "centre, ends, claim, verdict",
    [
        (changed(CENTRE, "CNN", 19, 0.52), ENDS, "local-networks-hold", "refuted"),
        (changed(CENTRE, "LCN", 5, 0.52), ENDS, "local-networks-hold", "refuted"),
        (
            changed(CENTRE, "CNN", 19, 0.645),
            ENDS,
            "local-networks-hold",
            "undecided",
        ),  # half of .29 is .145
        (
            changed(CENTRE, "CNN", 3, 0.52),
            ENDS,
            "local-networks-hold",
            "undecided",
        ),  # nothing learned, nothing to hold
        (changed(CENTRE, "FCN", 19, 0.7), ENDS, "fcn-to-chance-by-19", "refuted"),
        (changed(CENTRE, "FCN", 19, 0.55), ENDS, "fcn-to-chance-by-19", "undecided"),
        (
            changed(changed(CENTRE, "LCN", 5, 0.7), "LCN", 19, 0.7),
            ENDS,
            "lcn-ahead-of-cnn",
            "refuted",
        ),
        (CENTRE, changed(ENDS, "LCN", 5, 0.8), "ends.fcn-wins-small-n", "refuted"),
        (CENTRE, changed(ENDS, "FCN", 19, 0.7), "ends.all-fail-large-n", "refuted"),
    ],
)
def test_each_verdict_follows_its_accuracies(centre, ends, claim, verdict):
    assert verdicts(made(centre, ends))[claim] == verdict


def test_noise_leaves_claims_undecided():
    loud = verdicts(made(spread=0.4))
    assert set(loud.values()) <= {"undecided", "supported"}
    assert (
        loud["local-networks-hold"]
        == loud["fcn-to-chance-by-19"]
        == loud["ends.all-fail-large-n"]
        == "undecided"
    )


def test_short_sequences_do_not_decide_what_the_paper_says_of_long_ones():
    short = {name: {n: a for n, a in points.items() if n < 19} for name, points in CENTRE.items()}
    found = verdicts(made(short, {name: {5: points[5]} for name, points in ENDS.items()}))
    assert found["fcn-to-chance-by-19"] == found["ends.all-fail-large-n"] == "undecided"
    assert found["ends.fcn-wins-small-n"] == "supported"


def test_missing_cells_are_left_out():
    results = made()
    fewer = {
        cell: each
        for cell, each in results.cells.items()
        if not (cell.network == "LCN" and cell.digits == 19)
    }
    found = verdicts(Results(fewer, 0.5))
    assert found["fcn-to-chance-by-19"] == "undecided"  # n = 19 is not complete
    assert found["ends.fcn-wins-small-n"] == "supported"


def test_conditions_are_the_papers():
    paper = DigitsSettings(source="mnist", height=24, filters=1024)
    assert paper.outside() == ""
    assert "embedded-digits instead of MNIST" in S.outside()
    assert "48 hidden units or filters instead of 1024" in S.outside()
    full = SCALES["full"]
    assert full.steps(25) == 14063  # 30 epochs of 60,000 sequences in batches of 128
    assert full.steps(25, "fewer-sequences") == 563
    assert set(full.varied()) == set(VARIATIONS)


def test_auto_takes_mnist_where_it_is(monkeypatch):
    from separatrix.studies.digits import settings

    for there, chosen in (
        (["mnist", "embedded-digits"], "mnist"),
        (["embedded-digits"], "embedded-digits"),
    ):
        monkeypatch.setattr(settings, "available", lambda there=there: there)
        assert DigitsSettings().chosen_source() == chosen


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"digits": "3,4"}, "the `digits` of digits must be odd numbers >= 3, got 4"),
        ({"source": "minst"}, "there is no data set `minst`"),
        ({"seeds": "1"}, "the `seeds` of digits must be an integer >= 2, got 1"),
        ({"variations": "stride"}, "the `variations` of digits must be none, or names among"),
        ({"crop": "none"}, "the `crop` of digits must be one of 'tight', 'whole', got 'none'"),
    ],
)
def test_settings_are_checked(changes, words):
    with pytest.raises(SeparatrixError, match=words):
        find_study("digits").settings("quick", 0, changes)


def test_networks_are_the_papers_and_the_labels_share_programs():
    full = DigitsSettings(source="embedded-digits", height=24, filters=1024)
    shape = task_of(full, Cell("centre", "CNN", 19)).shape
    assert shape == (24, 152, 1)
    assert network_of(full, "CNN").windows(shape).positions == 17
    assert network_of(full, "LCN").parameter_count(shape) == 17 * 1024 * 577 + 17 * 1024 + 1
    plan = make_plan(sweep_of(S), Device("gpu", memory=8e10))
    assert plan.programs == 9  # 3 networks at 3 lengths
    heavy = DigitsSettings(
        source="embedded-digits", height=24, filters=1024, sequences=60000, digits=(3, 5)
    )
    assert {
        (len(chunk.trials), chunk.batch)
        for chunk in make_plan(sweep_of(heavy), Device("gpu", memory=8e10)).chunks
    } == {(4, 4), (8, 8)}


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


def test_without_variations_there_is_no_table_of_them():
    assert sensitivity_table(S, made()) is None


def test_without_trials_everything_is_undecided():
    assert measure_all(sx.Lab(budget=0.0), S).cells == {}
    outcome = find_study("digits").conclude(sx.Lab(budget=0.0), S).plain()
    assert {each["verdict"] for each in outcome["findings"]} == {"undecided"}
