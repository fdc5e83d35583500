"""`separatrix geometry`: the geometry of the patches of images, scheme by scheme."""

from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.options import Json
from separatrix.errors import UnknownNameError, check_integer


def geometry(
    images: Annotated[
        str,
        typer.Argument(
            help="An .npy or .npz file, a folder of images, `embedded`, or a data set (cifar10)."
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out", metavar="DIR", help="Write figures and example patches into this folder."
        ),
    ] = "",
    schemes: Annotated[
        str,
        typer.Option("--schemes", metavar="A,B", help="The patch schemes. [default: all]"),
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
        typer.Option("--seeds", help="Repetitions with different images, patches and directions."),
    ] = 5,
    most: Annotated[int, typer.Option("--images", help="Use at most this many images.")] = 4000,
    json: Json = False,
) -> None:
    """Measure the dimension (PCA elbow at 90 %) and the depth of the patches of images."""
    from separatrix.cli.output import plain_table, print_json, terminal

    result = measure(images, schemes, side, points, directions, seeds, most)
    if out:
        files = write_figures(result, images, Path(out), side, most)
        result["files"] = [str(file) for file in files]
    if json:
        print_json(result)
        return
    print(
        f"{result['images']} images, {result['what']}; patches of {side} x {side} pixels; "
        f"95 % intervals over {seeds} seeds"
    )
    columns = ("scheme", "dims", "points", "PCA elbow (90 %)", "projected depth", "whitened")
    table = plain_table(*columns, right=("dims", "points"))
    for row in result["schemes"]:
        intervals = [
            f"{estimate:.4g} [{low:.4g}, {high:.4g}]"
            for estimate, low, high in (row["elbow"], row["projected"], row["whitened"])
        ]
        table.add_row(row["scheme"], str(row["dimensions"]), str(row["points"]), *intervals)
    terminal().print(table, markup=False)
    print(result["note"])
    for file in result.get("files", []):
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

    >>> few = {"points": 50, "directions": 20, "seeds": 2, "most": 200}
    >>> [row["scheme"] for row in measure("embedded", "conv,whole image", **few)["schemes"]]
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
    for geometry in survey(stack, names, side, points, directions, range(seeds)):
        row: dict[str, Any] = {
            "scheme": geometry.scheme,
            "dimensions": geometry.span,
            "points": geometry.points,
            "directions": geometry.directions,
        }
        measured = {
            "elbow": geometry.elbows,
            "projected": geometry.projected,
            "whitened": geometry.whitened,
        }
        for name, values in measured.items():
            mean = mean_interval(values)
            row[name] = [round(number, 6) for number in (mean.estimate, mean.low, mean.high)]
        rows.append(row)
    note = (
        f"Depths are minima over {directions} random directions, given as areas under the depth "
        "curve. They are upper bounds of the half-space depth and fall as directions are added: "
        "compare them only at equal numbers of points and directions. The projected depth mostly "
        "shows how unequal the axes are; the whitened one has equal axes."
    )
    return {
        "what": what,
        "images": len(stack),
        "side": side,
        "seeds": seeds,
        "schemes": rows,
        "note": note,
    }


def write_figures(
    result: dict[str, Any], images: str, folder: Path, side: int, most: int
) -> list[Path]:
    """Write three figures and a picture of example patches.

    >>> import tempfile
    >>> result = measure("embedded", "conv", points=20, directions=5, seeds=2, most=50)
    >>> files = write_figures(result, "embedded", Path(tempfile.mkdtemp()), 4, 50)
    >>> [file.name for file in files]
    ['elbow.png', 'projected.png', 'whitened.png', 'patches.png']
    """
    from separatrix.files import explain_os_errors
    from separatrix.geometry import read_images
    from separatrix.report import save
    from separatrix.studies import Axis, Figure, Series

    with explain_os_errors(f"write to {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    names = tuple(row["scheme"] for row in result["schemes"])
    labels = {
        "elbow": "directions for 90 % of the variance",
        "projected": "area under the projected depth",
        "whitened": "area under the whitened depth",
    }
    files = []
    for name, label in labels.items():
        estimates, low, high = zip(*(row[name] for row in result["schemes"]))
        series = Series(result["what"], names, estimates, low, high)
        title, y = f"Patches of {result['what']}", Axis(label, log=name == "elbow")
        figure = Figure(name, title, Axis(""), y, (series,))
        files.append(save(figure, folder / f"{name}.png"))
    stack = read_images(images)[0][:most]
    return [*files, draw_examples(stack, names, side, folder / "patches.png")]


def draw_examples(images: Any, schemes: tuple[str, ...], side: int, path: Path) -> Path:
    """Draw one row of example patches per scheme, all from one image."""
    from matplotlib.figure import Figure as Canvas

    from separatrix.files import explain_os_errors
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
    with explain_os_errors(f"write {path}"):
        canvas.savefig(path, dpi=150, bbox_inches="tight")
    return path
