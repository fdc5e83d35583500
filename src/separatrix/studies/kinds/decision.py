"""What a kind is handed and what it hands back: evidence and decisions."""

import abc
import dataclasses
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, get_args

from separatrix.errors import ParameterError, check_number

Verdict = Literal["supported", "refuted", "undecided", "not measured"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

SHOWN_LEVEL = 0.95  # of the intervals that are shown beside a decision


@dataclasses.dataclass(frozen=True)
class Evidence:
    """A number with its interval, what it was measured from, and what it is compared with.

    Attributes:
        name: what was measured.
        estimate: the number; None where only bounds are known.
        low: the lower end of its interval.
        high: the upper end.
        count: how many trials or draws it rests on.
        level: the level of the interval.
        method: how the interval was made.
        reference: the value at which the claim's truth changes.
        baselines: numbers that a reader needs beside it, by name.

    >>> from separatrix.inference import wilson
    >>> Evidence.of("share", wilson(9, 10), reference=0.5, constant=0.5).baselines
    {'constant': 0.5}
    """

    name: str
    estimate: float | None
    low: float | None
    high: float | None
    count: int
    level: float = 0.95
    method: str = ""
    reference: float | None = None
    baselines: dict[str, float] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls, name: str, interval: Any, reference: float | None = None, **baselines: float
    ) -> "Evidence":
        """From an interval of the inference module."""
        return cls(
            name,
            estimate=interval.estimate,
            low=interval.low,
            high=interval.high,
            count=interval.count,
            level=interval.level,
            method=interval.method,
            reference=reference,
            baselines=baselines,
        )

    def plain(self) -> dict[str, Any]:
        """As plain values, with no NaN or infinity (which JSON does not know)."""
        return without_nan(dataclasses.asdict(self))


@dataclasses.dataclass(frozen=True)
class Decision:
    """What a kind says of evidence.

    Attributes:
        verdict: supported, refuted, undecided, or not measured.
        reason: The numbers that led to it, in words.
        evidence: Those numbers with 95 % intervals.
        settle: For a non-decision, what would settle it.
        effort: For a non-decision that more trials would settle, how many times as many.
        level: The level at which it was decided.
    """

    verdict: Verdict
    reason: str
    evidence: tuple[Evidence, ...] = ()
    settle: str = ""
    effort: float | None = None
    level: float = SHOWN_LEVEL


class Kind(abc.ABC):
    """What all kinds offer: they decide on evidence, and they write the rule by which they do.

    >>> from separatrix.studies.kinds import Identity
    >>> Identity("h = f", tolerance=1e-9).formula()
    'for every case: relative error ≤ 1e-09, h = f'
    """

    name: ClassVar[str]

    @property
    def by_chance(self) -> bool:
        """Whether chance can lead to a wrong verdict."""
        return True

    @abc.abstractmethod
    def decide(self, evidence: Any, level: float = SHOWN_LEVEL) -> Decision:
        """The verdict on evidence, wrong with a chance of at most 1 - level."""

    def verdicts(self, evidence: Any, levels: Sequence[float]) -> tuple[Verdict, ...]:
        """The verdicts on the same evidence at several levels."""
        return tuple(self.decide(evidence, level).verdict for level in levels)

    @abc.abstractmethod
    def rule_in_words(self) -> str:
        """When the claim counts as supported and when as refuted."""

    @abc.abstractmethod
    def formula(self) -> str:
        """The rule as a formula."""


def one_sided(alpha: float) -> float:
    """The level of the central interval whose ends are one-sided bounds with error alpha."""
    return 1 - 2 * alpha


def nothing_measured(level: float) -> Decision:
    """The decision on evidence that is not there."""
    return Decision(
        "not measured", "these data do not contain it", settle="a run that measures it", level=level
    )


def listed(names: Sequence[str], most: int = 4) -> str:
    """The first few names, and how many more there are."""
    rest = len(names) - most
    words = ", ".join(names[:most])
    return f"{words} and {rest} more" if rest > 0 else words


def check_margin(kind: Kind, name: str, value: Any) -> None:
    """Refuse a kind whose margin was not fixed."""
    if value is None or isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise ParameterError(
            type(kind).__name__, name, "a number > 0 that is fixed beforehand", value
        )
    check_number(type(kind).__name__, name, value, low=0, open_low=True)


def check_level(level: float) -> None:
    """Refuse a level at which nothing can be decided."""
    check_number("a decision", "level", level, low=0.75, high=0.9999999)


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)


def finite(value: float | None) -> float | None:
    """The number itself, or None where it is not finite (JSON knows neither NaN nor infinity).

    >>> finite(0.5), finite(math.inf)
    (0.5, None)
    """
    return value if value is not None and math.isfinite(value) else None


def without_nan(item: Any) -> Any:
    """Plain values with None for NaN and infinity, and lists for tuples.

    >>> without_nan({"low": (0.5, math.nan)})
    {'low': [0.5, None]}
    """
    if isinstance(item, dict):
        return {key: without_nan(inner) for key, inner in item.items()}
    if isinstance(item, tuple | list):
        return [without_nan(inner) for inner in item]
    return finite(item) if isinstance(item, float) else item
