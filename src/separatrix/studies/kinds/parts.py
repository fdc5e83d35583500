"""Kinds that look at parts, each with an estimate: comparison, trend, equivalence, existence."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import ClassVar, Literal

from separatrix.errors import check_choice, check_number
from separatrix.inference.estimates import Estimate
from separatrix.inference.intervals import Interval
from separatrix.studies.kinds.decision import (
    SHOWN_LEVEL,
    Decision,
    Evidence,
    Kind,
    check_level,
    check_margin,
    is_finite,
    listed,
    nothing_measured,
    one_sided,
)


@dataclasses.dataclass(frozen=True)
class Comparison(Kind):
    """A quantity lies on one side of a reference wherever it is measured: A before B.

    Args:
        quantity: What is compared, as "samples, LCN over CNN" or "accuracy, CNN minus FCN".
        side: "above" or "below" the reference.
        reference: 0 for differences, 1 for ratios, or any bar.

    Evidence maps the name of each part to an estimate, or to None where it was not measured.

    >>> from separatrix.inference.estimates import Known
    >>> order = Comparison("samples, LCN over CNN", "above", 1.0)
    >>> order.decide({"k = 10": Known(3.0, 0.2), "k = 20": Known(1.1, 0.2)}).verdict
    'undecided'
    """

    quantity: str
    side: Literal["above", "below"]
    reference: float
    name: ClassVar[str] = "comparison"

    def __post_init__(self):
        check_choice(type(self).__name__, "side", self.side, ("above", "below"))
        check_number(type(self).__name__, "reference", self.reference)

    def decide(
        self, evidence: Mapping[str, Estimate | None], level: float = SHOWN_LEVEL
    ) -> Decision:
        """The verdict on parts."""
        return _decide_parts(self, evidence, level, self._holds, self._fails)

    def rule_in_words(self) -> str:
        """The rule of a comparison."""
        other = "below" if self.side == "above" else "above"
        return (
            f"Supported if {self.quantity} is {self.side} {self.reference:g} in every part that "
            "was measured, each part's interval by itself (intersection–union). Refuted if some "
            f"part's interval lies {other} {self.reference:g} after Holm's correction over the "
            "parts. Otherwise undecided."
        )

    def formula(self) -> str:
        """The rule as a formula."""
        sign = ">" if self.side == "above" else "<"
        return f"for every part i: θ_i {sign} {self.reference:g}, θ = {self.quantity}"

    def _holds(self, interval: Interval) -> bool:
        if self.side == "above":
            return interval.low > self.reference
        return interval.high < self.reference

    def _fails(self, interval: Interval) -> bool:
        if self.side == "above":
            return interval.high < self.reference
        return interval.low > self.reference


@dataclasses.dataclass(frozen=True)
class Trend(Kind):
    """A quantity rises, or falls, with a size from each value to the next.

    Evidence maps the name of each step to an estimate of the change: a difference, or a ratio with
    `reference` 1.

    >>> from separatrix.inference.estimates import PairedDifference
    >>> step = PairedDifference((0.5, 0.6, 0.55), (0.2, 0.25, 0.3))
    >>> Trend("gap", "m", "rising").decide({"5 to 10": step}).verdict
    'supported'
    """

    quantity: str
    size: str
    direction: Literal["rising", "falling"]
    reference: float = 0.0
    name: ClassVar[str] = "trend"

    def __post_init__(self):
        check_choice("Trend", "direction", self.direction, ("rising", "falling"))
        check_number("Trend", "reference", self.reference)

    @property
    def steps(self) -> Comparison:
        """The comparison that every step must pass."""
        what = "changes" if self.reference == 0 else "ratios"
        side: Literal["above", "below"] = "above" if self.direction == "rising" else "below"
        return Comparison(
            f"{what} of {self.quantity} from one {self.size} to the next", side, self.reference
        )

    def decide(
        self, evidence: Mapping[str, Estimate | None], level: float = SHOWN_LEVEL
    ) -> Decision:
        """The verdict on steps."""
        return self.steps.decide(evidence, level)

    def rule_in_words(self) -> str:
        """The rule of a trend, step by step."""
        return self.steps.rule_in_words()

    def formula(self) -> str:
        """The rule as a formula."""
        sign = ">" if self.direction == "rising" else "<"
        change = "q(s_i+1) − q(s_i)" if self.reference == 0 else "q(s_i+1)/q(s_i)"
        return (
            f"for every step i: {change} {sign} {self.reference:g}, "
            f"q = {self.quantity}, s = {self.size}"
        )


@dataclasses.dataclass(frozen=True)
class Equivalence(Kind):
    """A and B agree: their difference (or ratio) lies within a margin that was fixed beforehand.

    Args:
        quantity: The difference, ratio or other number that is asked to be small.
        margin: How far it may lie from the reference. For ratios, the reference may be missed by a
            factor of 1 + margin either way.
        reference: 0 for differences, 1 for ratios.
        ratio: Whether the quantity is a ratio.

    >>> from separatrix.inference.estimates import Known
    >>> kind = Equivalence("accuracy, LCN minus CNN", margin=0.05)
    >>> kind.decide({"n = 9": Known(0.01, 0.01)}).verdict
    'supported'
    >>> Equivalence("accuracy, LCN minus CNN")
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `margin` of Equivalence must be a number > 0 that is fixed
        beforehand, got None
    """

    quantity: str
    margin: float | None = None
    reference: float = 0.0
    ratio: bool = False
    name: ClassVar[str] = "equivalence"

    def __post_init__(self):
        check_margin(self, "margin", self.margin)
        check_number("Equivalence", "reference", self.reference)

    @property
    def range(self) -> tuple[float, float]:
        """The values that count as agreement."""
        margin = float(self.margin or 0.0)
        if self.ratio:
            return self.reference / (1 + margin), self.reference * (1 + margin)
        return self.reference - margin, self.reference + margin

    def decide(
        self, evidence: Mapping[str, Estimate | None], level: float = SHOWN_LEVEL
    ) -> Decision:
        """The verdict on parts, each by two one-sided tests."""
        low, high = self.range

        def inside(interval: Interval) -> bool:
            return low <= interval.low and interval.high <= high

        def outside(interval: Interval) -> bool:
            return interval.high < low or interval.low > high

        return _decide_parts(self, evidence, level, inside, outside)

    def rule_in_words(self) -> str:
        """The rule of an equivalence."""
        low, high = self.range
        return (
            f"Supported if {self.quantity} lies between {low:.4g} and {high:.4g} in every part: "
            "both one-sided tests pass. Refuted if some part's interval lies outside of that "
            "range after Holm's correction over the parts. Otherwise undecided."
        )

    def formula(self) -> str:
        """The rule as a formula."""
        low, high = self.range
        return f"for every part i: {low:.4g} ≤ θ_i ≤ {high:.4g}, θ = {self.quantity}"


@dataclasses.dataclass(frozen=True)
class Existence(Kind):
    """Some network or recipe does it. This can be shown, and it cannot be refuted.

    Evidence maps each candidate to an estimate of what it achieves.

    >>> from separatrix.inference.estimates import Known
    >>> Existence("accuracy of some recipe", "above", 0.9).decide({"Adam": Known(0.5, 0.1)}).verdict
    'undecided'
    """

    quantity: str
    side: Literal["above", "below"]
    reference: float
    name: ClassVar[str] = "existence"

    def __post_init__(self):
        check_choice("Existence", "side", self.side, ("above", "below"))
        check_number("Existence", "reference", self.reference)

    def decide(
        self, evidence: Mapping[str, Estimate | None], level: float = SHOWN_LEVEL
    ) -> Decision:
        """The verdict on candidates."""
        check_level(level)
        parts = {name: estimate for name, estimate in evidence.items() if estimate is not None}
        if not parts:
            return nothing_measured(level)
        rule = Comparison(self.quantity, self.side, self.reference)
        ends = one_sided((1 - level) / len(parts))
        shows = [name for name, each in parts.items() if rule._holds(each.interval(ends))]
        shown = _shown(self.quantity, parts, self.reference)
        if shows:
            reason = f"shown by {listed(shows)} among {len(parts)} tried"
            return Decision("supported", reason, shown, level=level)
        reason = f"none of {len(parts)} tried shows it; that does not refute it"
        settle = "another network or recipe that does it: a claim of existence cannot be refuted"
        return Decision("undecided", reason, shown, settle, level=level)

    def rule_in_words(self) -> str:
        """The rule of an existence."""
        return (
            f"Supported if {self.quantity} is {self.side} {self.reference:g} for some candidate, "
            "after Bonferroni's correction over the candidates. Never refuted: where no candidate "
            "shows it, it is undecided."
        )

    def formula(self) -> str:
        """The rule as a formula."""
        sign = ">" if self.side == "above" else "<"
        return f"for some i: θ_i {sign} {self.reference:g}, θ = {self.quantity}"


def _decide_parts(
    kind: "Comparison | Equivalence",
    evidence: Mapping[str, Estimate | None],
    level: float,
    holds: Callable[[Interval], bool],
    fails: Callable[[Interval], bool],
) -> Decision:
    """Intersection–union for support, Holm for refutation, over parts with estimates."""
    check_level(level)
    parts = {name: estimate for name, estimate in (evidence or {}).items() if estimate is not None}
    if not parts:
        return nothing_measured(level)
    absent = [name for name in evidence if name not in parts]
    ends = one_sided(1 - level)
    passed = [name for name, estimate in parts.items() if holds(estimate.interval(ends))]
    failed = _holm(parts, 1 - level, fails)
    shown = _shown(kind.quantity, parts, kind.reference)
    counts = f"of {len(parts)} parts {len(passed)} show it"
    if failed:
        reason = f"{counts}, {len(failed)} the contrary: {listed(failed)}"
        return Decision("refuted", reason, shown, level=level)
    open_parts = [name for name in parts if name not in passed]
    if not open_parts and not absent:
        reason = counts if len(parts) > 1 else _only(parts)
        return Decision("supported", reason, shown, level=level)
    efforts = [_part_effort(parts[name], ends, holds) for name in open_parts]
    known = [effort for effort in efforts if effort is not None]
    settle, effort = _settle_parts(open_parts, absent, known, len(efforts))
    reason = f"{counts}, {len(open_parts)} cannot tell"
    reason = reason if len(parts) > 1 else _only(parts)
    if absent:
        reason += f"; not measured: {listed(absent)}"
    return Decision("undecided", reason, shown, settle, effort, level)


def _holm(
    parts: Mapping[str, Estimate], alpha: float, fails: Callable[[Interval], bool]
) -> list[str]:
    """The parts that fail by Holm's step-down procedure."""
    failed: list[str] = []
    while len(failed) < len(parts):
        ends = one_sided(alpha / (len(parts) - len(failed)))
        more = [name for name in parts if name not in failed and fails(parts[name].interval(ends))]
        if not more:
            break
        failed += more
    return failed


