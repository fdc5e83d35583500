"""What a Dask cluster costs: the share of two workers' time that goes into trials, and the driver's
and scheduler's time a chunk.

    python benchmarks/cluster.py [--chunks 60] [--trials 8] [--steps 2000] [--workers 2]

Runs one sweep on the embedded cluster, once with rows coming back to the driver and once with
workers writing them, after a small sweep that starts workers and compiles. Prints one JSON object.
`efficiency` is the time inside trials over workers × time; it means something on an otherwise idle
machine only, `load` says whether it was one. Seconds of driver and scheduler a chunk are processor
time, which other work on the machine hardly changes.
"""

import argparse
import json
import os
import tempfile
import time
from typing import Any

import psutil

import separatrix as sx
from separatrix.engine import Cluster, Device


def sweep_of(seeds: range, steps: int) -> sx.Sweep:
    """Trials of one program, each about a tenth of a second."""
    trial = sx.Trial(
        sx.SignalTask(20, 20, 0.3),
        sx.CNN(1, readout="sum", bias=False),
        sx.Learner(rate=1.0, steps=steps),
        samples=400,
    )
    return sx.Sweep(tuple(trial.at_seeds(seeds)))


def processor(pid: int) -> float:
    """Seconds of processor time of a process so far."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def measure(shared: bool, chunks: int, trials: int, steps: int, workers: int) -> dict[str, Any]:
    """One sweep on a fresh embedded cluster."""
    with (
        tempfile.TemporaryDirectory() as folder,
        sx.Lab(folder, workers=workers, cluster=Cluster(shared=shared)) as lab,
    ):
        lab.run(sweep_of(range(2 * workers), steps))
        assert lab._dask is not None
        # Chunks of exactly so many trials: the device's speed, as far as plans know it, decides on
        # that.
        sweep = sweep_of(range(10_000, 10_000 + chunks * trials), steps)
        flops = sum(chunk.flops for chunk in lab.plan(sweep).chunks) / len(sweep)
        lab._device = Device("cpu", workers, flops=1.001 * trials * flops / 2.0)
        assert all(len(chunk.trials) == trials for chunk in lab.plan(sweep).chunks)
        cluster, before = lab._dask._processes[0].pid, lab.tally.run_seconds
        begin, mine, theirs = time.perf_counter(), time.process_time(), processor(cluster)
        lab.run(sweep)
        wall, inside = time.perf_counter() - begin, lab.tally.run_seconds - before
        return {
            "efficiency": round(inside / (workers * wall), 3),
            "chunk_seconds": round(inside / chunks, 3),
            "driver_ms_a_chunk": round(1000 * (time.process_time() - mine) / chunks, 2),
            "scheduler_ms_a_chunk": round(1000 * (processor(cluster) - theirs) / chunks, 2),
            "load": round(os.getloadavg()[0], 1),
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    for name, default in (("chunks", 60), ("trials", 8), ("steps", 2000), ("workers", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = vars(parser.parse_args())
    found = {
        "driver" if not shared else "shared": measure(shared, **given) for shared in (False, True)
    }
    print(json.dumps(given | found))


if __name__ == "__main__":
    main()
