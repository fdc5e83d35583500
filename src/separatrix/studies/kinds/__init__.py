"""Kinds of claims. The kind of a claim fixes its test: one class per kind, used by every study.

A judge collects evidence and hands it to the claim's kind; the kind decides, and the same object
writes its rule in words and as a formula. No margin exists outside of these objects.

A decision is made at a `level`: the chance of a wrong verdict is at most 1 - level. Each truth
makes only one of `supported` and `refuted` wrong, so both are one-sided tests. A claim of several
parts is supported when every part is (an intersection–union test needs no correction) and refuted
when some part is, after Holm's correction over the parts.
"""

from separatrix.studies.kinds.bounds import DRIFT_MARGIN, REFUTING_RANGE, LowerBound, UpperBound
from separatrix.studies.kinds.decision import (
    SHOWN_LEVEL,
    VERDICTS,
    Decision,
    Evidence,
    Kind,
    Verdict,
)
from separatrix.studies.kinds.exact import Certificate, Identity
from separatrix.studies.kinds.parts import Comparison, Equivalence, Existence, Trend
from separatrix.studies.kinds.together import Together

KINDS: tuple[type[Kind], ...] = (
    UpperBound,
    LowerBound,
    Comparison,
    Equivalence,
    Trend,
    Certificate,
    Identity,
    Existence,
    Together,
)


__all__ = [
    "DRIFT_MARGIN",
    "KINDS",
    "REFUTING_RANGE",
    "SHOWN_LEVEL",
    "VERDICTS",
    "Certificate",
    "Comparison",
    "Decision",
    "Equivalence",
    "Evidence",
    "Existence",
    "Identity",
    "Kind",
    "LowerBound",
    "Together",
    "Trend",
    "UpperBound",
    "Verdict",
]
