"""Options that several commands share."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, get_type_hints

import typer

from separatrix.errors import SeparatrixError

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
All = Annotated[bool, typer.Option("--all", help="Print every claim, not only what matters most.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no notes.")]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, max=10**6, help="Another seed gives independent data and networks."
    ),
]
Folder = Annotated[str, typer.Argument(metavar="DIR", help="The --out folder of the run.")]


def one_of(*names: str) -> dict[str, Any]:
    """Keywords of an option with fixed choices: help shows them and the shell completes them.

    >>> choice = one_of("local", "dask")
    >>> choice["metavar"], choice["autocompletion"]("d")
    ('[local|dask]', ['dask'])
    """
    return {"metavar": f"[{'|'.join(names)}]", "autocompletion": starting(names)}


def starting(names: Iterable[str]) -> Callable[[str], list[str]]:
    """A completer for the shell: those of the names that begin with what was typed."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


def studies_starting(incomplete: str) -> list[str]:
    """The studies whose names begin with what was typed."""
    from separatrix.studies.registry import STUDIES

    return starting(STUDIES)(incomplete)


def claims_starting(incomplete: str) -> list[str]:
    """The claims whose names begin with what was typed."""
    from separatrix.studies.registry import all_claims

    return starting(all_claims())(incomplete)


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """The options of `run` and `verify`, with their defaults."""

    scale: Annotated[
        str,
        typer.Option(
            "--scale",
            help="How much to run: seconds to minutes, minutes to an hour, or hours on a GPU.",
            **one_of("quick", "laptop", "full"),
        ),
    ] = "quick"
    seed: Seed = 0
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="DIR",
            help="The folder for results; the same folder resumes. [default: results/NAME-SCALE]",
        ),
    ] = ""
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Stop after this time (90s, 2m or 1h); its last seconds are for the report.",
        ),
    ] = ""
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the plan (trials, programs, FLOPs, memory, time) and stop."
        ),
    ] = False
    changes: Annotated[
        list[str],
        typer.Option(
            "--set", metavar="A.B=C", help="Change a setting, as in signal-first.seeds=24."
        ),
    ] = dataclasses.field(default_factory=list)
    json: Json = False
    every: All = False
    quiet: Quiet = False
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            min=-1,
            help="Number of worker processes; 0 runs in this process, -1 uses one per core.",
        ),
    ] = -1
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            help="Where trials run: on this machine, or on a Dask cluster (on this machine, or the "
            "one of --scheduler).",
            **one_of("local", "dask"),
        ),
    ] = "local"
    scheduler: Annotated[
        str,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="With --engine dask: a running scheduler, as in tls://host:8786.",
        ),
    ] = ""
    trust_cluster: Annotated[
        bool,
        typer.Option(
            "--trust-cluster",
            help="With --scheduler: allow an address without tls://; everybody who can reach it "
            "can run code on its workers.",
        ),
    ] = False
    ledger: Annotated[
        str,
        typer.Option(
            "--ledger",
            help="With --engine dask: who writes results, this process or every worker (which "
            "needs a shared --out folder).",
            **one_of("driver", "shared"),
        ),
    ] = "driver"
    shard: Annotated[
        str,
        typer.Option(
            "--shard",
            metavar="I/N",
            help="Run one of N shares of the trials; a run without --shard merges them.",
        ),
    ] = ""


def takes(options: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of a dataclass as its options.

    The command's last parameter is an instance of the dataclass; for typer, the fields stand in
    its place.

    >>> @takes(RunOptions)
    ... def command(study: str, options: RunOptions) -> None: ...
    >>> list(inspect.signature(command).parameters)[:3]
    ['study', 'scale', 'seed']
    """
    fields = dataclasses.fields(options)
    hints = get_type_hints(options, include_extras=True)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[:-1]

        def wrapper(**values: Any) -> None:
            arguments = [values.pop(parameter.name) for parameter in own]
            command(*arguments, options=options(**values))

        parameters = own + [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default
                if field.default is not dataclasses.MISSING
                else field.default_factory(),  # pyright: ignore[reportCallIssue]
                annotation=hints[field.name],
            )
            for field in fields
        ]
        wrapper.__name__, wrapper.__doc__ = command.__name__, command.__doc__
        wrapper.__annotations__ = {one.name: one.annotation for one in parameters}
        setattr(wrapper, "__signature__", inspect.Signature(parameters))  # noqa: B010
        return wrapper

    return decorate


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
