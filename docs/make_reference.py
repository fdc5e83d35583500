"""The generated parts of the reference: commands, settings, columns, the schema of claims.json."""

import dataclasses
import inspect
import json
import re
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
SCHEMA = DOCS / "reference" / "claims.schema.json"
PARTS_OF_A_TRIAL = ("task", "network", "learner", "measure", "initial", "stop")
TYPES = {int: "integer", float: "number", str: "text", bool: "true or false"}


def plain(text: str) -> str:
    """Text escaped for Markdown, also in tables."""
    return "".join(
        f"&#{ord(letter)};" if letter in "\\`*_{}[]|<>&#~^" else letter for letter in text
    ).replace("\n", " ")


def prose(text: str) -> str:
    """A docstring's words in one line for a table; code in backticks stays code."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(
        part.replace("|", "\\|") if part.startswith("`") else plain(part) for part in parts
    )


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# Commands.


def commands(_: str | None = None) -> str:
    """Every command with its arguments and options, from the help that it prints itself."""
    import typer
    from typer.main import get_command

    from separatrix.cli.main import app

    out: list[str] = []

    def describe(command: Any, context: Any, path: str) -> None:
        inner = getattr(command, "commands", None)
        if inner is not None:
            if context.parent is not None:
                out.extend([f"## `{path}`", prose(command.help or "")])
            for name, each in inner.items():
                describe(each, typer.Context(each, context, info_name=name), f"{path} {name}")
            return
        usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
        level = "##" if path.count(" ") == 1 else "###"
        out.extend([f"{level} `{path}`", prose(command.help or ""), f"```text\n{usage}\n```"])
        records = [each.get_help_record(context) for each in command.params]
        rows = [(f"`{record[0]}`", prose(record[1])) for record in records if record is not None]
        if rows:
            out.append(table(("argument or option", "what it does"), rows))

    command = get_command(app)
    describe(command, typer.Context(command, info_name="separatrix"), "separatrix")
    return "\n\n".join(out)


# Settings.


def settings(_: str | None = None) -> str:
    """Every study's settings with their types, bounds and values at the three scales."""
    from separatrix.studies import STUDIES
    from separatrix.studies.settings import SCALES

    out: list[str] = []
    for study in STUDIES.values():
        scales = [study.scales[scale] for scale in SCALES]
        rows = [
            (f"`{'.'.join(path)}`", kind, *(value(_at(one, path)) for one in scales))
            for path, kind in _fields(type(scales[0]))
            if path != ("seed",)
        ]
        out += [f"## `{study.name}`", *_words(type(scales[0]))]
        out.append(table(("setting", "type", *SCALES), rows))
    return "\n\n".join(out)


def _words(kind: type, path: str = "") -> list[str]:
    """The docstrings of settings and of their parts, without examples."""
    text = inspect.getdoc(kind) or ""
    paragraphs = [text for text in text.split("\n\n") if not text.startswith(">>>")]
    joined = " ".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    out = [f"`{path}`: {joined}" if path else joined]
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(typing.cast(Any, kind)):
        if dataclasses.is_dataclass(hints[field.name]):
            out += _words(hints[field.name], f"{path}.{field.name}" if path else field.name)
    return out


