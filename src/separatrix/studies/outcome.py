"""What a study leaves behind: findings, tables and figures, as data that a report can draw."""

import dataclasses
import importlib
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from separatrix.errors import SeparatrixError, UnknownNameError
from separatrix.inference import Interval, Threshold
from separatrix.notes import Note
from separatrix.studies.claims import Finding, finite, without_nan

if TYPE_CHECKING:
    import pandas as pd

DRAWS = "separatrix.report.figure.draw"
Role = Literal["measured", "samples", "law", "bound", "floor", "baseline"]


@dataclasses.dataclass(frozen=True)
class Series:
    """Points of one kind in a figure, with their intervals.

    Attributes:
        label: what the legend calls them.
        x: numbers, or texts in a figure of categories.
        y: the points; None leaves a gap.
        low: the lower ends of the intervals, or nothing.
        high: their upper ends, or nothing.
        role: "measured" (points with intervals, joined), "samples" (single seeds, scattered), "law"
            or "bound" (a line from theory, or bounds; intervals are a band), "floor" (what nobody
            can be below), "baseline" (a line to compare with).
        seeds: how many trials, one per seed, each point rests on, where that is known.
        panel: the panel of the figure that shows them; panels have the same axes, and series of
            one label look the same in all of them.

    >>> from separatrix.inference import wilson
    >>> Series.of("CNN", [(8, wilson(5, 10)), (16, wilson(9, 10))]).y
    (0.5, 0.9)
    """

    label: str
    x: tuple[Any, ...]
    y: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    role: Role = "measured"
    seeds: tuple[int | None, ...] = ()
    panel: str = ""

    @property
    def name(self) -> str:
        """The label, with the panel where there are several.

        >>> Series("CNN", (), (), panel="d = 50").name
        'CNN, d = 50'
        """
        return f"{self.label}, {self.panel}" if self.panel else self.label

    @classmethod
    def of(cls, label: str, points: Iterable[tuple[Any, Interval | Threshold | None]]) -> "Series":
        """The series of intervals or thresholds, in the order of `points`.

        A point without an interval is a gap. An end that is not finite is left open.

        >>> interval = Interval(2.0, 1.0, float("inf"), 0.95, "bootstrap", 9)
        >>> Series.of("CNN", [(8, interval), (16, None)])
        Series(label='CNN', x=(8, 16), y=(2.0, None), low=(1.0, None), ..., panel='')
        """
        pairs = list(points)
        ends = {
            end: tuple(
                None if interval is None else finite(getattr(interval, end))
                for _, interval in pairs
            )
            for end in ("estimate", "low", "high")
        }
        return cls(
            label,
            x=tuple(x for x, _ in pairs),
            y=ends["estimate"],
            low=ends["low"],
            high=ends["high"],
            seeds=tuple(None if interval is None else _trials(interval) for _, interval in pairs),
        )

    @classmethod
    def bounded(
        cls, label: str, points: Iterable[tuple[Any, Interval | Threshold]]
    ) -> list["Series"]:
        """Like `of`, with gaps where only a bound is known, and those bounds as a second series.

        >>> at_least = Interval(float("nan"), 3.0, float("inf"), 0.95, "", 9)
        >>> [(s.role, s.x, s.y, s.low) for s in Series.bounded("CNN", [("plain", at_least)])]
        [('measured', ('plain',), (None,), (None,)), ('bound', ('plain',), (3.0,), ())]
        """
        pairs = list(points)
        if not pairs:
            return []
        known = [
            (x, None if finite(interval.estimate) is None else interval) for x, interval in pairs
        ]
        seeds = tuple(_trials(interval) for _, interval in pairs)
        out = [dataclasses.replace(cls.of(label, known), seeds=seeds)]
        bounds = [
            (x, finite(interval.low if interval.low > 0 else interval.high))
            for x, interval in pairs
            if finite(interval.estimate) is None
        ]
        bounds = [(x, bound) for x, bound in bounds if bound is not None and bound > 0]
        if bounds:
            x, y = (tuple(column) for column in zip(*bounds))
            out.append(cls(label, x, y, role="bound"))
        return out

    @classmethod
    def level(cls, label: str, xs: Iterable[Any], y: float, role: Role = "baseline") -> "Series":
        """A level line from the first to the last of `xs`.

        >>> Series.level("guessing", (8, 16, 32), 0.5).x
        (8, 32)
        """
        ends = list(xs)
        return cls(label, (ends[0], ends[-1]), (y, y), role=role)


def _trials(interval: Interval | Threshold) -> int:
    return interval.trials if isinstance(interval, Threshold) else interval.count


@dataclasses.dataclass(frozen=True)
class Axis:
    """One axis of a figure; with `per_panel` every panel has a range of its own across."""

    label: str
    log: bool = False
    per_panel: bool = False


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure as data: the report draws it, and readers can download it.

    Texts as the x of its series make it a figure of categories. Series in several panels are drawn
    side by side, on the same axes. The `headline` of a study is the figure that the report's first
    screen shows.
    """

    name: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    caption: str = ""
    headline: bool = dataclasses.field(default=False, kw_only=True)

    @property
    def panels(self) -> tuple[str, ...]:
        """The panels in order of appearance; one without a name where there are none.

        >>> Figure("f", "F", Axis("x"), Axis("y"), (Series("CNN", (), (), panel="a"),)).panels
        ('a',)
        """
        return tuple(dict.fromkeys(series.panel for series in self.series)) or ("",)


@dataclasses.dataclass(frozen=True)
class Picture(Figure):
    """A figure of small pictures, one above the other with a label each.

    `strips` are rows of pixels; a pixel is (red, green, blue) in 0 to 255.
    """

    labels: tuple[str, ...] = ()
    strips: tuple[tuple[tuple[tuple[int, int, int], ...], ...], ...] = ()


@dataclasses.dataclass(frozen=True)
class Heatmap:
    """A figure of one number over two lists: a grid of coloured cells with their texts.

    Attributes:
        name: its name in files.
        title: its title.
        x: the axis of the columns.
        y: the axis of the rows.
        z: the number that the colours show.
        columns: the ticks of x.
        rows: the ticks of y; the first row is at the bottom.
        values: the numbers, row by row; None where nothing is known.
        texts: what is written into the cells, row by row.
        hatched: whether a cell's value is only a bound, row by row.
        caption: its caption.
        headline: whether the report's first screen shows it.
        ends: the values of the lightest and of the darkest colour; without them, the smallest and
            the largest of the map. Maps that are compared have the same.
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
    headline: bool = dataclasses.field(default=False, kw_only=True)
    ends: tuple[float, float] | None = dataclasses.field(default=None, kw_only=True)

    @property
    def series(self) -> tuple[Series, ...]:
        """No series: a map has cells."""
        return ()


