"""`separatrix evidence`: what happens to kept runs when a rule or a recipe changes."""

from pathlib import Path
from typing import Annotated

import typer

from separatrix.cli.options import Json

app = typer.Typer(
    name="evidence",
    help="Look after the folder of kept runs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def group() -> None:
    """Keep `archive` a subcommand: with one command typer would drop its name."""


@app.command()
def archive(
    epoch: Annotated[
        str, typer.Argument(metavar="EPOCH", help="The name of the epoch that ends, as in 2026-11.")
    ],
    why: Annotated[
        str, typer.Option("--why", metavar="TEXT", help="What changes after it, and why.")
    ],
    folder: Annotated[
        str, typer.Option("--evidence", metavar="DIR", help="The folder of kept runs.")
    ] = "evidence",
    json: Json = False,
) -> None:
    """Close an epoch: keep its verdicts in the history, before a changed rule or recipe is run."""
    from separatrix.cli.output import print_json
    from separatrix.studies.epochs import archive_epoch

    files = [str(file) for file in archive_epoch(Path(folder), epoch, why)]
    if json:
        print_json(files)
        return
    for file in files:
        print(file)
