"""Planted truths: simulated studies whose claims are true or false by construction.

    separatrix calibrate --verdicts

For each kind of claim, evidence is drawn from a known truth with the precision that the studies
have at full scale, and the kind decides. A verdict is wrong when it supports a false claim or
refutes a true one. Rows of the table count wrong verdicts at the level of a single claim (95 %),
and wrong and right ones at the level at which a claim among twenty of a paper is decided; the share
of right ones is the power. A truth on the border of a claim reaches the nominal 5 % at 95 %.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from separatrix.errors import UnknownNameError, check_integer
from separatrix.inference.bounds import bend_along
from separatrix.inference.censored_regression import Cell
from separatrix.inference.estimates import MeanDifference, MeanOf, PairedDifference
from separatrix.inference.intervals import Interval, wilson
from separatrix.inference.laws import Law
from separatrix.studies.kinds import (
    Certificate,
    Comparison,
    Equivalence,
    Existence,
    Identity,
    Kind,
    LowerBound,
    Trend,
    UpperBound,
    Verdict,
)

PAPER = 20  # claims among which a verdict is decided when power is counted
LEVELS = (0.95, 1 - 0.05 / PAPER)
MOST_WRONG = 0.05
LEAST_POWER = 0.80

Simulation = Callable[[np.random.Generator], Any]
Size = Callable[[float, float], float]
Pairs = Sequence[tuple[int, int]]

_SQUARE: Pairs = [(k, d) for k in (10, 20, 40, 80) for d in (10, 20, 40, 80)]
_FULL_GRID: Pairs = [(k, d) for k in (8, 12, 16, 24, 32, 40) for d in (8, 12, 16, 24, 32, 40)]
_CROSS: Pairs = [(k, 20) for k in (10, 15, 20, 25, 30)] + [(20, d) for d in (10, 15, 25, 30)]
_ERROR = 0.05  # the log error of a threshold at full scale


@dataclasses.dataclass(frozen=True)
class Planted:
    """A kind, a truth, and how evidence is drawn from it.

    Attributes:
        name: What is true.
        kind: The kind that decides.
        simulate: Draws the evidence of one study.
        holds: Whether the claim is true.
        power: The share of studies that must decide rightly, None where none need decide.
    """

    name: str
    kind: Kind
    simulate: Simulation
    holds: bool
    power: float | None = None

    @property
    def right(self) -> Verdict:
        """The verdict that is true."""
        return "supported" if self.holds else "refuted"

    @property
    def wrong(self) -> Verdict:
        """The verdict that is false."""
        return "refuted" if self.holds else "supported"


@dataclasses.dataclass(frozen=True)
class PlantedRow:
    """How often a kind decided wrongly and rightly."""

    planted: Planted
    studies: int
    wrong_alone: Interval  # at 95 %
    wrong: Interval  # at the level of one claim among twenty
    right: Interval

    @property
    def passed(self) -> bool:
        """Whether wrong verdicts are rare enough and right ones frequent enough."""
        enough = self.planted.power is None or self.right.estimate >= self.planted.power
        rare = self.wrong.estimate <= MOST_WRONG and self.wrong_alone.low <= MOST_WRONG
        return rare and enough


def plant(
    studies: int = 500,
    seed: int = 0,
    names: Iterable[str] | None = None,
    watch: Callable[[PlantedRow], None] = lambda row: None,
) -> list[PlantedRow]:
    """Simulate studies of every planted truth, or of those named.

    Args:
        studies: Simulated studies per row.
        seed: Of the simulations; each row has a stream of its own.
        names: The rows that are wanted, None for all.
        watch: Sees each row as it is done.

    Returns:
        One row per planted truth.
    """
    check_integer("plant", "studies", studies, low=1)
    check_integer("plant", "seed", seed, low=0)
    truths = planted_truths()
    wanted = None if names is None else list(names)
    for name in wanted or ():
        if name not in {truth.name for truth in truths}:
            raise UnknownNameError("planted truth", name, (truth.name for truth in truths))
    rows = []
    for place, truth in enumerate(truths):
        if wanted is None or truth.name in wanted:
            rows.append(_simulate(truth, studies, np.random.default_rng([seed, 1000 + place])))
            watch(rows[-1])
    return rows


def planted_truths() -> list[Planted]:
    """Every planted truth, with different names."""
    return [
        *_upper_bounds(),
        *_lower_bounds(),
        *_comparisons(),
        *_equivalences(),
        *_trends(),
        *_exact(),
        *_existences(),
    ]


def _simulate(truth: Planted, studies: int, generator: np.random.Generator) -> PlantedRow:
    drawn = [truth.kind.verdicts(truth.simulate(generator), LEVELS) for _ in range(studies)]
    counts = [
        sum(verdict == truth.wrong for verdict, _ in drawn),
        sum(verdict == truth.wrong for _, verdict in drawn),
        sum(verdict == truth.right for _, verdict in drawn),
    ]
    return PlantedRow(truth, studies, *(wilson(count, studies) for count in counts))


def _law(text: str, function: Callable[[Any, Any], Any], *terms: Law) -> Law:
    return Law(text, text, lambda design: function(design["k"], design["d"]), terms=terms)


_K_LOG = _law("k·ln(kd)", lambda k, d: k * np.log(k * d))
_D_LOG = _law("d·ln(kd)", lambda k, d: d * np.log(k * d))
_SUM_LOG = _law("(k+d)·ln(kd)", lambda k, d: (k + d) * np.log(k * d), _K_LOG, _D_LOG)
_SUM = _law("k+d", lambda k, d: k + d, _law("k", lambda k, d: k), _law("d", lambda k, d: d))
_PRODUCT = _law("k²d", lambda k, d: k * k * d)


def measured(
    size: Size, pairs: Pairs, scatter: float = 0.0, largest: float = math.inf
) -> Simulation:
    """Draws cells with the errors of a full-scale run around a true size.

    Args:
        size: The true quantity at k and d.
        pairs: The design.
        scatter: What cells scatter beyond their errors, in log units.
        largest: A quantity beyond this is censored there.
    """

    def simulate(generator: np.random.Generator) -> list[Cell]:
        cells = []
        for k, d in pairs:
            error = _ERROR * math.exp(0.3 * generator.normal())
            value = math.log(size(k, d)) + scatter * generator.normal()
            value += error * generator.normal()
            design = {"k": float(k), "d": float(d)}
            if value > math.log(largest):
                cells.append(Cell(design, math.log(largest), error, "right"))
            else:
                cells.append(Cell(design, value, error))
        return cells

    return simulate


def _upper_bounds() -> list[Planted]:
    tilde = UpperBound("m*", _SUM_LOG, ("k", "d"))
    plain = UpperBound("m*", _SUM, ("k", "d"))

    def row(name: str, kind: Kind, size: Size, pairs: Pairs, holds: bool, power=None, **more):
        return Planted(f"≤: {name}", kind, measured(size, pairs, **more), holds, power)

    def log_sum(k: float, d: float) -> float:
        return (k + d) * math.log(k * d)

    p = LEAST_POWER
    return [
        row("the bound, factorial", tilde, log_sum, _SQUARE, True, p),
        row("the bound without its ln(kd)", tilde, lambda k, d: k + d, _SQUARE, True, p),
        row("the bound plus a constant", plain, lambda k, d: k + d + 20, _SQUARE, True, p),
        row("the bound minus a constant", plain, lambda k, d: k + d - 12, _SQUARE, True, p),
        row("one term of the bound", plain, lambda k, d: d, _SQUARE, True, p),
        row("the bound, cells scatter by .1", tilde, log_sum, _SQUARE, True, scatter=0.1),
        row("the bound, largest cells censored", tilde, log_sum, _SQUARE, True, largest=900.0),
        row("the bound, cross", tilde, log_sum, _CROSS, True),
        row("the bound times ln(kd)", plain, log_sum, _SQUARE, False),
        row("the bound times k^.13", tilde, lambda k, d: log_sum(k, d) * k**0.13, _SQUARE, False),
        row("the bound times √k", tilde, lambda k, d: log_sum(k, d) * k**0.5, _SQUARE, False, p),
        row("a power 1.2 of the bound", plain, lambda k, d: (k + d) ** 1.2, _SQUARE, False),
        row("kd in place of k+d", plain, lambda k, d: k * d, _SQUARE, False, p),
        row("kd in place of k+d, cross", plain, lambda k, d: k * d, _CROSS, False),
    ]


def _lower_bounds() -> list[Planted]:
    kind = LowerBound("m*", _PRODUCT, ("k", "d"))

    def row(name: str, size: Size, pairs: Pairs, holds: bool, power=None, **more):
        return Planted(f"≥: {name}", kind, measured(size, pairs, **more), holds, power)

    p = LEAST_POWER
    return [
        row("the bound, factorial", lambda k, d: k * k * d, _FULL_GRID, True, p),
        row(
            "the bound times ln(kd)",
            lambda k, d: k * k * d * math.log(k * d),
            _FULL_GRID,
            True,
            p,
        ),
        row("the bound plus a constant", lambda k, d: k * k * d + 800, _FULL_GRID, True, p),
        row(
            "the bound, cells scatter by .1", lambda k, d: k * k * d, _FULL_GRID, True, scatter=0.1
        ),
        row("the bound, cross", lambda k, d: k * k * d, _CROSS, True),
        row("the bound over k^.13", lambda k, d: k**1.87 * d, _FULL_GRID, False),
        row("the bound over √k", lambda k, d: k**1.5 * d, _FULL_GRID, False, p),
        row("the square root of the bound", lambda k, d: k * d**0.5, _FULL_GRID, False, p),
        row("a power .8 of the bound", lambda k, d: (k * k * d) ** 0.8, _FULL_GRID, False),
        row("k(k+d) in place of k²d", lambda k, d: k * (k + d), _FULL_GRID, False, p),
        row("k(k+d) in place of k²d, cross", lambda k, d: k * (k + d), _CROSS, False),
    ]


def _gaps(means: Sequence[float], seeds: int, paired: bool = False) -> Simulation:
    """Draws parts: differences of two networks over seeds, in units of one seed's spread."""
    kind = PairedDifference if paired else MeanDifference

    def simulate(generator: np.random.Generator) -> dict[str, Any]:
        first = generator.normal(size=(len(means), seeds)) + np.array(means)[:, None]
        second = generator.normal(size=(len(means), seeds))
        return {
            f"part {place}": kind(tuple(a), tuple(b))
            for place, (a, b) in enumerate(zip(first, second))
        }

    return simulate


