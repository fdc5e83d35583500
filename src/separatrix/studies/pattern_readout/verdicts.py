"""The claims of the study `pattern-readout`, and their evidence."""

import dataclasses
from typing import Any

from separatrix.inference.intervals import Interval, wilson
from separatrix.studies.claims import Claim, Evidence, Finding, judge
from separatrix.studies.kinds import Certificate, Comparison, Identity, Kind
from separatrix.studies.pattern_readout.settings import PatternReadoutSettings

TOLERANCE = 1e-12  # float64 sums of up to a few thousand terms of size one

CONDITIONS = (
    "weights uniform in {±1/k}, hidden bias 1/k - 1, ReLU, more than 2^(k+3) ln(2^k/δ) filters"
)


def _claim(name: str, statement: str, kind: Kind) -> Claim:
    return Claim(f"malach.lemma6.{name}", statement, "Lemma 6", CONDITIONS, kind)


EXACT = _claim(
    "exact",
    "For every k-pattern f there is a readout u* of the random first layer with h = f on every "
    "input.",
    Identity("h(x) = f(x) on every input", TOLERANCE),
)
NORM = _claim(
    "norm",
    "The readout u* with which a random first layer of q filters computes a k-pattern has norm at "
    "most 2^(k+1) k / √q.",
    Certificate("||u*|| ≤ 2^(k+1) k / √q", 1e-9),
)
COVERAGE = _claim(
    "coverage",
    "A draw of more than 2^(k+3) ln(2^k/δ) filters allows such a readout with probability at "
    "least 1 - δ.",
    Comparison("share of draws with too few filters for some sign pattern, over δ", "below", 1.0),
)
CLAIMS = (EXACT, NORM, COVERAGE)


@dataclasses.dataclass(frozen=True)
class ShareOver:
    """A share of trials over an allowed share, with Wilson's interval.

    >>> print(ShareOver(1, 100, allowed=0.05).interval(0.95))
    0.2 [0.03535, 1.09]
    """

    successes: int
    trials: int
    allowed: float

    def interval(self, level: float) -> Interval:
        """Wilson's interval, divided by the allowed share."""
        share = wilson(self.successes, self.trials, level)
        ends = (share.estimate, share.low, share.high)
        estimate, low, high = (end / self.allowed for end in ends)
        return dataclasses.replace(share, estimate=estimate, low=low, high=high)


def findings(s: PatternReadoutSettings, rows: list[dict[str, Any]]) -> tuple[Finding, ...]:
    """The verdict on every claim, from the rows of `check_window`."""
    errors = {f"k = {row['window']}": row["error"] for row in rows if row["checked"]}
    checked = sum(row["checked"] for row in rows)
    norms = {
        f"k = {row['window']}, {row['draws'] - row['unbalanced']} draws": row["norm_ratio"] - 1
        for row in rows
        if row["draws"] > row["unbalanced"]
    }
    failed = {
        f"k = {row['window']}": ShareOver(row["unbalanced"], row["draws"], s.delta) for row in rows
    }
    also = [
        Evidence.of(
            f"failure probability, k = {row['window']}",
            failure_share(row),
            s.delta,
            exact=row["exact"],
            chernoff=row["chernoff"],
        )
        for row in rows
    ]
    return (
        judge(EXACT, errors, reason=f"{checked} patterns on all 2^{s.bits} inputs each"),
        judge(NORM, norms),
        judge(COVERAGE, failed, reason=f"δ = {s.delta:g}", also=also),
    )


def failure_share(row: dict[str, Any]) -> Interval:
    """The share of draws that leave some sign pattern with too few filters."""
    return wilson(row["unbalanced"], row["draws"])
