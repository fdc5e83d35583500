"""Upper and lower bounds with unknown constants."""

import dataclasses
import math
from collections.abc import Sequence
from typing import ClassVar

from separatrix.errors import ParameterError, SeparatrixError, check_number
from separatrix.inference.bounds import (
    Drift,
    Mixture,
    fit_drift,
    largest_constant,
    smallest_constant,
)
from separatrix.inference.censored_regression import Cell
from separatrix.inference.intervals import Interval
from separatrix.inference.laws import Law
from separatrix.studies.kinds.decision import (
    SHOWN_LEVEL,
    Decision,
    Evidence,
    Kind,
    Verdict,
    check_level,
    check_margin,
    is_finite,
    nothing_measured,
    one_sided,
)

DRIFT_MARGIN = 0.10  # a ratio that grows more slowly than size^0.10 counts as not growing
REFUTING_RANGE = 4.0  # over less than this factor in a size, growth refutes no bound


@dataclasses.dataclass(frozen=True)
class _Bound(Kind):
    quantity: str
    law: Law
    sizes: tuple[str, ...]
    margin: float | None = DRIFT_MARGIN
    range_factor: float = REFUTING_RANGE
    group: str | None = None

    side: ClassVar[float]
    relation: ClassVar[str]
    verb: ClassVar[str]
    letter: ClassVar[str]

    def __post_init__(self):
        check_margin(self, "margin", self.margin)
        check_number(type(self).__name__, "range_factor", self.range_factor, low=1)
        if not self.sizes:
            raise ParameterError(type(self).__name__, "sizes", "at least one size", self.sizes)

    @property
    def limit(self) -> float:
        """The drift exponent at which the claim's truth changes."""
        return self.side * float(self.margin or 0.0)

    def decide(self, evidence: Sequence[Cell], level: float = SHOWN_LEVEL) -> Decision:
        """The verdict on cells: log values with errors, sizes and censoring."""
        cells = list(evidence or ())
        check_level(level)
        if not cells:
            return nothing_measured(level)
        try:
            drift = fit_drift(cells, self.law, self.sizes, self.group)
        except SeparatrixError as error:
            return Decision(
                "not measured",
                f"no drift exponent can be fitted: {error}",
                self._constant(cells),
                f"cells that vary {' and '.join(self.sizes)} independently",
                level=level,
            )
        test = self._test(drift, level)
        reason = self._reason(drift, test, cells)
        settle, effort = ("", None) if test.decided else test.settle()
        shown = (*self._exponents(drift), *self._constant(cells))
        return Decision(test.verdict, reason, shown, settle, effort, level)

    def verdicts(self, evidence: Sequence[Cell], levels: Sequence[float]) -> tuple[Verdict, ...]:
        """The verdicts at several levels, from one fit."""
        drift = fit_drift(evidence, self.law, self.sizes, self.group)
        return tuple(self._test(drift, level).verdict for level in levels)

    def _test(self, drift: Drift, level: float) -> "_DriftTest":
        return _DriftTest(drift, self.side, float(self.margin or 0.0), self.range_factor, 1 - level)

    def rule_in_words(self) -> str:
        """The rule of a bound whose constant is unknown."""
        sizes = " and ".join(self.sizes)
        over = f"{self.quantity} / ({self.law.formula})"
        most = "at most" if self.side > 0 else "at least"
        return (
            f"Supported if the ratio {over} does not {self.verb} with {sizes}: its drift exponent "
            f"in each of them, the slope of its logarithm in log {' or log '.join(self.sizes)}, "
            f"is {most} {self.limit:+.2f} with the decision's confidence. Where {self._form} "
            "explains the cells, clearly better than the bound's own form and than a power of it "
            "and as well without a drift as with one, exponents against that form count too. "
            f"Refuted if some drift exponent is {'above' if self.side > 0 else 'below'} "
            f"{self.limit:+.2f}, over at least a factor of {self.range_factor:g} in that size, "
            "against both forms. Otherwise undecided."
        )

    def formula(self) -> str:
        """The rule as a formula."""
        drifts = ", ".join(f"β_{size}" for size in self.sizes)
        powers = "·".join(f"{size}^β_{size}" for size in self.sizes)
        compare = "≤" if self.side > 0 else "≥"
        form = "Σ_j c_j·f_j" if self.law.terms else f"{self.letter}·f"
        return (
            f"claim: {self.quantity} {self.relation} {self.letter}·f, f = {self.law.formula}; "
            f"models: {self.quantity} = {self.letter}·f·{powers} and (a + {form})·{powers}; "
            f"supported: {drifts} {compare} {self.limit:+.2f}"
        )

    @property
    def _form(self) -> str:
        constants = "an additive constant"
        if self.law.terms:
            names = " and ".join(term.formula for term in self.law.terms)
            constants += f" and a constant each for {names}"
        return f"the finite-size form with {constants}"

    def _exponents(self, drift: Drift) -> tuple[Evidence, ...]:
        shown = []
        for size in self.sizes:
            for exponents, words in (
                (drift.plain, ""),
                (drift.corrected, ", against the finite-size form"),
            ):
                name = f"drift exponent of {self.quantity}/f in {size}{words}"
                shown.append(Evidence.of(name, exponents[size].interval(SHOWN_LEVEL), self.limit))
        return tuple(shown)

    def _constant(self, cells: Sequence[Cell]) -> tuple[Evidence, ...]:
        find = smallest_constant if self.side > 0 else largest_constant
        word = "smallest" if self.side > 0 else "largest"
        name = (
            f"{word} {self.letter} with {self.quantity} {self.relation} {self.letter}·f in all "
            "cells"
        )
        return (Evidence.of(name, find(cells, self.law, SHOWN_LEVEL)),)

    def _reason(self, drift: Drift, test: "_DriftTest", cells: Sequence[Cell]) -> str:
        parts = [
            f"{size}^{_signed(drift.plain[size].interval(SHOWN_LEVEL))} over a factor of "
            f"{drift.ranges[size]:.3g}"
            for size in self.sizes
        ]
        constant = self._constant(cells)[0]
        words = f"the ratio to {self.law.formula} goes as {', '.join(parts)}"
        if drift.finite_size:
            corrected = ", ".join(
                f"{size}^{_signed(drift.corrected[size].interval(SHOWN_LEVEL))}"
                for size in self.sizes
            )
            words += f" ({corrected} against the finite-size form, which fits better)"
        number = "unknown" if not is_finite(constant.estimate) else f"{constant.estimate:.3g}"
        words += f"; {self.letter} = {number} covers all {drift.cells} cells"
        if drift.censored:
            words += f", {drift.censored} of which are censored"
        return words


