"""`separatrix watch`: a run going on, seen from another terminal."""

import json as json_
import time
from typing import Annotated, Any

import typer

MOST = 12  # effects of finished studies
MOST_SEARCHES = 24  # thresholds; those whose search goes on come first


def watch(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The --out folder of the run.")],
    once: Annotated[bool, typer.Option("--once", help="Print what there is and stop.")] = False,
    every: Annotated[
        float, typer.Option("--every", min=0.2, max=3600.0, help="Seconds between two looks.")
    ] = 2.0,
    json: Annotated[bool, typer.Option("--json", help="Print one look as JSON and stop.")] = False,
) -> None:
    """Show the progress of a run: trials, rates, verdicts and effects as they come.

    Reads only; Ctrl-C ends it.
    """
    from rich.live import Live

    from separatrix.cli.commands import terminal
    from separatrix.report.live import Watcher

    watcher = Watcher(folder)
    if json:
        print(json_.dumps(watcher.look().plain(), indent=1, ensure_ascii=False))
        return
    console = terminal()
    if once or not console.is_terminal:
        console.print(_view(watcher.look(), folder))
        return
    with Live(_view(watcher.look(), folder), console=console, auto_refresh=False) as live:
        try:
            while True:
                time.sleep(every)
                live.update(_view(watcher.look(), folder), refresh=True)
        except KeyboardInterrupt:
            return


def _view(seen: Any, folder: str) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from separatrix.cli.commands import COLOURS
    from separatrix.report.numbers import duration, number

    idle = "no chunk yet" if seen.idle is None else f"last chunk {duration(seen.idle)} ago"
    lines: list[Any] = [
        Text(
            f"{folder}: {number(seen.trials)} trials in {number(len(seen.parts))} chunks, {seen.rate:.1f} a second, {idle}"
        ),
        Text(
            f"{number(seen.calculations)} other calculations; runs of this folder that have ended: {number(len(seen.runs))}"
        ),
    ]
    if seen.unreadable:
        lines.append(
            Text(
                f"{seen.unreadable} chunks cannot be read; the next run computes them anew",
                style="yellow",
            )
        )
    going = seen.progress
    if not going.ended and going.study:
        sweep = (
            f": {going.what}, {number(going.done)} of {number(going.total)} trials"
            if going.what
            else ""
        )
        lines.append(Text(f"now {going.study}{sweep}"))
    if going.searches:
        lines += [Text(""), _searches(going.searches)]
    if seen.kinds:
        table = Table(box=None, pad_edge=False)
        for column in ("task", "network", "trials", "ended"):
            table.add_column(column, justify="right" if column == "trials" else "left")
        for task, network, count, ends in seen.kinds:
            told = ", ".join(
                f"{number(some)} {status}"
                for status, some in sorted(ends.items(), key=lambda item: -item[1])
            )
            table.add_row(Text(task), Text(network), number(count), Text(told))
        lines += [Text(""), table]
    for study in seen.studies:
        name, verdicts, effects = study.name, study.verdicts, study.effects
        head = Text(f"\n{name}: ")
        for place, (verdict, count) in enumerate(verdicts.items()):
            head.append(f"{', ' if place else ''}{count} ").append(
                verdict, style=COLOURS.get(verdict, "")
            )
        lines.append(head)
        table = Table(box=None, pad_edge=False, show_header=False)
        for claim, quantity, effect in effects[:MOST]:
            table.add_row(Text(claim), Text(quantity), Text(effect))
        lines.append(table)
        if len(effects) > MOST:
            lines.append(Text(f"and {len(effects) - MOST} more claims"))
    return Group(*lines)


def _searches(found: Any) -> Any:
    """Thresholds with their intervals so far."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from separatrix.report.numbers import number

    table = Table(box=None, pad_edge=False)
    for column in ("threshold of", "cell", "so far", "trials", "search"):
        table.add_column(column, justify="right" if column == "trials" else "left")
    shown = sorted(found, key=lambda each: each.settled)[:MOST_SEARCHES]
    for each in shown:
        name = f"{each.study}: {each.what}" if each.study else each.what
        table.add_row(
            Text(name),
            Text(each.cell),
            Text(each.text),
            number(each.trials),
            Text("ended" if each.settled else "goes on"),
        )
    more = len(found) - len(shown)
    return Group(table, Text(f"and {more} more thresholds")) if more else table
