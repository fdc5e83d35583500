"""`separatrix diagnose`: would locality and weight sharing pay on a data set?"""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.options import Json, Quiet, Seed


def diagnose(
    data: Annotated[
        str,
        typer.Argument(
            help="A file (.npz, .npy, .csv, .parquet, idx), a folder of images, or a name such as "
            "mnist. [default: digits]"
        ),
    ] = "digits",
    label: Annotated[
        str,
        typer.Option(
            "--label", metavar="COLUMN", help="The column of a table that holds the labels."
        ),
    ] = "",
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="The time to use, as in 60s or 2m; more time narrows the intervals.",
        ),
    ] = "55s",
    seed: Seed = 0,
    field: Annotated[
        int, typer.Option("--field", min=0, help="Side of the windows in pixels; 0 tries several.")
    ] = 0,
    margin: Annotated[
        float,
        typer.Option("--margin", help="The smallest gain that counts, in percentage points."),
    ] = 1.0,
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
            "--export", metavar="FILE", help="Write the recommended network here, as Equinox code."
        ),
    ] = "",
    json: Json = False,
    quiet: Quiet = False,
    workers: Annotated[
        int, typer.Option("--workers", min=-1, help="Number of threads; -1 uses one per core.")
    ] = -1,
) -> None:
    """Measure whether local windows and shared weights pay on labelled data, and say why."""
    import time

    begin = time.monotonic()
    from separatrix.cli.options import seconds_from
    from separatrix.cli.output import print_json, progress_bar
    from separatrix.data.labelled import read_labelled
    from separatrix.diagnosis import Settings
    from separatrix.diagnosis.api import conclude
    from separatrix.diagnosis.bench import Bench
    from separatrix.diagnosis.export import export_code
    from separatrix.diagnosis.page import write_outcome
    from separatrix.diagnosis.sights import sight
    from separatrix.engine import Lab
    from separatrix.errors import check_number
    from separatrix.files import explain_os_errors
    from separatrix.report import write_report

    check_number("diagnose", "margin", margin, 0, 100, open_low=True)  # in percentage points
    settings = Settings(
        seed=seed, budget=seconds_from(budget) or 55.0, field=field or None, margin=margin / 100
    )
    _check_export(export)
    rows = read_labelled(data, label=label or None)
    if field:  # a field that does not fit fails here, before anything is written
        sight(rows.shape, field)
    folder = Path(out or f"results/diagnose-{_slug(Path(data).stem or 'data')}")
    command = shlex.join(["separatrix", *sys.argv[1:]])
    with (
        progress_bar(quiet or json) as show,
        Lab(folder, None if workers < 0 else workers, progress=show, command=command) as lab,
    ):
        bench = Bench(rows, settings, lab, begin)
        diagnosis = conclude(bench)
        write_outcome(bench, diagnosis, command)
    page = write_report(folder)
    if export:
        with explain_os_errors(f"write {export}"):
            Path(export).write_text(export_code(bench, diagnosis), encoding="utf-8")
    if json:
        print_json(diagnosis.plain())
        return
    for line in summary(diagnosis):
        print(line)
    if export:
        print(f"network: {export}")
    print(f"report: {page}")


def summary(diagnosis: Any) -> list[str]:
    """A diagnosis in at most 13 lines.

    >>> from separatrix.diagnosis import Diagnosis, Gain
    >>> gain = Gain("locality", "a", "b", None, (), "cannot tell")
    >>> about = {"ladder": [4], "unit": "accuracy", "runs": 0, "seconds": 0.1}
    >>> rest = (gain, gain, None, 3, {}, {}, {}, {}, about, ())
    >>> summary(Diagnosis("x", "cannot tell", ("no time",), *rest))[0]
    'x: cannot tell'
    """
    from separatrix.diagnosis.explain import points

    about = diagnosis.about
    lines = [f"{diagnosis.name}: {diagnosis.verdict}"]
    lines += [f"  {reason}" for reason in diagnosis.reasons[:5]]
    if diagnosis.labels_saved is not None:
        saved = diagnosis.labels_saved
        lines.append(
            f"labels saved, {saved.network} against {saved.against} at "
            f"{100 * saved.target:.1f} %: {saved} times fewer"
        )
    top = {
        arm: points(curve[-1][1])
        for arm, curve in diagnosis.accuracy.items()
        if curve and "," not in arm
    }
    if top:
        lines.append(
            f"{about['unit']} in % at {about['ladder'][-1]} labels: "
            + ", ".join(f"{arm} {text}" for arm, text in top.items())
        )
    if diagnosis.baselines:
        lines.append(
            "baselines: "
            + ", ".join(
                f"{name} {100 * mean.estimate:.1f}" for name, mean in diagnosis.baselines.items()
            )
        )
    lines.append(
        f"receptive field {diagnosis.receptive_field} of {tuple(diagnosis.fields) or 'one'}; "
        f"{about['runs']} runs in {about['seconds']:g} s; 95 % intervals"
    )
    if explanation := diagnosis.explanations.line():
        lines.append(explanation)
    lines += [
        f"{note.severity}: {note.message}" for note in diagnosis.notes if note.severity != "info"
    ][:2]
    return lines


def _check_export(export: str) -> None:
    """Raise before a minute of work if the file of --export cannot be written."""
    from separatrix.errors import SeparatrixError

    if export and not Path(export).parent.is_dir():
        raise SeparatrixError(f"cannot write {export}: there is no folder {Path(export).parent}")
    if export and Path(export).is_dir():
        raise SeparatrixError(f"cannot write {export}: it is a folder; name a file such as net.py")


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)[:60].strip(".-") or "data"