@dataclasses.dataclass(frozen=True)
class UpperBound(_Bound):
    """quantity ≤ C·f(sizes), the constant C unknown.

    Args:
        quantity: What is bounded, in words or as a symbol.
        law: f.
        sizes: The design columns in which f is asked to hold.
        margin: A drift exponent up to this counts as no growth.
        range_factor: The factor in a size that a refutation needs.
        group: A design column whose values have constants of their own; None for one constant.

    >>> law = Law("k+d", "k + d", lambda design: design["k"] + design["d"])
    >>> cells = [
    ...     Cell({"k": k, "d": d}, math.log(0.4 * (k + d)), 0.05)
    ...     for k in (10, 20, 40, 80)
    ...     for d in (10, 20, 40, 80)
    ... ]
    >>> UpperBound("m*", law, ("k", "d")).decide(cells).verdict
    'supported'
    """

    name: ClassVar[str] = "upper bound"
    side: ClassVar[float] = 1.0
    relation: ClassVar[str] = "≤"
    verb: ClassVar[str] = "grow"
    letter: ClassVar[str] = "C"


@dataclasses.dataclass(frozen=True)
class LowerBound(_Bound):
    """quantity ≥ c·f(sizes), the constant c unknown; the fields are those of `UpperBound`.

    >>> law = Law("kd", "k·d", lambda design: design["k"] * design["d"])
    >>> cells = [
    ...     Cell({"k": k, "d": d}, math.log(k + d), 0.05)
    ...     for k in (10, 20, 40, 80)
    ...     for d in (10, 20, 40, 80)
    ... ]
    >>> LowerBound("m*", law, ("k", "d")).decide(cells).verdict
    'refuted'
    """

    name: ClassVar[str] = "lower bound"
    side: ClassVar[float] = -1.0
    relation: ClassVar[str] = "≥"
    verb: ClassVar[str] = "fall"
    letter: ClassVar[str] = "c"


