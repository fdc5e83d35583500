"""Several claims in one sentence."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from separatrix.errors import ParameterError
from separatrix.studies.kinds.decision import (
    SHOWN_LEVEL,
    Decision,
    Kind,
    check_level,
    listed,
    nothing_measured,
)


@dataclasses.dataclass(frozen=True)
class Together(Kind):
    """Several claims of any kinds in one sentence: supported when all are, refuted when one is.

    Evidence maps the name of each part to what its kind takes, or to None.

    >>> from separatrix.studies.kinds import Identity
    >>> both = Together((("a", Identity("x", 1e-9)), ("b", Identity("y", 1e-9))))
    >>> both.decide({"a": {"n": 0.0}, "b": {"n": 1.0}}).verdict
    'refuted'
    """

    parts: tuple[tuple[str, Kind], ...]
    name: ClassVar[str] = "together"

    def __post_init__(self):
        names = [name for name, _ in self.parts]
        if not names or len(set(names)) < len(names):
            raise ParameterError("Together", "parts", "named kinds with different names", names)

    @property
    def kinds(self) -> str:
        """The kinds of the parts, each once."""
        return ", ".join(dict.fromkeys(kind.name for _, kind in self.parts))

    @property
    def by_chance(self) -> bool:
        """Whether chance can decide one of the parts wrongly."""
        return any(kind.by_chance for _, kind in self.parts)

    def decide(self, evidence: Mapping[str, Any], level: float = SHOWN_LEVEL) -> Decision:
        """The verdict on all parts."""
        check_level(level)
        tested = [
            (name, kind, evidence[name])
            for name, kind in self.parts
            if evidence.get(name) is not None
        ]
        chance = [kind for _, kind, _ in tested if kind.by_chance]
        strict = 1 - (1 - level) / max(len(chance), 1)
        alone = {name: kind.decide(part, level) for name, kind, part in tested}
        refuted = [
            name
            for name, kind, part in tested
            if alone[name].verdict == "refuted" and kind.decide(part, strict).verdict == "refuted"
        ]
        measured = {n: each for n, each in alone.items() if each.verdict != "not measured"}
        absent = [name for name, _ in self.parts if name not in measured]
        reason = "; ".join(f"{name}: {each.reason}" for name, each in alone.items())
        shown = tuple(
            dataclasses.replace(each, name=f"{name}: {each.name}")
            for name, decision in alone.items()
            for each in decision.evidence
        )
        if not measured:
            return dataclasses.replace(
                nothing_measured(level), reason=reason or nothing_measured(level).reason
            )
        if refuted:
            return Decision(
                "refuted", f"refuted by {listed(refuted)}: {reason}", shown, level=level
            )
        if not absent and all(each.verdict == "supported" for each in alone.values()):
            return Decision("supported", reason, shown, level=level)
        todo = [f"{n}: {d.settle or 'more trials'}" for n, d in alone.items() if d.settle]
        todo += [f"{name}: it was not measured" for name in absent if name not in alone]
        efforts = [each.effort for each in alone.values() if each.effort]
        effort = max(efforts) if efforts else None
        return Decision("undecided", reason, shown, "; ".join(todo), effort, level)

    def rule_in_words(self) -> str:
        """The rules of the parts."""
        rules = " ".join(f"{name}: {kind.rule_in_words()}" for name, kind in self.parts)
        return (
            f"Supported if all {len(self.parts)} parts are, refuted if one is (after Bonferroni's "
            f"correction over the parts). {rules}"
        )

    def formula(self) -> str:
        """The formulas of the parts."""
        return "; ".join(f"{name}: {kind.formula()}" for name, kind in self.parts)
