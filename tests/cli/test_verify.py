"""The command `separatrix verify`: studies side by side. Other ways are in `test_run.py`."""

import json
import shutil
import signal
import sys

import pytest
from command_line import READOUT, TINY, one_sentence

from running import Driver
from separatrix.report import write_evidence
from separatrix.studies import STUDIES

NAMES = ("signal-first", "pattern-readout")
SMALL = [
    text if text == "--set" else f"{name}.{text}"
    for name, words in zip(NAMES, (TINY, READOUT))
    for text in words
]


@pytest.fixture
def two_studies(monkeypatch):
    """`verify` has no more than two studies to run, however many there are."""
    monkeypatch.setattr("separatrix.studies.STUDIES", {name: STUDIES[name] for name in NAMES})


def without_command(file):
    return [
        {k: v for k, v in claim.items() if k != "command"} for claim in json.loads(file.read_text())
    ]


def test_side_by_side_finds_what_one_after_the_other_finds(cli, tmp_path, two_studies, no_report):
    status, out, err = cli("verify", "--out", "both", "--side-by-side", "2", *SMALL)
    assert status == 0, err
    assert "6 trials run, 3 programs compiled" in err
    assert out.endswith("report: both/report/index.html\n")
    log = (tmp_path / "both" / "logs" / "signal-first.log").read_text()
    assert "signal-first: 5 claims, 6 trials" in log
    status, _, err = cli("verify", "--out", "turn", "--workers", "0", "--side-by-side", "1", *SMALL)
    assert status == 0, err
    both, turn = (tmp_path / name / "claims.json" for name in ("both", "turn"))
    assert without_command(both) == without_command(turn)
    # The rows are the same, so that one way goes on where the other stopped.
    shutil.rmtree(tmp_path / "both" / "outcomes")
    status, _, err = cli("verify", "--out", "both", "--workers", "0", *SMALL)
    assert (status, err) == (0, "0 trials run, 0 programs compiled\n")
    assert without_command(both) == without_command(turn)


def test_some_of_the_studies_run_into_the_same_folder(cli, tmp_path, no_report):
    words = ("--only", "pattern-readout", "--out", "out", "--side-by-side", "2")
    status, _, err = cli("verify", *words, *READOUT)
    assert status == 0, err
    assert [file.stem for file in (tmp_path / "out" / "outcomes").iterdir()] == ["pattern-readout"]
    one_sentence(cli("verify", "--only", "pattern-readuot"), "did you mean `pattern-readout`")
    one_sentence(cli("verify", "--only", ","), "there is no study")
    one_sentence(cli("verify", "--only", "signal", "--from", "out"), "no rows of signal")


def test_what_cannot_run_side_by_side_is_one_sentence(cli):
    words = "leave --shard, --dry-run and --engine out"
    one_sentence(cli("verify", "--side-by-side", "2", "--dry-run"), words)
    one_sentence(cli("verify", "--side-by-side", "2", "--seeds", "1,2", "--shard", "1/2"), words)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_processes_of_studies_end_with_the_command(tmp_path, number):
    driver = Driver(["verify", "--side-by-side", "2", "--out", "out"], tmp_path)
    assert driver.wait_for(lambda: len(driver.family()) >= 2)
    driver.process.send_signal(number)
    code, out, err = driver.finish()
    driver.assert_alone()
    if number == signal.SIGINT:
        assert (code, out) == (1, "")
        assert err.splitlines()[-1].startswith("separatrix: interrupted")


def test_kept_tables_and_figures_that_differ_are_named(cli, tmp_path, finished):
    kept = tmp_path / "evidence" / "one"
    write_evidence(finished, kept)
    code, _, err = cli("verify", "--from", "evidence")
    assert code == 0, err
    assert "kept tables and figures are the same, byte for byte" in err
    assert "not the kept one" not in err
    table = next((kept / "tables").glob("*.csv"))
    table.write_text(table.read_text() + "one more row\n")
    _, _, err = cli("verify", "--from", "evidence")
    assert f"one/tables/{table.name}: not the kept one, byte for byte" in err
    assert cli("verify", "--from", "evidence", "--quiet")[2] == ""
