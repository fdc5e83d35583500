"""A tiny first experiment from trials to findings."""

import numpy as np
import pytest

import separatrix as sx
from separatrix.studies import find_study
from separatrix.studies.signal.trials import SignalRecipe, recipe_neighbours
from separatrix.studies.signal_first import trials as t
from separatrix.studies.signal_first.verdicts import ALIGNED
from separatrix.studies.study import seeds_from
from separatrix.theory.signal import best_linear_risk

STUDY = find_study("signal-first")
TINY = {
    **{"patches": "3", "dimension": "4", "samples": "40", "steps": "60", "seeds": "2"},
    **{"tune.seeds": "2", "tune.local_seeds": "2", "tune.full_seeds": "2", "tune.moves": "1"},
}


@pytest.fixture(scope="module")
def tiny():
    """A tiny run with its tuning: settings, laboratory, choices and outcome."""
    settings, lab = STUDY.settings("quick", 0, TINY), sx.Lab(workers=0)
    return settings, lab, t.tune_networks(lab, settings), STUDY.conclude(lab, settings)


def test_evidence_is_the_mean_over_seeds_at_the_chosen_recipe(tiny):
    settings, lab, tuned, outcome = tiny
    assert [finding.claim for finding in outcome.findings] == list(STUDY.claims)
    by_claim = {finding.claim.id: finding for finding in outcome.findings}
    limit = best_linear_risk(3, 0.1)
    assert by_claim["lahoti.first.cnn-aligned"].conditions_met is True
    recipes = {name: choice.option for name, choice in tuned.items()}
    for name, sweep in t.network_sweeps(settings, recipes).items():
        frame = lab.run(sweep).to_pandas()
        assert len(frame) == 2
        owner = "ours" if name == "FCN" else "lahoti"
        finding = by_claim[f"{owner}.first.{name.lower()}-aligned"]
        if frame["train_risk"].mean() >= limit and frame["patch_alignment"].mean() < ALIGNED:
            assert finding.verdict == "not measured"
            continue
        (evidence,) = finding.evidence
        # Rows are float32.
        np.testing.assert_allclose(evidence.estimate, frame["patch_alignment"].mean(), rtol=1e-6)
        assert evidence.count == 2
        assert evidence.low <= evidence.estimate <= evidence.high


def test_every_network_gets_the_best_recipe_that_was_tried(tiny):
    settings, _, tuned, outcome = tiny
    start = SignalRecipe(bias=settings.bias)
    first = {start, *recipe_neighbours(settings.tune, start)}
    assert len(first) == 5
    for choice in tuned.values():
        assert first <= set(choice.scores)
        assert choice.scores[choice.option] == min(choice.scores.values())
    networks, tuning = outcome.tables
    assert [row[1] for row in networks.rows] == [
        choice.option.describe() for choice in tuned.values()
    ]
    assert sum(row[-1].startswith("chosen") for row in tuning.rows) == len(tuned)
    assert len(tuning.rows) == sum(len(choice.scores) for choice in tuned.values())
    codes = [note.code for note in outcome.notes]
    assert codes[:2] == ["recipe", "chosen-after-looking"]


def test_tuning_and_results_never_share_a_seed():
    settings = STUDY.settings("full", 7)
    tuning = [
        {trial.seed for trial in t.tuning_trials(settings, name, SignalRecipe())}
        for name in ("CNN", "LCN", "FCN")
    ]
    assert tuning == [set(seeds_from(7, 12, purpose=1))] * 3  # the same effort for all
    for sweep in t.network_sweeps(settings, t.untuned(settings)).values():
        assert not tuning[0] & {trial.seed for trial in sweep}


def test_a_plan_has_the_first_round_of_the_tuning():
    settings = STUDY.settings("quick", 0)
    sizes = {name: len(sweep) for name, sweep in STUDY.sweeps(settings).items()}
    assert sizes == {
        **{"tuning CNN": 10, "tuning LCN": 10, "tuning FCN": 10},
        **{"CNN": 8, "LCN": 8, "FCN": 8},
    }
    plain = STUDY.sweeps(settings.replace(tune={"moves": 0}))
    assert list(plain) == ["CNN", "LCN", "FCN"]


def test_nothing_run_is_not_measured():
    outcome = STUDY.conclude(sx.Lab(budget=0.0), STUDY.settings("quick", 0, TINY))
    assert {finding.verdict for finding in outcome.findings} == {"not measured"}
    assert outcome.answer == ""
    outcome.plain()
