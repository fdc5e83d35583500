"""Commands run in this process, and settings that make studies tiny."""

import sys

import pytest

from separatrix.cli import main

TINY = [
    *("--set", "patches=3"),
    *("--set", "dimension=4"),
    *("--set", "samples=40"),
    *("--set", "steps=4"),
    *("--set", "seeds=2"),
    *("--set", "tune.moves=0"),
]
READOUT = [
    *("--set", "bits=6"),
    *("--set", "windows=2,3"),
    *("--set", "draws=300"),
    *("--set", "exact_draws=2"),
    *("--set", "rules=2"),
]
ESCAPE = "\x1b"


def call(monkeypatch, capfd, argv):
    """Run a command: exit status, standard output, standard error."""
    monkeypatch.setattr(sys, "argv", ["separatrix", *argv])
    capfd.readouterr()
    with pytest.raises(SystemExit) as end:
        main.main()
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    assert "internal error" not in err
    return end.value.code or 0, out, err


def one_sentence(result, words, status=1):
    """Check that a command failed with one sentence that has these words."""
    code, out, err = result
    assert code == status
    assert out == ""
    assert err.startswith("separatrix: ")
    assert err.count("\n") == 1
    assert words in err
