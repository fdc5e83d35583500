"""Folders made by somebody else: pipes, devices, huge files, other formats, contradictions."""

import json
import os
import socket

import pytest
from sample_run import write_run

import separatrix as sx
from running import tiny
from separatrix.engine import Ledger
from separatrix.errors import SeparatrixError
from separatrix.files import UnusableFile, is_regular, read_json, read_regular
from separatrix.report import Watcher, compare_runs, write_report
from separatrix.studies.live import read_live

FILES = ["claims.json", "outcomes/sample.json", "manifest.json", "separatrix.json"]


def fifo(path):
    os.mkfifo(path)


def device(path):
    os.symlink("/dev/zero", path)


def folder(path):
    path.mkdir()


def listening(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(path))


def huge(path):
    with open(path, "wb") as file:
        file.truncate(2**31)


@pytest.mark.parametrize("make", [fifo, device, folder, listening, huge])
@pytest.mark.parametrize("name", FILES)
def test_only_regular_files_of_sane_size_are_opened(tmp_path, name, make, monkeypatch):
    run = write_run(tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")  # the path of a socket must be short
    (run / name).unlink(missing_ok=True)
    make(run / name)
    for action in (lambda: write_report(run), lambda: compare_runs(run, run)):
        if name == "manifest.json" and action.__code__.co_names[0] == "compare_runs":
            continue  # which shows an unreadable manifest as an unknown device
        with pytest.raises(SeparatrixError) as error:
            action()
        assert "\n" not in str(error.value)
    with pytest.raises((SeparatrixError, OSError)):
        sx.Lab(run)
    if name == "separatrix.json":
        with pytest.raises(SeparatrixError, match="format"):
            Watcher(run)


@pytest.mark.parametrize("make", [fifo, device, listening])
def test_a_ledger_and_a_watcher_do_not_open_pipes(tmp_path, make, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lab = sx.Lab(tmp_path, workers=0)
    lab.run(tiny(seeds=2))
    part = tmp_path / "ledger" / f"part-{'0' * 32}.parquet"
    make(part)
    make(tmp_path / "live.json")
    seen = Watcher(tmp_path).look()
    assert (seen.trials, seen.unreadable) == (2, 1)
    assert read_live(tmp_path) == {}
    with pytest.raises(SeparatrixError, match="not a regular file"):
        sx.Lab(tmp_path).run(tiny(seeds=2))


def test_regular_files_and_links_to_them_are_read(tmp_path):
    (tmp_path / "a").write_text("[1]")
    os.symlink(tmp_path / "a", tmp_path / "b")
    assert read_json(tmp_path / "b") == [1]
    assert is_regular(tmp_path / "b")
    with pytest.raises(UnusableFile, match="larger than the 2 bytes"):
        read_regular(tmp_path / "a", most=2)
    assert read_regular(tmp_path / "a", most=3) == b"[1]"


@pytest.mark.parametrize("mark", ['{"format": "2"}', "[]", "", '{"format": 1}', "{}"])
def test_report_watch_compare_and_serve_honour_the_format_mark(tmp_path, mark):
    run = write_run(tmp_path / "run")
    (run / "separatrix.json").write_text(mark)
    for action in (write_report, Watcher, lambda one: compare_runs(one, one)):
        with pytest.raises(SeparatrixError, match=r"has format .*, this version reads '1'"):
            action(run)


def rewritten(file, change):
    plain = json.loads(file.read_text())
    change(plain)
    file.write_text(json.dumps(plain))


def test_a_verdict_that_the_outcome_does_not_have_is_an_error(tmp_path):
    run = write_run(tmp_path / "run")
    flip = {"supported": "refuted", "refuted": "supported", "undecided": "supported"}
    rewritten(run / "claims.json", lambda c: c[0].update(verdict=flip[c[0]["verdict"]]))
    for action in (lambda: write_report(run), lambda: compare_runs(run, run)):
        with pytest.raises(SeparatrixError, match=r"claims.json says that .* run the study again"):
            action()


def test_evidence_that_the_outcome_does_not_have_is_an_error(tmp_path):
    run = write_run(tmp_path / "run")
    rewritten(run / "claims.json", lambda c: c[0]["evidence"][0].update(estimate=9.5))
    with pytest.raises(SeparatrixError, match="different evidence"):
        write_report(run)


def test_claims_twice_or_without_a_finding_are_errors(tmp_path):
    run = write_run(tmp_path / "a")
    rewritten(run / "claims.json", lambda c: c.append(c[0]))
    with pytest.raises(SeparatrixError, match="twice"):
        write_report(run)
    run = write_run(tmp_path / "b")
    rewritten(run / "outcomes" / "sample.json", lambda o: o["findings"].clear())
    with pytest.raises(SeparatrixError, match="which the outcome of its study lacks"):
        write_report(run)


def test_a_claim_that_claims_json_leaves_out_is_an_error(tmp_path):
    run = write_run(tmp_path / "run")
    rewritten(run / "claims.json", lambda c: c.pop(0))
    for action in (lambda: write_report(run), lambda: compare_runs(run, run)):
        with pytest.raises(SeparatrixError, match=r"which claims.json lacks"):
            action()
    run = write_run(tmp_path / "other")
    rewritten(run / "claims.json", lambda c: c[0].pop("study"))
    with pytest.raises(SeparatrixError, match="its `study` must be text"):
        write_report(run)


def test_two_outcomes_of_one_study_are_an_error(tmp_path):
    run = write_run(tmp_path / "run")
    (run / "outcomes" / "other.json").write_bytes((run / "outcomes" / "sample.json").read_bytes())
    for action in (lambda: write_report(run), lambda: compare_runs(run, run)):
        with pytest.raises(SeparatrixError, match="two outcomes of the study sample"):
            action()


def test_pooled_verdicts_are_those_of_their_seeds(tmp_path):
    def pool(verdict, seeds):
        def change(claims):
            claims[0] |= {"verdict": verdict, "seeds": seeds, "seed": 1}

        return change

    run = write_run(tmp_path / "run")
    found = json.loads((run / "claims.json").read_text())[0]["verdict"]
    rewritten(run / "claims.json", pool("undecided", {"1": found, "2": "undecided"}))
    write_report(run)
    rewritten(run / "claims.json", pool("refuted", {"1": found, "2": "undecided"}))
    with pytest.raises(SeparatrixError, match=r"the seeds of .* give undecided, not refuted"):
        write_report(run)


def test_watch_counts_a_trial_once_however_many_parts_hold_it(tmp_path):
    ledger = Ledger.open(tmp_path)
    row = {"task.type": "SignalTask", "network.connectivity": "shared", "status": "reached"}
    rows = [{"trial": letter * 32} | row for letter in "abc"]
    for some in (rows[:2], rows[1:], rows):
        ledger.write(some)
    assert Watcher(tmp_path).look().trials == 3
    assert Watcher(tmp_path).look().kinds == [("SignalTask", "CNN", 3, {"reached": 3})]


@pytest.mark.parametrize("place", ["", "outcomes"])
def test_a_folder_that_may_not_be_read_is_one_sentence(tmp_path, place, monkeypatch):
    run, real = write_run(tmp_path / "run"), os.listdir

    def listdir(folder="."):  # as for other users; root may read everything
        if os.fspath(folder) == str(run / place if place else run):
            raise PermissionError(13, "Permission denied", os.fspath(folder))
        return real(folder)

    monkeypatch.setattr(os, "listdir", listdir)
    for action in (lambda: write_report(run), lambda: compare_runs(run, run)):
        with pytest.raises(SeparatrixError, match="Permission denied") as error:
            action()
        assert "\n" not in str(error.value)
