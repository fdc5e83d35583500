"""What the faults share: a small real study, the undisturbed run of it, and how a disturbed one is
compared with that.
"""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from separatrix.engine import Ledger

TRIALS = 24
CHANGES = (  # trials of milliseconds, all of them known before the first one runs
    *("seeds=8", "steps=4", "patches=3", "dimension=3", "samples=30"),
    "tune.moves=0",
)
STUDY = (
    "run",
    "signal-first",
    "--scale",
    "quick",
    *(word for change in CHANGES for word in ("--set", change)),
    "--out",
    "out",
)
HERE = (*STUDY, "--workers", "0")
WORKERS = (*STUDY, "--workers", "2")


class Zygote:
    """The process whose forks are the commands."""

    def __init__(self, cache):
        environ = dict(os.environ) | {
            "JAX_PLATFORMS": "cpu",
            "SEPARATRIX_CACHE": str(cache),
            "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
        }
        script = Path(__file__).with_name("zygote.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environ,
        )

    def ask(self, **order):
        """Send an order, get a number."""
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def start(self, argv, folder, **hook):
        """Start a command in a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        return Command(self, self.ask(argv=list(argv), folder=str(folder), hook=hook), folder)

    def close(self):
        """End."""
        self.process.kill()
        self.process.communicate()


@dataclasses.dataclass
class Command:
    """A running command."""

    zygote: Zygote
    pid: int
    folder: Path

    def signal(self, number=signal.SIGKILL):
        """Send a signal; a command that has ended, and is not waited for yet, ignores it."""
        os.kill(self.pid, number)

    def ended(self):
        """Whether it has ended."""
        return Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"

    def children(self):
        """The processes that it started."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if (
                    entry.name.isdigit()
                    and int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == self.pid
                ):
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    def until(self, condition, seconds=300.0, every=0.001):
        """Wait until something holds; whether it did before the command ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            if self.ended():
                return False
            time.sleep(every)
        raise AssertionError("waited too long")

    def finish(self):
        """Exit status and what was said on standard error."""
        code = self.zygote.ask(wait=self.pid)
        return code, (self.folder / "err.txt").read_text()


def rows_of(folder):
    """The rows of a run, without how long they took, sorted; and that no trial is there twice."""
    rows = Ledger(folder / "out").read().arrow.to_pylist()
    assert len({row["trial"] for row in rows}) == len(rows)
    return sorted(
        ({k: v for k, v in row.items() if k != "run.seconds"} for row in rows),
        key=lambda row: row["trial"],
    )


def parts_of(folder):
    """The parts of a run's ledger."""
    return sorted((folder / "out" / "ledger").glob("part-*.parquet"))


@dataclasses.dataclass(frozen=True)
class Whole:
    """An undisturbed run: where it is, how long it took, what it found."""

    folder: Path
    seconds: float
    rows: list
    claims: bytes


class Bench:
    """The undisturbed runs, and a place for disturbed ones."""

    def __init__(self, base):
        self.base = Path(base)
        self.zygote = Zygote(self.base / "cache")
        self.count = 0
        self._whole = {}

    def whole(self, argv):
        """The undisturbed run of a command."""
        if argv not in self._whole:
            for attempt in range(2):  # the second time with compiled programs
                folder = self.base / f"whole-{len(self._whole)}-{attempt}"
                begin = time.monotonic()
                code, said = self.zygote.start(argv, folder).finish()
                assert code == 0, said
                assert f"{TRIALS} trials run" in said
            seconds = time.monotonic() - begin
            self._whole[argv] = Whole(
                folder, seconds, rows_of(folder), (folder / "out" / "claims.json").read_bytes()
            )
        return self._whole[argv]

    def close(self):
        """End."""
        self.zygote.close()

    def folder(self):
        """An empty folder."""
        self.count += 1
        made = self.base / f"run-{self.count}"
        made.mkdir()
        return made

    def finished(self):
        """A copy of the undisturbed run's folder, without its verdicts."""
        made = self.folder()
        shutil.copytree(self.whole(HERE).folder / "out", made / "out")
        (made / "out" / "claims.json").unlink()
        return made

    def check(self, argv, folder):
        """Rows and claims are those of the undisturbed run."""
        assert rows_of(folder) == self.whole(argv).rows, "rows differ"
        assert (folder / "out" / "claims.json").read_bytes() == self.whole(argv).claims, (
            "claims differ"
        )

    def resume(self, argv, folder):
        """Run the same command again: it computes what is missing, and that only; the number of
        trials that it found.
        """
        kept = (
            len(Ledger.open(folder / "out").done())
            if (folder / "out" / "separatrix.json").exists()
            else 0
        )
        code, said = self.zygote.start(argv, folder).finish()
        assert code == 0, said
        computed = int(re.search(r"(\d+) trials run", said)[1])
        assert computed == TRIALS - kept, (
            f"{computed} trials run although {kept} of {TRIALS} were there"
        )
        self.check(argv, folder)
        shutil.rmtree(folder)
        return kept
