"""What the commands do."""

import dataclasses
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from separatrix.engine import Cluster, Lab, Plan, Shard, human_bytes, human_seconds
from separatrix.errors import SeparatrixError, check_choice
from separatrix.studies import STUDIES, jobs, plan_jobs, run_jobs, run_shard

# Seconds from the last look at the clock to the prompt: a chunk and its program, conclusions, a
# report
ENDING = 6.0
COLOURS = {"supported": "green", "refuted": "red", "undecided": "yellow"}


@dataclasses.dataclass(frozen=True)
class Where:
    """Where trials run, as the options of the command line say it.

    >>> Where("dask", "tcp://10.0.0.1:8786").cluster().scheduler
    'tcp://10.0.0.1:8786'
    """

    engine: str = "local"
    scheduler: str = ""
    ledger: str = "driver"
    shard: str = ""

    def cluster(self) -> Cluster | None:
        """The cluster that is meant, if one is."""
        check_choice("a run", "engine", self.engine, ("local", "dask"))
        check_choice("a run", "ledger", self.ledger, ("driver", "shared"))
        if self.engine == "dask":
            return Cluster(self.scheduler or None, shared=self.ledger == "shared")
        if self.scheduler or self.ledger != "driver":
            raise SeparatrixError(
                "--scheduler and --ledger belong to --engine dask; add it, or leave them out"
            )
        return None

    def share(self) -> Shard | None:
        """The share of the trials that is meant, if not all."""
        return Shard.parse(self.shard) if self.shard else None


@dataclasses.dataclass(frozen=True)
class Request:
    """What `run` and `verify` were asked to do.

    >>> Request(["signal-first"], "signal-first").scale
    'quick'
    """

    names: list[str]
    title: str
    scale: str = "quick"
    seed: int = 0
    out: str = ""
    budget: str = ""
    dry_run: bool = False
    changes: list[str] = dataclasses.field(default_factory=list)
    json: bool = False
    quiet: bool = False
    workers: int = -1
    where: Where = Where()

    @property
    def folder(self) -> Path:
        """The output folder."""
        return Path(self.out or f"results/{self.title}-{self.scale}")


def seconds_from(text: str) -> float | None:
    """Seconds from a budget such as 90s, 2m or 1h; None for no budget.

    >>> seconds_from("1.5m")
    90.0
    """
    if not text:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h|)", text.strip())
    if not match or float(match[1]) == 0:
        raise SeparatrixError(
            f"a budget must be a positive time such as 90s, 2m or 1h, got {text!r}"
        )
    return float(match[1]) * {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}[match[2]]


def seconds_for_trials(budget: float | None) -> float | None:
    """How much of a budget is for trials: the rest is kept for the last chunk to end, for
    conclusions and for the report.

    >>> seconds_for_trials(60.0), seconds_for_trials(4.0), seconds_for_trials(None)
    (54.0, 2.0, None)
    """
    return None if budget is None else budget - min(ENDING, budget / 2)


def terminal(stderr: bool = False) -> Console:
    """A console that honours NO_COLOR and pipes; what is not a terminal gets wide lines without
    colour.

    >>> terminal(stderr=True).stderr
    True
    """
    # NO_COLOR alone would still leave bold headings, which are escape codes too.
    colours = None if os.environ.get("NO_COLOR") else "auto"
    console = Console(stderr=stderr, highlight=False, color_system=colours)
    return (
        console
        if console.is_terminal
        else Console(stderr=stderr, highlight=False, color_system=colours, width=160)
    )


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Any]:
    """A function that shows progress on a terminal's standard error, and does nothing elsewhere.

    >>> with progress_bar(quiet=True) as show:
    ...     show is None
    True
    """
    console = terminal(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
    )
    with Progress(
        *columns,
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    ) as bar:
        shown: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in shown:
                shown[what] = bar.add_task(what, total=total, rate="", completed=done)
            task = bar.tasks[bar.task_ids.index(shown[what])]
            rate = f"{task.speed:.1f}/s" if task.speed else "compiling…" if done == 0 else ""
            bar.update(shown[what], completed=done, total=total, rate=rate)

        yield show


def list_studies(as_json: bool) -> None:
    """Print the studies and the claims they decide."""
    if as_json:
        print(
            json.dumps(
                [
                    {
                        "name": s.name,
                        "title": s.title,
                        "summary": s.summary,
                        "claims": [dataclasses.asdict(c) for c in s.claims],
                    }
                    for s in STUDIES.values()
                ],
                indent=1,
            )
        )
        return
    table = Table(box=None, pad_edge=False)
    for column in ("study", "claims", "what it does"):
        table.add_column(column, overflow="fold")
    for study in STUDIES.values():
        table.add_row(study.name, str(len(study.claims)), study.summary)
    terminal().print(table)


