"""Seconds of window search and junta search, beside what memory bandwidth alone would take; JSON on
stdout.

`exhaustive_read_seconds` is the time to stream the bit-packed columns of every candidate over all
samples once, at the measured bandwidth: the floor for a search without pruning.
`tested_read_seconds` is the time to stream only the words that the pruned search tests.
"""

import json
import math
import statistics
import time

import numpy as np

from separatrix.theory.patterns.junta import junta_search, window_search

REPEATS = 3


def bandwidth() -> float:
    """Bytes per second of a sum over an array much larger than the caches."""
    data = np.ones(1 << 25, np.uint64)
    best = math.inf
    for _ in range(3):
        began = time.perf_counter()
        np.bitwise_or.reduce(data)
        best = min(best, time.perf_counter() - began)
    return data.nbytes / best


def main() -> None:
    rng = np.random.default_rng(0)
    speed = bandwidth()
    figures = []
    for bits, window, rows in (
        (64, 3, 100_000),
        (64, 4, 100_000),
        (64, 5, 100_000),
        (128, 4, 100_000),
    ):
        x = rng.choice(np.array([-1, 1], np.int8), (rows, bits))
        support = np.sort(rng.permutation(bits)[:window])
        runs = [junta_search(x, x[:, support].prod(1), window) for _ in range(REPEATS)]
        windows = [window_search(x, x[:, 5 : 5 + window].prod(1), window) for _ in range(REPEATS)]
        if not all(run.unique and run.supports[0] == tuple(support.tolist()) for run in runs):
            raise SystemExit("junta_search did not find the hidden bits")
        found, seconds = runs[0], statistics.median(run.seconds for run in runs)
        exhaustive = found.candidates * window * rows / 8 / speed
        tested = found.candidates * window * 8 / speed
        figures.append(
            {
                "bits": bits,
                "window": window,
                "rows": rows,
                "candidates": found.candidates,
                "confirmed": found.confirmed,
                "seconds": seconds,
                "exhaustive_read_seconds": exhaustive,
                "times_exhaustive": seconds / exhaustive,
                "tested_read_seconds": tested,
                "times_tested": seconds / tested,
                "window_candidates": windows[0].candidates,
                "window_seconds": statistics.median(run.seconds for run in windows),
            }
        )
    print(
        json.dumps({"benchmark": "junta", "bytes_per_second": speed, "figures": figures}, indent=1)
    )


if __name__ == "__main__":
    main()