def _settle_parts(
    open_parts: list[str], absent: list[str], efforts: list[float], wanted: int
) -> tuple[str, float | None]:
    words = []
    effort = None
    names = listed([name for name in open_parts if name])  # a single part may have no name
    where = f" for {names}" if names else ""
    if open_parts and len(efforts) == wanted:
        effort = max(efforts)
        words.append(f"about {effort:.2g} times as many trials{where}")
    elif open_parts:
        words.append(f"more trials{where}, as far as their estimates lie on a side")
    if absent:
        words.append(f"measuring {listed(absent)}")
    return "; ".join(words), effort


def _part_effort(
    estimate: Estimate, level: float, holds: Callable[[Interval], bool]
) -> float | None:
    """How many times as many trials would make a part hold, if its estimate stays; None where none
    would."""
    interval = estimate.interval(level)
    if not is_finite(interval.estimate):
        return None
    for effort in (1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, 100.0):
        shrink = 1 / math.sqrt(effort)
        low = interval.estimate - (interval.estimate - interval.low) * shrink
        high = interval.estimate + (interval.high - interval.estimate) * shrink
        if holds(dataclasses.replace(interval, low=low, high=high)):
            return effort
    return None


def _shown(
    quantity: str, parts: Mapping[str, Estimate], reference: float | None
) -> tuple[Evidence, ...]:
    return tuple(
        Evidence.of(
            f"{quantity}, {name}" if name else quantity, part.interval(SHOWN_LEVEL), reference
        )
        for name, part in parts.items()
    )


def _only(parts: Mapping[str, Estimate]) -> str:
    name, part = next(iter(parts.items()))
    return f"{name}: {part.interval(SHOWN_LEVEL)}" if name else str(part.interval(SHOWN_LEVEL))
