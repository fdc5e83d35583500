"""The command line: parse, call, print. Results go to standard output, everything else to standard
error.

Nothing heavy is imported before a command needs it, so that `--help` answers at once.
"""

import os
import sys
from typing import Annotated, Any

import typer

from separatrix import __version__
from separatrix.cli import data
from separatrix.cli.bound import bound
from separatrix.cli.checks import audit, calibrate
from separatrix.cli.compare import compare
from separatrix.cli.diagnose import diagnose
from separatrix.cli.geometry import geometry
from separatrix.cli.serve import serve
from separatrix.cli.watch import watch
from separatrix.errors import SeparatrixError

app = typer.Typer(
    name="separatrix",
    help="Measure where neural architectures part: run studies, get verdicts on the claims of papers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Scale = Annotated[
    str, typer.Option("--scale", help="quick (seconds), laptop (minutes) or full (a GPU).")
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, max=10**6, help="Another seed gives independent data and networks."
    ),
]
Out = Annotated[
    str,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Where results go; the same folder resumes. [default: results/NAME-SCALE]",
    ),
]
Budget = Annotated[
    str,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="How long this may take, as in 90s, 2m or 1h; the last seconds are for the report.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Print the plan (trials, programs, FLOPs, memory, time) and stop."
    ),
]
Set = Annotated[
    list[str],
    typer.Option("--set", metavar="A.B=C", help="Change a setting, as in signal-first.seeds=24."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")]
Workers = Annotated[
    int,
    typer.Option(
        "--workers", min=-1, help="Worker processes; 0 runs in this process, -1 is one a core."
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine", help="local, or dask: a Dask cluster of this machine, or that of --scheduler."
    ),
]
Scheduler = Annotated[
    str,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Of --engine dask: a running scheduler, as tcp://host:8786.",
    ),
]
Keep = Annotated[
    str,
    typer.Option(
        "--ledger",
        help="Of --engine dask: who writes rows, the driver, or workers (shared: they see --out).",
    ),
]
Share = Annotated[
    str,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Run one of N shares of the trials; a run without it merges them.",
    ),
]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"separatrix {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


@app.command("list")
def list_studies(json: Json = False) -> None:
    """List the studies and their claims."""
    from separatrix.cli.commands import list_studies

    list_studies(json)


@app.command()
def run(
    study: str,
    scale: Scale = "quick",
    seed: Seed = 0,
    out: Out = "",
    budget: Budget = "",
    dry_run: DryRun = False,
    set_: Set = [],  # noqa: B006
    json: Json = False,
    quiet: Quiet = False,
    workers: Workers = -1,
    engine: Engine = "local",
    scheduler: Scheduler = "",
    ledger: Keep = "driver",
    shard: Share = "",
) -> None:
    """Run one study."""
    from separatrix.cli.commands import Request, Where, run_request

    where = Where(engine, scheduler, ledger, shard)
    run_request(
        Request(
            [study], study, scale, seed, out, budget, dry_run, set_, json, quiet, workers, where
        )
    )


@app.command()
def verify(
    scale: Scale = "quick",
    seed: Seed = 0,
    out: Out = "",
    budget: Budget = "",
    dry_run: DryRun = False,
    set_: Set = [],  # noqa: B006
    json: Json = False,
    quiet: Quiet = False,
    workers: Workers = -1,
    engine: Engine = "local",
    scheduler: Scheduler = "",
    ledger: Keep = "driver",
    shard: Share = "",
) -> None:
    """Run every study and print the verdict on every claim."""
    from separatrix.cli.commands import Request, Where, run_request

    where = Where(engine, scheduler, ledger, shard)
    run_request(
        Request([], "verify", scale, seed, out, budget, dry_run, set_, json, quiet, workers, where)
    )


@app.command()
def report(
    folder: Annotated[str, typer.Argument(metavar="DIR")],
    evidence: Annotated[
        str,
        typer.Option(
            "--evidence", metavar="FOLDER", help="Also keep verdicts, tables and figures here."
        ),
    ] = "",
    figures: Annotated[
        str,
        typer.Option(
            "--figures",
            metavar="FOLDER",
            help="Also write figures, data and claims.tex for a paper.",
        ),
    ] = "",
    formats: Annotated[
        str, typer.Option("--format", help="Of --figures: some of pdf, svg, png, with commas.")
    ] = "pdf,svg,png",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the report of a results folder anew."""
    from separatrix.cli.commands import rewrite_report

    if figures:
        from separatrix.report import write_figures

        count = len(write_figures(folder, figures, formats))
        if not quiet:
            print(f"{count} files in {figures}", file=sys.stderr)
    rewrite_report(folder, evidence, json, quiet)


app.command()(bound)
app.command()(compare)
app.command()(diagnose)
app.command()(watch)
app.command()(serve)
app.command()(audit)
app.command()(calibrate)
app.command()(geometry)
app.add_typer(data.app)


@app.command()
def doctor(
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Time small trials (about a minute), for the estimates of --dry-run.",
        ),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", min=1, help="Of --calibrate: for so many workers [default: one a core]."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check this installation and machine."""
    from separatrix.cli import doctor

    if calibrate:
        doctor.calibrate(json, workers)
    elif workers is not None:
        raise SeparatrixError(
            "--workers says for how many workers to calibrate: give --calibrate as well"
        )
    else:
        doctor.doctor(json)


def main() -> None:
    """The `separatrix` command: one sentence instead of a traceback, and exit status 0, 1 or 2."""
    try:
        app(prog_name="separatrix")
    except SeparatrixError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        _fail("interrupted")
    except SystemExit as end:
        if end.code == 130:  # what typer makes of Ctrl-C
            _fail("interrupted")
        raise
    except BrokenPipeError:
        # The reader of our output has gone; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
    except Exception as error:
        if os.environ.get("SEPARATRIX_DEBUG"):
            raise
        what = next(iter(str(error).splitlines()), "")
        _fail(
            f"internal error, please report it: {type(error).__name__}: {what} (SEPARATRIX_DEBUG=1 shows where)"
        )


def _fail(sentence: str) -> Any:
    print(f"separatrix: {sentence}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
