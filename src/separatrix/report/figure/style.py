"""How series look: every network always has the same colour and marker, and no difference is told
by colour alone.
"""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from separatrix.studies import Series

# Okabe and Ito's colours where they serve; all stand out (3:1 or more) on the page's white and on
# its dark ground.
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
DASHES = {"law": (0, (5, 2)), "bound": (0, (2.5, 1.5))}
# Several series of one network keep its colour and marker; they differ in line and in how the
# marker is filled.
_VARIANTS = (
    ("-", "full"),
    ((0, (1, 1)), "none"),
    ((0, (6, 1.5, 1, 1.5)), "left"),
    ((0, (3, 1, 1, 1, 1, 1)), "bottom"),
)
_NAME = re.compile(r"(?<![A-Za-z0-9])(CNN|LCN|FCN)(?![A-Za-z0-9])")
_CONNECTIVITY = re.compile(r"(shared|local|full)(?:,|$)")  # what a diagnosis calls them
_CALLED = {"shared": "CNN", "local": "LCN", "full": "FCN"}


@dataclasses.dataclass(frozen=True)
class Look:
    """Colour, marker, line and marker filling.

    >>> Look("#0072b2", "o").line
    '-'
    """

    colour: str
    marker: str
    line: Any = "-"
    fill: str = "full"


def network_of(label: str) -> str | None:
    """The network that a label names, if it names one only.

    >>> network_of("CNN, k = 10"), network_of("CNN minus LCN"), network_of("linear"), network_of("local, pixels permuted")
    ('CNN', None, None, 'LCN')
    """
    found = set(_NAME.findall(label))
    if not found and (called := _CONNECTIVITY.match(label)):
        return _CALLED[called[1]]
    return found.pop() if len(found) == 1 else None


def looks_of(series: Sequence[Series]) -> dict[tuple[str, str], Look]:
    """The look of each (label, role); samples look like the measured series with the same label.

    >>> found = looks_of([Series("FCN", (), ()), Series("FCN", (), (), role="law"), Series("other", (), ())])
    >>> found["FCN", "measured"].marker, found["FCN", "law"].colour, found["other", "measured"].colour
    ('^', '#d55e00', '#aa4499')
    """
    looks: dict[tuple[str, str], Look] = {}
    bases: dict[str, tuple[str, str]] = {}
    seen: dict[tuple[str, str], int] = {}
    others = 0
    for each in series:
        key = look_key(each)
        if key in looks:
            continue
        if each.role == "baseline":
            looks[key] = Look(GREY, "")
            continue
        network = network_of(each.label)
        if network is not None:
            base = NETWORKS[network]
        elif each.label in bases:
            base = bases[each.label]
        else:
            base = bases[each.label] = OTHERS[others % len(OTHERS)]
            others += 1
        if each.role in DASHES:
            looks[key] = Look(base[0], "", DASHES[each.role])
            continue
        count = seen.get(base, 0)
        seen[base] = count + 1
        line, fill = _VARIANTS[count % len(_VARIANTS)]
        looks[key] = Look(*base, line, fill)
    return looks


def look_key(series: Series) -> tuple[str, str]:
    """What decides the look of a series.

    >>> look_key(Series("CNN", (), (), role="samples"))
    ('CNN', 'measured')
    """
    return series.label, "measured" if series.role == "samples" else series.role
