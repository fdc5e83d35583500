"""The commands `separatrix watch` and `separatrix serve`."""

import http.client
import json
import os
import signal
import subprocess
import sys

import pytest
from sample_run import make_run
from typer.testing import CliRunner

from separatrix.cli.main import app
from watched_run import write_ledger


@pytest.fixture
def run(tmp_path):
    return write_ledger(tmp_path / "run")


def test_the_command(run):
    said = CliRunner().invoke(app, ["watch", str(run), "--once"])
    assert said.exit_code == 0
    for part in ("42 trials in 2 chunks", "SignalTask", "LCN", "14 reached"):
        assert part in said.output
    plain = json.loads(CliRunner().invoke(app, ["watch", str(run), "--json"]).output)
    assert plain["trials"] == 42
    assert plain["runs_finished"] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_its_address_and_ends_when_told(tmp_path, number):
    folder = make_run(tmp_path / "run")
    environment = os.environ | {"PYTHONWARNINGS": "error", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "separatrix.cli.main", "serve", str(folder)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        port, word = url.removeprefix("http://127.0.0.1:").rstrip("/").split("/")
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=10)
        connection.request("GET", f"/{word}/live.json")
        assert json.loads(connection.getresponse().read())["trials"] == 5
        process.send_signal(number)  # while the connection is still open
        output, said = process.communicate(timeout=20)
        connection.close()
        assert process.returncode == 0
        assert said.splitlines() == ["Ctrl-C ends it.", "ended"]
        assert output == ""
