"""Claims: sentences of papers, and what the evidence says of them."""

import dataclasses
import math
import re
from collections.abc import Iterable
from typing import Any, Literal, Protocol

from separatrix.errors import ParameterError, SeparatrixError, UnknownNameError

Verdict = Literal["supported", "refuted", "undecided"]

PAPERS = {
    "malach": "Malach & Shalev-Shwartz, Computational Separation between Convolutional and Fully-Connected Networks (ICLR 2021)",
    "lahoti": "Lahoti, Karp, Winston, Singh & Li, Role of Locality and Weight Sharing in Image-Based Tasks (ICLR 2024)",
    "liang": "Liang, Singh, Parhi, Cloninger & Wang, The Inductive Bias of Convolutional Neural Networks (arXiv 2603.04807)",
}


def register_paper(key: str, citation: str) -> str:
    """Make a paper, or notes of your own, known, so that claims can be made of its sentences: their
    ids begin with the key.

    The citation, in the form "Authors, Title (Venue Year)", is kept with every finding. Returns the
    key.

    >>> register_paper("neighbours", "Doe & Roe, Do Neighbours Agree? (2026)")
    'neighbours'
    >>> Claim("neighbours.agree", "They do.", "Section 1", "").paper
    'neighbours'
    >>> register_paper("lahoti", "Another paper")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: the key `lahoti` stands for "Lahoti, Karp, ... (ICLR 2024)"; take another one
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

    The paper must be known: one of the package's own, or one made known with `register_paper`.

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
    """Anything with an estimate and bounds.

    >>> hasattr(Bounded, "__mro__")
    True
    """

    @property
    def estimate(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


@dataclasses.dataclass(frozen=True)
class Evidence:
    """A number with its interval, what it was measured from, and what it is compared with.

    `reference` is the value at which the claim's truth changes; `baselines` are the numbers a
    reader needs beside it.

    >>> Evidence("risk", 0.1, 0.08, 0.13, count=24, reference=0.5, baselines={"constant": 0.5}).plain()["high"]
    0.13
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
            interval.estimate,
            interval.low,
            interval.high,
            interval.count,
            interval.level,
            interval.method,
            reference,
            baselines,
        )

    def plain(self) -> dict[str, Any]:
        """As plain values, with no NaN or infinity (which JSON does not know)."""
        return without_nan(dataclasses.asdict(self))


@dataclasses.dataclass(frozen=True)
class Finding:
    """A claim with its verdict: what the evidence says, why, and whether the experiment lay inside
    the paper's conditions.

    >>> claim = Claim("lahoti.example", "CNNs need fewer samples.", "Theorem 1", "σ at most 1/√k")
    >>> Finding(claim, "undecided", "no trial was run", conditions_met=None).plain()["verdict"]
    'undecided'
    """

    claim: Claim
    verdict: Verdict
    reason: str
    conditions_met: bool | None
    evidence: tuple[Evidence, ...] = ()
    outside: str = ""  # how the experiment lies outside the conditions

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
            "evidence": [each.plain() for each in self.evidence],
        }


def decide_above(interval: Bounded, reference: float) -> Verdict:
    """Whether a quantity is above a reference: yes or no only when its whole interval says so.

    >>> decide_above(Evidence("x", 2.0, 1.5, 2.5, count=9), 1.0), decide_above(Evidence("x", 2.0, 0.5, 2.5, count=9), 1.0)
    ('supported', 'undecided')
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
