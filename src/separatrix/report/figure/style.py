"""The look of series: a network always has the same colour and marker.

No difference is shown by colour alone.
"""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from separatrix.studies import Series

# Okabe and Ito's colours where possible; all have a contrast of at least 3:1 to the page's white
# and dark backgrounds.
NETWORKS = {"CNN": ("#0072b2", "o"), "LCN": ("#009e73", "s"), "FCN": ("#d55e00", "^")}
OTHERS = (
    ("#aa4499", "D"),
    ("#8c6d1f", "v"),
    ("#7570b3", "P"),
    ("#c2185b", "X"),
    ("#2a8fa8", "<"),
    ("#6b8e23", ">"),
)
GREY = "#808080"
DASHES = {"law": (0, (5, 2)), "bound": (0, (2.5, 1.5)), "floor": (0, (1, 1.2))}
# Several series of one network share its colour and marker; they differ in the line and in the
# filling of the marker.
_VARIANTS = (
    ("-", "full"),
    ((0, (1, 1)), "none"),
    ((0, (6, 1.5, 1, 1.5)), "left"),
    ((0, (3, 1, 1, 1, 1, 1)), "bottom"),
)
_NAME = re.compile(r"(?<![A-Za-z0-9])(CNN|LCN|FCN)(?![A-Za-z0-9])")
_CONNECTIVITY = re.compile(r"(shared|local|full)(?:,|$)")  # the names that a diagnosis uses
_NETWORK_OF_CONNECTIVITY = {"shared": "CNN", "local": "LCN", "full": "FCN"}


@dataclasses.dataclass(frozen=True)
class Look:
    """Colour, marker, line and marker filling of a series, as matplotlib takes them."""

    colour: str
    marker: str
    line: Any = "-"
    fill: str = "full"


def network_of(label: str) -> str | None:
    """The network that a label names; None if it names none or several.

    >>> network_of("CNN, k = 10"), network_of("CNN minus LCN"), network_of("linear")
    ('CNN', None, None)
    >>> network_of("local, pixels permuted")
    'LCN'
    """
    names = set(_NAME.findall(label))
    if not names and (connectivity := _CONNECTIVITY.match(label)):
        return _NETWORK_OF_CONNECTIVITY[connectivity[1]]
    return names.pop() if len(names) == 1 else None


def looks_of(series: Sequence[Series]) -> dict[tuple[str, str], Look]:
    """The look of each (label, role); samples look like the measured series with the same label.

    Bounds of a measured series, where a search found no more than that, are its marks, hollow and
    not joined. Other bounds, such as those of a theorem, are dashed lines.

    >>> measured, law = Series("FCN", (), ()), Series("FCN", (), (), role="law")
    >>> looks = looks_of([measured, law, Series("other", (), ())])
    >>> looks["FCN", "measured"].marker, looks["FCN", "law"].colour
    ('^', '#d55e00')
    >>> looks["other", "measured"].colour
    '#aa4499'
    >>> at_least = Series("FCN", (), (), role="bound")
    >>> looks_of([measured, at_least])["FCN", "bound"]
    Look(colour='#d55e00', marker='^', line='none', fill='none')
    """
    measured = {one.label for one in series if one.role == "measured"}
    looks: dict[tuple[str, str], Look] = {}
    other_bases: dict[str, tuple[str, str]] = {}
    uses: dict[tuple[str, str], int] = {}
    for one in series:
        key = look_key(one)
        if key in looks:
            continue
        if one.role == "baseline":
            looks[key] = Look(GREY, "")
            continue
        network = network_of(one.label)
        if network is not None:
            base = NETWORKS[network]
        else:
            base = other_bases.setdefault(one.label, OTHERS[len(other_bases) % len(OTHERS)])
        if one.role == "bound" and one.label in measured:
            looks[key] = Look(*base, "none", "none")
            continue
        if one.role in DASHES:
            looks[key] = Look(base[0], "", DASHES[one.role])
            continue
        count = uses.get(base, 0)
        uses[base] = count + 1
        line, fill = _VARIANTS[count % len(_VARIANTS)]
        looks[key] = Look(*base, line, fill)
    return looks


def look_key(series: Series) -> tuple[str, str]:
    """What decides the look of a series.

    >>> look_key(Series("CNN", (), (), role="samples"))
    ('CNN', 'measured')
    """
    return series.label, "measured" if series.role == "samples" else series.role