@dataclasses.dataclass(frozen=True)
class _DriftTest:
    """The tests behind a bound's verdict; `side` turns a lower bound's exponents around."""

    drift: Drift
    side: float
    margin: float
    range_factor: float
    alpha: float

    def beyond(self, exponent: Mixture) -> float:
        """The probability that a turned exponent is above the margin."""
        above = exponent.above(self.side * self.margin)
        return above if self.side > 0 else 1.0 - above

    @property
    def supported(self) -> bool:
        plain = max(self.beyond(exponent) for exponent in self.drift.plain.values())
        corrected = [self.beyond(exponent) for exponent in self.drift.corrected.values()]
        # A growth that only the finite-size form brings to light is not absent.
        hidden = max(corrected) >= 0.5 + SHOWN_LEVEL / 2
        if plain <= self.alpha and not hidden:
            return True
        return self.drift.finite_size and max(corrected) <= self.alpha

    @property
    def refuted(self) -> bool:
        """Whether some size drifts too far, against the bound as it is and its finite-size form."""
        most = self.alpha / len(self.drift.plain)
        drifting = any(
            self.drift.ranges[size] >= self.range_factor * (1 - 1e-9)
            and 1 - self.beyond(exponent) <= most
            for size, exponent in self.drift.plain.items()
        )
        limit = self.side * self.margin
        return drifting and self.drift.no_drift(limit, self.side, self.range_factor) <= most

    @property
    def verdict(self) -> Verdict:
        if self.supported:
            return "supported"
        return "refuted" if self.refuted else "undecided"

    @property
    def decided(self) -> bool:
        return self.verdict != "undecided"

    def settle(self) -> tuple[str, float | None]:
        """What would settle it, and how many times as many trials, where they would."""
        efforts, ranges, form_decides = [], [], []
        for size, exponent in self.drift.plain.items():
            beyond = self.beyond(exponent)
            if beyond <= self.alpha:
                continue
            middle = self.side * exponent.estimate
            if middle <= self.margin:
                efforts.append(_effort(exponent, self.side * self.margin, self.alpha))
            elif self.drift.ranges[size] < self.range_factor:
                ranges.append(f"{size} over a factor of {self.range_factor:g}")
            elif 1 - beyond <= self.alpha / len(self.drift.plain):
                form_decides.append(size)
            else:
                efforts.append(_effort(exponent, self.side * self.margin, self.alpha / 2))
        words = []
        if ranges:
            words.append(f"cells that vary {' and '.join(ranges)}")
        if form_decides:
            words.append(
                f"larger {' and '.join(form_decides)}, where the two forms of the bound differ less"
            )
        effort = max(efforts) if efforts else None
        if effort is not None and math.isfinite(effort):
            words.append(f"about {effort:.2g} times as many trials per cell, or more cells")
        elif effort is not None:
            words.append("more cells and a wider range: the drift lies at the margin")
            effort = None
        return "; ".join(words) or "larger sizes", effort


def _effort(exponent: Mixture, limit: float, alpha: float) -> float:
    """How many times as many trials bring an exponent's interval clear of the limit."""
    interval = exponent.interval(one_sided(alpha))
    half = (interval.high - interval.low) / 2
    gap = abs(limit - exponent.estimate)
    return (half / gap) ** 2 if gap > half / 20 else math.inf


def _signed(interval: Interval) -> str:
    return f"{interval.estimate:+.2f} [{interval.low:+.2f}, {interval.high:+.2f}]"
