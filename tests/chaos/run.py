"""Break things on purpose: `make chaos`.

    python tests/chaos/run.py [--share 1.0] [--seed 0] [--page docs/chaos.md] [--kept FILE]

A hundred runs of a small real study are each killed with signal 9 at a random moment and resumed;
further runs meet full disks, jumping clocks, damaged files and company. Rows and claims must be
those of an undisturbed run. Exit status 1 where one is not. With `--kept`, what was found of each
fault is kept there, and the same command goes on after it.
"""

import argparse
import collections
import datetime
import json
import random
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for tests/malformed.py

from faults import KILLS, OTHERS
from harness import HERE, WORKERS, Bench

from malformed import HEADING


class Kept(dict):
    """What was found of each fault; in a file, if one is given."""

    def __init__(self, file):
        self.file = Path(file) if file else None
        super().__init__(
            json.loads(self.file.read_text()) if self.file and self.file.exists() else {}
        )

    def __setitem__(self, name, found):
        super().__setitem__(name, found)
        if self.file:
            self.file.write_text(json.dumps(self))


def try_all(bench, faults, share, seed, kept):
    """For each fault: runs, how many ended well, what was seen how often, and the first failure."""
    table = []
    for fault, count in faults.items():
        if fault.__name__ in kept:
            table.append((fault.__doc__, *kept[fault.__name__]))
            continue
        rng = random.Random(f"{seed} {fault.__name__}")
        seen, good, failure, runs = collections.Counter(), 0, "", max(1, round(count * share))
        for _ in range(runs):
            try:
                seen[fault(bench, rng)] += 1
                good += 1
            except Exception as error:
                failure = failure or f"{type(error).__name__}: {error}"
                traceback.print_exc()
        kept[fault.__name__] = (runs, good, dict(seen), failure)
        table.append((fault.__doc__, *kept[fault.__name__]))
        print(f"{good} of {runs}: {fault.__doc__} {dict(seen)}", file=sys.stderr, flush=True)
    return table


def lines_of(table):
    """A Markdown table."""
    lines = ["| what happens | runs | as undisturbed | what was seen |", "|---|--:|--:|---|"]
    for name, runs, good, seen, failure in table:
        told = [
            f"{what} ({count})" for what, count in sorted(seen.items(), key=lambda item: -item[1])
        ]
        words = "; ".join(told if len(told) <= 4 else [*told[:4], f"and {len(told) - 4} more"])
        lines.append(
            f"| {name} | {runs} | {good} | {words}{f' **{failure}**' if failure else ''} |"
        )
    return lines


def main():
    """Run, print, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=1.0, help="of the runs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", default="")
    parser.add_argument("--kept", default="")
    given = parser.parse_args()
    kept = Kept(given.kept)
    with tempfile.TemporaryDirectory() as base:
        bench = Bench(base)
        kills = try_all(bench, KILLS, given.share, given.seed, kept)
        others = try_all(bench, OTHERS, given.share, given.seed, kept)
        seconds = {argv: bench.whole(argv).seconds for argv in (HERE, WORKERS)}
        bench.close()
    good, runs = sum(row[2] for row in kills), sum(row[1] for row in kills)
    page = [
        "# Chaos",
        "",
        "What happens to a run when things break. Written by `make chaos`; do not edit.",
        "",
        "A small real study (`signal-first`, 24 trials) is run undisturbed, then disturbed and "
        "resumed with the same command. A run counts",
        "only if every row is there once and equals the undisturbed run's bit by bit (but for "
        "how long it took), the claims are the same",
        "bytes where the command is the same, and the resumed run computed the missing trials "
        'and no others. "Ended before" means that',
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
        f"On {datetime.datetime.now(datetime.UTC):%Y-%m-%d}, seed {given.seed}; an undisturbed "
        f"run took {seconds[HERE]:.1f} s in one process, "
        f"{seconds[WORKERS]:.1f} s with two workers.",
        "A shorter version is among the tests (`tests/chaos`). That a Dask scheduler is killed "
        "and restarted, and that a chunk which ends",
        "three workers is named, is tested in `tests/engine/execute/test_dask.py`.",
        "",
    ]
    print("\n".join(page))
    if given.page:
        file = Path(given.page)
        # The section on malformed inputs is written by tests/malformed.py.
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        rest = "".join(before.partition(HEADING)[1:])
        file.write_text("\n".join([*page, rest]) if rest else "\n".join(page), encoding="utf-8")
    sys.exit(any(row[1] != row[2] for row in (*kills, *others)))


if __name__ == "__main__":
    main()
