"""`separatrix verify`: every study, on one seed or several, or from kept rows."""

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli.options import RunOptions, seconds_from, takes
from separatrix.cli.run import cluster_of, run_studies, seconds_for_trials
from separatrix.errors import SeparatrixError

if TYPE_CHECKING:
    from separatrix.studies.side_by_side import Ended


@takes(RunOptions)
def verify(
    seeds: Annotated[
        str,
        typer.Option(
            "--seeds",
            metavar="A,B,C",
            help="Run once per seed and pool: a verdict is unanimous, or undecided.",
        ),
    ] = "",
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="DIR",
            help="Recompute verdicts, tables and figures from kept rows; train nothing.",
        ),
    ] = "",
    side_by_side: Annotated[
        int,
        typer.Option(
            "--side-by-side",
            metavar="N",
            min=0,
            max=64,
            help="Run N studies at a time, in processes of their own; 0 runs three on a GPU and "
            "one on other machines.",
        ),
    ] = 0,
    only: Annotated[
        str,
        typer.Option(
            "--only",
            metavar="A,B",
            help="Run these studies instead of all of them, into the same folder of results; with "
            "--from, recompute these.",
        ),
    ] = "",
    *,
    options: RunOptions,
) -> None:
    """Run every study and print the verdict on every claim."""
    names = studies_named(only)
    if source:
        verify_from(source, names if only else None, options)
    elif seeds:
        verify_seeds(seeds, names, studies_at_a_time(side_by_side, options), options)
    elif (count := studies_at_a_time(side_by_side, options)) > 1:
        verify_beside(names, count, options)
    else:
        run_studies(names, "verify", options)


def studies_named(only: str) -> list[str]:
    """The names of all studies, or of those that are asked for, in the order of all studies.

    Raises:
        UnknownNameError: there is no study of a name.

    >>> studies_named("signal-map, signal")
    ['signal', 'signal-map']
    """
    from separatrix.errors import UnknownNameError
    from separatrix.studies import STUDIES

    asked = [name.strip() for name in only.split(",")] if only else []
    for name in asked:
        if name not in STUDIES:
            raise UnknownNameError("study", name, STUDIES)
    return [name for name in STUDIES if name in asked or not asked]


def studies_at_a_time(asked: int, options: RunOptions) -> int:
    """How many studies run at a time.

    Raises:
        SeparatrixError: several were asked for, with options that run one after the other.

    >>> studies_at_a_time(2, RunOptions()), studies_at_a_time(0, RunOptions(dry_run=True))
    (2, 1)
    """
    from separatrix.studies.side_by_side import default_count

    one_by_one = options.shard or options.dry_run or options.engine != "local"
    if asked > 1 and one_by_one:
        raise SeparatrixError(
            "--side-by-side runs whole studies on this machine: leave --shard, --dry-run and "
            "--engine out"
        )
    return 1 if one_by_one else asked or default_count()


def verify_from(source: str, only: list[str] | None, options: RunOptions) -> None:
    """Print the verdicts that kept rows give, and what is missing or differs."""
    from separatrix.cli.output import print_claims, print_json, terminal
    from separatrix.report import with_kept
    from separatrix.report.kept_files import rebuild

    rebuilt = rebuild(Path(source), only)
    verdicts = rebuilt.verdicts
    if options.json:
        print_json(with_kept(verdicts.claims))
    else:
        print_claims(verdicts.claims, options.every)
    if options.quiet:
        return
    console = terminal(stderr=True)
    for run_name, words in verdicts.missing.items():
        console.print(f"{run_name}: {words}")
    for claim in verdicts.changed:
        console.print(f"{claim}: the verdict is not the kept one")
    for file in rebuilt.different:
        console.print(f"{file}: not the kept one, byte for byte")
    if rebuilt.same:
        files = "file is" if rebuilt.same == 1 else "tables and figures are"
        console.print(f"{rebuilt.same} kept {files} the same, byte for byte")


