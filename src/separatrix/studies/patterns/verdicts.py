"""Findings on learning: how the gap in steps grows, whether locality suffices, what an unknown
order does.
"""

import math

import numpy as np

from separatrix.inference.intervals import Interval, mean_interval
from separatrix.studies.claims import Claim, Evidence, Finding, Verdict, all_of, decide_above
from separatrix.studies.patterns import claims
from separatrix.studies.patterns.censored import Amounts, growth, median_ratio
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.studies.patterns.trials import PASSES, Learned, Measured, cap_of, network_of

MARGIN = 2.0  # two numbers of steps within this factor of each other count as equal
NEAR_CHANCE = 0.45  # a mean risk above this is called chance (which is ½)
CURRENCIES = ("steps", "samples", "FLOPs", "seconds")
_OUTSIDE = (
    "Gaussian initialisation, fresh batches, tuned rates and few filters, not Theorem 4's recipe"
)


def spent(s: PatternsSettings, measured: Measured, currency: str) -> Amounts:
    """What the seeds of a case spent until they reached the target.

    FLOPs are three forward passes on each row of each step; seconds are those of the trial's
    program, measurements included.

    >>> from separatrix.studies.patterns.trials import Case
    >>> row = {"status": "reached", "steps": 9, "trace.step": [0, 9], "risk": 0.0, "run.seconds": 0.1}
    >>> done = Measured.of(Case("plain", "CNN", "adam", 16), 0.1, [row])
    >>> spent(PatternsSettings(), done, "samples").upper.tolist()
    [1152.0]
    """
    if currency == "seconds":
        return measured.seconds
    case = measured.case
    one = network_of(case.network, case.window, s.filters).flops((case.bits, 1))
    factor = {"steps": 1.0, "samples": float(s.batch), "FLOPs": float(PASSES * one * s.batch)}[
        currency
    ]
    return measured.steps.times(factor)


def ratios(
    s: PatternsSettings, learned: Learned, optimizer: str, currency: str, pair: tuple[str, str]
) -> dict[int, Interval]:
    """The ratio of medians at every size where both networks were measured.

    >>> ratios(PatternsSettings(), Learned({}, {}), "adam", "steps", ("FCN", "CNN"))
    {}
    """
    cells = _pairs(s, learned, optimizer, currency, pair)
    return {bits: median_ratio(first, second, s.seed) for bits, first, second in cells}


def _pairs(
    s: PatternsSettings, learned: Learned, optimizer: str, currency: str, pair: tuple[str, str]
) -> list[tuple[int, Amounts, Amounts]]:
    out = []
    for bits in s.sizes:
        first, second = (learned.get("plain", name, optimizer, bits) for name in pair)
        if first is not None and second is not None:
            out.append((bits, spent(s, first, currency), spent(s, second, currency)))
    return out


def growth_of(
    s: PatternsSettings, learned: Learned, optimizer: str, currency: str
) -> Interval | None:
    """How the FCN/CNN ratio grows: its exponent in n; None with fewer than three sizes.

    >>> growth_of(PatternsSettings(), Learned({}, {}), "adam", "steps") is None
    True
    """
    cells = _pairs(s, learned, optimizer, currency, ("FCN", "CNN"))
    return growth(cells, s.seed) if len(cells) >= 3 else None


def learning_findings(s: PatternsSettings, learned: Learned) -> list[Finding]:
    """The verdicts on the separation, locality, and an unknown order.

    >>> [finding.verdict for finding in learning_findings(PatternsSettings(), Learned({}, {}))]
    ['undecided', 'undecided', 'undecided', 'undecided']
    """
    return [
        _steps_grow(s, learned),
        _local(s, learned),
        _cnn_loses(s, learned),
        _fcn_indifferent(s, learned),
    ]


def _steps_grow(s: PatternsSettings, learned: Learned) -> Finding:
    verdicts: list[Verdict] = []
    evidence, words = [], []
    for optimizer in s.optimizers:
        slope = growth_of(s, learned, optimizer, "steps")
        if slope is None:
            verdicts.append("undecided")
            words.append(f"{optimizer}: fewer than three sizes were measured")
            continue
        verdicts.append(
            "supported" if slope.low > 0 else "refuted" if slope.high < 0 else "undecided"
        )
        evidence.append(
            Evidence.of(
                f"exponent in n of the FCN/CNN ratio of median steps, {optimizer}", slope, 0.0
            )
        )
        parts = []
        for bits, ratio in ratios(s, learned, optimizer, "steps", ("FCN", "CNN")).items():
            evidence.append(
                Evidence.of(f"FCN/CNN median steps, {optimizer}, n = {bits}", ratio, 1.0)
            )
            parts.append(f"{shown(ratio)} at n = {bits}")
        words.append(
            f"{optimizer}: the ratio grows like n to the {shown(slope)}; it is "
            + ", ".join(parts)
            + _cut(s, learned, optimizer)
        )
    return Finding(
        claims.STEPS_GROW, all_of(verdicts), "; ".join(words), False, tuple(evidence), _OUTSIDE
    )


def _cut(s: PatternsSettings, learned: Learned, optimizer: str) -> str:
    """What was cut off, in words."""
    parts = []
    for bits in s.sizes:
        for name in ("CNN", "FCN"):
            found = learned.get("plain", name, optimizer, bits)
            if found is not None and found.steps.censored:
                cap = cap_of(s, found.case)
                parts.append(
                    f"{found.steps.censored} of {found.steps.count} {name} seeds at n = {bits} "
                    f"(after {cap} steps)"
                )
    return f"; cut off before the target: {', '.join(parts)}" if parts else ""


