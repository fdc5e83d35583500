"""Break things on purpose: `make chaos`.

    python tests/chaos/run.py [--share 1.0] [--seed 0] [--page docs/chaos.md]

A hundred runs of a small real study are each killed with signal 9 at a random moment and resumed; further runs meet full disks,
jumping clocks, damaged files and company. Rows and claims must be those of an undisturbed run. Exit status 1 where one is not.
"""

import argparse
import collections
import datetime
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

from faults import KILLS, OTHERS
from harness import HERE, WORKERS, Bench


def try_all(bench, faults, share, seed):
    """For each fault: runs, how many ended well, what was seen how often, and the first failure."""
    table = []
    for fault, count in faults.items():
        rng = random.Random(f"{seed} {fault.__name__}")
        seen, good, failure, runs = collections.Counter(), 0, "", max(1, round(count * share))
        for _ in range(runs):
            try:
                seen[fault(bench, rng)] += 1
                good += 1
            except Exception as error:
                failure = failure or f"{type(error).__name__}: {error}"
                traceback.print_exc()
        table.append((fault.__doc__, runs, good, seen, failure))
        print(f"{good} of {runs}: {fault.__doc__} {dict(seen)}", file=sys.stderr, flush=True)
    return table


def lines_of(table):
    """A Markdown table."""
    lines = ["| what happens | runs | as undisturbed | what was seen |", "|---|--:|--:|---|"]
    for name, runs, good, seen, failure in table:
        told = [f"{what} ({count})" for what, count in seen.most_common()]
        words = "; ".join(told if len(told) <= 4 else [*told[:4], f"and {len(told) - 4} more"])
        lines.append(f"| {name} | {runs} | {good} | {words}{f' **{failure}**' if failure else ''} |")
    return lines


def main():
    """Run, print, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=1.0, help="of the runs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", default="")
    given = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as base:
        bench = Bench(base)
        kills = try_all(bench, KILLS, given.share, given.seed)
        others = try_all(bench, OTHERS, given.share, given.seed)
        seconds = {argv: bench.whole(argv).seconds for argv in (HERE, WORKERS)}
        bench.close()
    good, runs = sum(row[2] for row in kills), sum(row[1] for row in kills)
    page = [
        "# Chaos",
        "",
        "What happens to a run when things break. Written by `make chaos`; do not edit.",
        "",
        "A small real study (`signal-first`, 24 trials) is run undisturbed, then disturbed and resumed with the same command. A run counts",
        "only if every row is there once and equals the undisturbed run's bit by bit (but for how long it took), the claims are the same",
        'bytes where the command is the same, and the resumed run computed the missing trials and no others. "Ended before" means that',
        "the fault came too late to do anything.",
        "",
        f"**{good} of {runs}** runs that were killed with signal 9 came back whole.",
        "",
        *lines_of(kills),
        "",
        "Other faults:",
        "",
        *lines_of(others),
        "",
        f"On {datetime.datetime.now(datetime.UTC):%Y-%m-%d}, seed {given.seed}; an undisturbed run took {seconds[HERE]:.1f} s in one process, "
        f"{seconds[WORKERS]:.1f} s with two workers; all of it {(time.monotonic() - begin) / 60:.0f} minutes, with other work on the machine.",
        "A shorter version is among the tests (`tests/chaos`). That a Dask scheduler is killed and restarted, and that a chunk which ends",
        "three workers is named, is tested in `tests/engine/test_dask.py`.",
        "",
    ]
    print("\n".join(page))
    if given.page:
        Path(given.page).write_text("\n".join(page), encoding="utf-8")
    sys.exit(any(row[1] != row[2] for row in (*kills, *others)))


if __name__ == "__main__":
    main()
