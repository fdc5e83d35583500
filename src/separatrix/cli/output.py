"""What commands print: tables and JSON on standard output, progress and notes on standard error."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

COLOURS = {"supported": "green", "refuted": "red", "undecided": "yellow", "not measured": "dim"}


def terminal(stderr: bool = False) -> Console:
    """A console without colours where NO_COLOR is set, and with wide lines where it is a pipe.

    >>> terminal(stderr=True).stderr
    True
    """
    # NO_COLOR alone would leave bold headings, which are escape codes too.
    colours = None if os.environ.get("NO_COLOR") else "auto"
    console = Console(stderr=stderr, highlight=False, color_system=colours)
    if not console.is_terminal:
        console.width = 160
    return console


def print_json(value: Any) -> None:
    """Print plain values as JSON on standard output.

    >>> print_json({"seeds": [1, 2]})
    {
     "seeds": [
      1,
      2
     ]
    }
    """
    print(json.dumps(value, indent=1))


def plain_table(*columns: str, right: Sequence[str] = (), **options: Any) -> Table:
    """An empty table without lines; the columns named in `right` are aligned to the right.

    >>> [column.justify for column in plain_table("study", "trials", right=("trials",)).columns]
    ['left', 'right']
    """
    table = Table(box=None, pad_edge=False, **options)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def verdict_text(verdict: str) -> Text:
    """A verdict in its colour.

    >>> verdict_text("supported").style
    'green'
    """
    return Text(verdict, style=COLOURS.get(verdict, "dim"))


MOST_LINES = 15  # at the end of a run, unless --all asks for every claim


def print_claims(claims: list[dict[str, Any]], every: bool = False) -> None:
    """Print the counts of each paper, then what matters in at most 15 lines, or every claim.

    Args:
        claims: the claims as `claims.json` has them.
        every: print a table with every claim before the counts.
    """
    from separatrix.report import matters, owner_lines, summary_rows
    from separatrix.report.numbers import levels_in_words
    from separatrix.report.terminal import fitted

    console = terminal()
    if every:
        table = plain_table("claim", "here", "kept", "evidence (shown: 95 % interval)")
        claim, here, kept, _ = table.columns
        claim.ratio, claim.min_width = 1, 26  # most ids fit a line
        here.no_wrap = True
        kept.max_width = len("supported at the")  # the rest wraps: a terminal may have 80 columns
        for row in summary_rows(claims):
            sentence = f"{row['statement']} ({row['id']})"
            if row["conditions"].startswith("outside"):
                sentence += f" [{row['conditions']}]"
            verdicts = (verdict_text(row["verdict"]), verdict_text(row["kept"]))
            table.add_row(Text(sentence), *verdicts, Text(row["effect"]))
        console.print(table)
    words = f"verdicts: {levels_in_words(claims)}" if claims else "no claim was tested"
    counts = [words, *owner_lines(claims)]
    for line in counts:
        console.print(Text(line), no_wrap=True, overflow="ellipsis")
    if every:
        return
    for verdict, sentence, rest in matters(claims, max(MOST_LINES - len(counts) - 1, 3)):
        head = Text(f"{verdict:9s} ", style=COLOURS.get(verdict, ""))
        line = fitted(sentence, rest, max(console.width - len(head), 30))
        console.print(head + Text(line), no_wrap=True, overflow="ellipsis")


@contextmanager
def progress_bar(quiet: bool, downloads: bool = False) -> Iterator[Any]:
    """A function that shows progress on a terminal's standard error; None where there is none.

    The function takes a description, the number of finished trials (or bytes, for `downloads`) and
    the number of all; 0 stands for an unknown number.

    >>> with progress_bar(quiet=True) as show:
    ...     show is None
    True
    """
    console = terminal(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    counts = (
        (DownloadColumn(), TransferSpeedColumn())
        if downloads
        else (MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeElapsedColumn())
    )
    columns = (TextColumn("{task.description}"), BarColumn(), *counts)
    ending = (TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, *ending, console=console, transient=True) as display:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = display.add_task(what, total=total or None, rate="", completed=done)
            task = display.tasks[display.task_ids.index(tasks[what])]
            rate = f"{task.speed:.1f}/s" if task.speed else "compiling…" if done == 0 else ""
            display.update(tasks[what], completed=done, total=total or None, rate=rate)

        yield show
