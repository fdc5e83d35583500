"""What a run tells the laboratory before a study begins."""

import dataclasses

import pytest

import separatrix as sx
from separatrix.engine import Device, Lab
from separatrix.engine.execute.scheduler import hints_of
from separatrix.errors import SeparatrixError
from separatrix.studies import jobs, plan_jobs
from separatrix.studies.outcome import Outcome
from separatrix.studies.runner import Job, expect_job, run_jobs
from separatrix.studies.study import Study


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
