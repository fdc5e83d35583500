"""`separatrix list`, `explain` and `run`: studies, their plans and their verdicts."""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from separatrix.cli.options import (
    Json,
    RunOptions,
    claims_starting,
    one_of,
    seconds_from,
    studies_starting,
    takes,
)
from separatrix.errors import SeparatrixError, check_choice

if TYPE_CHECKING:
    from separatrix.engine import Cluster, Plan, Shard
    from separatrix.studies import Claim

# Seconds between the end of the last trial's time and the end of the command: a chunk that still
# runs and its program, conclusions, the report. Longer runs have more to conclude from.
ENDING, MOST_ENDING, ENDING_SHARE = 6.0, 40.0, 0.04


def list_studies(
    json: Json = False,
    claims: Annotated[
        bool, typer.Option("--claims", help="List the claims, with kind and study.")
    ] = False,
    paper: Annotated[
        str,
        typer.Option(
            "--paper",
            help="With --claims: those of this paper, or our own.",
            **one_of("malach", "lahoti", "liang", "ours"),
        ),
    ] = "",
) -> None:
    """List the studies and their claims."""
    from separatrix.cli.output import plain_table, print_json, terminal
    from separatrix.studies import STUDIES

    if claims or paper:
        list_claims(paper, json)
        return
    if json:
        studies = [
            {
                "name": study.name,
                "title": study.title,
                "summary": study.summary,
                "claims": [claim_entry(study.name, claim) for claim in study.claims],
            }
            for study in STUDIES.values()
        ]
        print_json(studies)
        return
    table = plain_table("study", "claims", "what it does")
    for study in STUDIES.values():
        table.add_row(study.name, str(len(study.claims)), study.summary)
    terminal().print(table)


def list_claims(paper: str, json: bool) -> None:
    """Print the claims, all or those of one paper."""
    from separatrix.cli.output import plain_table, print_json, terminal
    from separatrix.errors import UnknownNameError
    from separatrix.studies import PAPERS
    from separatrix.studies.registry import all_claims

    if paper and paper not in PAPERS:
        raise UnknownNameError("paper", paper, PAPERS)
    entries = [
        claim_entry(study.name, claim)
        for study, claim in all_claims().values()
        if paper in ("", claim.paper)
    ]
    if json:
        print_json(entries)
        return
    table = plain_table("claim", "kind", "study", "sentence")
    for entry in entries:
        table.add_row(*(entry[key] or "" for key in ("id", "kind", "study", "statement")))
    terminal().print(table)


def claim_entry(study: str, claim: "Claim") -> dict[str, str | None]:
    """A claim as plain values."""
    return {
        "id": claim.id,
        "statement": claim.statement,
        "citation": claim.citation,
        "conditions": claim.conditions,
        "kind": claim.kind.name if claim.kind else None,
        "study": study,
    }


def explain(
    claim: Annotated[
        str,
        typer.Argument(
            metavar="CLAIM",
            help="A claim that `separatrix list --claims` names.",
            autocompletion=claims_starting,
        ),
    ],
    folder: Annotated[
        str,
        typer.Option(
            "--out", metavar="DIR", help="A results folder. [default: the newest in results/]"
        ),
    ] = "",
    evidence: Annotated[
        str, typer.Option("--evidence", metavar="DIR", help="The folder of kept runs.")
    ] = "evidence",
    json: Json = False,
) -> None:
    """Explain a claim: its sentence and source, the rule that decides it, and its verdicts."""
    from separatrix.cli.output import print_json
    from separatrix.report import explain as explain_claim

    explanation = explain_claim(claim, folder or None, evidence)
    if json:
        print_json(explanation.plain())
    else:
        print(explanation)


@takes(RunOptions)
def run(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A study that `separatrix list` names, or a file such as ./mine.py with studies.",
            autocompletion=studies_starting,
        ),
    ],
    options: RunOptions,
) -> None:
    """Run one study."""
    if study.endswith(".py"):
        from separatrix.studies.registry import studies_in

        run_studies(studies_in(study), Path(study).stem, options)
    else:
        run_studies([study], study, options)


