"""The size of a report and the time to write it: many trials per study, all of them in a figure.

    python benchmarks/report.py [--studies 100] [--trials 100000] [--copies] [--out FOLDER]

Prints one JSON object, with the processor's seconds for a first report (nothing is drawn yet) and
for a second one (every drawing is in the cache). With `--copies` all studies have the same figures.
With playwright and Chromium (`--chromium PATH`, or the one on the path) it
also times loading the page.
"""

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.report import write_report
from separatrix.studies import Axis, Claim, Evidence, Figure, Finding, Outcome, Series, TableData

NETWORKS = ("CNN", "LCN", "FCN")
CELLS = tuple(float(2**power) for power in range(4, 14))


def outcome_of(trials: int, seed: int) -> dict[str, Any]:
    """A study's outcome: a figure of all trials, one of means, a table of cells, a claim."""
    rng = np.random.default_rng(seed)
    count = trials // (len(NETWORKS) * len(CELLS))
    samples, means, rows = [], [], []
    for index, network in enumerate(NETWORKS):
        risks = np.exp(
            rng.normal(index - 0.3 * np.log(np.array(CELLS))[:, None], 0.4, (len(CELLS), count))
        )
        mean = risks.mean(1)
        margin = 1.96 * risks.std(1) / np.sqrt(count)
        ends = [tuple(array.tolist()) for array in (mean, mean - margin, mean + margin)]
        means.append(Series(network, CELLS, ends[0], ends[1], ends[2]))
        samples.append(
            Series(
                network,
                tuple(np.repeat(CELLS, count).tolist()),
                tuple(risks.ravel().tolist()),
                role="samples",
            )
        )
        rows += [(network, cell, *(end[i] for end in ends), count) for i, cell in enumerate(CELLS)]
    axes = Axis("samples", log=True), Axis("risk", log=True)
    evidence = Evidence(
        "risk, FCN minus CNN", 1.0, 0.9, 1.1, trials, reference=0.0, baselines={"constant": 0.5}
    )
    claim = Claim(f"lahoti.claim-{seed}", "The CNN's risk is lower.", "Theorem 1", "σ at most 1/√k")
    return Outcome(
        (Finding(claim, "supported", "the interval is above zero", True, (evidence,)),),
        (
            Figure("all", "All trials", *axes, (*samples, *means)),
            Figure("means", "Means", *axes, tuple(means)),
        ),
        (
            TableData(
                "cells",
                "Cells",
                ("network", "samples", "risk", "low", "high", "seeds"),
                tuple(rows),
            ),
        ),
    ).plain()


def write_run(folder: Path, studies: int, trials: int, copies: bool = False) -> None:
    """Write a run folder of this many studies, whose figures differ unless they are copies."""
    (folder / "outcomes").mkdir(parents=True)
    claims = []
    for index in range(studies):
        about = {
            "study": f"study-{index:03d}",
            "scale": "full",
            "seed": 0,
            "command": f"separatrix run study-{index:03d}",
        }
        plain = outcome_of(trials, 0 if copies else index)
        plain["findings"][0]["id"] = f"lahoti.claim-{index}"
        claims += [finding | about for finding in plain["findings"]]
        document = (
            about
            | {
                "title": f"Study {index}",
                "summary": f"{trials} trials",
                "settings": {"seeds": trials},
            }
            | plain
        )
        (folder / "outcomes" / f"{about['study']}.json").write_text(
            json.dumps(document), encoding="utf-8"
        )
    (folder / "claims.json").write_text(json.dumps(claims), encoding="utf-8")


def load_seconds(page: Path, chromium: str) -> dict[str, float]:
    """Seconds until the page is loaded and until its first paint, in headless Chromium."""
    from playwright.sync_api import sync_playwright  # pyright: ignore[reportMissingImports]

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.goto(page.resolve().as_uri())
        event = tab.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000
        paint = (
            tab.evaluate(
                "(performance.getEntriesByName('first-contentful-paint')[0] || {}).startTime"
            )
            or 0.0
        )
        browser.close()
    return {"load_seconds": event, "first_paint_seconds": paint / 1000}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--copies", action="store_true")
    parser.add_argument("--out", default="")
    parser.add_argument(
        "--chromium", default=shutil.which("chromium") or shutil.which("google-chrome") or ""
    )
    arguments = parser.parse_args()
    folder = Path(arguments.out or tempfile.mkdtemp()) / "run"
    write_run(folder, arguments.studies, arguments.trials, arguments.copies)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["SEPARATRIX_CACHE"] = cache
        begin, start = time.perf_counter(), time.process_time()
        page = write_report(folder)
        first, wall = time.process_time() - start, time.perf_counter() - begin
        start = time.process_time()
        write_report(folder)
        second = time.process_time() - start
    result: dict[str, Any] = {
        "studies": arguments.studies,
        "trials": arguments.trials,
        "copies": arguments.copies,
        "write_seconds": round(wall, 2),
        "first_cpu_seconds": round(first, 2),
        "second_cpu_seconds": round(second, 2),
        "cpu_milliseconds_per_drawing": round(
            1e3 * (first - second) / (2 if arguments.copies else 2 * arguments.studies), 1
        ),
    }
    result["page_megabytes"] = round(page.stat().st_size / 1e6, 3)
    result["data_megabytes"] = round(
        sum(file.stat().st_size for file in (page.parent / "data").iterdir()) / 1e6, 1
    )
    if arguments.chromium:
        try:
            result |= {
                key: round(value, 3)
                for key, value in load_seconds(page, arguments.chromium).items()
            }
        except ImportError:
            result["load_seconds"] = None
    print(json.dumps(result))


if __name__ == "__main__":
    main()
