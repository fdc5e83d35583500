"""`separatrix watch` and `separatrix serve`: a run while it goes on, in a terminal or a browser."""

import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli.options import Folder, Json

if TYPE_CHECKING:
    from separatrix.report.live import Snapshot, ThresholdSearch

MOST_EFFECTS = 12  # per finished study
MOST_SEARCHES = 24  # thresholds; those that are still searched come first


def watch(
    folder: Folder,
    once: Annotated[bool, typer.Option("--once", help="Print the current state and stop.")] = False,
    every: Annotated[
        float, typer.Option("--every", min=0.2, max=3600.0, help="Seconds between two updates.")
    ] = 2.0,
    json: Json = False,
) -> None:
    """Show the progress of a run: trials, rates, verdicts and effects.

    Nothing is written; Ctrl-C ends it. With --json, the state is printed once.
    """
    from rich.live import Live

    from separatrix.cli.output import print_json, terminal
    from separatrix.report import Watcher

    watcher = Watcher(folder)
    if json:
        print_json(watcher.look().plain())
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


def serve(
    folder: Folder,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port; 0 uses a free one.")
    ] = 0,
) -> None:
    """Show the progress of a run as a page that refreshes itself, on this machine only.

    Nothing is written; Ctrl-C ends it.
    """
    from separatrix.report.server import LiveServer

    with LiveServer(folder, port) as server:
        print(server.url, flush=True)
        print("Ctrl-C ends it.", file=sys.stderr)

        def stop(number: int, frame: FrameType | None) -> None:
            raise KeyboardInterrupt

        previous = signal.signal(signal.SIGTERM, stop)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            print("ended", file=sys.stderr)
        finally:
            signal.signal(signal.SIGTERM, previous)


def _view(snapshot: "Snapshot", folder: str) -> Any:
    from rich.console import Group
    from rich.text import Text

    from separatrix.cli.output import plain_table, verdict_text
    from separatrix.report.numbers import duration, number

    if snapshot.idle is None:
        idle = "no chunk yet"
    else:
        idle = f"last chunk {duration(snapshot.idle)} ago"
    parts: list[Any] = [
        Text(
            f"{folder}: {number(snapshot.trials)} trials in {number(len(snapshot.parts))} chunks, "
            f"{snapshot.rate:.1f} per second, {idle}"
        ),
        Text(
            f"{number(snapshot.calculations)} other calculations; finished runs of this folder: "
            f"{number(len(snapshot.runs))}"
        ),
    ]
    if snapshot.unreadable:
        sentence = f"{snapshot.unreadable} chunks cannot be read; the next run computes them again"
        parts.append(Text(sentence, style="yellow"))
    progress = snapshot.progress
    if not progress.ended and progress.study:
        sweep = f"{progress.what}, {number(progress.done)} of {number(progress.total)} trials"
        parts.append(Text(f"now {progress.study}" + (f": {sweep}" if progress.what else "")))
    if progress.searches:
        parts += [Text(""), _searches(progress.searches)]
    if snapshot.kinds:
        table = plain_table("task", "network", "trials", "ended", right=("trials",))
        for task, network, count, by_status in snapshot.kinds:
            statuses = sorted(by_status.items(), key=lambda item: -item[1])
            ended = ", ".join(f"{number(count)} {status}" for status, count in statuses)
            table.add_row(Text(task), Text(network), number(count), Text(ended))
        parts += [Text(""), table]
    for study in snapshot.studies:
        head = Text(f"\n{study.name}: ")
        for index, (verdict, count) in enumerate(study.verdicts.items()):
            head.append(f"{', ' if index else ''}{count} ").append_text(verdict_text(verdict))
        parts.append(head)
        table = plain_table("claim", "quantity", "effect", show_header=False)
        for texts in study.effects[:MOST_EFFECTS]:
            table.add_row(*(Text(text) for text in texts))
        parts.append(table)
        if len(study.effects) > MOST_EFFECTS:
            parts.append(Text(f"and {len(study.effects) - MOST_EFFECTS} more claims"))
    return Group(*parts)


def _searches(searches: "tuple[ThresholdSearch, ...]") -> Any:
    """Thresholds with their intervals so far."""
    from rich.console import Group
    from rich.text import Text

    from separatrix.cli.output import plain_table
    from separatrix.report.numbers import number

    columns = ("threshold of", "cell", "so far", "trials", "search")
    table = plain_table(*columns, right=("trials",))
    first = sorted(searches, key=lambda search: search.settled)[:MOST_SEARCHES]
    for search in first:
        name = f"{search.study}: {search.what}" if search.study else search.what
        state = "ended" if search.settled else "goes on"
        texts = (Text(name), Text(search.cell), Text(search.text))
        table.add_row(*texts, number(search.trials), Text(state))
    more = len(searches) - len(first)
    return Group(table, Text(f"and {more} more thresholds")) if more else table
