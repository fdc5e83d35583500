"""What explains a verdict and decides nothing: the translation test, the geometry of patches, and
networks of matched cost.
"""

import dataclasses
import math
from typing import Any

from separatrix.inference.intervals import Interval


@dataclasses.dataclass(frozen=True)
class Shifted:
    """What the trained networks of a kind reach on some held-out rows of every split that are
    shifted by some pixels, and what that costs them.

    >>> Shifted("full", 1, 400, Interval(0.7, 0.6, 0.8, 0.95, "", 4), Interval(0.2, 0.1, 0.3, 0.95, "", 4)).plain()["shift"]
    1
    """

    network: str
    shift: int
    rows: int  # at most, of a split
    accuracy: Interval
    cost: Interval

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "network": self.network,
            "shift": self.shift,
            "rows": self.rows,
            "accuracy": plain_interval(self.accuracy),
            "cost": plain_interval(self.cost),
        }


@dataclasses.dataclass(frozen=True)
class Geometry:
    """The patches that windows see: how many directions hold 90 % of their variance, of how many,
    and the area of their Tukey depths.

    Depths are taken over finitely many random directions: compare areas at equal points and
    directions only, as those here are.

    >>> Geometry("windows", 9, 500, 200, Interval(4, 4, 4, 0.95, "", 5), Interval(0.03, 0.02, 0.04, 0.95, "", 5)).plain()["numbers"]
    9
    """

    patches: str
    numbers: int  # in a patch
    points: int
    directions: int
    elbow: Interval
    depth: Interval

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "patches": self.patches,
            "numbers": self.numbers,
            "points": self.points,
            "directions": self.directions,
            "elbow": plain_interval(self.elbow),
            "depth_area": plain_interval(self.depth),
        }


@dataclasses.dataclass(frozen=True)
class Matched:
    """A network of the width at which it costs what the shared one costs, at the largest sample
    size; the gap is the shared one's less its own.

    `cost` says what was matched: "parameters", "products" (of one forward pass), or "" for a
    network as it took part.

    >>> Matched("full", "products", 10, 800, 790, Interval(0.9, 0.8, 1.0, 0.95, "", 4), None).plain()["gap"]["estimate"] is None
    True
    """

    network: str
    cost: str
    width: int
    parameters: int
    products: int
    accuracy: Interval
    gap: Interval | None

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "network": self.network,
            "matched": self.cost,
            "width": self.width,
            "parameters": self.parameters,
            "products": self.products,
            "accuracy": plain_interval(self.accuracy),
            "gap": plain_interval(self.gap),
        }


@dataclasses.dataclass(frozen=True)
class Explanations:
    """All explanations; what the budget did not reach, or what makes no sense on the data, is
    empty.

    >>> Explanations().line(), Explanations().plain()
    ('', {'translation': [], 'geometry': [], 'matched': []})
    """

    translation: tuple[Shifted, ...] = ()
    geometry: tuple[Geometry, ...] = ()
    matched: tuple[Matched, ...] = ()

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            part: [each.plain() for each in getattr(self, part)]
            for part in ("translation", "geometry", "matched")
        }

    def line(self) -> str:
        """The explanations in one line; empty where there are none.

        >>> i = Interval(0.2, 0.1, 0.3, 0.95, "", 4)
        >>> Explanations((Shifted("full", 1, 400, i, i),)).line()
        'a shift of 1 pixel costs full 20.0 [10.0, 30.0] points'
        """
        parts = []
        first = [
            each
            for each in self.translation
            if each.shift == min(other.shift for other in self.translation)
        ]
        if first:
            costs = ", ".join(f"{each.network} {points(each.cost)}" for each in first)
            parts.append(
                f"a shift of {first[0].shift} pixel{'s' * (first[0].shift > 1)} costs {costs} points"
            )
        if self.geometry:
            elbows = ", ".join(
                f"{each.elbow.estimate:.3g} for {each.patches}" for each in self.geometry
            )
            parts.append(f"90 % of the variance of {self.geometry[0].numbers} numbers in {elbows}")
        return "; ".join(parts)


def points(interval: Interval) -> str:
    """An interval in points of a hundred.

    >>> points(Interval(0.031, 0.02, 0.0421, 0.95, "", 6))
    '3.1 [2.0, 4.2]'
    """
    return f"{100 * interval.estimate:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def plain_interval(interval: Interval | None) -> dict[str, Any]:
    """An interval as plain values for JSON; what is not known is null.

    >>> plain_interval(None)["splits"]
    0
    """
    if interval is None:
        return {"estimate": None, "low": None, "high": None, "level": None, "splits": 0}
    return {
        **{
            name: round(value, 6) if math.isfinite(value) else None
            for name in ("estimate", "low", "high")
            for value in [getattr(interval, name)]
        },
        "level": interval.level,
        "splits": interval.count,
    }
