"""The proof: every truth at every seed, one line each, resumable.

    python -m separatrix.diagnosis.proof --seeds 20 --jobs 16 --out proof.jsonl

A second run goes on where the first one stopped. `--table FILE` prints the table of kept lines.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from separatrix.diagnosis.proof.levels import levels_table
from separatrix.diagnosis.proof.lines import between, on_page, read_lines, table_of
from separatrix.diagnosis.proof.pool import run_cases
from separatrix.diagnosis.proof.reals import REALS
from separatrix.diagnosis.proof.truths import BLIND_HALF, OPEN_HALF, TRUTHS
from separatrix.files import write_bytes


def main() -> None:
    """Parse, prove, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--seeds", type=int, default=20, help="how many (20)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--budget", type=float, default=120.0, help="seconds of one core per case")
    parser.add_argument("--half", choices=("open", "blind", "both", "real"), default="open")
    parser.add_argument("--only", default="", help="truths, separated by semicolons")
    parser.add_argument("--out", type=Path, default=Path("results/diagnose-proof.jsonl"))
    parser.add_argument("--table", type=Path, help="print the table of a file and end")
    parser.add_argument("--page", type=Path, help="with --table or --levels: put it into this page")
    parser.add_argument(
        "--levels", type=int, nargs="?", const=500, help="simulate the levels of decision and end"
    )
    options = parser.parse_args()
    if options.levels is not None:
        if options.levels < 1:
            parser.error(f"--levels needs at least one diagnosis, got {options.levels}")
        table = levels_table(options.levels)
        if options.page:
            page = options.page.read_text(encoding="utf-8")
            write_bytes(options.page, between(page, "levels", table))
        else:
            print(table)
        return
    if options.table and options.page:
        text = options.page.read_text(encoding="utf-8")
        write_bytes(options.page, on_page(text, read_lines(options.table)))
        return
    if options.table:
        print(table_of(read_lines(options.table)))
        return
    names = {
        "open": [*OPEN_HALF],
        "blind": [*BLIND_HALF],
        "both": [*OPEN_HALF, *BLIND_HALF],
        "real": [*REALS],
    }[options.half]
    if options.only:
        names = options.only.split(";")
        if unknown := [name for name in names if name not in (*TRUTHS, *REALS)]:
            parser.error(f"there is no truth {unknown[0]!r}; there are {'; '.join(TRUTHS)}")
    done = {(line["truth"], line["seed"]) for line in read_lines(options.out)}
    cases = [
        (name, seed, options.budget)
        for seed in range(options.first, options.first + options.seeds)
        for name in names
        if (name, seed) not in done
    ]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("a", encoding="utf-8") as out:
        for number, line in enumerate(run_cases(cases, options.jobs)):
            out.write(json.dumps(line) + "\n")
            out.flush()
            mark = {"right": " ", "open": "?", "wrong": "!"}[line["grade"]]
            print(
                f"{mark} {number + 1}/{len(cases)} {line['truth']}, seed {line['seed']}: "
                f"{line['verdict']} ({line['cpu']:.0f} s)",
                file=sys.stderr,
                flush=True,
            )
    print(table_of(line for line in read_lines(options.out) if line["truth"] in names))


if __name__ == "__main__":
    main()
