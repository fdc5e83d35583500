"""The data behind a figure, by series and column: for CSV files, and for the page's script."""

import csv
import dataclasses
import io
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from separatrix.report.figure.series import category
from separatrix.studies import Figure, Heatmap, Picture

# Rows of one figure on the page; of a larger figure, the largest series are only in the CSV file.
MOST_ROWS = 2000
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a spreadsheet's formulas may begin


@dataclasses.dataclass(frozen=True)
class SeriesColumns:
    """The points of one series, column by column; all its rows begin with the cells `lead`.

    >>> len(SeriesColumns(0, ("CNN", "measured"), ((1, 2), (0.5, 0.25))))
    2
    """

    series: int
    lead: tuple[str, ...]
    columns: tuple[tuple[Any, ...], ...]

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0


@dataclasses.dataclass(frozen=True)
class FigureData:
    """What a figure shows: the names of all columns, and the points by series.

    `kind` is "series", "cells" or "pixels".
    """

    kind: str
    head: tuple[str, ...]
    series: tuple[SeriesColumns, ...]

    @property
    def rows(self) -> int:
        """The number of points."""
        return sum(len(series) for series in self.series)


def data_of(figure: Figure | Heatmap) -> FigureData:
    """The data behind a figure.

    The number of trials of a point is the one that its series states, or else the number of single
    seeds that the figure shows at the same x.

    >>> from separatrix.studies import Axis, Series
    >>> seeds = Series("CNN", (1, 1), (0.4, 0.6), role="samples")
    >>> mean = Series("CNN", (1,), (0.5,), (0.3,), (0.7,))
    >>> print(csv_of(data_of(Figure("f", "F", Axis("m"), Axis("risk"), (mean, seeds)))))
    series,role,m,risk,low,high,trials
    CNN,measured,1,0.5,0.3,0.7,2
    CNN,samples,1,0.4,,,
    CNN,samples,1,0.6,,,
    <BLANKLINE>
    """
    if isinstance(figure, Picture):
        return _picture_data(figure)
    if isinstance(figure, Heatmap):
        cells = [
            (column, row, value, text, hatched)
            for row, *lists in zip(figure.rows, figure.values, figure.texts, figure.hatched)
            for column, value, text, hatched in zip(figure.columns, *lists)
        ]
        head = (figure.x.label, figure.y.label, figure.z.label, "text", "only a bound")
        columns = tuple(zip(*cells, strict=True)) or ((),) * 5
        return FigureData("cells", head, (SeriesColumns(0, (), columns),))
    seeds: Counter[tuple[str, str]] = Counter()
    for series in figure.series:
        if series.role == "samples":
            # By type as well: 1 and True are different categories.
            values = Counter(zip(map(type, series.x), series.x))
            for (_, x), count in values.items():
                seeds[series.name, category(x)] += count
    parts = []
    for index, series in enumerate(figure.series):
        nothing = (None,) * len(series.x)
        counts = (
            tuple(seeds.get((series.name, category(x))) for x in series.x)
            if series.role == "measured"
            else nothing
        )
        ends = (series.low or nothing, series.high or nothing)
        columns = (series.x, series.y, *ends, series.seeds or counts)
        parts.append(SeriesColumns(index, (series.name, series.role), columns))
    head = ("series", "role", figure.x.label, figure.y.label, "low", "high", "trials")
    return FigureData("series", head, tuple(parts))


def _picture_data(figure: Picture) -> FigureData:
    parts = []
    for index, (label, strip) in enumerate(zip(figure.labels, figure.strips)):
        pixels = [(y, x, *pixel) for y, row in enumerate(strip) for x, pixel in enumerate(row)]
        parts.append(SeriesColumns(index, (label,), tuple(zip(*pixels, strict=True))))
    return FigureData("pixels", ("picture", "row", "column", "red", "green", "blue"), tuple(parts))


def csv_of(data: FigureData) -> str:
    """The data as a CSV file, with all digits; an unknown value is an empty cell.

    >>> csv_of(FigureData("series", ("series", "m"), (SeriesColumns(0, ("a, b",), ((1, None),)),)))
    'series,m\\n"a, b",1\\n"a, b",\\n'
    """
    rows = ((*series.lead, *row) for series in data.series for row in zip(*series.columns))
    return _csv_text(data.head, rows)


def table_csv(table: dict[str, Any]) -> str:
    """A table of an outcome as a CSV file, with all digits.

    >>> table_csv({"columns": ["network", "risk"], "rows": [["CNN", 0.123456], ["FCN", None]]})
    'network,risk\\nCNN,0.123456\\nFCN,\\n'
    """
    return _csv_text(table["columns"], table["rows"])


def _csv_text(head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([escaped(cell) for cell in head])
    writer.writerows([escaped(cell) for cell in row] for row in rows)
    return text.getvalue()


def escaped(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: text that begins like one gets an apostrophe.

    >>> escaped("=1+2"), escaped(-3.5), escaped("CNN"), escaped("-0.5"), escaped(None)
    ("'=1+2", -3.5, 'CNN', '-0.5', '')
    """
    if isinstance(cell, str):  # the writer quotes a line feed, but not a carriage return
        cell = cell.replace("\r", "\n")
    if cell is None:
        return ""
    if isinstance(cell, str) and (cell[:1] in FORMULA or cell.lstrip()[:1] in FORMULA):
        try:
            float(cell)  # a negative number as text is no formula
        except ValueError:
            return f"'{cell}"
    return cell


def series_on_page(data: FigureData, most: int = MOST_ROWS) -> tuple[SeriesColumns, ...]:
    """The series whose data are on the page: all but the largest if there are too many rows.

    >>> large = SeriesColumns(0, ("CNN",), (tuple(range(9)),))
    >>> small = SeriesColumns(1, ("FCN",), ((1,),))
    >>> [part.series for part in series_on_page(FigureData("series", (), (large, small)), most=5)]
    [1]
    """
    rows, dropped = data.rows, set()
    for part in sorted(data.series, key=len, reverse=True):
        if rows <= most:
            break
        dropped.add(part.series)
        rows -= len(part)
    return tuple(part for part in data.series if part.series not in dropped)


def page_data(
    data: FigureData, places: tuple[np.ndarray, ...], most: int = MOST_ROWS
) -> dict[str, Any]:
    """What the page's script needs: columns, and each point's place in the drawing.

    Places are rounded to a tenth of a point. Of more than `most` rows, the largest series are left
    out.

    >>> data = FigureData("series", ("series", "m"), (SeriesColumns(0, ("CNN",), ((1, 2),)),))
    >>> page_data(data, (np.array([[10.0, 20.0], [np.nan, 1.0]]),))["groups"]
    [{'s': 0, 'lead': ('CNN',), 'columns': ((1, 2),), 'at': [[10.0, 20.0], None]}]
    """
    groups = []
    for part in series_on_page(data, most):
        positions = places[part.series] if part.series < len(places) else np.empty((0, 2))
        at = [
            [round(float(x), 1), round(float(y), 1)] if np.isfinite(x) and np.isfinite(y) else None
            for x, y in positions
        ]
        groups.append({"s": part.series, "lead": part.lead, "columns": part.columns, "at": at})
    return {"kind": data.kind, "head": data.head, "groups": groups}
