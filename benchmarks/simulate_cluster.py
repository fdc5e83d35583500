"""A thousand workers, simulated: where does adding workers stop paying, and how long should a chunk
be?

    python benchmarks/simulate_cluster.py [--driver-ms 25] [--scheduler-ms 13] [--shared-ms 18]
    [--latency-ms 5] [--page docs/scale.md]

The engine as it is: every worker has one chunk at a time; the driver, one process, sends chunks and
takes results one after the other; the scheduler, one process, handles each chunk twice (out and
back, half of its time each); workers are lost at random, lose what they were doing, and are
replaced after a while; every worker compiles each program once. Costs per chunk are those that
`benchmarks/cluster.py` measures. Efficiency is time inside trials over workers × time, the run's
ragged end left out.
"""

import argparse
import dataclasses
import heapq
import random
from pathlib import Path

CHUNKS = (0.5, 2.0, 8.0, 32.0)
WORKERS = (2, 10, 30, 100, 300, 1000)


@dataclasses.dataclass(frozen=True)
class Costs:
    """Seconds: of the driver and the scheduler per chunk, of a message's way; and hours between two
    losses of a worker.

    >>> Costs().driver
    0.012
    """

    driver: float = 0.012
    scheduler: float = 0.003
    latency: float = 0.005
    lost_every_hours: float = 24.0
    away: float = 120.0
    spread: float = 0.3  # of chunks' times: the standard deviation of their logarithm
    compiling: float = 2.0


def efficiency(workers: int, chunk: float, costs: Costs, seed: int = 0, rounds: int = 30) -> float:
    """The share of the workers' time that goes into trials whose rows arrive.

    >>> free = Costs(driver=0.0, scheduler=0.0, latency=0.0, lost_every_hours=1e9, compiling=0.0)
    >>> round(efficiency(10, 2.0, free), 2)
    1.0
    """
    rng = random.Random(seed)
    end = rounds * chunk + 10 * costs.compiling
    driver = scheduler = 0.0  # when each is free again
    useful = 0.0
    # Events: (time, worker, kind, seconds of the chunk). A worker asks, gets a chunk, runs it, its
    # rows arrive.
    events = [(0.0, worker, "ask", 0.0) for worker in range(workers)]
    compiled: set[int] = set()
    while events:
        now, worker, kind, length = heapq.heappop(events)
        if now > end:
            break
        if kind == "ask":
            driver = max(driver, now) + costs.driver / 2
            heapq.heappush(events, (driver + costs.latency, worker, "out", 0.0))
        elif kind == "out":
            scheduler = max(scheduler, now) + costs.scheduler / 2
            length = chunk * rng.lognormvariate(-(costs.spread**2) / 2, costs.spread)
            extra = 0.0 if worker in compiled else costs.compiling
            compiled.add(worker)
            begin = scheduler + costs.latency + extra
            if rng.random() < (length + extra) / (3600 * costs.lost_every_hours):
                compiled.discard(worker)
                heapq.heappush(
                    events, (begin + rng.random() * length + costs.away, worker, "ask", 0.0)
                )
            else:
                heapq.heappush(events, (begin + length, worker, "back", length))
        elif kind == "back":
            scheduler = max(scheduler, now) + costs.scheduler / 2
            heapq.heappush(events, (scheduler + 2 * costs.latency, worker, "rows", length))
        else:
            driver = max(driver, now) + costs.driver / 2
            useful += length if driver <= end else 0.0
            heapq.heappush(events, (driver, worker, "ask", 0.0))
    return useful / (workers * end)


def table(costs: Costs, seeds: int = 3) -> list[str]:
    """Mean efficiency of some simulations, by workers and seconds per chunk, as a table."""
    lines = [
        "| workers | " + " | ".join(f"{chunk:g} s per chunk" for chunk in CHUNKS) + " |",
        "|--:|" + "--:|" * len(CHUNKS),
    ]
    for workers in WORKERS:
        cells = []
        for chunk in CHUNKS:
            runs = [efficiency(workers, chunk, costs, seed) for seed in range(seeds)]
            cells.append(f"{100 * sum(runs) / seeds:.0f} %")
        lines.append(f"| {workers} | " + " | ".join(cells) + " |")
    return lines


