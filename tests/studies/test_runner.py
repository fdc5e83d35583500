"""Runs of studies: what they leave behind, resuming, failures, and what is compiled ahead."""

import dataclasses
import json

import pytest

import separatrix as sx
from separatrix.engine import Device, Lab
from separatrix.engine.execute.scheduler import hints_of
from separatrix.errors import SeparatrixError
from separatrix.studies import (
    Job,
    Outcome,
    Study,
    jobs,
    plan_jobs,
    run_jobs,
    split_changes,
)
from separatrix.studies.registry import find_study
from separatrix.studies.runner import expect_job, with_command
from separatrix.studies.settings import plain_settings


class Sketch(Study):
    """A study that runs nothing."""

    name, title, summary, claims, scales = "sketch", "", "", (), {}

    def conclude(self, lab, settings):
        return Outcome(())


class Broken(Sketch):
    """One whose sweeps cannot be built."""

    def sweeps(self, settings):
        raise SeparatrixError("no data")


@dataclasses.dataclass(frozen=True)
class Nothing:
    """Settings."""


def test_the_programs_that_are_expected_are_those_of_the_plan(monkeypatch):
    heard = []
    monkeypatch.setattr(Lab, "expect", lambda self, trials: heard.extend(trials))
    (job,) = jobs(["signal-first"], "quick")
    lab = sx.Lab()
    expect_job(job, lab)
    planned = {chunk.program for chunk in plan_jobs([job], lab)["signal-first"].chunks}
    assert {hint.program for hint in hints_of(heard, Device("cpu"))} == planned


@pytest.mark.parametrize("scale, times", [("quick", 1), ("laptop", 0), ("full", 0)])
def test_only_quick_runs_build_sweeps_ahead(tmp_path, monkeypatch, scale, times):
    heard = []
    monkeypatch.setattr(Lab, "expect", lambda self, trials: heard.append(list(trials)))
    with sx.Lab(tmp_path, workers=0) as lab:
        run_jobs([Job(Sketch(), Nothing())], lab, scale, 0, "")
    assert heard == [[]] * times


def test_sweeps_that_cannot_be_built_ahead_are_the_studys_own_to_report(tmp_path):
    with sx.Lab(tmp_path, workers=0) as lab:
        assert run_jobs([Job(Broken(), Nothing())], lab, "quick", 0, "") == []


TINY = {
    "signal-first": {
        "patches": "3",
        "dimension": "4",
        "samples": "40",
        "steps": "4",
        "seeds": "2",
        "tune.moves": "0",
    },
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
        assert plain["settings"] == json.loads(json.dumps(plain_settings(job.settings)))
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


def test_without_trials_nothing_is_measured_and_nothing_breaks(tmp_path):
    run = tiny_jobs("signal-first")
    with sx.Lab(tmp_path, workers=0, budget=0.0) as lab:
        claims = run_jobs(run, lab, "quick", 0, "")
    assert set(verdicts(claims).values()) == {"not measured"}
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


def test_changes_are_sorted_by_study():
    names = ["signal-first", "pattern-readout"]
    made = split_changes(
        ["signal-first.seeds=3", "pattern-readout.windows = 2,3 ", "signal-first.noise=a=b"], names
    )
    assert made == {
        "signal-first": {"seeds": "3", "noise": "a=b"},
        "pattern-readout": {"windows": "2,3"},
    }
    assert split_changes(["tune.seeds=3"], ["signal"]) == {"signal": {"tune.seeds": "3"}}
    assert split_changes(["signal.tune.seeds=3"], ["signal"]) == {"signal": {"tune.seeds": "3"}}
    for text, sentence in [
        ("seeds=3", "a change must name its study, as in signal-first.seeds=3"),
        ("signal-first.seeds", "must have the form study.setting=value"),
        ("=3", "must have the form"),
        ("signal-first.=3", "must have the form"),
        ("signal-frist.seeds=3", "did you mean `signal-first`"),
    ]:
        with pytest.raises(SeparatrixError, match=sentence):
            split_changes([text], names)


@pytest.mark.parametrize(
    ("scale", "verdict", "effort", "words"),
    [
        ("quick", "undecided", 3.0, "--scale full` measures more (6 min on one H200)"),
        ("quick", "not measured", None, "separatrix run signal --scale full"),
        ("full", "undecided", 3.0, "that is about 18 min on one H200"),
        ("full", "not measured", None, "no scale of this study measures it"),
    ],
)
def test_a_non_decision_says_what_settles_it_and_what_that_costs(scale, verdict, effort, words):
    class Costly(type(find_study("signal"))):
        full_minutes = 6.0
        full_machine = "one H200"

    finding = {"verdict": verdict, "settle": "more trials", "effort": effort}
    assert words in with_command(finding, Costly(), scale)["settle"]
    decided = finding | {"verdict": "supported", "settle": ""}
    assert with_command(decided, Costly(), scale) == decided


def test_two_claims_with_one_id_are_refused_before_anything_runs(tmp_path):
    run = jobs(["pattern-readout"], "quick") * 2
    with pytest.raises(SeparatrixError, match=r"two claims have the id `malach\.lemma6\.exact`"):
        run_jobs(run, Lab(tmp_path, workers=0), "quick", 0, "a test")