def _fields(kind: type, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    hints, out = typing.get_type_hints(kind), []
    for field in dataclasses.fields(typing.cast(Any, kind)):
        hint, here = hints[field.name], (*path, field.name)
        if dataclasses.is_dataclass(hint):
            out += _fields(typing.cast(type, hint), here)
        else:
            out.append((here, _kind(hint, field.metadata)))
    return out


def _kind(hint: Any, bounds: Any) -> str:
    element = typing.get_args(hint)[0] if typing.get_origin(hint) is tuple else None
    name = TYPES.get(element or hint, "value")
    words = f"{name}s" if element in (int, float, str) else name
    if bounds.get("among") is not None:
        return f"{words} among {', '.join(f'`{choice}`' for choice in bounds['among'])}"
    low, high, sign = bounds.get("low"), bounds.get("high"), ">" if bounds.get("open_low") else "≥"
    limits = [f"{sign} {low:g}"] if low is not None else []
    limits += [f"≤ {high:g}"] if high is not None else []
    return f"{words} {' and '.join(limits)}".strip()


def _at(settings: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        settings = getattr(settings, name)
    return settings


def value(item: Any) -> str:
    """A setting's value as `--set` takes it."""
    if isinstance(item, tuple):
        return ", ".join(map(value, item)) or "none"
    if isinstance(item, bool):
        return str(item).lower()
    return plain(str(item)) or "none"


# Columns.

RESULTS = (
    ("trial", "the trial's identity: a hash of everything that it is"),
    ("status", "how training ended"),
    ("steps", "the steps that it took"),
    ("edge_step", "the step at which sharpness reached 2/η; where `sharpness` is measured"),
    ("clipped_steps", "on how many steps clipping acted; where the learner clips"),
    ("clipped_last", "the last such step"),
    ("check", "the loss on check rows; where `measure.check_rows` is above 0"),
    ("outcomes.test", "the score of every test row; where `measure.outcomes` is true"),
    ("outcomes.check", "the same for check rows"),
    ("trace.step", "the steps at which the trial was measured"),
    ("trace.NAME", "the measurement `NAME` at each of them"),
    ("run.seconds", "seconds of the trial; the only column that may differ between two runs"),
)


def columns(_: str | None = None) -> str:
    """The columns of a results table: what a trial is, what came out, what was measured."""
    from separatrix import learners, tasks
    from separatrix.engine.trial import Measure, Trial
    from separatrix.networks import Initial, Network
    from separatrix.probes import PROBES

    statuses = ", ".join(f"`{one.label}`" for one in learners.Status if one >= 0)
    results = [
        (f"`{name}`", prose(words + (f": one of {statuses}" if name == "status" else "")))
        for name, words in RESULTS
    ]
    probes = [
        (f"`{name}`", prose(_first(probe.measure)), f"`{probe.needs}`" if probe.needs else "")
        for name, probe in sorted(PROBES.items())
        if probe.measure.__module__.startswith("separatrix.")
    ]
    head = ("column", "what it is")
    out = [
        "## Results",
        table(head, results),
        "## Measurements",
        "A measurement is a column where a trial asks for it (`measure.probes`); `loss` and `risk` "
        "are always measured. One that gives several numbers has several columns, such as "
        "`sharpness` and `sharpness.residual`.",
        table(("column", "what it is", "needs"), probes),
        "## What a trial is",
        "Every field of a specification is a column with a dotted name, such as `task.patches`. "
        "A field that is itself a specification has several: `learner.rate.type` is the class of "
        "a schedule, `learner.rate.level` its level.",
    ]
    kinds = [
        ("", Trial),
        ("measure.", Measure),
        ("network.", Network),
        ("network.initial.", Initial),
    ]
    kinds += [("learner.", learners.Learner), ("learner.stop.", learners.Stop)]
    kinds += [
        ("task.", kind)
        for name in tasks.__all__
        if inspect.isclass(kind := getattr(tasks, name))
        and issubclass(kind, tasks.Task)
        and kind is not tasks.Task
    ]
    for prefix, kind in kinds:
        rows = [(f"`{prefix}{name}`", prose(words)) for name, words in _arguments(kind).items()]
        out += [f"### `{kind.__name__}`", prose(_first(kind)), table(head, rows)]
    return "\n\n".join(out)


def _first(item: Any) -> str:
    """The first paragraph of a docstring."""
    return (inspect.getdoc(item) or "").split("\n\n")[0]


def _arguments(kind: type) -> dict[str, str]:
    """The fields of a class that are plain values, with the words of its docstring's `Args`."""
    text = inspect.getdoc(kind) or ""
    section = re.search(r"^Args:\n(.*?)(?=^\S|\Z)", text, re.DOTALL | re.MULTILINE)
    found = re.findall(
        r"^ +(\w+): (.*?)(?=^ +\w+: |\Z)", section[1] if section else "", re.DOTALL | re.MULTILINE
    )
    words = dict(found)
    names = [field.name for field in dataclasses.fields(typing.cast(Any, kind))]
    return {name: words.get(name, "") for name in names if name not in PARTS_OF_A_TRIAL}


# The schema of claims.json.


def claims_schema(_: str | None = None) -> str:
    """The fields of claims.json, from its schema."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    definitions = schema["$defs"]
    out = [schema["description"]]
    for name, words in (("finding", "A finding"), ("evidence", "A number in `evidence`")):
        part = definitions[name]
        rows = [
            (
                f"`{field}`",
                _json_type(about),
                "yes" if field in part["required"] else "",
                prose(about["description"]),
            )
            for field, about in part["properties"].items()
        ]
        out += [f"## {words}", prose(part["description"])]
        out.append(table(("field", "type", "always there", "what it is"), rows))
    return "\n\n".join(out)


def _json_type(about: dict[str, Any]) -> str:
    if "enum" in about:
        return ", ".join(f"`{choice}`" for choice in about["enum"])
    kinds = about.get("type", "object")
    return " or ".join([kinds] if isinstance(kinds, str) else kinds)


PARTS = {
    "commands": commands,
    "settings": settings,
    "columns": columns,
    "claims-schema": claims_schema,
}