def verify_beside(names: list[str], count: int, options: RunOptions) -> None:
    """Run studies side by side, write results and report, print the verdicts."""
    from separatrix.cli.output import terminal

    folder = Path(options.out or f"results/verify-{options.scale}")
    ended = _beside(names, options.seed, folder, count, options, _deadline(options))
    _print_report(folder, ended.claims, options)
    if not options.quiet:
        counts = f"{ended.tally.trials} trials run, {ended.tally.programs} programs compiled"
        terminal(stderr=True).print(counts + _rest(ended))
    if ended.failures:
        raise SeparatrixError("; ".join(ended.failures.values()))


def _rest(ended: "Ended") -> str:
    """What a run side by side left for the next one, in words."""
    if ended.waiting:
        names = ", ".join(ended.waiting)
        return f"; the budget ended before {names}: run the same command again to go on"
    if ended.complete or ended.failures:
        return ""
    return "; the budget ended first: run the same command again to resume"


def _deadline(options: RunOptions) -> float | None:
    """When trials must end, by the monotonic clock."""
    budget = seconds_for_trials(seconds_from(options.budget))
    return None if budget is None else time.monotonic() + budget


def _beside(
    names: list[str],
    seed: int,
    folder: Path,
    count: int,
    options: RunOptions,
    deadline: float | None,
) -> "Ended":
    from separatrix.cli.output import progress_bar, terminal
    from separatrix.studies.side_by_side import StudiesRun, run_side_by_side

    run = StudiesRun(
        names=names,
        scale=options.scale,
        seed=seed,
        folder=folder,
        changes=options.changes,
        workers=None if options.workers < 0 else options.workers,
        budget=None if deadline is None else max(0.0, deadline - time.monotonic()),
        command=shlex.join(["separatrix", *sys.argv[1:]]),
    )
    quiet, console = options.quiet or options.json, terminal(stderr=True)
    begin = time.monotonic()
    with progress_bar(quiet) as show:

        def told(study: str, what: str, done: int, total: int) -> None:
            if what in ("begins", "ends", "fails"):
                if not quiet and show is None:  # a terminal has bars
                    console.print(f"{time.monotonic() - begin:6.0f} s  {study} {what}")
            elif show is not None:
                show(study, done, total)

        return run_side_by_side(run, count, told)


def verify_seeds(seeds: str, names: list[str], count: int, options: RunOptions) -> None:
    """Run studies once per seed, pool the verdicts, write and print them."""
    from separatrix.cli.output import progress_bar
    from separatrix.engine import Lab
    from separatrix.studies import jobs, run_jobs
    from separatrix.studies.replication import read_seeds, run_seeds

    if options.shard or options.dry_run:
        raise SeparatrixError("--seeds runs whole runs: leave --shard and --dry-run out")
    folder = Path(options.out or f"results/verify-{options.scale}-seeds")
    wanted = read_seeds(seeds)
    command = shlex.join(["separatrix", *sys.argv[1:]])
    failures: dict[str, str] = {}
    deadline = _deadline(options)

    def beside(place: Path, seed: int) -> list[dict[str, Any]]:
        ended = _beside(names, seed, place, count, options, deadline)
        failures.update({f"{name}, seed {seed}": text for name, text in ended.failures.items()})
        return ended.claims

    if count > 1:
        claims = run_seeds(wanted, folder, beside)
    else:
        workers = None if options.workers < 0 else options.workers
        cluster = cluster_of(options)
        with progress_bar(options.quiet or options.json) as show:

            def in_turn(place: Path, seed: int) -> list[dict[str, Any]]:
                settings = {"scale": options.scale, "seed": seed, "changes": options.changes}
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                with Lab(place, workers, left, show or False, command, settings, cluster) as lab:
                    run = jobs(names, options.scale, seed, options.changes)
                    return run_jobs(run, lab, options.scale, seed, command)

            claims = run_seeds(wanted, folder, in_turn)
    _print_report(folder, claims, options)
    if failures:
        raise SeparatrixError("; ".join(failures.values()))


def _print_report(folder: Path, claims: list[dict[str, Any]], options: RunOptions) -> None:
    from separatrix.cli.output import print_claims, print_json
    from separatrix.report import with_kept, write_report

    page = write_report(folder)
    if options.json:
        print_json(with_kept(claims))
    else:
        print_claims(claims, options.every)
        print(f"report: {page}")
