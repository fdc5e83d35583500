"""The claims of the first experiment, and how alignments and risks decide them."""

import dataclasses

import numpy as np

from separatrix.inference.intervals import Interval, difference, mean_interval
from separatrix.studies.cells import Row
from separatrix.studies.claims import Claim, Evidence, Finding, Verdict, all_of, decide_above
from separatrix.studies.signal.settings import NETWORKS
from separatrix.studies.signal_first.settings import SignalFirstSettings
from separatrix.studies.signal_first.trials import baselines_of, values

ALIGNED = 0.25  # below this alignment the paper's summary calls a run failed
PAIRS = (("CNN", "LCN"), ("LCN", "FCN"))
CONDITIONS = (
    "one hidden layer with LSA activation, gradient descent projected to the unit ball, noise σ "
    "at most about 1/√k"
)


def _claim(name: str, statement: str) -> Claim:
    return Claim(
        f"lahoti.first.{name}",
        statement,
        "summary of arXiv 2403.15707, first experiment",
        CONDITIONS,
    )


CLAIM_ALIGNED = {
    name: _claim(
        f"{name.lower()}-aligned",
        f"With k = 10, d = 20, σ = 0.1 and 1000 samples the {name} aligns with the signal "
        f"(alignment at least {ALIGNED}).",
    )
    for name in NETWORKS
}
CLAIM_SHARING = _claim(
    "sharing-aligns", "From the same samples the CNN aligns better with the signal than the LCN."
)
CLAIM_LOCALITY = _claim(
    "locality-aligns", "From the same samples the LCN aligns better with the signal than the FCN."
)
CLAIM_RISK = _claim(
    "risk-order",
    "From the same samples the CNN's risk is below the LCN's, and the LCN's below the FCN's.",
)


def outside_of(s: SignalFirstSettings) -> str:
    """In words, how the noise exceeds the paper's assumption; empty where it does not.

    >>> outside_of(SignalFirstSettings(noise=0.5))
    'σ = 0.5 exceeds 1/√k = 0.316'
    """
    edge = 1 / np.sqrt(s.patches)
    return "" if s.noise <= edge else f"σ = {s.noise:g} exceeds 1/√k = {edge:.3g}"


def judge_all(s: SignalFirstSettings, rows: dict[str, list[Row]]) -> tuple[Finding, ...]:
    """The findings of the experiment, in the order of its claims."""
    outside = outside_of(s)
    alignment = [(claim, [pair]) for claim, pair in zip((CLAIM_SHARING, CLAIM_LOCALITY), PAIRS)]
    return (
        *(judge_aligned(name, rows.get(name), outside) for name in NETWORKS),
        *(judge_order(claim, rows, pairs, "alignment", outside, {}) for claim, pairs in alignment),
        judge_order(CLAIM_RISK, rows, list(PAIRS), "risk", outside, baselines_of(s)),
    )


def judge_aligned(name: str, rows: list[Row] | None, outside: str) -> Finding:
    """Whether a network's mean alignment is above the level of failed runs."""
    claim = CLAIM_ALIGNED[name]
    if rows is None:
        reason = "fewer than two trials were finished"
        return Finding(claim, "undecided", reason, not outside, (), outside)
    interval = mean_interval(values(rows, "alignment"))
    evidence = Evidence.of(f"alignment of the {name}", interval, ALIGNED)
    reason = f"alignment of the {name}: {interval} over {interval.count} seeds, against {ALIGNED}"
    verdict = decide_above(interval, ALIGNED)
    return Finding(claim, verdict, reason, not outside, (evidence,), outside)


def judge_order(
    claim: Claim,
    rows: dict[str, list[Row]],
    pairs: list[tuple[str, str]],
    quantity: str,
    outside: str,
    baselines: dict[str, float],
) -> Finding:
    """An order between networks: every pair must be decided by its paired difference.

    The first network of a pair must have the larger alignment, or the smaller risk.
    """
    verdicts: list[Verdict] = []
    evidence, words = [], []
    for better, worse in pairs:
        gap = paired_difference(rows.get(better, []), rows.get(worse, []), quantity)
        if gap is None:
            verdicts.append("undecided")
            words.append(f"{better} against {worse} was not measured")
            continue
        gain = _negated(gap) if quantity == "risk" else gap
        verdicts.append(decide_above(gain, 0.0))
        evidence.append(Evidence.of(f"{quantity}: {better} minus {worse}", gap, 0.0, **baselines))
        words.append(f"{quantity} of the {better} minus the {worse}'s: {gap}")
    reason = "; ".join(words)
    return Finding(claim, all_of(verdicts), reason, not outside, tuple(evidence), outside)


def paired_difference(first: list[Row], second: list[Row], column: str) -> Interval | None:
    """The mean difference over the seeds that both networks have: they saw the same rows.

    >>> rows = [{"seed": seed, "risk": 0.1 * seed} for seed in range(3)]
    >>> paired_difference(rows, rows[1:], "risk").estimate
    0.0
    """
    other = {row["seed"]: row[column] for row in second}
    pairs = [(row[column], other[row["seed"]]) for row in first if row["seed"] in other]
    if len(pairs) < 2:
        return None
    return difference([a for a, _ in pairs], [b for _, b in pairs], paired=True)


def _negated(gap: Interval) -> Interval:
    return dataclasses.replace(gap, estimate=-gap.estimate, low=-gap.high, high=-gap.low)
