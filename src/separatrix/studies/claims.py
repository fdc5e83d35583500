"""Claims: sentences of papers, and what the evidence says of them."""

import dataclasses
import math
import re
from collections.abc import Iterable
from typing import Any, Protocol

from separatrix.errors import ParameterError, SeparatrixError, UnknownNameError
from separatrix.studies.kinds import Decision, Evidence, Kind, Verdict
from separatrix.studies.kinds.decision import finite as finite
from separatrix.studies.kinds.decision import without_nan as without_nan

OURS = "ours"  # the owner of everything that is asked beyond the papers
PAPERS = {
    "malach": "Malach & Shalev-Shwartz, Computational Separation between Convolutional and "
    "Fully-Connected Networks (ICLR 2021)",
    "lahoti": "Lahoti, Karp, Winston, Singh & Li, Role of Locality and Weight Sharing in "
    "Image-Based Tasks (ICLR 2024)",
    "liang": "Liang, Singh, Parhi, Cloninger & Wang, The Inductive Bias of Convolutional Neural "
    "Networks (arXiv 2603.04807)",
    OURS: "Separatrix, questions that no paper asks",
}
FAMILY_ERROR = 0.05  # the chance of any wrong verdict among the claims of one owner


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
        kind: its kind, which fixes the test; None for a study that decides in its own way.

    Raises:
        UnknownNameError: the paper is not known.

    >>> Claim("lahoti.example", "CNNs need fewer samples.", "Theorem 1", "σ at most 1/√k").paper
    'lahoti'
    """

    id: str
    statement: str
    citation: str
    conditions: str
    kind: Kind | None = None

    def __post_init__(self):
        if self.paper not in PAPERS:
            raise UnknownNameError("paper", self.paper, PAPERS)

    @property
    def paper(self) -> str:
        """The key of the paper, the first part of the id."""
        return self.id.split(".")[0]

    @property
    def level(self) -> float:
        """The level of its decision: 5 % over all claims of its owner that chance decides."""
        # The registry knows all studies, which import this module.
        from separatrix.studies.registry import claims_by_chance

        return 1 - FAMILY_ERROR / max(claims_by_chance().get(self.paper, 1), 1)


class Bounded(Protocol):
    """Anything with an estimate and bounds."""

    @property
    def estimate(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


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
        level: the level at which the claim's kind decided.
        settle: for a non-decision, what would settle it.
        effort: for a non-decision that more trials would settle, how many times as many.

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
    level: float | None = None
    settle: str = ""
    effort: float | None = None

    def plain(self) -> dict[str, Any]:
        """The finding as it stands in claims.json."""
        out = {
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
        if self.claim.kind is not None:
            out |= {
                "kind": self.claim.kind.name,
                "rule": self.claim.kind.rule_in_words(),
                "formula": self.claim.kind.formula(),
                "level": self.level,
                "settle": self.settle,
                "effort": self.effort,
            }
        return out


def judge(
    claim: Claim, evidence: Any, outside: str = "", reason: str = "", also: Iterable[Evidence] = ()
) -> Finding:
    """Let a claim's kind decide on evidence.

    A paper says nothing outside of its conditions, so what is measured there refutes none of its
    sentences: such a refutation is undecided, and says so.

    Args:
        claim: a claim with a kind.
        evidence: what the kind takes; None or empty where nothing was measured.
        outside: in words, how the experiment lies outside the claim's conditions; empty if inside.
        reason: further words, or why nothing was measured.
        also: further numbers that a reader needs.

    Returns:
        The finding.

    >>> from separatrix.studies.kinds import Identity
    >>> claim = Claim("malach.example", "h = f.", "Lemma 6", "", Identity("h = f", 1e-9))
    >>> judge(claim, {"n = 8": 1e-16}).verdict, judge(claim, {}).verdict
    ('supported', 'not measured')
    """
    if claim.kind is None:
        raise SeparatrixError(f"the claim `{claim.id}` has no kind, so nothing can decide it")
    decision: Decision = claim.kind.decide(evidence if evidence is not None else {}, claim.level)
    verdict, words = decision.verdict, "; ".join(filter(None, (decision.reason, reason)))
    settle = decision.settle
    if verdict == "not measured" and reason:
        words = reason
    if verdict == "refuted" and outside and claim.paper != OURS:
        verdict = "undecided"
        words = f"the contrary shows outside the paper's conditions, where it says nothing: {words}"
        settle = "a measurement inside the paper's conditions"
    met = None if verdict == "not measured" else not outside
    return Finding(
        claim=claim,
        verdict=verdict,
        reason=words,
        conditions_met=met,
        evidence=(*decision.evidence, *also),
        outside=outside if met is not None else "",
        level=decision.level,
        settle=settle,
        effort=decision.effort,
    )


def check_unique(claims: Iterable[Claim]) -> None:
    """Refuse two claims with one id.

    >>> claim = Claim("lahoti.example", "CNNs need fewer samples.", "Theorem 1", "")
    >>> check_unique([claim])
    """
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise SeparatrixError(f"two claims have the id `{claim.id}`; give one of them another")
        seen.add(claim.id)


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
