"""Claims: sentences of papers, and what the evidence says of them."""

import dataclasses
import math
import re
from collections.abc import Iterable
from typing import Any, Literal, Protocol

from separatrix.errors import ParameterError, SeparatrixError, UnknownNameError

Verdict = Literal["supported", "refuted", "undecided"]

PAPERS = {
    "malach": "Malach & Shalev-Shwartz, Computational Separation between Convolutional and "
    "Fully-Connected Networks (ICLR 2021)",
    "lahoti": "Lahoti, Karp, Winston, Singh & Li, Role of Locality and Weight Sharing in "
    "Image-Based Tasks (ICLR 2024)",
    "liang": "Liang, Singh, Parhi, Cloninger & Wang, The Inductive Bias of Convolutional Neural "
    "Networks (arXiv 2603.04807)",
}


def register_paper(key: str, citation: str) -> str:
    """Make a paper, or notes of your own, known, so that its sentences can be claims.

    Args:
        key: the first part of the ids of its claims: small letters, digits and hyphens.
        citation: "Authors, Title (Venue Year)"; every finding carries it.

    Returns:
        The key.

    Raises:
        SeparatrixError: the key already stands for another paper.

    >>> register_paper("neighbours", "Doe & Roe, Do Neighbours Agree? (2026)")
    'neighbours'
    >>> Claim("neighbours.agree", "They do.", "Section 1", "").paper
    'neighbours'
    >>> _ = PAPERS.pop("neighbours")  # it was an example only
    """
    if not isinstance(key, str) or not re.fullmatch(r"[a-z][a-z0-9-]*", key):
        raise ParameterError("a paper", "key", "a word of small letters, digits and hyphens", key)
    if not isinstance(citation, str) or not citation.strip():
        raise ParameterError("a paper", "citation", "a text that names it", citation)
    if PAPERS.setdefault(key, citation) != citation:
        raise SeparatrixError(f'the key `{key}` stands for "{PAPERS[key]}"; take another one')
    return key


@dataclasses.dataclass(frozen=True)
class Claim:
    """One sentence of a paper, where it stands, and the conditions under which the paper says it.

    Attributes:
        id: its name; the part before the first dot is the paper's key, one of the package's own or
            one made known with `register_paper`.
        statement: the sentence.
        citation: where in the paper it stands.
        conditions: the conditions under which the paper says it.

    Raises:
        UnknownNameError: the paper is not known.

    >>> Claim("lahoti.example", "CNNs need fewer samples.", "Theorem 1", "σ at most 1/√k").paper
    'lahoti'
    """

    id: str
    statement: str
    citation: str
    conditions: str

    def __post_init__(self):
        if self.paper not in PAPERS:
            raise UnknownNameError("paper", self.paper, PAPERS)

    @property
    def paper(self) -> str:
        """The key of the paper, the first part of the id."""
        return self.id.split(".")[0]


class Bounded(Protocol):
    """Anything with an estimate and bounds."""

    @property
    def estimate(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


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
class Finding:
    """A claim with its verdict.

    Attributes:
        claim: the sentence that was tested.
        verdict: what the evidence says of it.
        reason: why, in words.
        conditions_met: whether the experiment met the paper's conditions; None where nothing was
            measured.
        evidence: the numbers behind the verdict.
        outside: in words, how the experiment lies outside the conditions.

    >>> claim = Claim("lahoti.example", "CNNs need fewer samples.", "Theorem 1", "σ at most 1/√k")
    >>> Finding(claim, "undecided", "no trial was run", conditions_met=None).plain()["verdict"]
    'undecided'
    """

    claim: Claim
    verdict: Verdict
    reason: str
    conditions_met: bool | None
    evidence: tuple[Evidence, ...] = ()
    outside: str = ""

    def plain(self) -> dict[str, Any]:
        """The finding as it stands in claims.json."""
        return {
            "id": self.claim.id,
            "paper": self.claim.paper,
            "source": PAPERS[self.claim.paper],
            "statement": self.claim.statement,
            "citation": self.claim.citation,
            "conditions": self.claim.conditions,
            "verdict": self.verdict,
            "reason": self.reason,
            "conditions_met": self.conditions_met,
            "outside": self.outside,
            "evidence": [evidence.plain() for evidence in self.evidence],
        }


def decide_above(interval: Bounded, reference: float) -> Verdict:
    """Whether a quantity is above a reference: yes or no only when its whole interval says so.

    >>> decide_above(Evidence("x", 2.0, 1.5, 2.5, count=9), 1.0)
    'supported'
    >>> decide_above(Evidence("x", 2.0, 0.5, 2.5, count=9), 1.0)
    'undecided'
    """
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return "undecided"
    if interval.low > reference:
        return "supported"
    return "refuted" if interval.high < reference else "undecided"


def decide_below(interval: Bounded, reference: float) -> Verdict:
    """Whether a quantity is below a reference.

    >>> decide_below(Evidence("x", 2.0, 1.5, 2.5, count=9), 1.0)
    'refuted'
    """
    flipped: dict[Verdict, Verdict] = {
        "supported": "refuted",
        "refuted": "supported",
        "undecided": "undecided",
    }
    return flipped[decide_above(interval, reference)]


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a conjunction: refuted if one part is, supported if all are.

    >>> all_of(["supported", "undecided"]), all_of(["supported", "refuted"])
    ('undecided', 'refuted')
    """
    seen = set(verdicts)
    if not seen:
        raise SeparatrixError("a verdict needs at least one part")
    if "refuted" in seen:
        return "refuted"
    return "supported" if seen == {"supported"} else "undecided"


def decide_ratio(ratio: Bounded) -> Verdict:
    """Whether a ratio is above 1; a bound on the side that matters is enough.

    >>> decide_ratio(Evidence("x", None, 3.0, math.inf, count=9))
    'supported'
    """
    return "supported" if ratio.low > 1 else "refuted" if ratio.high < 1 else "undecided"


def ratio_in_words(ratio: Bounded) -> str:
    """A ratio with its interval, or with the bounds that are known of it.

    >>> ratio_in_words(Evidence("x", 4.0, 3.0, 5.0, count=9))
    'a factor 4 [3, 5]'
    >>> ratio_in_words(Evidence("x", math.nan, 3.0, math.inf, count=9))
    'a factor of at least 3'
    """
    if math.isfinite(ratio.estimate):
        return f"a factor {ratio.estimate:.3g} [{ratio.low:.3g}, {ratio.high:.3g}]"
    if ratio.low > 0 and math.isfinite(ratio.high):
        return f"a factor between {ratio.low:.3g} and {ratio.high:.3g}"
    if ratio.low > 0:
        return f"a factor of at least {ratio.low:.3g}"
    if math.isfinite(ratio.high):
        return f"a factor of at most {ratio.high:.3g}"
    return "an unknown factor"


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
