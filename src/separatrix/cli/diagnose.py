"""`separatrix diagnose`: would locality and weight sharing pay on these data?"""

import json as json_
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer


def diagnose(
    data: Annotated[
        str,
        typer.Argument(
            help="A file (.npz, .npy, .csv, .parquet, idx), a folder of pictures, or a name such as mnist. [default: digits]"
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
            help="How long to work, as in 60s or 2m; more time tightens the intervals.",
        ),
    ] = "55s",
    seed: Annotated[
        int,
        typer.Option(
            "--seed", min=0, max=10**6, help="Another seed gives other splits and networks."
        ),
    ] = 0,
    field: Annotated[
        int, typer.Option("--field", min=0, help="Side of the windows; 0 tries several.")
    ] = 0,
    margin: Annotated[
        float,
        typer.Option("--margin", help="The smallest gain that counts, in points of a hundred."),
    ] = 1.0,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where results go; the same folder resumes. [default: results/diagnose-DATA]",
        ),
    ] = "",
    export: Annotated[
        str,
        typer.Option(
            "--export", metavar="FILE", help="Write the recommended network as Equinox code."
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print the diagnosis as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
    workers: Annotated[
        int, typer.Option("--workers", min=-1, help="Threads; -1 is one a core.")
    ] = -1,
) -> None:
    """Say whether local windows and shared weights would pay on labelled data, with intervals and
    reasons.
    """
    import time

    begin = time.monotonic()
    from separatrix.cli.commands import progress_bar, seconds_from
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

    check_number("diagnose", "margin", margin, 0, 100, open_low=True)  # in points, as it was given
    settings = Settings(
        seed=seed, budget=seconds_from(budget) or 55.0, field=field or None, margin=margin / 100
    )
    _writable(export)
    rows = read_labelled(data, label=label or None)
    if field:  # what cannot work should fail before anything is written
        sight(rows.shape, field)
    folder = Path(out or f"results/diagnose-{_slug(Path(data).stem or 'data')}")
    command = shlex.join(["separatrix", *sys.argv[1:]])
    with (
        progress_bar(quiet or json) as show,
        Lab(folder, None if workers < 0 else workers, progress=show, command=command) as lab,
    ):
        bench = Bench(rows, settings, lab, begin)
        found = conclude(bench)
        write_outcome(bench, found, command)
    page = write_report(folder)
    if export:
        with explain_os_errors(f"write {export}"):
            Path(export).write_text(export_code(bench, found), encoding="utf-8")
    if json:
        print(json_.dumps(found.plain(), indent=1, ensure_ascii=False, allow_nan=False))
        return
    for line in summary(found):
        print(line)
    if export:
        print(f"network: {export}")
    print(f"report: {page}")


def summary(found: Any) -> list[str]:
    """A diagnosis in at most 13 lines.

    >>> from separatrix.diagnosis import Diagnosis, Gain
    >>> none = Gain("locality", "a", "b", None, (), "cannot tell")
    >>> about = {"rows": 9, "shape": [3], "ladder": [4], "unit": "accuracy", "runs": 0, "seconds": 0.1, "margin": 0.015}
    >>> summary(Diagnosis("x", "cannot tell", ("no time",), none, none, None, 3, {}, {}, {}, {}, about, ()))[0]
    'x: cannot tell'
    """
    from separatrix.diagnosis.explain import points

    about = found.about
    lines = [f"{found.name}: {found.verdict}"]
    lines += [f"  {reason}" for reason in found.reasons[:5]]
    if found.labels_saved is not None:
        saved = found.labels_saved
        lines.append(
            f"labels saved, {saved.network} against {saved.against} at {100 * saved.target:.1f} %: {saved} times fewer"
        )
    top = {
        arm: points(curve[-1][1])
        for arm, curve in found.accuracy.items()
        if curve and "," not in arm
    }
    if top:
        lines.append(
            f"{about['unit']} in % at {about['ladder'][-1]} labels: "
            + ", ".join(f"{arm} {text}" for arm, text in top.items())
        )
    if found.baselines:
        lines.append(
            "baselines: "
            + ", ".join(f"{name} {100 * i.estimate:.1f}" for name, i in found.baselines.items())
        )
    lines.append(
        f"receptive field {found.receptive_field} of {tuple(found.fields) or 'one'}; {about['runs']} runs in {about['seconds']:g} s; 95 % intervals"
    )
    if explained := found.explanations.line():
        lines.append(explained)
    lines += [
        f"{note.severity}: {note.message}" for note in found.notes if note.severity != "info"
    ][:2]
    return lines


def _writable(export: str) -> None:
    """A minute of work should not end with a file that cannot be written."""
    from separatrix.errors import SeparatrixError

    if export and not Path(export).parent.is_dir():
        raise SeparatrixError(f"cannot write {export}: there is no folder {Path(export).parent}")
    if export and Path(export).is_dir():
        raise SeparatrixError(f"cannot write {export}: it is a folder; name a file such as net.py")


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)[:60].strip(".-") or "data"