def knee(chunk: float, costs: Costs, line: float = 0.9) -> int:
    """The largest number of workers, to within five percent, whose efficiency is at least `line` of
    that of two.

    >>> free = {"scheduler": 0.0, "latency": 0.0, "compiling": 0.0, "spread": 0.0}
    >>> knee(2.0, Costs(driver=0.02, lost_every_hours=1e9, **free)) in range(90, 112)
    True
    """
    best = efficiency(2, chunk, costs)
    low, high = 2, 2
    while efficiency(high, chunk, costs) >= line * best and high < 100_000:
        low, high = high, high * 2
    while high - low > max(1, low // 20):
        middle = (low + high) // 2
        low, high = (
            (middle, high) if efficiency(middle, chunk, costs) >= line * best else (low, middle)
        )
    return low


def page(driver: Costs, shared: Costs) -> str:
    """The page of the documentation."""
    knees = [
        "| seconds per chunk | rows to the driver | workers write (`--ledger shared`) |",
        "|--:|--:|--:|",
    ]
    knees += [f"| {chunk:g} | {knee(chunk, driver)} | {knee(chunk, shared)} |" for chunk in CHUNKS]
    losses = [
        "| a worker is lost every | "
        + " | ".join(f"{chunk:g} s per chunk" for chunk in (2.0, 32.0, 300.0))
        + " |",
        "|---|--:|--:|--:|",
    ]
    for hours, words in ((1e9, "never"), (24.0, "24 hours"), (1.0, "hour"), (0.1, "6 minutes")):
        some = dataclasses.replace(shared, lost_every_hours=hours)
        losses.append(
            f"| {words} | "
            + " | ".join(
                f"{100 * efficiency(100, chunk, some):.0f} %" for chunk in (2.0, 32.0, 300.0)
            )
            + " |"
        )
    told = (
        f"{1000 * driver.driver:g} ms of the driver per chunk ({1000 * shared.driver:g} ms where "
        "workers write the rows), "
        f"{1000 * driver.scheduler:g} ms of the scheduler, {1000 * driver.latency:g} ms for a "
        "message"
    )
    return "\n".join(
        [
            "# How far it scales",
            "",
            "A simulation of the engine on up to 1000 workers. **No run had more than two**: "
            "costs per chunk were measured on the embedded cluster",
            "of two workers (`python benchmarks/cluster.py`), the rest is assumption, said "
            "below. Written by `python benchmarks/simulate_cluster.py`.",
            "",
            f"Measured: {told} (the last is assumed: a data centre, not a continent). These are "
            "processor times of chunks of one trial (`--chunks 300",
            "--trials 1 --steps 3`), on two cores that were busy with other work, so they are "
            "rather too large than too small. Assumed: a worker is lost once in",
            f"{driver.lost_every_hours:g} hours, its replacement needs {driver.away:g} s, "
            f"chunks' times spread by {driver.spread:g} (standard deviation",
            f"of the logarithm), each worker compiles for {driver.compiling:g} s. A run of 30 "
            "chunks per worker; efficiency is time inside trials",
            "over workers × time.",
            "",
            "## Rows come back to the driver",
            "",
            *table(driver),
            "",
            "## Workers write the rows (`--ledger shared`)",
            "",
            *table(shared),
            "",
            "## The knee",
            "",
            "Where efficiency falls below nine tenths of that of two workers: one process, the "
            "driver or the scheduler, is busy all the time, and",
            "further workers wait. The rule is workers ≈ seconds per chunk / seconds of the "
            "busiest process per chunk.",
            "",
            *knees,
            "",
            "## Which chunk is right",
            "",
            "Long enough that the knee is beyond the workers there are, and no longer, since a "
            "lost worker loses its chunk, a budget ends between",
            "chunks and the last chunk keeps everyone waiting. Plans cut chunks of about two "
            "seconds (`CHUNK_SECONDS`), or 64 trials, whichever is",
            "less: right up to the knees of 2 s above. Beyond the first use `--ledger shared`; "
            "beyond the second several runs of different studies, or",
            "`--shard`, which has no process in the middle at all. Losses hardly matter for "
            "short chunks; with 100 workers that write their rows:",
            "",
            *losses,
            "",
            "What is not in the simulation: a file system that slows down under a thousand "
            "writers, workers of different speed, a network that",
            "is slow, and plans whose few large trials cannot be cut (a trial is never split).",
            "",
        ]
    )


def main() -> None:
    """Simulate, print, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver-ms", type=float, default=25.0)
    parser.add_argument("--scheduler-ms", type=float, default=13.0)
    parser.add_argument("--shared-ms", type=float, default=18.0)
    parser.add_argument("--latency-ms", type=float, default=5.0)
    parser.add_argument("--page", default="")
    given = parser.parse_args()
    driver = Costs(given.driver_ms / 1000, given.scheduler_ms / 1000, given.latency_ms / 1000)
    text = page(driver, dataclasses.replace(driver, driver=given.shared_ms / 1000))
    print(text)
    if given.page:
        Path(given.page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
