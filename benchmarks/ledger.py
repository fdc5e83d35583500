"""How a large ledger behaves: opening it, finding what is done, reading a study's rows, writing its
report.

    python benchmarks/ledger.py [--trials 100000] [--others 9900000] [--trace 100] [--chunk 64]
    [--out FOLDER]

Outcomes are synthetic, rows have the columns of real trials. The study's own trials are written
chunk by chunk, as a run writes them, and packed as a run packs them; the `--others`, which the
folder holds besides, are written as large parts at once. Prints one JSON object with pairs of
seconds, of the clock and of the processor; figures of opening and reading are of fresh processes'
ledgers (new objects), with the operating system's file cache warm.
"""

import argparse
import json
import secrets
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import separatrix as sx
from report import write_run
from separatrix.engine import Device, Lab, Ledger, make_plan
from separatrix.engine.policy import COMPACTION_ROWS
from separatrix.engine.store.parts import write_part
from separatrix.report import write_report


def study(trials: int) -> sx.Sweep:
    """The trials that a study asks for."""
    trial = sx.Trial(
        sx.SignalTask(20, 20, 0.3),
        sx.CNN(1, readout="sum", bias=False),
        sx.Learner(rate=1.0, steps=200),
        samples=400,
    )
    return sx.Sweep(tuple(trial.at_seeds(range(trials))))


def row_of(trial: sx.Trial, trace: int, rng: np.random.Generator) -> dict[str, Any]:
    """A row as a trial would give, with made-up numbers."""
    numbers = rng.random((2, trace))
    last = {"status": "exhausted", "steps": 200, "loss": numbers[0, -1], "risk": numbers[1, -1]}
    traces = {
        "trace.step": list(range(trace)),
        "trace.loss": numbers[0].tolist(),
        "trace.risk": numbers[1].tolist(),
    }
    return trial.row_head() | last | traces | {"run.seconds": 0.01}


def write_others(
    folder: Path, template: dict[str, Any], count: int, rng: np.random.Generator
) -> None:
    """Rows of other studies: scalars only, as many as fit a part each time."""
    for start in range(0, count, COMPACTION_ROWS):
        rows = min(COMPACTION_ROWS, count - start)
        columns: dict[str, Any] = {
            name: pa.array([value] * rows)
            for name, value in template.items()
            if not name.startswith("trace.")
        }
        text = secrets.token_hex(16 * rows)
        columns["trial"] = pa.array([text[i : i + 32] for i in range(0, len(text), 32)])
        columns |= {
            "loss": rng.random(rows),
            "risk": rng.random(rows),
            "seed": np.arange(start, start + rows),
        }
        write_part(folder, pa.table(columns))


def timed(found: dict[str, Any], name: str, call: Any) -> Any:
    """Call, and note the seconds: of the clock, and of the processor (which other work on the
    machine does not change).
    """
    begin, spent = time.perf_counter(), time.process_time()
    out = call()
    found[name] = [round(time.perf_counter() - begin, 2), round(time.process_time() - spent, 2)]
    return out


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--others", type=int, default=9_900_000)
    parser.add_argument("--trace", type=int, default=100)
    parser.add_argument("--chunk", type=int, default=64)
    parser.add_argument("--out", default="")
    given = parser.parse_args()
    folder = Path(given.out or tempfile.mkdtemp()) / "run"
    rng = np.random.default_rng(0)
    sweep = study(given.trials)
    ledger = Ledger.open(folder)
    found: dict[str, Any] = {
        "trials": given.trials,
        "other_rows": given.others,
        "trace": given.trace,
        "chunk": given.chunk,
    }
    rows = [row_of(trial, given.trace, rng) for trial in sweep.trials[: given.chunk]]
    timed(
        found,
        "write_others_seconds",
        lambda: write_others(ledger.parts, rows[0], given.others, rng),
    )

    def write_study() -> None:
        for start in range(0, given.trials, given.chunk):
            ledger.write(
                [
                    row_of(trial, given.trace, rng)
                    for trial in sweep.trials[start : start + given.chunk]
                ]
            )

    timed(found, "write_study_seconds", write_study)
    found["parts"] = len(ledger.files())
    found["megabytes"] = round(sum(file.stat().st_size for file in ledger.files()) / 1e6)
    lab = timed(found, "open_seconds", lambda: Lab(folder, workers=0))
    left = timed(found, "plan_seconds", lambda: lab.plan(sweep).trials)
    bare = timed({}, "", lambda: make_plan(sweep, Device("cpu"), set()).trials)
    table = timed(found, "read_seconds", lambda: lab.run(sweep))
    assert (left, bare, len(table)) == (0, given.trials, given.trials)
    found["resume_scan_seconds"] = [
        round(a + b, 2) for a, b in zip(found["open_seconds"], found["plan_seconds"])
    ]
    timed(found, "read_again_seconds", lambda: lab.run(sweep))
    timed(found, "frame_seconds", table.to_pandas)
    report = folder.parent / "report-run"
    write_run(report, 1, given.trials)
    timed(found, "report_seconds", lambda: write_report(report))
    if not given.out:
        shutil.rmtree(folder.parent)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
