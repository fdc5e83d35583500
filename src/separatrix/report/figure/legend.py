"""The legend of a figure on the page: one entry a series, each with a small drawing of how it
looks, to be switched on and off.
"""

import dataclasses
from typing import Any

from separatrix.report.figure.axes import clip
from separatrix.report.figure.series import places_of, points_of
from separatrix.report.figure.style import Look, look_key, looks_of
from separatrix.studies import Figure, Heatmap, Series

# Markers as matplotlib draws them, in a box of 8 by 8 around (14, 6).
_SHAPES = {
    "s": "M10.5 2.5h7v7h-7z",
    "^": "M14 2l4 8h-8z",
    "v": "M14 10l4 -8h-8z",
    "<": "M10 6l8 -4v8z",
    ">": "M18 6l-8 -4v8z",
    "D": "M14 1.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
    "o": "M10 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "P": "M12.7 2h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z",
    "X": "M12 2l2 2l2 -2l2 2l-2 2l2 2l-2 2l-2 -2l-2 2l-2 -2l2 -2l-2 -2z",
}
_ORDER = {"measured": 0, "samples": 1, "law": 2, "bound": 3, "baseline": 4}


@dataclasses.dataclass(frozen=True)
class Entry:
    """A line of the legend: its text, the numbers of its series, their role, and its drawing as
    SVG.

    >>> Entry("CNN", (0, 3), "measured", "<svg></svg>").series
    (0, 3)
    """

    label: str
    series: tuple[int, ...]
    role: str
    swatch: str


def entries_of(figure: Figure | Heatmap) -> tuple[Entry, ...]:
    """The entries of a figure's legend, the measured ones first; none where a single series has no
    name.

    >>> from separatrix.studies import Axis
    >>> pair = Series("CNN", (1,), (0.5,)), Series("CNN", (1, 1), (0.4, 0.6), role="samples"), Series("k+d", (1,), (0.5,), role="law")
    >>> [entry.label for entry in entries_of(Figure("f", "F", Axis("m"), Axis("risk"), pair))]
    ['CNN', 'CNN (single seeds)', 'k+d']
    """
    looks = looks_of(figure.series)
    places = places_of(figure)
    empty = {
        i
        for i, each in enumerate(figure.series)
        if not points_of(each, places, figure.x.log and places is None, figure.y.log).shown.any()
    }
    grouped: dict[tuple[str, str], list[int]] = {}
    for index, each in enumerate(figure.series):
        grouped.setdefault((each.label, each.role), []).append(index)
    entries = []
    for (label, role), members in sorted(grouped.items(), key=lambda item: _ORDER[item[0][1]]):
        first = figure.series[members[0]]
        twin = role != "measured" and (label, "measured") in grouped
        text = clip(label, 80) or "not named"
        text += f" ({'single seeds' if role == 'samples' else role})" if twin else ""
        text += " – no points" if empty.issuperset(members) else ""
        entries.append(
            Entry(
                text,
                tuple(members),
                role,
                swatch(first, looks[look_key(first)], joined=places is None),
            )
        )
    return () if len(entries) == 1 and not figure.series[0].label else tuple(entries)


def swatch(series: Series, look: Look, joined: bool = True) -> str:
    """A small drawing of a series' line and marker; measured points that are not `joined` have no
    line.

    >>> swatch(Series("CNN", (), (), role="law"), Look("#0072b2", "", (0, (5, 2))))
    '<svg class="swatch" viewBox="0 0 28 12" aria-hidden="true"><path d="M0 6h28" ... stroke-dasharray="8 3.2"/></svg>'
    """
    parts = []
    if series.role != "samples" and (joined or series.role != "measured"):
        dashes = _dashes(look.line)
        width = 1.2 if series.role == "baseline" else 2
        parts.append(
            f'<path d="M0 6h28" fill="none" stroke="{look.colour}" stroke-width="{width}"{dashes}/>'
        )
    if look.marker in _SHAPES:
        inside = look.colour if look.fill == "full" else "none"
        seen = ' opacity="0.6"' if series.role == "samples" else ""
        parts.append(
            f'<path d="{_SHAPES[look.marker]}" fill="{inside}" stroke="{look.colour}"{seen}/>'
        )
        if look.fill in ("left", "bottom"):  # half filled
            box = "M10 2h4v8h-4z" if look.fill == "left" else "M10 6h8v4h-8z"
            parts.append(f'<path d="{box}" fill="{look.colour}"/>')
    return f'<svg class="swatch" viewBox="0 0 28 12" aria-hidden="true">{"".join(parts)}</svg>'


def _dashes(line: Any) -> str:
    if line == "-":
        return ""
    return f' stroke-dasharray="{" ".join(f"{1.6 * each:g}" for each in line[1])}"'