@dataclasses.dataclass(frozen=True)
class TableData:
    """A table of a report: column names and rows of plain values."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Everything a study found: findings, figures, tables, notes, and the answer in one sentence.

    The report's first screen shows the answer; without one it shows the first claim's verdict.

    >>> Outcome(findings=()).plain()
    {'findings': [], 'figures': [], 'tables': [], 'notes': []}
    """

    findings: tuple[Finding, ...]
    figures: tuple[Figure | Heatmap, ...] = ()
    tables: tuple[TableData, ...] = ()
    notes: tuple[Note, ...] = ()
    answer: str = ""

    def __repr__(self) -> str:
        lines = [f"  {f.verdict}: {f.claim.statement}" for f in self.findings[:7]]
        if len(self.findings) > 7:
            lines.append(f"  … {len(self.findings) - 7} more: .to_frame()")
        made = f"{len(self.figures)} figures, {len(self.tables)} tables, {len(self.notes)} notes"
        return "\n".join([f"Outcome: {self.answer or 'claims'} ({made})", *lines])

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(index=False)

    def to_frame(self) -> "pd.DataFrame":
        """The findings as a pandas frame: one row per claim with its verdict and first number."""
        import pandas as pd

        rows = []
        for finding in self.findings:
            first = finding.evidence[0] if finding.evidence else None
            rows.append(
                {
                    "claim": finding.claim.id,
                    "statement": finding.claim.statement,
                    "verdict": finding.verdict,
                    "quantity": first.name if first else None,
                    "estimate": first.estimate if first else None,
                    "low": first.low if first else None,
                    "high": first.high if first else None,
                    "inside the conditions": finding.conditions_met,
                    "reason": finding.reason,
                }
            )
        return pd.DataFrame(rows)

    def plot(self, name: str = "", file: str | os.PathLike[str] | None = None) -> Any:
        """Draw a figure of the outcome, by default the headline.

        Args:
            name: the name of the figure; without one, the headline or else the first figure.
            file: a file ending in .pdf, .svg or .png to write; None writes nothing.

        Returns:
            An object that a notebook shows; the path where a file was given.

        Raises:
            UnknownNameError: there is no figure of that name.
            SeparatrixError: the outcome has no figure.
        """
        if not self.figures:
            raise SeparatrixError("this outcome has no figure; `.to_frame()` has its findings")
        if name and name not in (names := [figure.name for figure in self.figures]):
            raise UnknownNameError("figure", name, names)
        chosen = max(self.figures, key=lambda figure: (figure.name == name, figure.headline))
        # The report draws, and is above this package: its name is looked up, not imported.
        return importlib.import_module(DRAWS).show_or_save(chosen, file)

    def plain(self) -> dict[str, Any]:
        """The outcome as plain values without NaN or infinity."""
        out: dict[str, Any] = {
            "findings": [finding.plain() for finding in self.findings],
            "figures": [without_nan(dataclasses.asdict(figure)) for figure in self.figures],
            "tables": [without_nan(dataclasses.asdict(table)) for table in self.tables],
            "notes": [dataclasses.asdict(note) for note in self.notes],
        }
        return out | ({"answer": self.answer} if self.answer else {})


def figure_from(plain: dict[str, Any]) -> Figure | Heatmap:
    """A figure from the plain values of an outcome file.

    Raises:
        TypeError: the values are not those of a figure.

    >>> figure = Figure("risk", "Risk", Axis("m"), Axis("risk"), ())
    >>> figure_from(Outcome((), (figure,)).plain()["figures"][0]) == figure
    True
    """
    headline = plain.get("headline") is True
    if "hatched" in plain:
        parts: dict[str, Any] = {key: Axis(**plain[key]) for key in ("x", "y", "z")}
        parts |= {
            key: tuple(tuple(row) for row in plain[key]) for key in ("values", "texts", "hatched")
        }
        parts |= {key: tuple(plain[key]) for key in ("columns", "rows")}
        ends = plain.get("ends")
        about = {"caption": plain["caption"], "headline": headline}
        about |= {"ends": None if ends is None else tuple(ends)}
        return Heatmap(plain["name"], plain["title"], **about, **parts)
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
                "strips must be rows of equal length of three numbers from 0 to 255, with a label "
                "each"
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
            headline=headline,
        )
    listed: list[dict[str, Any]] = [
        {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
        for fields in plain["series"]
    ]
    series = tuple(Series(**fields) for fields in listed)
    return Figure(
        plain["name"],
        plain["title"],
        Axis(**plain["x"]),
        Axis(**plain["y"]),
        series,
        plain["caption"],
        headline=headline,
    )
