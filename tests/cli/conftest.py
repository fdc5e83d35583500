"""What the tests of commands share."""

import sys
from pathlib import Path

import pytest
from command_line import TINY, call
from data_files import small  # noqa: F401 - a fixture

from separatrix.cli import main
from separatrix.engine import Programs
from separatrix.engine.execute import executor

PROGRAMS = Programs()


@pytest.fixture
def shared_programs(monkeypatch):
    """The laboratories of all tests that use this share their compiled programs."""
    monkeypatch.setattr(executor, "Programs", lambda: PROGRAMS)


@pytest.fixture
def cli(monkeypatch, tmp_path, capfd, shared_programs):
    """Run a command in this process, in an empty folder: exit status, standard output, standard
    error.
    """
    monkeypatch.chdir(tmp_path)
    return lambda *argv: call(monkeypatch, capfd, argv)


@pytest.fixture
def no_report(monkeypatch):
    """For runs whose report is not looked at."""
    monkeypatch.setattr(
        "separatrix.report.write_report", lambda folder: Path(folder) / "report" / "index.html"
    )


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A folder with a finished tiny run of signal-first; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("finished") / "out"
    words = ["run", "signal-first", "--out", str(folder), "--workers", "0", "--quiet", *TINY]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executor, "Programs", lambda: PROGRAMS)
        patch.setattr(sys, "argv", ["separatrix", *words])
        with pytest.raises(SystemExit) as end:
            main.main()
    assert not end.value.code
    return folder
