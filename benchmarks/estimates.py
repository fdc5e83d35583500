"""How good are the estimates of `--dry-run`? Each study's prediction beside a real run of it with
an empty compilation cache.

    separatrix doctor --calibrate && python benchmarks/estimates.py

The ratio is predicted to measured time, as the clock of the whole command shows it. On a machine
that does other things as well, look at the second ratio: it takes the processor time that the
command and its workers used, shared by the workers, for the time measured. Studies that may stop
early, or search, are left out: their estimates are upper ends, or plans that the search changes.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from separatrix.files import cache_folder

STUDIES = ("signal-first", "pattern-readout", "digits", "cifar", "stability")


def command(*words: str) -> list[str]:
    """A call of the command line by this interpreter."""
    return [sys.executable, "-m", "separatrix.cli.main", *words]


def compare(study: str, scale: str, changes: list[str]) -> dict[str, Any]:
    """One study, predicted and run."""
    with tempfile.TemporaryDirectory() as folder:
        cache, out = Path(folder) / "cache", str(Path(folder) / "out")
        if (cache_folder() / "cost_model").exists():
            shutil.copytree(cache_folder() / "cost_model", cache / "cost_model")
        settings = [word for change in changes for word in ("--set", change)]
        env = dict(os.environ) | {"SEPARATRIX_CACHE": str(cache)}
        words = ("run", study, "--scale", scale, "--out", out, *settings)
        plan = json.loads(
            subprocess.run(
                command(*words, "--dry-run", "--json"), env=env, check=True, capture_output=True
            ).stdout
        )[study]
        before, begin, load = (
            resource.getrusage(resource.RUSAGE_CHILDREN),
            time.perf_counter(),
            os.getloadavg()[0],
        )
        subprocess.run(command(*words, "--quiet"), env=env, check=True, stdout=subprocess.DEVNULL)
        wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        run = json.loads((Path(out) / "manifest.json").read_text(encoding="utf-8"))["runs"][0]
    return {
        "study": study,
        "calibrated": plan["calibrated"],
        "predicted": plan["seconds"],
        "wall": wall,
        "ratio": plan["seconds"] / wall,
        "processor": used / plan["workers"],
        "processor_ratio": plan["seconds"] / (used / plan["workers"]),
        "programs": (plan["programs"], run["programs_compiled"]),
        "trials": (plan["trials"], run["trials_run"]),
        "load": load,
    }


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("studies", nargs="*", default=STUDIES)
    parser.add_argument("--scale", default="quick")
    parser.add_argument("--set", action="append", default=[], dest="changes")
    given = parser.parse_args()
    print(
        "| study | predicted, s | wall, s | ratio | processor time a worker, s | ratio | "
        "programs planned / made | load before |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for study in given.studies:
        row = compare(study, given.scale, given.changes)
        name = study if row["calibrated"] else f"{study} (not calibrated)"
        times = " | ".join(
            f"{row[column]:.{digits}f}"
            for column, digits in (
                ("predicted", 1),
                ("wall", 1),
                ("ratio", 2),
                ("processor", 1),
                ("processor_ratio", 2),
            )
        )
        print(
            f"| {name} | {times} | {row['programs'][0]} / {row['programs'][1]} | "
            f"{row['load']:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
