"""The proof: data whose truth is known, diagnosed many times; `python -m
separatrix.diagnosis.proof.run` writes the table.

The data are synthetic, or with `--real` real ones about which everyone agrees, their pixels in
order and out of order.

Every case runs on one thread in a process of its own, and leaves one JSON line when it is finished,
so that the same command goes on where it was interrupted.
"""

import argparse
import json
import math
import multiprocessing
import os
import sys
from collections.abc import Collection, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from separatrix.diagnosis.proof.reals import PAYS, REALS, absent
from separatrix.diagnosis.proof.truths import TRUTHS, truth
from separatrix.diagnosis.settings import REVISION
from separatrix.diagnosis.verdict import UNSETTLED
from separatrix.engine.execute.local import worker_environment
from separatrix.inference.intervals import wilson

# Of what images have besides: two layers, their ladder, the pilot of small ones, the fifth verdict
REAL_REVISION = 3
RIGHT = {name: (verdict,) for name, (verdict, _) in TRUTHS.items()} | {
    name: verdicts for name, (verdicts, _) in REALS.items()
}


def one_case(name: str, seed: int, budget: float) -> dict[str, Any]:
    """One diagnosis of one truth, as the line that is kept of it."""
    from separatrix.diagnosis.api import diagnose
    from separatrix.engine import Lab

    data = truth(name, seed)[0] if name in TRUTHS else REALS[name][1](seed)
    found = diagnose(data, budget=budget, seed=seed, lab=Lab(workers=1), explain=False)
    gains = {
        key: [round(100 * x, 2) for x in (g.ladder.estimate, g.ladder.low, g.ladder.high)]
        for key, g in found.gains.items()
        if g.ladder
    }
    return {
        "revision": revision_of(name),
        "truth": name,
        "seed": seed,
        "budget": budget,
        "right": " or ".join(RIGHT[name]),
        "verdict": found.verdict,
        "field": found.receptive_field,
        "ladder": found.about["ladder"],
        "runs": found.about["runs"],
        "seconds": found.about["seconds"],
        "gains": gains,
    }


def table_of(lines: Iterable[dict[str, Any]]) -> str:
    """The table of a proof, as Markdown.

    >>> print(table_of([{"truth": "fixed signal", "seed": 0, "verdict": "cannot tell", "seconds": 9.0, "runs": 60}]))
    | truth | right verdict | cases | right | cannot tell | wrong | right (95 %) | median seconds |
    |---|---|---|---|---|---|---|---|
    | fixed signal | locality pays, sharing does not | 1 | 0 | 1 | 0 | 0 [0, 0.7935] | 9 |
    """
    rows = list(lines)
    out = [
        "| truth | right verdict | cases | right | cannot tell | wrong | right (95 %) | median seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, verdicts in RIGHT.items():
        mine = [row for row in rows if row["truth"] == name]
        if mine:
            right = sum(row["verdict"] in verdicts for row in mine)
            unsure = sum(row["verdict"] in half_answers(verdicts) for row in mine)
            seconds = sorted(row["seconds"] for row in mine)[len(mine) // 2]
            out.append(
                f"| {name} | {' or '.join(verdicts)} | {len(mine)} | {right} | {unsure} | {len(mine) - right - unsure} | {wilson(right, len(mine))} | {seconds:.0f} |"
            )
    return "\n".join(out)


def revision_of(name: str) -> int:
    """The version of the method that a case was judged by: real images have got other networks
    since, synthetic signals have not.

    >>> revision_of("fixed signal"), revision_of("mnist, permuted")
    (1, 3)
    """
    return REVISION if name in TRUTHS else REAL_REVISION


def half_answers(right: Collection[str]) -> set[str]:
    """Verdicts that are neither right nor wrong: "cannot tell", and, where locality does pay, the
    verdict that leaves sharing open.

    >>> half_answers(("neither pays",)), half_answers(("neither pays", "cannot tell"))
    ({'cannot tell'}, set())
    """
    return ({"cannot tell"} | ({UNSETTLED} if set(PAYS) & set(right) else set())) - set(right)


def read_lines(file: Path) -> list[dict[str, Any]]:
    """The finished cases of a file that this version can vouch for; a torn last line is left out.

    >>> read_lines(Path("no-such-file"))
    []
    """
    out = []
    for text in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if line.get("revision") == revision_of(line.get("truth", "")):
            out.append(line)
    return out


def prove(
    seeds: Iterable[int],
    workers: int,
    file: Path,
    budget: float = 60.0,
    names: Collection[str] = tuple(TRUTHS),
) -> str:
    """Run every truth at every seed that `file` does not have yet; the table."""
    done = {(line["truth"], line["seed"], line["budget"]) for line in read_lines(file)}
    cases = [
        (name, seed, budget) for seed in seeds for name in names if (name, seed, budget) not in done
    ]
    os.environ.update(
        worker_environment(os.environ)
    )  # for the processes below, which start afresh: one thread each
    file.parent.mkdir(parents=True, exist_ok=True)
    with (
        ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool,
        file.open("a", encoding="utf-8") as out,
    ):
        for future in as_completed([pool.submit(one_case, *case) for case in cases]):
            line = future.result()
            out.write(json.dumps(line) + "\n")
            out.flush()
            print(
                f"{line['truth']}, seed {line['seed']}: {line['verdict']} ({line['seconds']:.0f} s)",
                file=sys.stderr,
            )
    return table_of(
        line for line in read_lines(file) if line["budget"] == budget and line["truth"] in names
    )


def main() -> None:
    """Parse, prove, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", action="store_true", help="real data instead of synthetic ones")
    parser.add_argument(
        "--seeds",
        type=int,
        default=0,
        help="how many (100; of real data, whose splits alone differ, 3)",
    )
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--budget", type=float, default=0.0, help="seconds a case (60; of real data 300)"
    )
    parser.add_argument("--out", type=Path, default=Path("results/diagnose-proof.jsonl"))
    given = parser.parse_args()
    if given.workers < 1 or given.seeds < 0 or given.first < 0 or not 0 <= given.budget < math.inf:
        parser.error(
            "--workers must be at least 1; --seeds, --first and --budget must not be negative"
        )
    missing = absent() if given.real else []
    for name in missing:
        print(f"{name} is left out: `separatrix data get {name}` fetches it", file=sys.stderr)
    names = [
        name
        for name in (REALS if given.real else TRUTHS)
        if name.removesuffix(", permuted") not in missing
    ]
    seeds, budget = (
        given.seeds or (3 if given.real else 100),
        given.budget or (300.0 if given.real else 60.0),
    )
    print(prove(range(given.first, given.first + seeds), given.workers, given.out, budget, names))


if __name__ == "__main__":
    main()
