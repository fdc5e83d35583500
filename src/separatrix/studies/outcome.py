"""What a study leaves behind: findings, tables and figures, as data that a report can draw."""

import dataclasses
import math
from typing import Any, Literal

from separatrix.notes import Note
from separatrix.studies.claims import Finding


@dataclasses.dataclass(frozen=True)
class Series:
    """Points of one kind in a figure, with their intervals.

    `role` says what they are: "measured" (points with intervals, joined), "samples" (single seeds,
    scattered), "law" or "bound" (a line from theory), "baseline" (a line to compare with). `seeds`
    is how many trials, one a seed, each point rests on, where that is known.

    >>> Series("CNN", x=(1.0, 2.0), y=(0.1, 0.2)).role
    'measured'
    """

    label: str
    x: tuple[Any, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    role: Literal["measured", "samples", "law", "bound", "baseline"] = "measured"
    seeds: tuple[int | None, ...] = ()


@dataclasses.dataclass(frozen=True)
class Axis:
    """One axis of a figure.

    >>> Axis("samples", log=True).log
    True
    """

    label: str
    log: bool = False


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure as data: drawn on demand, and downloadable. Text on the x axis makes it a figure of
    categories.

    >>> Figure("risk", "Risk", Axis("samples"), Axis("risk"), ()).name
    'risk'
    """

    name: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    caption: str = ""


@dataclasses.dataclass(frozen=True)
class Picture(Figure):
    """A figure of small pictures, one above the other with a label each: `strips` are rows of
    pixels of (red, green, blue) in 0 to 255.

    >>> dots = Picture("p", "Patches", Axis(""), Axis(""), (), "", ("one",), ((((255, 0, 0), (0, 0, 0)),),))
    >>> figure_from(_clean(dataclasses.asdict(dots))) == dots
    True
    """

    labels: tuple[str, ...] = ()
    strips: tuple[tuple[tuple[tuple[int, int, int], ...], ...], ...] = ()


@dataclasses.dataclass(frozen=True)
class Heatmap:
    """A figure of one number over two lists: a grid of coloured cells with their texts.

    `columns` and `rows` are the ticks of x and y (the first row stands at the bottom); `values`,
    row by row, give the colours, None where nothing is known; `texts` stand in the cells; `hatched`
    marks cells whose value is only a bound. `z` is what is shown.

    >>> cells = Heatmap("map", "Map", Axis("r"), Axis("g"), Axis("m*", log=True), (1, 2), (1,), ((3.0, None),), (("3", "?"),), ((False, True),))
    >>> cells.values[0][0], figure_from(_clean(dataclasses.asdict(cells))) == cells
    (3.0, True)
    """

    name: str
    title: str
    x: Axis
    y: Axis
    z: Axis
    columns: tuple[Any, ...]
    rows: tuple[Any, ...]
    values: tuple[tuple[float | None, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    hatched: tuple[tuple[bool, ...], ...]
    caption: str = ""

    @property
    def series(self) -> tuple[Series, ...]:
        """No series: a map has cells."""
        return ()


@dataclasses.dataclass(frozen=True)
class TableData:
    """A table of a report: column names and rows of plain values.

    >>> TableData("risks", "Risks", ("network", "risk"), (("CNN", 0.1),)).columns
    ('network', 'risk')
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Everything a study found.

    >>> Outcome(findings=()).plain()["figures"]
    []
    """

    findings: tuple[Finding, ...]
    figures: tuple[Figure | Heatmap, ...] = ()
    tables: tuple[TableData, ...] = ()
    notes: tuple[Note, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The outcome as plain values without NaN or infinity."""
        return {
            "findings": [finding.plain() for finding in self.findings],
            "figures": [_clean(dataclasses.asdict(figure)) for figure in self.figures],
            "tables": [_clean(dataclasses.asdict(table)) for table in self.tables],
            "notes": [dataclasses.asdict(note) for note in self.notes],
        }


def figure_from(plain: dict[str, Any]) -> Figure | Heatmap:
    """A figure from its plain values; one with cells is a map, one with strips a picture.

    >>> figure_from(_clean(dataclasses.asdict(Figure("risk", "Risk", Axis("m"), Axis("risk"), ())))).title
    'Risk'
    """
    if "hatched" in plain:
        parts: dict[str, Any] = {key: Axis(**plain[key]) for key in ("x", "y", "z")}
        parts |= {
            key: tuple(tuple(row) for row in plain[key]) for key in ("values", "texts", "hatched")
        }
        parts |= {key: tuple(plain[key]) for key in ("columns", "rows")}
        return Heatmap(plain["name"], plain["title"], caption=plain["caption"], **parts)
    if "strips" in plain:
        strips: Any = tuple(
            tuple(tuple(tuple(pixel) for pixel in row) for row in strip)
            for strip in plain["strips"]
        )
        if not all(
            len(row) == len(strip[0])
            and len(pixel) == 3
            and all(isinstance(c, int) and 0 <= c <= 255 for c in pixel)
            for strip in strips
            for row in strip
            for pixel in row
        ) or len(strips) != len(plain["labels"]):
            raise TypeError(
                "strips must be rows of equal length of three numbers from 0 to 255, with a label each"
            )
        axes = Axis(**plain["x"]), Axis(**plain["y"])
        return Picture(
            plain["name"],
            plain["title"],
            *axes,
            (),
            plain["caption"],
            tuple(plain["labels"]),
            strips,
        )
    listed: list[dict[str, Any]] = [
        {k: tuple(v) if isinstance(v, list) else v for k, v in each.items()}
        for each in plain["series"]
    ]
    series = tuple(Series(**each) for each in listed)
    return Figure(
        plain["name"],
        plain["title"],
        Axis(**plain["x"]),
        Axis(**plain["y"]),
        series,
        plain["caption"],
    )


def _clean(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _clean(each) for key, each in item.items()}
    if isinstance(item, tuple | list):
        return [_clean(each) for each in item]
    if isinstance(item, float) and not math.isfinite(item):
        return None
    return item
