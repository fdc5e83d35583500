"""Kinds that chance cannot decide wrongly: certificates and identities."""

import dataclasses
import math
from collections.abc import Mapping
from typing import ClassVar

from separatrix.errors import SeparatrixError, shown
from separatrix.inference.intervals import wilson
from separatrix.studies.kinds.decision import (
    SHOWN_LEVEL,
    Decision,
    Evidence,
    Kind,
    Verdict,
    check_level,
    check_margin,
    nothing_measured,
)


@dataclasses.dataclass(frozen=True)
class Certificate(Kind):
    """An inequality left ≤ right that holds on every run.

    Args:
        inequality: The inequality, in words or as a formula.
        tolerance: The numerical error up to which left may exceed right, relative to right.

    Evidence maps the name of each run to left/right - 1, the largest over its measured moments.

    >>> kind = Certificate("||u|| ≤ cηt√q", tolerance=1e-6)
    >>> kind.decide({"seed 0": -0.5, "seed 1": 1e-8}).verdict
    'supported'
    """

    inequality: str
    tolerance: float | None = None
    name: ClassVar[str] = "certificate"

    def __post_init__(self):
        check_margin(self, "tolerance", self.tolerance)

    @property
    def by_chance(self) -> bool:
        """No: a single violation decides."""
        return False

    def decide(self, evidence: Mapping[str, float], level: float = SHOWN_LEVEL) -> Decision:
        """The verdict on runs."""
        check_level(level)
        if not evidence:
            return nothing_measured(level)
        excess = _numbers(self, evidence)
        worst = max(excess, key=lambda run: excess[run])
        broken = sum(value > float(self.tolerance or 0.0) for value in excess.values())
        rate = wilson(broken, len(excess), SHOWN_LEVEL)
        shown = (
            Evidence.of("share of runs that violate it", rate, 0.0),
            Evidence(
                f"largest left/right - 1 ({worst})",
                excess[worst],
                None,
                None,
                len(excess),
                reference=self.tolerance,
                method="largest over runs",
            ),
        )
        if broken:
            reason = (
                f"{broken} of {len(excess)} runs violate it, by up to {excess[worst]:.3g} of the "
                f"right side ({worst})"
            )
            return Decision("refuted", reason, shown, level=level)
        reason = (
            f"no violation in {len(excess)} runs (so at most {rate.high:.2g} of such runs violate "
            f"it); left/right was at most {1 + excess[worst]:.3g}"
        )
        return Decision("supported", reason, shown, level=level)

    def rule_in_words(self) -> str:
        """The rule of a certificate."""
        return (
            f"Supported if no run violates {self.inequality} by more than {self.tolerance:g} of "
            "its right side, the stated numerical error; the share of runs that could violate it "
            "is bounded by Wilson's interval. Refuted by a single violation."
        )

    def formula(self) -> str:
        """The rule as a formula."""
        return f"for every run: left/right − 1 ≤ {self.tolerance:g}, {self.inequality}"


@dataclasses.dataclass(frozen=True)
class Identity(Kind):
    """An equality, up to the stated numerical error.

    Args:
        equality: The equality, in words or as a formula.
        tolerance: The largest relative error that rounding explains.

    Evidence maps each case to its relative error.

    >>> Identity("h = f", tolerance=1e-9).decide({"n = 8": 2e-16}).verdict
    'supported'
    """

    equality: str
    tolerance: float | None = None
    name: ClassVar[str] = "identity"

    def __post_init__(self):
        check_margin(self, "tolerance", self.tolerance)

    @property
    def by_chance(self) -> bool:
        """No: a single violation decides."""
        return False

    def decide(self, evidence: Mapping[str, float], level: float = SHOWN_LEVEL) -> Decision:
        """The verdict on cases."""
        check_level(level)
        if not evidence:
            return nothing_measured(level)
        errors = {name: abs(error) for name, error in _numbers(self, evidence).items()}
        worst = max(errors, key=lambda case: errors[case])
        verdict: Verdict = (
            "supported" if errors[worst] <= float(self.tolerance or 0.0) else "refuted"
        )
        shown = Evidence(
            f"largest relative error ({worst})",
            errors[worst],
            None,
            None,
            len(errors),
            reference=self.tolerance,
            method="largest over cases",
        )
        reason = (
            f"the largest error in {len(errors)} cases is {errors[worst]:.2g} ({worst}); "
            f"rounding explains {self.tolerance:g}"
        )
        return Decision(verdict, reason, (shown,), level=level)

    def rule_in_words(self) -> str:
        """The rule of an identity."""
        return (
            f"Supported if {self.equality} holds in every case up to a relative error of "
            f"{self.tolerance:g}, the stated numerical error. Refuted by a single larger error."
        )

    def formula(self) -> str:
        """The rule as a formula."""
        return f"for every case: relative error ≤ {self.tolerance:g}, {self.equality}"


def _numbers(kind: Kind, evidence: Mapping[str, float]) -> dict[str, float]:
    numbers = {name: float(value) for name, value in evidence.items()}
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise SeparatrixError(
                f"the evidence of a claim of kind {kind.name} must be finite, "
                f"got {shown(value)} for {name}"
            )
    return numbers
