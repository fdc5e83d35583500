"""`separatrix data`: fetch data sets, and list what is there."""

import json as as_text
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="data",
    help="Fetch and list data sets of real images.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")]


@app.command("get")
def get_data(
    name: Annotated[str, typer.Argument(help="mnist, fashion-mnist or cifar10.")],
    source: Annotated[
        str,
        typer.Option(
            "--from", metavar="FOLDER", help="Read the files from this folder, do not fetch them."
        ),
    ] = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put a data set into the data folder, checked by SHA-256."""
    from separatrix.data import data_folder, get

    with _progress(quiet or json) as show:
        found = get(name, source or None, show)
    if json:
        print(
            as_text.dumps(
                {
                    "name": found.name,
                    "digest": found.digest,
                    "folder": str(data_folder() / found.name),
                },
                indent=1,
            )
        )
    elif not quiet:
        print(
            f"{found.name}: {len(found.train_x)} training and {len(found.test_x)} test images in {data_folder() / found.name}"
        )


@app.command("list")
def list_data(json: Json = False) -> None:
    """List data sets: which are here, which can be fetched."""
    rows = listing()
    if json:
        print(as_text.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['name']:22}{row['status']:10}{row['bytes'] / 2**20:8.1f} MiB  {row['title']}")


def listing() -> list[dict[str, Any]]:
    """Every data set with its status: "embedded", "here" or "absent".

    >>> [row["name"] for row in listing() if row["status"] == "embedded"]
    ['embedded-digits', 'embedded-photographs']
    """
    from separatrix.data import CATALOGUE, EMBEDDED, available, load

    there = available()
    rows: list[dict[str, Any]] = []
    for name, title in EMBEDDED.items():
        found = load(name)
        size = (
            found.train_x.nbytes + found.train_y.nbytes + found.test_x.nbytes + found.test_y.nbytes
        )
        rows.append(
            {
                "name": name,
                "status": "embedded",
                "bytes": size,
                "digest": found.digest,
                "title": title,
            }
        )
    for entry in CATALOGUE.values():
        status = "here" if entry.name in there else "absent"
        rows.append(
            {
                "name": entry.name,
                "status": status,
                "bytes": entry.bytes,
                "digest": entry.digest,
                "title": entry.title,
            }
        )
    return rows


@contextmanager
def _progress(quiet: bool) -> Iterator[Any]:
    """A function that shows bytes on a terminal's standard error, or None."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        shown: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in shown:
                shown[what] = bar.add_task(what, total=total or None)
            bar.update(shown[what], completed=done, total=total or None)

        yield show
