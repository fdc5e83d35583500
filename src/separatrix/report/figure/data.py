"""The data behind a figure: as rows of a CSV file, and as what the page keeps of it for hovering
and download.
"""

import csv
import dataclasses
import io
from collections import Counter
from typing import Any

import numpy as np

from separatrix.report.figure.series import category
from separatrix.studies import Figure, Heatmap, Picture

# Of one figure on the page; beyond that, the largest series are only in the file beside it
MOST_ROWS = 2000


@dataclasses.dataclass(frozen=True)
class Group:
    """The points of one series, column by column; `lead` are the cells that all its rows begin
    with.

    >>> len(Group(0, ("CNN", "measured"), ((1, 2), (0.5, 0.25))))
    2
    """

    series: int
    lead: tuple[str, ...]
    columns: tuple[tuple[Any, ...], ...]

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0


@dataclasses.dataclass(frozen=True)
class FigureData:
    """What a figure shows: the names of all columns, and the points by series. `kind` is "series",
    "cells" or "pixels".

    >>> FigureData("series", ("series", "role", "m", "risk"), (Group(0, ("CNN", "measured"), ((1, 2), (0.5, 0.25))),)).rows
    2
    """

    kind: str
    head: tuple[str, ...]
    groups: tuple[Group, ...]

    @property
    def rows(self) -> int:
        """How many points there are."""
        return sum(len(group) for group in self.groups)


def data_of(figure: Figure | Heatmap) -> FigureData:
    """The data behind a figure.

    A point's trials are those that its series states, where it can, or else the single seeds that
    the figure shows beside it.

    >>> from separatrix.studies import Axis, Series
    >>> seeds = Series("CNN", (1, 1), (0.4, 0.6), role="samples")
    >>> data = data_of(Figure("f", "F", Axis("m"), Axis("risk"), (Series("CNN", (1,), (0.5,), (0.3,), (0.7,)), seeds)))
    >>> print(csv_of(data).replace(chr(10), " | "))
    series,role,m,risk,low,high,trials | CNN,measured,1,0.5,0.3,0.7,2 | CNN,samples,1,0.4,,, | CNN,samples,1,0.6,,, |
    """
    if isinstance(figure, Picture):
        pixels = tuple(
            Group(
                index,
                (label,),
                tuple(
                    zip(
                        *(
                            (y, x, *pixel)
                            for y, row in enumerate(strip)
                            for x, pixel in enumerate(row)
                        ),
                        strict=True,
                    )
                ),
            )
            for index, (label, strip) in enumerate(zip(figure.labels, figure.strips))
        )
        return FigureData("pixels", ("picture", "row", "column", "red", "green", "blue"), pixels)
    if isinstance(figure, Heatmap):
        cells = [
            (column, row, value, text, hatched)
            for row, *lists in zip(figure.rows, figure.values, figure.texts, figure.hatched)
            for column, value, text, hatched in zip(figure.columns, *lists)
        ]
        head = (figure.x.label, figure.y.label, figure.z.label, "text", "only a bound")
        return FigureData(
            "cells", head, (Group(0, (), tuple(zip(*cells, strict=True)) or ((),) * 5),)
        )
    shown: Counter[tuple[str, str]] = Counter()
    for each in figure.series:
        if each.role == "samples":
            for (_, x), count in Counter(
                zip(map(type, each.x), each.x)
            ).items():  # 1 and True are not the same category
                shown[each.label, category(x)] += count
    groups = []
    for index, each in enumerate(figure.series):
        nothing = (None,) * len(each.x)
        beside = (
            tuple(shown.get((each.label, category(x))) for x in each.x)
            if each.role == "measured"
            else nothing
        )
        columns = (each.x, each.y, each.low or nothing, each.high or nothing, each.seeds or beside)
        groups.append(Group(index, (each.label, each.role), columns))
    return FigureData(
        "series",
        ("series", "role", figure.x.label, figure.y.label, "low", "high", "trials"),
        tuple(groups),
    )


def csv_of(data: FigureData) -> str:
    """The data as a CSV file, with all digits; an empty cell where nothing is known.

    >>> csv_of(FigureData("series", ("series", "m"), (Group(0, ("a, b",), ((1, None),)),)))
    'series,m\\n"a, b",1\\n"a, b",\\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(data.head)
    for group in data.groups:
        writer.writerows(
            ["" if cell is None else cell for cell in (*group.lead, *row)]
            for row in zip(*group.columns)
        )
    return text.getvalue()


def table_csv(table: dict[str, Any]) -> str:
    """A table of an outcome as a CSV file, with all digits.

    >>> table_csv({"columns": ["network", "risk"], "rows": [["CNN", 0.123456], ["FCN", None]]})
    'network,risk\\nCNN,0.123456\\nFCN,\\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table["columns"])
    writer.writerows(["" if cell is None else cell for cell in row] for row in table["rows"])
    return text.getvalue()


def kept_groups(data: FigureData, most: int = MOST_ROWS) -> tuple[Group, ...]:
    """The groups that the page keeps: all, or without the largest where there would be too many
    rows.

    >>> large, small = Group(0, ("CNN",), (tuple(range(9)),)), Group(1, ("FCN",), ((1,),))
    >>> [group.series for group in kept_groups(FigureData("series", (), (large, small)), most=5)]
    [1]
    """
    left, gone = data.rows, set()
    for group in sorted(data.groups, key=len, reverse=True):
        if left <= most:
            break
        gone.add(group.series)
        left -= len(group)
    return tuple(group for group in data.groups if group.series not in gone)


def page_data(data: FigureData, places: tuple[np.ndarray, ...]) -> dict[str, Any]:
    """What the page's script needs: columns, and where each point lies in the drawing (a tenth of a
    point is enough).

    >>> data = FigureData("series", ("series", "m"), (Group(0, ("CNN",), ((1, 2),)),))
    >>> page_data(data, (np.array([[10.0, 20.0], [np.nan, 1.0]]),))["groups"]
    [{'s': 0, 'lead': ('CNN',), 'columns': ((1, 2),), 'at': [[10.0, 20.0], None]}]
    """
    groups = []
    for group in kept_groups(data):
        found = places[group.series] if group.series < len(places) else np.empty((0, 2))
        at = [
            [round(float(x), 1), round(float(y), 1)] if np.isfinite(x) and np.isfinite(y) else None
            for x, y in found
        ]
        groups.append({"s": group.series, "lead": group.lead, "columns": group.columns, "at": at})
    return {"kind": data.kind, "head": data.head, "groups": groups}
