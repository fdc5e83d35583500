"""The claims of the study `pattern-readout`, and what decides them."""

from typing import Any

from separatrix.inference.intervals import Interval, wilson
from separatrix.studies.claims import Claim, Evidence, Finding, Verdict, all_of, decide_below
from separatrix.studies.pattern_readout.settings import PatternReadoutSettings

TOLERANCE = 1e-12  # float64 sums of up to a few thousand terms of size one

CONDITIONS = (
    "weights uniform in {±1/k}, hidden bias 1/k - 1, ReLU, more than 2^(k+3) ln(2^k/δ) filters"
)


def _claim(name: str, statement: str) -> Claim:
    return Claim(f"malach.lemma6.{name}", statement, "Lemma 6", CONDITIONS)


EXACT = _claim(
    "exact",
    "For every k-pattern there is a readout of the random first layer with h = f on every input.",
)
NORM = _claim("norm", "That readout has norm at most 2^(k+1) k / √q.")
COVERAGE = _claim("coverage", "A draw of the filters allows it with probability at least 1 - δ.")
CLAIMS = (EXACT, NORM, COVERAGE)


def findings(s: PatternReadoutSettings, rows: list[dict[str, Any]]) -> tuple[Finding, ...]:
    """The verdict on every claim, from the rows of `check_window`."""
    return _exact(s, rows), _norm(rows), _coverage(s, rows)


def failure_share(row: dict[str, Any]) -> Interval:
    """The share of draws that leave some sign pattern with too few filters."""
    return wilson(row["unbalanced"], row["draws"])


def _exact(s: PatternReadoutSettings, rows: list[dict[str, Any]]) -> Finding:
    worst = max(row["error"] for row in rows)
    checked = sum(row["checked"] for row in rows)
    verdict: Verdict = "refuted" if worst > TOLERANCE else "supported" if checked else "undecided"
    reason = (
        f"largest |h(x) - f(x)| over {checked} checked patterns, all 2^{s.bits} inputs each: "
        f"{worst:.2g}"
    )
    largest = Interval.exact(worst, checked, "exhaustive over inputs")
    evidence = Evidence.of("largest |h - f|", largest, TOLERANCE)
    return Finding(EXACT, verdict, reason, True, (evidence,))


def _norm(rows: list[dict[str, Any]]) -> Finding:
    ratio = max(row["norm_ratio"] for row in rows)
    balanced = sum(row["draws"] - row["unbalanced"] for row in rows)
    verdict: Verdict = "refuted" if ratio > 1.0 else "supported" if balanced else "undecided"
    reason = (
        f"largest norm over its bound, in {balanced} draws whose patterns are all covered as the "
        f"lemma wants: {ratio:.3f}"
    )
    largest = Interval.exact(ratio, balanced, "largest over draws")
    evidence = Evidence.of("largest ||u*|| / bound", largest, 1.0)
    return Finding(NORM, verdict, reason, True, (evidence,))


def _coverage(s: PatternReadoutSettings, rows: list[dict[str, Any]]) -> Finding:
    failures = [failure_share(row) for row in rows]
    verdict = all_of([decide_below(failure, s.delta) for failure in failures])
    shares = "; ".join(
        f"k = {row['window']}: {failure.estimate:.2g} of draws fail"
        for row, failure in zip(rows, failures)
    )
    evidence = tuple(
        Evidence.of(
            f"failure probability, k = {row['window']}",
            failure,
            s.delta,
            exact=row["exact"],
            chernoff=row["chernoff"],
        )
        for row, failure in zip(rows, failures)
    )
    return Finding(COVERAGE, verdict, f"{shares}, against δ = {s.delta:g}", True, evidence)