def shown(interval: Interval) -> str:
    """An interval, as a bound where it is one-sided.

    >>> shown(Interval(float("nan"), 3.0, float("inf"), 0.95, "", 5))
    'at least 3.00'
    """
    if math.isfinite(interval.high) and math.isfinite(interval.estimate):
        return f"{interval.estimate:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
    return f"at least {interval.low:.2f}" if math.isfinite(interval.low) else "unknown"


def _local(s: PatternsSettings, learned: Learned) -> Finding:
    """Not worse than the CNN by more than the margin, at every size and with every optimizer."""
    verdicts: list[Verdict] = []
    evidence, words = [], []
    for optimizer in s.optimizers:
        for bits, ratio in ratios(s, learned, optimizer, "steps", ("LCN", "CNN")).items():
            verdicts.append(
                "supported"
                if ratio.high < MARGIN
                else "refuted"
                if ratio.low > MARGIN
                else "undecided"
            )
            evidence.append(
                Evidence.of(
                    f"LCN/CNN median steps, {optimizer}, n = {bits}", ratio, MARGIN, equal=1.0
                )
            )
            words.append(f"{shown(ratio)} ({optimizer}, n = {bits})")
    if not verdicts:
        return Finding(claims.LOCAL, "undecided", "no size has both networks", False, (), _OUTSIDE)
    reason = (
        f"LCN/CNN ratio of median steps {', '.join(words)}; as good means less than {MARGIN:g} "
        "times the steps"
    )
    return Finding(claims.LOCAL, all_of(verdicts), reason, False, tuple(evidence), _OUTSIDE)


def _cnn_loses(s: PatternsSettings, learned: Learned) -> Finding:
    """At chance on permuted bits, at every size where a permutation hardly ever leaves the bits in
    one window.
    """
    verdicts: list[Verdict] = []
    evidence, words = [], []
    for bits in s.variant_sizes:
        found, ordered = (
            learned.get(variant, "CNN", "adam", bits) for variant in ("hidden", "plain")
        )
        if found is None:
            continue
        risk = mean_interval(found.risks)
        verdicts.append(decide_above(risk, NEAR_CHANCE))
        beside = {"constant": 0.5, "luck": lucky(bits, found.case.window)}
        if ordered is not None:
            beside["ordered bits"] = float(ordered.risks.mean())
        evidence.append(
            Evidence.of(
                f"risk of the CNN on permuted bits, n = {bits}", risk, NEAR_CHANCE, **beside
            )
        )
        missed = found.steps.count - found.reached
        words.append(
            f"risk {risk} after at most {cap_of(s, found.case)} steps at n = {bits} ({missed} "
            "seeds not at the target)"
        )
    return _unless_missing(
        claims.CNN_LOSES,
        verdicts,
        "; ".join(words) + f"; chance is 0.5, called so above {NEAR_CHANCE}",
        evidence,
    )


def lucky(bits: int, window: int) -> float:
    """The probability that a random order leaves k consecutive bits in one window: (n-k+1)/C(n,k).

    >>> round(lucky(16, 4), 4)
    0.0071
    """
    return (bits - window + 1) / math.comb(bits, window)


def _fcn_indifferent(s: PatternsSettings, learned: Learned) -> Finding:
    """Equal steps with and without a permutation, within the margin."""
    verdicts: list[Verdict] = []
    evidence, words = [], []
    for bits in s.variant_sizes:
        hidden, plain = (
            learned.get(variant, "FCN", "adam", bits) for variant in ("hidden", "plain")
        )
        if hidden is None or plain is None:
            continue
        ratio = median_ratio(hidden.steps, plain.steps, s.seed)
        inside = ratio.low > 1 / MARGIN and ratio.high < MARGIN
        apart = ratio.low > MARGIN or ratio.high < 1 / MARGIN
        verdicts.append("supported" if inside else "refuted" if apart else "undecided")
        evidence.append(
            Evidence.of(
                f"FCN median steps, permuted/ordered bits, n = {bits}", ratio, 1.0, margin=MARGIN
            )
        )
        words.append(f"{shown(ratio)} at n = {bits}")
    reason = (
        f"permuted/ordered ratio of the FCN's median steps {', '.join(words)}; indifferent means "
        f"within a factor {MARGIN:g}"
    )
    return _unless_missing(claims.FCN_INDIFFERENT, verdicts, reason, evidence)


def _unless_missing(
    claim: Claim, verdicts: list[Verdict], reason: str, evidence: list[Evidence]
) -> Finding:
    if not verdicts:
        return Finding(
            claim, "undecided", "the permuted task was not measured (variant `hidden`)", None
        )
    return Finding(claim, all_of(verdicts), reason, True, tuple(evidence))


def mean_seconds(measured: Measured) -> float:
    """Mean seconds of a trial, cut off or not.

    >>> from separatrix.studies.patterns.trials import Case
    >>> row = {"status": "exhausted", "steps": 9, "trace.step": [0, 9], "risk": 0.5, "run.seconds": 0.25}
    >>> mean_seconds(Measured.of(Case("plain", "CNN", "adam", 16), 0.1, [row, row]))
    0.25
    """
    return float(np.mean(measured.seconds.lower))
