"""The command `separatrix data`."""

import json

import pytest
from data_files import write_idx
from typer.testing import CliRunner

from separatrix.cli.main import app
from separatrix.errors import SeparatrixError


def run(*words):
    result = CliRunner().invoke(app, ["data", *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_get_and_list(small, tmp_path):
    write_idx(tmp_path / "files", small["mnist"])
    status = {row["name"]: row["status"] for row in json.loads(run("list", "--json"))}
    assert status == {
        "embedded-digits": "embedded",
        "embedded-photographs": "embedded",
        "mnist": "absent",
        "fashion-mnist": "absent",
        "cifar10": "absent",
    }
    said = json.loads(run("get", "mnist", "--from", str(tmp_path / "files"), "--json"))
    assert said["name"] == "mnist"
    assert said["folder"] == str(tmp_path / "cache" / "mnist")
    assert run("get", "mnist", "--quiet") == ""
    assert "6 training and 3 test images" in run("get", "mnist")
    assert "mnist                 here" in run("list")


def test_errors_are_sentences(small, tmp_path):
    for words in (
        ("get", "minst"),
        ("get", "embedded-digits"),
        ("get", "mnist", "--from", str(tmp_path / "none")),
    ):
        with pytest.raises(SeparatrixError) as caught:
            run(*words)
        assert "\n" not in str(caught.value)