def _comparisons() -> list[Planted]:
    kind = Comparison("accuracy, A minus B", "above", 0.0)

    def row(name: str, means: Sequence[float], holds: bool, power=None, seeds: int = 8):
        return Planted(f"A > B: {name}", kind, _gaps(means, seeds), holds, power)

    return [
        row("in 12 parts", [4.0] * 12, True, LEAST_POWER),
        row("in 12 parts of 3 seeds", [4.0] * 12, True, seeds=3),
        row("but for one of 12 parts", [4.0] * 11 + [0.0], False),
        row("but for one part of 3 seeds", [0.0], False, seeds=3),
        row("but for one of 12, the other way round", [4.0] * 11 + [-4.0], False, LEAST_POWER),
        row("nowhere, all equal", [0.0] * 12, False),
    ]


def _equivalences() -> list[Planted]:
    kind = Equivalence("A minus B", margin=1.0)
    share = Equivalence("bend as a share of the rise", margin=0.1)

    def row(name: str, shift: float, holds: bool, power=None):
        def simulate(generator: np.random.Generator) -> dict[str, Any]:
            return {"": MeanOf(tuple(shift + 0.5 * generator.normal(size=10)))}

        return Planted(f"A = B: {name}", kind, simulate, holds, power)

    def line(name: str, size: Size, holds: bool, power=None):
        draw = measured(size, _SQUARE)

        def simulate(generator: np.random.Generator) -> dict[str, Any]:
            return {"": bend_along(draw(generator), "k", "d")}

        return Planted(f"straight: {name}", share, simulate, holds, power)

    return [
        row("equal", 0.0, True, LEAST_POWER),
        row("within half of the margin", 0.5, True),
        row("just beyond the margin", 1.05, False),
        row("twice the margin", 2.0, False, LEAST_POWER),
        line("d + k", lambda k, d: d + k, True),
        line("k(k+d)", lambda k, d: k * (k + d), False),
    ]


