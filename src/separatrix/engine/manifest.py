"""Manifests: what ran in a folder, on which device, with which software, and what it cost."""

import dataclasses
import os
import platform
import resource
import subprocess
from collections.abc import Iterable
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import jax

from separatrix import __version__
from separatrix.data import available
from separatrix.engine import policy
from separatrix.engine.plan import Device
from separatrix.engine.programs import RunTally
from separatrix.files import lock, read_json, write_json
from separatrix.notes import Note

FILE = "manifest.json"
PACKAGES = ("jax", "jaxlib", "equinox", "optax", "numpy", "pyarrow")


@dataclasses.dataclass(frozen=True)
class RunFacts:
    """What a laboratory knows of its run.

    Args:
      command: the command line, or any other text that says what was run.
      settings: its settings, as plain values.
      started: when.
      wall_seconds: by the clock, until now.
      tally: what compiling and running cost.
      complete: whether every trial was run that was asked for.
      device: where; None as long as nothing was planned.
      shard: the share of a job array, as text.
      engine: "local", or the Dask cluster.
      notes: remarks on the run.
      studies: what each study cost, by its name (see `study_facts`).
    """

    command: str
    settings: dict[str, Any]
    started: datetime
    wall_seconds: float
    tally: RunTally
    complete: bool
    device: Device | None
    shard: str
    engine: str
    notes: Iterable[Note]
    studies: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """These facts, with those of the machine and the software, as plain values."""
        kilobytes = sum(
            resource.getrusage(who).ru_maxrss
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        return {
            "command": self.command,
            "settings": self.settings,
            "started": self.started.isoformat(timespec="seconds"),
            "wall_seconds": round(self.wall_seconds, 3),
            "compile_seconds": round(self.tally.compile_seconds, 3),
            "run_seconds": round(self.tally.run_seconds, 3),
            "programs_compiled": self.tally.programs,
            "programs_with_kernels": self.tally.kernels,
            "trials_run": self.tally.trials,
            "complete": self.complete,
            "peak_memory_bytes": kilobytes * 1024,
            "device": _device_name(self.device),
            "workers": self.device.workers if self.device else 0,
            "shard": self.shard,
            "engine": self.engine,
            "precision": "float32; each trial states the precision of its matrix products",
            "flags": os.environ.get("XLA_FLAGS", ""),
            "versions": {"separatrix": __version__, "python": platform.python_version()}
            | {name: metadata.version(name) for name in PACKAGES},
            "commit": source_commit(),
            "platform": f"{platform.system()} {platform.machine()}",
            "data": available(),
            "notes": [dataclasses.asdict(note) for note in self.notes],
        } | ({"studies": self.studies} if self.studies else {})


def study_facts(before: RunTally, after: RunTally, seconds: float) -> dict[str, float]:
    """What one study of a run cost, as plain values.

    Args:
      before: the tally of the run when the study began.
      after: the tally when it ended.
      seconds: the time between, by the clock.

    >>> study_facts(RunTally(), RunTally(programs=2, trials=9), 1.5)["trials_run"]
    9
    """
    return {
        "wall_seconds": round(seconds, 3),
        "compile_seconds": round(after.compile_seconds - before.compile_seconds, 3),
        "run_seconds": round(after.run_seconds - before.run_seconds, 3),
        "programs_compiled": after.programs - before.programs,
        "trials_run": after.trials - before.trials,
    }


def add_to_manifest(folder: Path, record: dict[str, Any]) -> None:
    """Put a run at the beginning of a folder's manifest, which keeps the last 100."""
    with lock(folder / "ledger" / ".manifest", wait=True):  # shards end at the same time
        runs = [record, *read_manifest(folder)][: policy.MANIFEST_RUNS]
        write_json(folder / FILE, {"runs": runs})


def read_manifest(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The runs in a folder's manifest, the newest first; none where it cannot be read.

    >>> read_manifest("no-such-folder")
    []
    """
    content = read_json(Path(folder) / FILE)
    runs = content.get("runs") if isinstance(content, dict) else None
    return runs if isinstance(runs, list) else []


def _device_name(device: Device | None) -> str:
    if device is None:
        return "none"
    if device.platform == "cpu":
        return platform.processor() or platform.machine()
    return str(jax.devices()[0].device_kind)


def source_commit() -> str:
    """The commit of the source tree that this package runs from, with `+dirty` if a file of it was
    changed; empty for an installed package.

    >>> isinstance(source_commit(), str)
    True
    """
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return ""
    try:
        head = _git(root, "rev-parse", "HEAD").strip()
        changed = _git(root, "status", "--porcelain", "--untracked-files=no").strip()
    except (OSError, subprocess.SubprocessError):
        return ""
    return head + ("+dirty" if changed else "")


def _git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
