"""A run while it goes on: everything is counted, nothing is written, damage does not stop it."""

import json
import re

import pytest
from sample_run import write_run
from typer.testing import CliRunner

from separatrix.cli.main import app
from separatrix.engine.store.ledger import Ledger
from separatrix.errors import SeparatrixError
from separatrix.report import Watcher
from separatrix.studies.live import LIVE
from watched_run import rows, write_ledger


@pytest.fixture
def run(tmp_path):
    return write_ledger(tmp_path / "run")


def contents(folder):
    return {
        file: (file.read_bytes(), file.stat().st_mtime_ns)
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_trials_rates_and_ends_are_counted_and_nothing_is_written(run):
    before = contents(run)
    seen = Watcher(run).look(now=10_000.0)
    assert seen.trials == 42
    assert seen.rate == pytest.approx(12 / 60), "the trials of the last minute"
    assert seen.idle == pytest.approx(30.0)
    assert seen.kinds == [
        ("SignalTask", name, 14, {"reached": 14}) for name in ("CNN", "FCN", "LCN")
    ]
    assert contents(run) == before


def test_a_second_look_reads_what_is_new(run):
    watcher = Watcher(run)
    watcher.look()
    Ledger(run).write(rows("c", 3, status="diverged"))
    assert watcher.look().trials == 45
    assert watcher.look().kinds[0][3] == {"reached": 14, "diverged": 1}


def test_a_damaged_part_and_one_being_written_do_not_stop_it(run):
    parts = sorted((run / "ledger").iterdir())
    parts[0].write_bytes(b"PAR1 nonsense")
    (run / "ledger" / ".part-0.tmp").write_bytes(b"half")
    seen = Watcher(run).look()
    assert seen.unreadable == 1
    assert seen.trials in (30, 12)


def test_studies_that_are_finished_tell_their_verdicts_and_effects(tmp_path):
    folder = write_run(tmp_path / "run")
    (folder / "separatrix.json").write_text('{"format": "1"}')
    seen = Watcher(folder).look()
    assert seen.idle is None
    (study,) = seen.studies
    assert study.name == "sample"
    assert study.verdicts == {"refuted": 1, "supported": 1, "undecided": 1}
    assert study.effects[0] == (
        "lahoti.first",
        "risk: CNN minus FCN",
        "−0.378 [−0.395, −0.357]",
    )
    (folder / "outcomes" / "sample.json").write_text("{")
    assert Watcher(folder).look().studies == ()


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(SeparatrixError, match="is not a folder of results"):
        Watcher(tmp_path)


def test_a_run_going_on_tells_its_sweep_and_thresholds_with_intervals(run):
    rows = [
        {
            "cell": "CNN, patches 8 [b]",
            "estimate": 41.5,
            "low": 30.0,
            "high": 55.0,
            "trials": 96,
            "settled": True,
        },
        {
            "cell": "FCN, patches 8",
            "estimate": None,
            "low": 512.0,
            "high": None,
            "trials": 40,
            "settled": False,
        },
    ]
    told = {
        "studies": ["signal"],
        "study": "signal",
        "what": "tuning",
        "done": 3,
        "total": 12,
        "ended": False,
    }
    (run / LIVE).write_text(json.dumps(told | {"thresholds": {"signal": {"thresholds": rows}}}))
    said = CliRunner().invoke(app, ["watch", str(run), "--once"]).output
    assert "now signal: tuning, 3 of 12 trials" in said
    lines = [re.split(r"\s{2,}", line.strip()) for line in said.splitlines() if "patches 8" in line]
    assert [line[1:] for line in lines] == [
        ["FCN, patches 8", "at least 512", "40", "goes on"],
        ["CNN, patches 8 [b]", "41.5 [30.0, 55.0]", "96", "ended"],
    ]
    plain = json.loads(CliRunner().invoke(app, ["watch", str(run), "--json"]).output)
    assert plain["going"] == told
    assert [each["text"] for each in plain["thresholds"]] == ["41.5 [30.0, 55.0]", "at least 512"]


@pytest.mark.parametrize(
    "told",
    [
        {"thresholds": 3},
        {"thresholds": {"a": {"b": "c"}}},
        {"thresholds": {"a": {"b": [{"cell": None, "trials": "x", "low": True}]}}},
        {"done": "x", "total": None, "studies": 3, "study": [], "ended": "no"},
        {"done": 1e308, "total": -5, "what": {"a": 1}},
    ],
)
def test_a_strange_file_of_a_run_going_on_is_no_error(run, told):
    (run / LIVE).write_text(json.dumps(told))
    said = CliRunner().invoke(app, ["watch", str(run), "--once"])
    assert said.exit_code == 0
    assert json.loads(json.dumps(Watcher(run).look().plain(), allow_nan=False))["trials"] == 42


def test_outcomes_are_read_again_only_when_they_change(tmp_path, monkeypatch):
    folder = write_run(tmp_path / "run")
    (folder / "separatrix.json").write_text('{"format": "1"}')
    watcher = Watcher(folder)
    first = watcher.look().studies
    monkeypatch.setattr(
        "separatrix.report.live.read_outcomes", lambda folder: pytest.fail("read again")
    )
    assert watcher.look().studies == first
    monkeypatch.undo()
    (folder / "outcomes" / "sample.json").unlink()
    assert watcher.look().studies == ()
