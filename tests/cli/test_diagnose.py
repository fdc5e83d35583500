"""`separatrix diagnose`: what it prints, writes and refuses."""

import json
import sys

import numpy as np
import pytest

from separatrix.cli import main
from separatrix.diagnosis import settings as diagnose_settings


@pytest.fixture
def cli(monkeypatch, tmp_path, capfd):
    """Run a command in this process, in an empty folder, with short trainings: exit status,
    standard output, standard error.
    """
    monkeypatch.chdir(tmp_path)
    quick = {"steps": 16, "first": 2, "splits": 2, "test": 60, "check": 30}
    original = diagnose_settings.Settings.__init__
    monkeypatch.setattr(
        diagnose_settings.Settings,
        "__init__",
        lambda self, **given: original(self, **(quick | given)),
    )

    def call(*argv):
        monkeypatch.setattr(sys, "argv", ["separatrix", *argv])
        try:
            main.main()
        except SystemExit as end:
            status = end.code or 0
        else:
            status = 0
        return (status, *capfd.readouterr())

    return call


def write(folder, rows=120):
    rng = np.random.default_rng(0)
    names = [f"s{i}" for i in range(24)]
    x = rng.normal(size=(rows, 24)).round(3)
    lines = [",".join(["id", "subject", *names, "activity"])]
    for row in range(rows):
        cells = [row, f"S{row % 8}", *x[row], ("walk", "run")[row % 2]]
        lines.append(",".join(map(str, cells)))
    (folder / "mine.csv").write_text("\n".join(lines) + "\n")


def test_a_table_with_groups(cli, tmp_path):
    write(tmp_path)
    argv = ["diagnose", "mine.csv", "--kind", "signal", "--label", "activity", "--field", "3"]
    argv += ["--group", "subject", "--budget", "600s", "--export", "net.py", "--out", "here"]
    status, out, err = cli(*argv)
    assert status == 0
    assert "using 120 rows of 24 samples as signals, dropped id, label = activity" in err
    assert "groups = subject (8)" in err
    assert len(out.strip().splitlines()) <= 12
    assert out.startswith("mine.csv: ")
    assert "What to do" in (tmp_path / "here/index.html").read_text()
    assert "class Network" in (tmp_path / "net.py").read_text()
    status, out, err = cli(*argv, "--json", "--quiet")
    assert (status, err) == (0, "")
    told = json.loads(out)
    kept = json.loads((tmp_path / "here/diagnosis.json").read_text())
    assert told == kept
    assert told["schema"] == 2


def test_dry_run_trains_nothing(cli, tmp_path):
    write(tmp_path)
    status, out, _ = cli(
        "diagnose", "mine.csv", "--drop", "subject", "--label", "activity", "--dry-run"
    )
    assert status == 0
    assert "trainings" in out
    options = ["--kind", "table", "--label", "activity", "--dry-run"]
    status, out, _ = cli("diagnose", "mine.csv", "--group", "subject", *options, "--json")
    plan = json.loads(out)
    assert status == 0
    assert plan["trainings"] > 0
    assert "groups = subject (8)" in plan["using"]
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["no-such-file.npz"], "no-such-file.npz"),
        (["mine.csv"], "column `subject` of mine.csv holds text"),
        (["mine.csv", "--group", "subjet"], "did you mean `subject`"),
        (["mine.csv", "--drop", ""], "there is no column in mine.csv called ``"),
        (["mine.csv", "--drop", "subject", "--shape", "0,24"], "`shape` of one row must be"),
        (["mine.csv", "--drop", "subject", "--budget", "soon"], "a budget must be a positive time"),
        (["mine.csv", "--drop", "subject", "--field", "70"], "at most the input's size"),
        (["mine.csv", "--margin", "0"], "`margin` of diagnose must be"),
        (["mine.csv", "--metric", "f1"], "`metric` of diagnose must be one of"),
        (["mine.csv", "--ignore", "budjet"], "did you mean `budget`"),
        (["mine.csv", "--shape", "a,b"], "`shape` of diagnose must be whole numbers"),
        (["mine.csv", "--kind", "sound"], "`kind` of diagnose must be one of"),
        (["mine.csv", "--export", "no/such/folder.py"], "cannot write"),
        (["mine.csv", "--framework", "keras"], "`framework` of export must be one of"),
    ],
)
def test_mistakes_are_one_sentence(cli, tmp_path, argv, words):
    write(tmp_path)
    status, out, err = cli("diagnose", *argv)
    assert status == 1
    assert out == ""
    assert len(err.strip().splitlines()) <= 2
    assert words in err