def _trends() -> list[Planted]:
    kind = Trend("gap", "m", "rising")

    def row(name: str, steps: Sequence[float], holds: bool, power=None):
        return Planted(f"rising: {name}", kind, _gaps(steps, 5, paired=True), holds, power)

    return [
        row("at every step", [8.0] * 4, True, LEAST_POWER),
        row("but for one flat step", [8.0, 8.0, 0.0, 8.0], False),
        row("but for one step down", [8.0, 8.0, -10.0, 8.0], False, LEAST_POWER),
    ]


def _exact() -> list[Planted]:
    certificate, identity = Certificate("left ≤ right", 1e-6), Identity("left = right", 1e-9)

    def shares(rate: float) -> Simulation:
        def simulate(generator: np.random.Generator) -> dict[str, float]:
            slack = -generator.uniform(0.1, 0.9, size=200)
            broken = generator.uniform(size=200) < rate
            return dict(enumerate(np.where(broken, 0.05, slack)))  # type: ignore[arg-type]

        return simulate

    def errors(missing: float) -> Simulation:
        def simulate(generator: np.random.Generator) -> dict[str, float]:
            rounding = 1e-14 * np.exp(generator.normal(size=40))
            return dict(enumerate(rounding + missing))  # type: ignore[arg-type]

        return simulate

    return [
        Planted("certificate: holds", certificate, shares(0.0), True, LEAST_POWER),
        Planted("certificate: broken in 3 % of runs", certificate, shares(0.03), False, 0.95),
        Planted("identity: holds", identity, errors(0.0), True, LEAST_POWER),
        Planted("identity: a term is missing", identity, errors(1e-4), False, LEAST_POWER),
    ]


