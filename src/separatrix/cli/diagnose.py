"""`separatrix diagnose`: would locality and weight sharing pay on a data set, and what to do?"""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from separatrix.cli.options import Json, Quiet, Seed, one_of


def diagnose(
    data: Annotated[
        str,
        typer.Argument(
            help="A file (.npz, .npy, .csv, .parquet, idx), a folder of images, or a name such as "
            "mnist."
        ),
    ] = "digits",
    label: Annotated[
        str, typer.Option("--label", metavar="COLUMN", help="The column that holds the labels.")
    ] = "",
    group: Annotated[
        str,
        typer.Option(
            "--group",
            metavar="COLUMN",
            help="The column (subject, session) whose rows stay on one side of a split.",
        ),
    ] = "",
    split: Annotated[
        str,
        typer.Option("--split", metavar="COLUMN", help="The column that says train or test."),
    ] = "",
    ordered: Annotated[
        bool,
        typer.Option("--ordered", help="Rows are in the order of time: test on the last quarter."),
    ] = False,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="COLUMN", help="Leave a column out (again for others)."),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            help="What rows are.",
            **one_of("auto", "signal", "image", "table"),
        ),
    ] = "auto",
    shape: Annotated[
        str, typer.Option("--shape", metavar="H,W", help="The shape of one row, as in 28,28.")
    ] = "",
    task: Annotated[
        str,
        typer.Option(
            "--task",
            help="What labels are.",
            **one_of("auto", "classification", "regression"),
        ),
    ] = "auto",
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            help="The score; auto: what suits the labels.",
            **one_of("auto", "accuracy", "balanced-accuracy", "auc", "average-precision", "r2"),
        ),
    ] = "auto",
    target: Annotated[
        float,
        typer.Option(
            "--target", metavar="SCORE", help="How many labels does each model need for this?"
        ),
    ] = 0.0,
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="The time to use, as in 60s or 8m; more time makes the answer surer.",
        ),
    ] = "55s",
    seed: Seed = 0,
    field: Annotated[
        int, typer.Option("--field", min=0, help="Side of the windows; 0 tries several.")
    ] = 0,
    margin: Annotated[
        float,
        typer.Option("--margin", help="The smallest gain that counts, in percentage points."),
    ] = 1.0,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="CODE", help="Leave out notes of a code."),
    ] = None,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="DIR",
            help="The folder for results; the same folder resumes. "
            "[default: results/diagnose-DATA]",
        ),
    ] = "",
    export: Annotated[
        str,
        typer.Option(
            "--export", metavar="FILE", help="Write the recommended network here, as code."
        ),
    ] = "",
    framework: Annotated[
        str,
        typer.Option(
            "--framework", help="The framework of --export.", **one_of("equinox", "torch")
        ),
    ] = "equinox",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be used and how long it takes.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    workers: Annotated[
        int, typer.Option("--workers", min=-1, help="Number of threads; -1 uses one per core.")
    ] = -1,
) -> None:
    """Say whether local windows and shared weights pay on labelled data, and what to do."""
    import time

    begin = time.monotonic()
    from separatrix.cli.options import seconds_from
    from separatrix.cli.output import print_json, progress_bar
    from separatrix.data.handed import described, labelled_from
    from separatrix.diagnosis.api import conclude, in_order, splitting_of
    from separatrix.diagnosis.codes import check_codes
    from separatrix.diagnosis.export import WORDS
    from separatrix.diagnosis.rounds import Bench, estimate
    from separatrix.diagnosis.settings import Settings
    from separatrix.engine import Lab
    from separatrix.errors import check_choice, check_number
    from separatrix.units import human_seconds

    check_number("diagnose", "margin", margin, 0, 100, open_low=True)  # in percentage points
    check_number("diagnose", "target", target, 0, 1)
    check_choice("export", "framework", framework, tuple(WORDS))
    settings = Settings(
        seed=seed,
        budget=seconds_from(budget) or 55.0,
        field=field or None,
        margin=margin / 100,
        metric=metric,
    )
    ignored = check_codes(tuple(ignore or ()))
    _check_export(export)
    rows = labelled_from(
        data,
        label=label or None,
        groups=group or None,
        split=split or None,
        drop=tuple(drop or ()),
        kind=kind,
        shape=_shape(shape),
        task=task,
    )
    rows = in_order(rows) if ordered else rows
    if not quiet and not json:
        print(described(rows), file=sys.stderr)
    folder = Path(out or f"results/diagnose-{_slug(Path(data).stem or 'data')}")
    command = shlex.join(["separatrix", *sys.argv[1:]])
    threads = None if workers < 0 else workers
    if dry_run:
        bench = Bench(rows, splitting_of(rows), settings, Lab(workers=threads), begin)
        count, seconds = estimate(bench)
        seconds, labels = min(seconds, settings.budget), bench.sizes.labels
        if json:
            plan = {"using": described(rows), "trainings": count, "labels": list(labels)}
            print_json({**plan, "seconds": round(seconds, 1)})
            return
        for note in rows.notes:
            if note.severity == "warning" and note.code not in ignored:
                print(f"warning: {note.message}")
        print(
            f"{count} trainings at {labels[-1]} labels or fewer until the first answer, about "
            f"{human_seconds(seconds)}"
        )
        return
    with (
        progress_bar(quiet or json) as show,
        Lab(folder, threads, settings.budget, show or False, command) as lab,
    ):
        bench = Bench(rows, splitting_of(rows), settings, lab, begin)
        found = conclude(bench, target or None, ignored)
        page = found.report(folder)
        lab.write_manifest()
    if export:
        found.export(framework, export)
    if json:
        print_json(found.plain())
        return
    for line in found.lines():
        print(line)
    if export:
        print(f"network: {export}")
    print(f"page: {page}")


def _shape(text: str) -> tuple[int, ...] | None:
    """The shape of one row from text such as 28,28."""
    from separatrix.errors import ParameterError

    if not text:
        return None
    parts = text.replace("x", ",").split(",")
    if not all(part.strip().isascii() and part.strip().isdigit() for part in parts):
        raise ParameterError("diagnose", "shape", "whole numbers such as 28,28", text)
    return tuple(int(part) for part in parts)


def _check_export(export: str) -> None:
    """Refuse a file that could not be written after a minute of work."""
    from separatrix.errors import SeparatrixError

    if export and not Path(export).parent.is_dir():
        raise SeparatrixError(f"cannot write {export}: there is no folder {Path(export).parent}")
    if export and Path(export).is_dir():
        raise SeparatrixError(f"cannot write {export}: it is a folder; name a file such as net.py")


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)[:60].strip(".-") or "data"