def run_studies(names: list[str], title: str, options: RunOptions) -> None:
    """Run studies, write results and report, print the verdicts."""
    from separatrix.cli.output import print_claims, print_json, progress_bar, terminal
    from separatrix.engine import Lab
    from separatrix.studies import jobs, plan_jobs, run_jobs, run_shard

    run = jobs(names, options.scale, options.seed, options.changes)
    folder = Path(options.out or f"results/{title}-{options.scale}")
    budget = seconds_for_trials(seconds_from(options.budget))
    workers = None if options.workers < 0 else options.workers
    cluster, shard = cluster_of(options), shard_of(options)
    command = shlex.join(["separatrix", *sys.argv[1:]])
    if options.dry_run:
        existing = folder if os.path.exists(folder) else None
        print_plans(plan_jobs(run, Lab(existing, workers=workers)), options.json)
        return
    settings = {"scale": options.scale, "seed": options.seed, "changes": options.changes}
    with (
        progress_bar(options.quiet or options.json) as show,
        Lab(folder, workers, budget, show or False, command, settings, cluster, shard) as lab,
    ):
        if shard is not None:
            print_shard(run_shard(run, lab), shard, options.json)
            return
        claims = run_jobs(run, lab, options.scale, options.seed, command)
    # Not earlier: drawing takes a second to import, and worker processes would wait for it.
    from separatrix.report import with_kept, write_report

    page = write_report(folder)
    if options.json:
        print_json(with_kept(claims))
    else:
        print_claims(claims, options.every)
        print(f"report: {page}")
    if options.quiet:
        return
    console = terminal(stderr=True)
    for note in lab.notes:
        console.print(f"{note.severity}: {note.message}")
    counts = f"{lab.tally.trials} trials run, {lab.tally.programs} programs compiled"
    rest = "" if lab.complete else "; the budget ended first: run the same command again to resume"
    console.print(counts + rest)


def cluster_of(options: RunOptions) -> "Cluster | None":
    """The Dask cluster that the options ask for, if any.

    >>> options = RunOptions(engine="dask", scheduler="tls://10.0.0.1:8786")
    >>> cluster_of(options).scheduler
    'tls://10.0.0.1:8786'
    """
    from separatrix.engine import Cluster

    check_choice("a run", "engine", options.engine, ("local", "dask"))
    check_choice("a run", "ledger", options.ledger, ("driver", "shared"))
    if options.engine == "dask":
        return Cluster(
            options.scheduler or None,
            shared=options.ledger == "shared",
            trusted=options.trust_cluster,
        )
    if options.scheduler or options.ledger != "driver" or options.trust_cluster:
        raise SeparatrixError(
            "--scheduler, --trust-cluster and --ledger need --engine dask; add it, or leave them "
            "out"
        )
    return None


def shard_of(options: RunOptions) -> "Shard | None":
    """The share of the trials that the options ask for; None for all trials."""
    from separatrix.engine import Shard

    return Shard.parse(options.shard) if options.shard else None


def seconds_for_trials(budget: float | None) -> float | None:
    """The part of a budget that trials may use.

    The rest is for the last chunk to finish, for conclusions and for the report.

    >>> seconds_for_trials(60.0), seconds_for_trials(4.0), seconds_for_trials(None)
    (54.0, 2.0, None)
    >>> seconds_for_trials(600.0)
    576.0
    """
    if budget is None:
        return None
    return budget - min(max(ENDING, ENDING_SHARE * budget), MOST_ENDING, budget / 2)


def print_shard(missing: dict[str, int], shard: "Shard", as_json: bool) -> None:
    """Print how many trials of each study are missing after a shard has run."""
    from separatrix.cli.output import print_json

    if as_json:
        print_json({"shard": str(shard), "missing": missing})
        return
    for name, count in missing.items():
        if count:
            state = f"{count} trials of other shards are missing"
        else:
            state = "all trials are finished; run the same command without --shard for the verdicts"
        print(f"{name}, shard {shard}: {state}")


def print_plans(plans: "dict[str, Plan]", as_json: bool) -> None:
    """Print the plan of every study."""
    from separatrix.cli.output import plain_table, print_json, terminal
    from separatrix.units import human_bytes, human_seconds

    if as_json:
        print_json({name: plan.describe() for name, plan in plans.items()})
        return
    numbers = ("workers", "trials", "programs", "GFLOP", "memory per worker", "time (estimate)")
    table = plain_table("study", "device", *numbers, right=numbers)
    for name, plan in plans.items():
        table.add_row(
            name,
            plan.device.platform,
            str(plan.device.workers),
            str(plan.trials),
            str(plan.programs),
            f"{plan.flops / 1e9:.1f}",
            human_bytes(plan.bytes),
            f"{'at most ' if plan.at_most else ''}{human_seconds(plan.seconds)}",
        )
    terminal().print(table)
    for sentence in _estimate_notes(plans):
        print(sentence)


def _estimate_notes(by_study: "dict[str, Plan]") -> list[str]:
    """What a reader should know about the estimates."""
    from separatrix.studies import find_study
    from separatrix.units import human_seconds

    plans = list(by_study.values())
    notes = ["the estimates assume an empty compilation cache"]
    beside = {name: find_study(name).beside_trials for name in by_study}
    more = [f"{words} ({name})" for name, words in beside.items() if words]
    if more:
        notes.append(f"the estimates count trials only, and not {', '.join(more)}")
    if len(plans) > 1:
        total = sum(plan.busy for plan in plans) + max(
            plan.device.cost_model.per_run for plan in plans
        )
        notes.append(f"all studies in one run: {human_seconds(total)}")
    if any(plan.at_most for plan in plans):
        notes.append("at most: trials may stop before their last step")
    if all(plan.device.cost_model.measured for plan in plans):
        notes.append("calibrated on this machine")
    else:
        notes.append("not calibrated: `separatrix doctor --calibrate` measures this machine")
    return notes
