"""`separatrix diagnose`: what it prints, writes and refuses."""

import json
import sys

import numpy as np
import pytest

from separatrix.cli import main
from separatrix.diagnosis import settings as diagnose_settings
from separatrix.diagnosis.training import Recipe


@pytest.fixture
def cli(monkeypatch, tmp_path, capfd):
    """Run a command in this process, in an empty folder, with short trainings: exit status,
    standard output, standard error.
    """
    monkeypatch.chdir(tmp_path)
    quick = {"recipe": Recipe(8, 8, 2, (1e-2,)), "first": 2, "splits": 2, "width": 4}
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


def write(folder, count=90):
    rng = np.random.default_rng(0)
    np.savez(
        folder / "mine.npz",
        x=rng.normal(size=(count, 6, 6)).astype(np.float32),
        y=np.arange(count) % 3,
    )


def test_the_summary_is_short_and_the_page_is_written(cli, tmp_path):
    write(tmp_path)
    status, out, _ = cli(
        "diagnose", "mine.npz", "--budget", "60s", "--field", "3", "--export", "net.py"
    )
    assert status == 0
    lines = out.strip().splitlines()
    assert len(lines) <= 15
    assert lines[0].startswith("mine")
    assert "points" in out
    page = (tmp_path / "results/diagnose-mine/report/index.html").read_text()
    assert "What windows see" in page
    assert "Three networks on these data" in page
    assert "class Recommended" in (tmp_path / "net.py").read_text()
    assert json.loads((tmp_path / "results/diagnose-mine/diagnosis.json").read_text())["rows"] == 90


def test_json_goes_to_standard_output_alone(cli, tmp_path):
    write(tmp_path)
    status, out, err = cli(
        "diagnose", "mine.npz", "--field", "3", "--json", "--out", "here", "--quiet"
    )
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert {
        "verdict",
        "locality_gain",
        "sharing_gain",
        "labels_saved",
        "receptive_field",
        "notes",
    } <= set(found)
    status, again, _ = cli("diagnose", "mine.npz", "--field", "3", "--json", "--out", "here")
    timeless = [
        {key: item for key, item in each.items() if key != "seconds"}
        for each in (found, json.loads(again))
    ]
    assert timeless[0] == timeless[1]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["no-such-file.npz"], "no-such-file.npz"),
        (["mine.npz", "--budget", "soon"], "a budget must be a positive time"),
        (["mine.npz", "--field", "7"], "at most the input's smaller side (6)"),
        (["mine.npz", "--margin", "0"], "`margin` of diagnose must be"),
        (["mine.npz", "--field", "3", "--export", "no/such/folder.py"], "cannot write"),
    ],
)
def test_mistakes_are_one_sentence(cli, tmp_path, argv, words):
    write(tmp_path)
    status, out, err = cli("diagnose", *argv)
    assert status == 1
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert words in err