def _existences() -> list[Planted]:
    kind = Existence("accuracy of some recipe", "above", 0.0)

    def row(name: str, means: Sequence[float], holds: bool, power=None):
        return Planted(f"some: {name}", kind, _gaps(means, 8), holds, power)

    return [
        row("one of 6 does", [0.0] * 5 + [4.0], True, LEAST_POWER),
        row("none of 6 does", [0.0] * 6, False),
    ]


_HEAD = (
    "| kind | what is true | studies | wrong at 95 % | wrong among 20 | right among 20 | wanted |\n"
    "|---|---|---|---|---|---|---|"
)


def planted_line(row: PlantedRow) -> str:
    """One row of the table."""
    truth = row.planted
    wanted = f"≤ {MOST_WRONG:.0%} wrong"
    if truth.power is not None:
        wanted += f", ≥ {truth.power:.0%} {truth.right}"
    mark = "" if row.passed else " **out of range**"
    return (
        f"| {truth.kind.name} | {truth.name} | {row.studies} "
        f"| {100 * row.wrong_alone.estimate:.1f} %{mark} "
        f"| {100 * row.wrong.estimate:.1f} % {truth.wrong} "
        f"| {100 * row.right.estimate:.0f} % {truth.right} | {wanted} |"
    )


def print_planted(studies: int = 500, seed: int = 0, names: Sequence[str] | None = None) -> bool:
    """Print the table row by row as it is made; whether every row is in range."""
    print(_HEAD, flush=True)
    rows = plant(studies, seed, names, watch=lambda row: print(planted_line(row), flush=True))
    return all(row.passed for row in rows)
