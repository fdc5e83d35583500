"""What a manifest tells of the runs behind a report."""

from typing import Any

from separatrix.report.numbers import NOTHING, cell, duration, memory, number

HISTORY = ("started", "command", "trials", "programs", "time", "whole", "separatrix")


def facts_of(run: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The facts of one run, as names and texts; what the manifest does not tell is left out.

    >>> facts_of({"device": "x86_64", "workers": 2, "wall_seconds": 75.2, "versions": {"jax": "0.10"}})
    (('device', 'x86_64, 2 workers'), ('whole time', '1 min 15 s'), ('versions', 'jax 0.10'))
    """
    workers = _number(run.get("workers"))
    device = cell(run.get("device"))
    if workers:
        device += f", {number(workers)} {'worker' if workers == 1 else 'workers'}"
    versions = run.get("versions")
    facts = [
        ("command", cell(run.get("command") or None)),
        ("started", cell(run.get("started"))),
        ("device", device),
        ("platform", cell(run.get("platform"))),
        ("precision", cell(run.get("precision"))),
        ("flags", cell(run.get("flags") or None)),
        ("trials run", number(_number(run.get("trials_run")))),
        ("whole time", duration(_number(run.get("wall_seconds")))),
        ("time compiling", duration(_number(run.get("compile_seconds")))),
        ("time in compiled programs", duration(_number(run.get("run_seconds")))),
        ("programs compiled", number(_number(run.get("programs_compiled")))),
        ("programs with kernels", number(_number(run.get("programs_with_kernels")) or None)),
        ("peak memory", memory(_number(run.get("peak_memory_bytes")))),
        ("finished all trials", cell(run.get("complete"))),
        (
            "versions",
            ", ".join(f"{name} {cell(each)}" for name, each in versions.items())
            if isinstance(versions, dict)
            else NOTHING,
        ),
        ("commit", cell(run.get("commit") or None)),
    ]
    notes = run.get("notes")
    told = [note for note in notes if isinstance(note, dict)] if isinstance(notes, list) else []
    facts += [(cell(note.get("severity")), cell(note.get("message"))) for note in told]
    return tuple((name, text) for name, text in facts if text != NOTHING)


def history_of(runs: list[dict[str, Any]]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """The columns and rows of a table of all runs.

    >>> history_of([{"command": "separatrix verify", "trials_run": 36}])[1][0][1:3]
    ('separatrix verify', 36)
    """
    rows = [
        (
            run.get("started"),
            run.get("command"),
            _number(run.get("trials_run")),
            _number(run.get("programs_compiled")),
            duration(_number(run.get("wall_seconds"))),
            run.get("complete"),
            (run.get("versions") or {}).get("separatrix")
            if isinstance(run.get("versions"), dict)
            else None,
        )
        for run in runs
    ]
    return HISTORY, rows


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
