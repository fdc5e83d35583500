"""The studies: their claims, and what tiny runs of them say."""

import dataclasses
import json

import numpy as np
import pytest

import separatrix as sx
from separatrix.errors import SeparatrixError
from separatrix.studies import PAPERS, STUDIES, Outcome, find_study, jobs, plan_jobs, run_jobs

TINY = {
    "signal-first": {"patches": "3", "dimension": "4", "samples": "40", "steps": "4", "seeds": "2"},
    "pattern-readout": {
        "bits": "6",
        "windows": "2,3",
        "draws": "300",
        "exact_draws": "2",
        "rules": "2",
    },
}


def tiny_jobs(*names):
    return jobs(
        list(names),
        "quick",
        0,
        [f"{name}.{key}={text}" for name in names for key, text in TINY[name].items()],
    )


def verdicts(claims):
    return {claim["id"]: claim["verdict"] for claim in claims}


def test_claims_are_complete_and_unlike():
    claims = [claim for study in STUDIES.values() for claim in study.claims]
    assert len({claim.id for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.paper in PAPERS
        for words in (claim.statement, claim.citation, claim.conditions):
            assert words.strip() == words != ""
        assert claim.statement.endswith(".")
    for name, study in STUDIES.items():
        assert study.name == name
        assert study.claims
        assert study.title
        assert study.summary
        assert "\n" not in study.summary


def test_an_unknown_study_suggests_the_nearest():
    with pytest.raises(
        SeparatrixError, match="there is no study `patern-readout`; did you mean `pattern-readout`"
    ):
        find_study("patern-readout")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Both studies, run once on tiny settings."""
    folder = tmp_path_factory.mktemp("finished")
    run = tiny_jobs(*TINY)
    with sx.Lab(folder, workers=0) as lab:
        claims = run_jobs(run, lab, "quick", 0, "the command")
    return folder, run, claims, lab


def test_a_run_leaves_claims_outcomes_and_a_manifest(finished):
    folder, run, claims, lab = finished
    assert json.loads((folder / "claims.json").read_text()) == claims
    assert [claim["id"] for claim in claims] == [
        claim.id for job in run for claim in job.study.claims
    ]
    for claim in claims:
        assert {"id", "paper", "statement", "verdict", "conditions_met", "evidence"} <= set(claim)
        assert claim["command"] == "the command"
        assert claim["study"] in TINY
    assert {file.stem for file in (folder / "outcomes").iterdir()} == set(TINY)
    assert lab.tally.trials == 6
    (manifest,) = sx.engine.read_manifest(folder)
    assert manifest["trials_run"] == 6
    assert manifest["complete"] is True


def test_outcomes_are_plain(finished):
    folder, run, _, _ = finished

    def refuse(constant):
        raise AssertionError(constant)

    for job in run:
        text = (folder / "outcomes" / f"{job.study.name}.json").read_text()
        plain = json.loads(text, parse_constant=refuse)
        assert plain["settings"] == json.loads(json.dumps(dataclasses.asdict(job.settings)))
        assert plain["figures"]
        for figure in plain["figures"]:
            for series in figure["series"]:
                assert len(series["x"]) == len(series["y"])
                assert len(series["low"]) == len(series["high"])
                assert len(series["low"]) in (0, len(series["x"]))


def test_a_second_run_recomputes_nothing_and_gives_the_same_bytes(finished):
    folder, run, claims, _ = finished
    before = {
        file: file.read_bytes()
        for file in [folder / "claims.json", *(folder / "outcomes").iterdir()]
    }
    with sx.Lab(folder, workers=0) as lab:
        assert all(plan.trials == 0 for plan in plan_jobs(run, lab).values())
        assert run_jobs(run, lab, "quick", 0, "the command") == claims
    assert (lab.tally.trials, lab.tally.programs) == (0, 0)
    assert {file: file.read_bytes() for file in before} == before
    assert len(sx.engine.read_manifest(folder)) >= 2


def test_signal_first_measures_what_it_says(finished):
    folder, run, claims, _ = finished
    sweeps = find_study("signal-first").sweeps(run[0].settings)
    with sx.Lab(folder) as lab:
        for name, sweep in sweeps.items():
            frame = lab.run(sweep).to_pandas()
            assert len(frame) == 2
            evidence = next(
                claim for claim in claims if claim["id"] == f"lahoti.first.{name.lower()}-aligned"
            )["evidence"][0]
            np.testing.assert_allclose(
                evidence["estimate"], frame["alignment"].mean(), rtol=1e-6
            )  # float32 rows
            assert evidence["count"] == 2
            assert evidence["low"] <= evidence["estimate"] <= evidence["high"]
        assert lab.tally.trials == 0
    for claim in claims[:6]:
        assert claim["conditions_met"] is True


def test_outside_the_conditions_is_said_so(finished, tmp_path):
    study = find_study("signal-first")
    settings = study.settings("quick", 0, TINY["signal-first"] | {"noise": "0.9"})
    outcome = study.conclude(sx.Lab(budget=0.0), settings).plain()
    for finding in outcome["findings"]:
        assert finding["conditions_met"] is False
        assert "exceeds 1/√k" in finding["outside"]
        assert finding["verdict"] == "undecided"


def test_without_trials_everything_is_undecided_and_nothing_breaks(tmp_path):
    run = tiny_jobs("signal-first")
    with sx.Lab(tmp_path, workers=0, budget=0.0) as lab:
        claims = run_jobs(run, lab, "quick", 0, "")
    assert set(verdicts(claims).values()) == {"undecided"}
    assert not lab.complete


def test_a_failing_study_keeps_the_outcome_of_the_one_before(tmp_path, monkeypatch):
    run = tiny_jobs("pattern-readout", "signal-first")

    def fail(*_):
        raise SeparatrixError("something broke")

    monkeypatch.setattr(type(run[1].study), "conclude", fail)
    with pytest.raises(SeparatrixError, match="something broke"):
        run_jobs(run, sx.Lab(tmp_path), "quick", 0, "")
    assert (tmp_path / "outcomes" / "pattern-readout.json").exists()
    assert len(sx.engine.read_manifest(tmp_path)) == 1


def test_outcomes_of_other_studies_are_forgotten(tmp_path):
    (tmp_path / "out" / "outcomes").mkdir(parents=True)
    (tmp_path / "out" / "separatrix.json").write_text('{"format": "1"}')
    (tmp_path / "out" / "outcomes" / "older.json").write_text("{}")
    run_jobs(tiny_jobs("pattern-readout"), sx.Lab(tmp_path / "out"), "quick", 0, "")
    assert [file.name for file in (tmp_path / "out" / "outcomes").iterdir()] == [
        "pattern-readout.json"
    ]


def test_studies_need_a_folder():
    with pytest.raises(SeparatrixError, match="studies need an output folder"):
        run_jobs([], sx.Lab(), "quick", 0, "")
    assert Outcome(()).plain() == {"findings": [], "figures": [], "tables": [], "notes": []}
