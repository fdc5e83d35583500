"""`separatrix geometry`: the geometry of an image collection's patches, scheme by scheme."""

import json as as_text
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.errors import SeparatrixError, UnknownNameError, check_integer


def geometry(
    images: Annotated[
        str,
        typer.Argument(
            help="An .npy or .npz file, a folder of pictures, `embedded`, or a data set such as cifar10."
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out", metavar="DIR", help="Write the figures and a picture of example patches here."
        ),
    ] = "",
    schemes: Annotated[
        str,
        typer.Option(
            "--schemes", metavar="A,B", help="Only these schemes, by name. [default: all]"
        ),
    ] = "",
    side: Annotated[int, typer.Option("--side", help="Side of a patch, in pixels.")] = 4,
    points: Annotated[
        int, typer.Option("--points", help="Patches whose depth is measured.")
    ] = 1000,
    directions: Annotated[
        int, typer.Option("--directions", help="Random directions of the half-space depth.")
    ] = 500,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds", help="Repetitions, each with other images, patches and directions."
        ),
    ] = 5,
    most: Annotated[int, typer.Option("--images", help="Use at most this many images.")] = 4000,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Measure how low-dimensional and how central the patches of images are: PCA elbow at 90 % and
    Tukey depth area.
    """
    found = measure(images, schemes, side, points, directions, seeds, most)
    if out:
        found["files"] = [
            str(file) for file in write_pictures(found, images, Path(out), side, most)
        ]
    if json:
        print(as_text.dumps(found, indent=1))
        return
    print(
        f"{found['images']} images, {found['what']}; patches of {side} x {side} pixels; 95 % intervals over {seeds} seeds"
    )
    print(f"{'scheme':18}{'dims':>6}{'points':>8}   {'PCA elbow (90 %)':24}{'depth area':24}")
    for row in found["schemes"]:
        cells = [
            f"{row[name][0]:.4g} [{row[name][1]:.4g}, {row[name][2]:.4g}]"
            for name in ("elbow", "area")
        ]
        print(
            f"{row['scheme']:18}{row['dimensions']:>6}{row['points']:>8}   {cells[0]:24}{cells[1]:24}"
        )
    print(found["note"])
    for file in found.get("files", []):
        print(f"wrote {file}")


def measure(
    images: str,
    schemes: str = "",
    side: int = 4,
    points: int = 1000,
    directions: int = 500,
    seeds: int = 5,
    most: int = 4000,
) -> dict[str, Any]:
    """The survey as plain values, with intervals over seeds.

    >>> found = measure("embedded", "conv,whole image", points=50, directions=20, seeds=2, most=200)
    >>> [row["scheme"] for row in found["schemes"]]
    ['conv', 'whole image']
    """
    from separatrix.geometry import SCHEMES, read_images, survey
    from separatrix.inference import mean_interval

    check_integer("geometry", "seeds", seeds, 2, 10_000)
    check_integer("geometry", "images", most, 4)
    names = [name.strip() for name in schemes.split(",") if name.strip()] or list(SCHEMES)
    for name in names:
        if name not in SCHEMES:
            raise UnknownNameError("patch scheme", name, SCHEMES)
    stack, what = read_images(images)
    stack = stack[:most]
    rows = []
    for each in survey(stack, names, side, points, directions, range(seeds)):
        row: dict[str, Any] = {
            "scheme": each.scheme,
            "dimensions": each.span,
            "points": each.points,
            "directions": each.directions,
        }
        for name, values in (("elbow", each.elbows), ("area", each.areas)):
            found = mean_interval(values)
            row[name] = [round(number, 6) for number in (found.estimate, found.low, found.high)]
        rows.append(row)
    note = (
        f"The depth is the least over {directions} random directions, an upper bound of the true depth that falls as directions are added: "
        "compare areas only at equal points and directions."
    )
    return {
        "what": what,
        "images": len(stack),
        "side": side,
        "seeds": seeds,
        "schemes": rows,
        "note": note,
    }


def write_pictures(
    found: dict[str, Any], images: str, folder: Path, side: int, most: int
) -> list[Path]:
    """The two figures and a picture of example patches, as files.

    >>> import tempfile
    >>> found = measure("embedded", "conv", points=20, directions=5, seeds=2, most=50)
    >>> [file.name for file in write_pictures(found, "embedded", Path(tempfile.mkdtemp()), 4, 50)]
    ['elbow.png', 'area.png', 'patches.png']
    """
    from separatrix.geometry import read_images
    from separatrix.report import save
    from separatrix.studies import Axis, Figure, Series

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SeparatrixError(f"cannot write to {folder}: {error.strerror}") from None
    names = tuple(row["scheme"] for row in found["schemes"])
    written = []
    for name, label in (
        ("elbow", "directions for 90 % of the variance"),
        ("area", "area under the depth curve"),
    ):
        middle, low, high = (
            tuple(row[name][place] for row in found["schemes"]) for place in range(3)
        )
        series = Series(found["what"], names, middle, low, high)
        written.append(
            save(
                Figure(
                    name,
                    f"Patches of {found['what']}",
                    Axis(""),
                    Axis(label, log=name == "elbow"),
                    (series,),
                ),
                folder / f"{name}.png",
            )
        )
    return [
        *written,
        draw_examples(read_images(images)[0][:most], names, side, folder / "patches.png"),
    ]


def draw_examples(images: Any, schemes: tuple[str, ...], side: int, path: Path) -> Path:
    """A picture with one row of example patches a scheme, all from one image."""
    from matplotlib.figure import Figure as Canvas

    from separatrix.geometry import mosaic

    canvas = Canvas(figsize=(7.0, 0.45 * len(schemes) + 0.3))
    for number, scheme in enumerate(schemes):
        axes = canvas.add_subplot(len(schemes), 1, number + 1)
        axes.imshow(
            mosaic(images[0], scheme, side).squeeze().clip(0, 1),
            cmap="gray",
            interpolation="nearest",
        )
        axes.set_axis_off()
        axes.text(-0.01, 0.5, scheme, transform=axes.transAxes, ha="right", va="center", fontsize=8)
    try:
        canvas.savefig(path, dpi=150, bbox_inches="tight")
    except OSError as error:
        raise SeparatrixError(f"cannot write {path}: {error.strerror}") from None
    return path
