"""The command `separatrix doctor`."""

import dataclasses
import json
from pathlib import Path

from command_line import TINY

from separatrix.engine import cost_model


def test_workers_without_calibrate_are_refused(cli):
    code, out, err = cli("doctor", "--workers", "2")
    assert code == 1
    assert "give --calibrate as well" in err
    assert not out


def test_doctor_finds_this_installation_sound(cli, monkeypatch):
    code, out, err = cli("doctor")
    assert (code, err) == (0, "")
    assert out.endswith("all is well\n")
    monkeypatch.setattr(
        "separatrix.cli.doctor.examine",
        lambda: {"separatrix": "0", "versions": {}, "problems": ["the disk is missing"]},
    )
    code, out, err = cli("doctor", "--json")
    assert (code, err) == (1, "separatrix: the disk is missing\n")
    assert json.loads(out)["problems"] == ["the disk is missing"]


def test_a_calibration_is_kept_shown_and_used(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "cache"))
    times = [cost_model.CaseTime(kind, 1e9, 100, 2.0, 0.1) for kind in cost_model.cases()]
    slow = dataclasses.replace(cost_model.ASSUMED["cpu"], per_run=1000.0, measured=True)
    monkeypatch.setattr(cost_model, "calibrate", lambda kind, workers: (slow, times))
    dry = ["run", "signal-first", "--dry-run", "--workers", "2", *TINY]
    _, out, _ = cli(*dry)
    assert "not calibrated: `separatrix doctor --calibrate`" in out
    code, out, err = cli("doctor", "--calibrate", "--workers", "2", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["machine"]["workers"] == 2
    assert facts["cost_model"]["per_run"] == 1000.0
    assert len(facts["times"]) == len(times)
    assert json.loads(Path(facts["file"]).read_text())["per_run"] == 1000.0
    _, out, _ = cli(*dry)
    assert "calibrated on this machine" in out
    assert "17 min" in out
    _, out, _ = cli(*dry, "--json")
    plan = json.loads(out)["signal-first"]
    assert plan["calibrated"] is True
    assert 1000.0 < plan["seconds"] < 1100.0
    code, out, err = cli("doctor", "--calibrate", "--workers", "1")
    assert (code, err) == (0, "")
    assert "CNN, images" in out
    assert "calibrated for 1 worker;" in out
