"""Shared by the tests of the engine, the studies and the command line: tiny sweeps, and drivers."""

import os
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import separatrix as sx
from separatrix.engine import Ledger, use_compilation_cache
from separatrix.engine.execute import local
from separatrix.engine.store import ledger, parts
from separatrix.spec import digest

TASK = sx.SignalTask(patches=4, dimension=3, noise=0.3)
NETWORK = sx.CNN(field=1, readout="sum", bias=False)
LEARNER = sx.Learner(rate=1.0, steps=6)
MEASURE = sx.Measure(test=64, times=2)


def tiny(task=TASK, network=NETWORK, learner=LEARNER, samples=12, seeds=2):
    """A sweep of trials that take about a millisecond each; everything tiny shares one program."""
    return sx.Sweep.grid(task, network, learner, samples, seeds, MEASURE)


def fake_worker(folder, monkeypatch, body):
    """Have worker processes run `body` for each `message` that they are sent."""
    script = folder / "worker.py"
    head = "import sys, os, json, time\nfor line in sys.stdin:\n    message = json.loads(line)\n"
    script.write_text(head + textwrap.indent(textwrap.dedent(body), "    "))
    program = folder / "python"
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{script}'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(local.sys, "executable", str(program))


def numbered_row(number, **more):
    """A row of a ledger whose results depend on its number."""
    return {
        "trial": digest(number),
        "number": number,
        "risk": number / 7,
        "trace.loss": [0.5, float(number)],
    } | more


def filled_ledger(folder, count, each=1, **more):
    """A ledger of `count` parts that no automatic packing has touched."""
    source = Ledger.open(folder)
    for start in range(0, count * each, each):
        table = ledger.table_of([numbered_row(i, **more) for i in range(start, start + each)])
        parts.write_part(source.parts, table.arrow)
    return source


def plain_rows(table):
    """Rows as dictionaries without how long they took."""
    rows = table.arrow.to_pylist() if hasattr(table, "arrow") else table
    return [{name: item for name, item in row.items() if name != "run.seconds"} for row in rows]


def measured(rows):
    """The measured numbers of rows, flat."""
    names = [name for name in rows[0] if name in ("loss", "risk") or name.startswith("trace.")]
    return [
        number
        for row in rows
        for name in names
        for number in (row[name] if isinstance(row[name], list) else [row[name]])
    ]


@pytest.fixture(scope="session", autouse=True)
def compilation_cache(tmp_path_factory):
    """One cache of compiled programs for all tests and the processes that they start; the user's
    own is left alone.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "separatrix-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEPARATRIX_CACHE", str(folder))
        # Processes that tests start compile as fast as this one.
        patch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
        for name in ("FORCE_COLOR", "NO_COLOR", "SEPARATRIX_DEBUG"):
            patch.delenv(name, raising=False)
        use_compilation_cache()
        yield folder


class Driver:
    """A `separatrix` command in a process of its own, and the worker processes that it starts."""

    def __init__(self, argv, folder: Path):
        self.mark = f"SEPARATRIX_TEST={os.urandom(8).hex()}"
        name, value = self.mark.split("=")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "separatrix.cli.main", *argv],
            cwd=folder,
            env=dict(os.environ) | {"JAX_PLATFORMS": "cpu", name: value},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def family(self):
        """The processes that this command started and that are still alive, without zombies."""
        pids = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != self.process.pid:
                try:
                    if self.mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                        pids.append(int(entry.name))
                except OSError:
                    pass
        return pids

    def workers(self):
        """The worker processes among them."""
        pids = []
        for pid in self.family():
            try:
                if b"separatrix.engine.execute.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    pids.append(pid)
            except OSError:
                pass
        return pids

    def wait_for(self, condition, seconds=120.0):
        """Wait until something holds; False if the command ended before it did."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            if self.process.poll() is not None:
                return False
            time.sleep(0.01)
        raise AssertionError("waited too long")

    def finish(self, seconds=120.0):
        """Exit status, standard output, standard error."""
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err

    def assert_alone(self, seconds=20.0):
        """No process that this command started is alive, or will be soon: a worker that is still
        importing notices a little later.
        """
        end = time.monotonic() + seconds
        while left := self.family():
            assert time.monotonic() < end, f"processes left alive: {left}"
            time.sleep(0.05)