def run_request(request: Request) -> None:
    """Run studies, write everything, print the verdicts."""
    names = request.names or list(STUDIES)
    run = jobs(names, request.scale, request.seed, request.changes)
    budget = seconds_for_trials(seconds_from(request.budget))
    workers = None if request.workers < 0 else request.workers
    cluster, shard = request.where.cluster(), request.where.share()
    command = shlex.join(["separatrix", *sys.argv[1:]])
    if request.dry_run:
        existing = request.folder if os.path.exists(request.folder) else None
        print_plan(plan_jobs(run, Lab(existing, workers=workers)), request.json)
        return
    note = terminal(stderr=True)
    with progress_bar(request.quiet or request.json) as show:
        settings = {"scale": request.scale, "seed": request.seed, "changes": request.changes}
        with Lab(request.folder, workers, budget, show, command, settings, cluster, shard) as lab:
            if shard is not None:
                print_shard(run_shard(run, lab), shard, request.json)
                return
            claims = run_jobs(run, lab, request.scale, request.seed, command)
    from separatrix.report import (
        write_report,  # not before: drawing takes a second to import, and workers would wait for it
    )

    page = write_report(request.folder)
    if request.json:
        print(json.dumps(claims, indent=1))
    else:
        print_claims(claims)
        print(f"report: {page}")
    if not request.quiet:
        for remark in lab.notes:
            note.print(f"{remark.severity}: {remark.message}")
        done = f"{lab.tally.trials} trials run, {lab.tally.programs} programs compiled"
        rest = (
            ""
            if lab.complete
            else "; the budget ended before all trials were run: the same command with more time goes on"
        )
        note.print(f"{done}{rest}")


def print_shard(missing: dict[str, int], shard: Shard, as_json: bool) -> None:
    """What is left of each study when a shard has done what it could."""
    if as_json:
        print(json.dumps({"shard": str(shard), "missing": missing}, indent=1))
        return
    for name, count in missing.items():
        whole = "every trial is there: run the same command without --shard for the verdicts"
        print(
            f"{name}, shard {shard}: {f'{count} trials are missing before it can go on' if count else whole}"
        )


def rewrite_report(folder: str, evidence: str, as_json: bool, quiet: bool) -> None:
    """Write the report of a folder anew, and what is worth keeping of it where that is wanted, and
    print its claims.
    """
    from separatrix.report import write_evidence, write_report

    page = write_report(Path(folder))
    if evidence:
        write_evidence(folder, evidence)
    claims = json.loads((Path(folder) / "claims.json").read_text(encoding="utf-8"))
    if as_json:
        print(json.dumps({"report": str(page), "claims": claims}, indent=1))
    else:
        if not quiet:
            print_claims(claims)
        print(f"report: {page}")


def print_claims(claims: list[dict[str, Any]]) -> None:
    """The claims as a table on standard output."""
    from separatrix.report import summary_rows

    table = Table(box=None, pad_edge=False)
    table.add_column("claim", overflow="fold", min_width=24)
    table.add_column("verdict", no_wrap=True)
    table.add_column("evidence (95 % interval)", overflow="fold", ratio=1)
    table.add_column("conditions", overflow="fold")
    for row in summary_rows(claims):
        verdict = Text(row["verdict"], style=COLOURS.get(row["verdict"], ""))
        table.add_row(Text(row["id"]), verdict, Text(row["effect"]), Text(row["conditions"]))
    terminal().print(table)


def print_plan(plans: dict[str, Plan], as_json: bool) -> None:
    """The plan of every study on standard output."""
    if as_json:
        print(json.dumps({name: plan.describe() for name, plan in plans.items()}, indent=1))
        return
    table = Table(box=None, pad_edge=False)
    for column in (
        "study",
        "device",
        "workers",
        "trials",
        "programs",
        "GFLOP",
        "memory per worker",
        "time (estimate)",
    ):
        table.add_column(column, justify="left" if column in ("study", "device") else "right")
    for name, plan in plans.items():
        time = f"{'at most ' if plan.at_most else ''}{human_seconds(plan.seconds)}"
        table.add_row(
            *(
                name,
                plan.device.platform,
                str(plan.device.workers),
                str(plan.trials),
                str(plan.programs),
            ),
            *(f"{plan.flops / 1e9:.1f}", human_bytes(plan.bytes), time),
        )
    terminal().print(table)
    for sentence in _about(list(plans.values())):
        print(sentence)


def _about(plans: list[Plan]) -> list[str]:
    """What a reader of estimates should know about them."""
    said = ["estimates are for an empty compilation cache"]
    if len(plans) > 1:
        whole = sum(plan.busy for plan in plans) + max(
            plan.device.cost_model.per_run for plan in plans
        )
        said.append(f"together, started once: {human_seconds(whole)}")
    if any(plan.at_most for plan in plans):
        said.append("at most: trials may stop before their last step")
    measured = all(plan.device.cost_model.measured for plan in plans)
    said.append(
        "calibrated on this machine"
        if measured
        else "not calibrated: `separatrix doctor --calibrate` measures this machine"
    )
    return said
