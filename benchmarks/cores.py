"""What a second core brings: one sweep with one worker and with two, in turns, ratios of their
times; JSON on standard output.

    python benchmarks/cores.py [--trials 240] [--steps 2000] [--rounds 3]

Workers are started and their programs compiled before the clock; it then runs from the asking for a
sweep to its table. Means something on an otherwise idle machine with two cores only; `load` is that
of the last minute before.
"""

import argparse
import json
import os
import statistics
import time

import separatrix as sx

NETWORKS = {
    "CNN": sx.CNN(1, 8, bias=False),
    "LCN": sx.LCN(1, 8, bias=False),
    "FCN": sx.FCN(64, bias=False),
}


def sweep_of(name: str, seeds: range, steps: int) -> sx.Sweep:
    """Trials of one program, some tenths of a second each."""
    trial = sx.Trial(
        sx.SignalTask(20, 20, 0.3), NETWORKS[name], sx.Learner(rate=1.0, steps=steps), samples=400
    )
    return sx.Sweep(tuple(trial.at_seeds(seeds)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, default in (("trials", 240), ("steps", 2000), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    if min(given.trials, given.steps, given.rounds) < 1:
        parser.error("--trials, --steps and --rounds must be at least 1")
    out = {
        "load": round(os.getloadavg()[0], 2),
        "trials": given.trials,
        "steps": given.steps,
        "networks": {},
    }
    for name in NETWORKS:
        seconds: dict[int, list[float]] = {1: [], 2: []}
        with sx.Lab(workers=1) as one, sx.Lab(workers=2) as two:
            for lab in (one, two):
                lab.run(sweep_of(name, range(8), given.steps))
            for turn in range(given.rounds):
                seeds = range(1000 * (turn + 1), 1000 * (turn + 1) + given.trials)
                for workers, lab in ((1, one), (2, two)):
                    begin = time.perf_counter()
                    lab.run(sweep_of(name, seeds, given.steps))
                    seconds[workers].append(time.perf_counter() - begin)
        ratios = [a / b for a, b in zip(seconds[1], seconds[2])]
        out["networks"][name] = {
            "one_worker_seconds": [round(each, 2) for each in seconds[1]],
            "two_workers_seconds": [round(each, 2) for each in seconds[2]],
            "ratio": round(statistics.median(ratios), 3),
            "ratios": [round(each, 3) for each in ratios],
        }
        print(name, out["networks"][name]["ratios"], flush=True)
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
