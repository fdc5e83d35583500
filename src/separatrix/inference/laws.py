"""Laws: candidate scalings of a threshold with the design, each with one free constant.

A law is a small object: a name, a formula to read, and a function from design columns to positive
values. Anyone can add one: `Law("k sqrt(d)", "k·√d", lambda design: design["k"] *
np.sqrt(design["d"]))`.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.errors import ParameterError, SeparatrixError, check_choice, check_number
from separatrix.inference.thresholds import Threshold

Design = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Law:
    """A scaling up to a constant; laws of one `family` differ only by slowly varying or noise
    factors.

    >>> Law("kd", "k·d", lambda design: design["k"] * design["d"]).values({"k": np.array([2.0]), "d": np.array([5.0])})
    array([10.])
    """

    name: str
    formula: str
    function: Callable[[Design], Any]
    family: str = ""

    def values(self, design: Design) -> np.ndarray:
        """The law at each row of the design, checked to be finite and positive.

        >>> standard_laws()[0].values({"k": np.array([2.0]), "d": np.array([5.0])})
        array([7.])
        """
        try:
            found = np.asarray(self.function(design), dtype=float)
        except KeyError as error:
            known = ", ".join(sorted(design))
            raise SeparatrixError(
                f"the law {self.name} needs a column {error}, the design has: {known}"
            ) from error
        if not np.all(np.isfinite(found)) or np.any(found <= 0):
            raise ParameterError(
                f"the law {self.name}",
                "values",
                "finite and > 0 on the whole design",
                found.tolist(),
            )
        return found


_BASES: tuple[tuple[str, str, Callable[[Design], Any]], ...] = (
    ("k+d", "k + d", lambda design: design["k"] + design["d"]),
    ("kd", "k·d", lambda design: design["k"] * design["d"]),
    ("k(k+d)", "k·(k + d)", lambda design: design["k"] * (design["k"] + design["d"])),
    ("k²d", "k²·d", lambda design: design["k"] ** 2 * design["d"]),
)


def _times(base: Callable[[Design], Any], noise: bool, logarithm: bool) -> Callable[[Design], Any]:
    def product(design: Design) -> Any:
        value = base(design)
        if noise:
            value = value * design["sigma"] ** 2
        if logarithm:
            value = value * np.log(design["k"] * design["d"])
        return value

    return product


def standard_laws(
    noise: Iterable[bool] = (False,), logarithm: Iterable[bool] = (False,)
) -> tuple[Law, ...]:
    """The named laws k+d, kd, k(k+d), k²d, with and/or without the factors σ² and log(kd).

    Ask for σ² only where it varies with the design: a constant factor makes two laws the same.

    >>> [law.name for law in standard_laws(logarithm=(False, True))][:5]
    ['k+d', 'kd', 'k(k+d)', 'k²d', '(k+d)·log(kd)']
    """
    laws = []
    for with_noise in noise:
        for with_log in logarithm:
            for name, formula, base in _BASES:
                bracket = f"({name})" if name == "k+d" and (with_noise or with_log) else name
                factors = ("σ²·" if with_noise else "") + bracket + ("·log(kd)" if with_log else "")
                words = (
                    ("σ²·" if with_noise else "")
                    + f"({formula})"
                    + ("·log(k·d)" if with_log else "")
                )
                laws.append(Law(factors, words, _times(base, with_noise, with_log), family=name))
    return tuple(laws)


@dataclasses.dataclass(frozen=True)
class Cell:
    """One measured threshold: where in the design, log value and its error, or a soft bound when
    censored.

    `value` is the log threshold, or the log bound when `censoring` is left (at most) or right (at
    least). Cells with the same `cluster` are resampled and held out together; by default each cell
    is its own cluster.

    >>> Cell({"k": 10, "d": 20}, value=math.log(300), error=0.1).censoring
    'none'
    """

    design: Mapping[str, float]
    value: float
    error: float
    censoring: str = "none"
    cluster: Any = None

    def __post_init__(self):
        check_number("Cell", "value", self.value)
        check_number("Cell", "error", self.error, low=0)
        check_choice("Cell", "censoring", self.censoring, ["none", "left", "right"])


def cell_of(design: Mapping[str, float], threshold: Threshold, cluster: Any = None) -> Cell | None:
    """A threshold as an observation for regression; None when it is censored on both sides and says
    nothing.

    >>> from separatrix.inference.thresholds import Tally, estimate_threshold
    >>> cell_of({"k": 8, "d": 8}, estimate_threshold([Tally(64, 8, 8)])).censoring
    'left'
    """
    if threshold.censoring == "both":
        return None
    if threshold.censoring == "none":
        return Cell(
            dict(design), math.log(threshold.estimate), threshold.log_error, "none", cluster
        )
    return Cell(
        dict(design), threshold.log_bound, threshold.log_error, threshold.censoring, cluster
    )


def columns(cells: Sequence[Cell], names: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """The design of many cells as named columns, one number a cell.

    >>> columns([Cell({"k": 8}, 1.0, 0.1), Cell({"k": 16}, 2.0, 0.1)])["k"].tolist()
    [8.0, 16.0]
    """
    if not cells:
        raise ParameterError("columns", "cells", "a non-empty list of cells", [])
    names = list(cells[0].design) if names is None else list(names)
    for cell in cells:
        for name in names:
            if name not in cell.design:
                raise SeparatrixError(
                    f"a cell lacks the design variable `{name}`; it has {sorted(cell.design)}"
                )
    return {name: np.array([cell.design[name] for cell in cells], dtype=float) for name in names}
