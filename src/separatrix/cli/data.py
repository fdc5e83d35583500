"""`separatrix data`: download data sets, and list them."""

from typing import Annotated, Any

import typer

from separatrix.cli.options import Json, Quiet, one_of

app = typer.Typer(
    name="data",
    help="Download and list data sets of real images.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("get")
def get_data(
    name: Annotated[
        str,
        typer.Argument(
            help="The data set.",
            **one_of("mnist", "fashion-mnist", "cifar10"),
        ),
    ],
    source: Annotated[
        str,
        typer.Option(
            "--from", metavar="FOLDER", help="Read the files in this folder; download nothing."
        ),
    ] = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put a data set into the data folder, checked by SHA-256."""
    from separatrix.cli.output import print_json, progress_bar
    from separatrix.data import data_folder, get

    with progress_bar(quiet or json, downloads=True) as show:
        images = get(name, source or None, show)
    folder = data_folder() / images.name
    if json:
        print_json({"name": images.name, "digest": images.digest, "folder": str(folder)})
    elif not quiet:
        counts = f"{len(images.train_x)} training and {len(images.test_x)} test images"
        print(f"{images.name}: {counts} in {folder}")


@app.command("list")
def list_data(json: Json = False) -> None:
    """List the data sets: embedded, downloaded ("here") or absent."""
    from separatrix.cli.output import print_json
    from separatrix.units import human_bytes

    rows = listing()
    if json:
        print_json(rows)
        return
    for row in rows:
        size = human_bytes(row["bytes"])
        print(f"{row['name']:22}{row['status']:10}{size:>8}  {row['title']}")


def listing() -> list[dict[str, Any]]:
    """Every data set with its status: "embedded", "here" or "absent".

    >>> [row["name"] for row in listing() if row["status"] == "embedded"]
    ['embedded-digits', 'embedded-photographs']
    """
    from separatrix.data import CATALOGUE, EMBEDDED, available, load

    def row(name: str, status: str, size: int, digest: str, title: str) -> dict[str, Any]:
        return {"name": name, "status": status, "bytes": size, "digest": digest, "title": title}

    downloaded = available()
    rows = []
    for name, title in EMBEDDED.items():
        images = load(name)
        arrays = (images.train_x, images.train_y, images.test_x, images.test_y)
        size = sum(array.nbytes for array in arrays)
        rows.append(row(name, "embedded", size, images.digest, title))
    for entry in CATALOGUE.values():
        status = "here" if entry.name in downloaded else "absent"
        rows.append(row(entry.name, status, entry.bytes, entry.digest, entry.title))
    return rows
