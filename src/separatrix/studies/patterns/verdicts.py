"""The claims on learning and search, and how steps, risks and rows read decide them; claims of
theorems are in theorem_verdicts.py.
"""

import itertools
import math
from typing import Any

import numpy as np

from separatrix.inference.censored_medians import Amounts, growth, median_ratio
from separatrix.inference.intervals import Interval, mean_interval
from separatrix.studies.claims import Claim, Evidence, Finding, Verdict, all_of, decide_above
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.studies.patterns.trials import (
    PASSES,
    CaseResult,
    LearningResults,
    cap_of,
    network_of,
)

_LEARN = "k = ⌈log2 n⌉; the theorems speak of Theorem 4's recipe and of gradients at the start"

STEPS_GROW = Claim(
    "malach.separation.steps-grow",
    "The number of steps that a fully connected network needs, over the convolutional one's, "
    "grows with n.",
    "Theorems 4 and 12, Section 4",
    _LEARN,
)
LOCAL = Claim(
    "malach.lcn-as-good-as-cnn",
    "A locally connected network learns k-patterns as well as a convolutional one: locality "
    "matters, not weight sharing.",
    "Section 3.1",
    _LEARN,
)
CNN_LOSES = Claim(
    "malach.permutation.cnn-loses",
    "When the order of the bits is unknown, the convolutional network loses its advantage: it "
    "stays at chance.",
    "Section 5",
    "label = parity of k bits after a fixed unknown permutation",
)
FCN_INDIFFERENT = Claim(
    "malach.permutation.fcn-indifferent",
    "A fully connected network does not notice a permutation of the bits.",
    "Theorem 12's symmetry",
    "weights whose distribution is invariant under permutations of the coordinates",
)
SEARCH_GAP = Claim(
    "malach.junta.search-gap",
    "With unknown order, search over n-k+1 windows becomes search over C(n,k) sets of bits, and "
    "the gap widens with n.",
    "Section 5",
    "noise-free samples, enough of them that one set of bits explains them",
)
CLAIMS = (STEPS_GROW, LOCAL, CNN_LOSES, FCN_INDIFFERENT, SEARCH_GAP)

MARGIN = 2.0  # two numbers of steps within this factor of each other count as equal
NEAR_CHANCE = 0.45  # a mean risk above this is called chance (which is ½)
CURRENCIES = ("steps", "samples", "FLOPs", "seconds")
_OUTSIDE = (
    "Gaussian initialisation, fresh batches, tuned rates and few filters, not Theorem 4's recipe"
)


def spent(s: PatternsSettings, result: CaseResult, currency: str) -> Amounts:
    """What the seeds of a case spent until they reached the target.

    FLOPs are three forward passes on each row of each step; seconds are those of the trial's
    program, measurements included.

    >>> from separatrix.studies.patterns.trials import PatternCase
    >>> case, steps = PatternCase("plain", "CNN", "adam", 16), Amounts.of([8.0], [9.0])
    >>> result = CaseResult(case, 0.1, steps, steps, np.zeros(1), reached=1, broken=0)
    >>> spent(PatternsSettings(), result, "samples").upper.tolist()
    [1152.0]
    """
    if currency == "seconds":
        return result.seconds
    case = result.case
    one = network_of(case.network, case.window, s.learning.filters).flops((case.bits, 1))
    factor = {
        "steps": 1.0,
        "samples": float(s.learning.batch),
        "FLOPs": float(PASSES * one * s.learning.batch),
    }[currency]
    return result.steps.times(factor)


def ratios(
    s: PatternsSettings,
    learned: LearningResults,
    optimizer: str,
    currency: str,
    pair: tuple[str, str],
) -> dict[int, Interval]:
    """The ratio of medians at every size where both networks were measured.

    >>> ratios(PatternsSettings(), LearningResults({}, {}), "adam", "steps", ("FCN", "CNN"))
    {}
    """
    cells = _pairs(s, learned, optimizer, currency, pair)
    return {bits: median_ratio(first, second, s.seed) for bits, first, second in cells}


def _pairs(
    s: PatternsSettings,
    learned: LearningResults,
    optimizer: str,
    currency: str,
    pair: tuple[str, str],
) -> list[tuple[int, Amounts, Amounts]]:
    out = []
    for bits in s.learning.sizes:
        first, second = (learned.get("plain", name, optimizer, bits) for name in pair)
        if first is not None and second is not None:
            out.append((bits, spent(s, first, currency), spent(s, second, currency)))
    return out


def growth_of(
    s: PatternsSettings, learned: LearningResults, optimizer: str, currency: str
) -> Interval | None:
    """How the FCN/CNN ratio grows: its exponent in n; None with fewer than three sizes.

    >>> growth_of(PatternsSettings(), LearningResults({}, {}), "adam", "steps") is None
    True
    """
    cells = _pairs(s, learned, optimizer, currency, ("FCN", "CNN"))
    return growth(cells, s.seed) if len(cells) >= 3 else None


def learning_findings(s: PatternsSettings, learned: LearningResults) -> list[Finding]:
    """The verdicts on the separation, locality, and an unknown order.

    >>> nothing = LearningResults({}, {})
    >>> {finding.verdict for finding in learning_findings(PatternsSettings(), nothing)}
    {'undecided'}
    """
    return [
        _steps_grow(s, learned),
        _local(s, learned),
        _cnn_loses(s, learned),
        _fcn_indifferent(s, learned),
    ]


def _steps_grow(s: PatternsSettings, learned: LearningResults) -> Finding:
    verdicts: list[Verdict] = []
    evidence, words = [], []
    for optimizer in s.learning.optimizers:
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
    return Finding(STEPS_GROW, all_of(verdicts), "; ".join(words), False, tuple(evidence), _OUTSIDE)


def _cut(s: PatternsSettings, learned: LearningResults, optimizer: str) -> str:
    """What was cut off, in words."""
    parts = []
    for bits in s.learning.sizes:
        for name in ("CNN", "FCN"):
            result = learned.get("plain", name, optimizer, bits)
            if result is not None and result.steps.censored:
                cap = cap_of(s, result.case)
                parts.append(
                    f"{result.steps.censored} of {result.steps.count} {name} seeds at n = {bits} "
                    f"(after {cap} steps)"
                )
    return f"; cut off before the target: {', '.join(parts)}" if parts else ""


def shown(interval: Interval) -> str:
    """An interval, as a bound where it is one-sided.

    >>> shown(Interval(float("nan"), 3.0, float("inf"), 0.95, "", 5))
    'at least 3.00'
    """
    if math.isfinite(interval.high) and math.isfinite(interval.estimate):
        return f"{interval:.2f}"
    return f"at least {interval.low:.2f}" if math.isfinite(interval.low) else "unknown"


def _local(s: PatternsSettings, learned: LearningResults) -> Finding:
    """Not worse than the CNN by more than the margin, at every size and with every optimizer."""
    verdicts: list[Verdict] = []
    evidence, words = [], []
    for optimizer in s.learning.optimizers:
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
        return Finding(LOCAL, "undecided", "no size has both networks", False, (), _OUTSIDE)
    reason = (
        f"LCN/CNN ratio of median steps {', '.join(words)}; as good means less than {MARGIN:g} "
        "times the steps"
    )
    return Finding(LOCAL, all_of(verdicts), reason, False, tuple(evidence), _OUTSIDE)


def _cnn_loses(s: PatternsSettings, learned: LearningResults) -> Finding:
    """At chance on permuted bits, at every size where a permutation hardly ever leaves the bits in
    one window.
    """
    verdicts: list[Verdict] = []
    evidence, words = [], []
    for bits in s.learning.variant_sizes:
        permuted, ordered = (
            learned.get(variant, "CNN", "adam", bits) for variant in ("hidden", "plain")
        )
        if permuted is None:
            continue
        risk = mean_interval(permuted.risks)
        verdicts.append(decide_above(risk, NEAR_CHANCE))
        baselines = {"constant": 0.5, "luck": lucky(bits, permuted.case.window)}
        if ordered is not None:
            baselines["ordered bits"] = float(ordered.risks.mean())
        evidence.append(
            Evidence.of(
                f"risk of the CNN on permuted bits, n = {bits}", risk, NEAR_CHANCE, **baselines
            )
        )
        missed = permuted.steps.count - permuted.reached
        words.append(
            f"risk {risk} after at most {cap_of(s, permuted.case)} steps at n = {bits} ({missed} "
            "seeds not at the target)"
        )
    return _unless_missing(
        CNN_LOSES,
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


def _fcn_indifferent(s: PatternsSettings, learned: LearningResults) -> Finding:
    """Equal steps with and without a permutation, within the margin."""
    verdicts: list[Verdict] = []
    evidence, words = [], []
    for bits in s.learning.variant_sizes:
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
    return _unless_missing(FCN_INDIFFERENT, verdicts, reason, evidence)


def _unless_missing(
    claim: Claim, verdicts: list[Verdict], reason: str, evidence: list[Evidence]
) -> Finding:
    if not verdicts:
        return Finding(
            claim, "undecided", "the permuted task was not measured (variant `hidden`)", None
        )
    return Finding(claim, all_of(verdicts), reason, True, tuple(evidence))


def search_finding(sizes: list[list[dict[str, Any]]]) -> Finding:
    """The verdict on the gap: both searches find the bits, and the ratio of the rows that they read
    grows with n.

    Rows are counted, not timed, so that the verdict does not depend on what else the machine does;
    times are in the figure.

    >>> search_finding([]).verdict
    'undecided'
    """
    searched = [rows for rows in sizes if all(row["junta_rows"] is not None for row in rows)]
    if len(searched) < 3:
        return Finding(SEARCH_GAP, "undecided", "fewer than three sizes could be searched", True)
    right = all(row["agree"] and row["window_found"] for rows in searched for row in rows)
    logs = np.log([rows[0]["bits"] for rows in searched])
    work = np.log([[row["junta_rows"] / row["window_rows"] for row in rows] for rows in searched])
    slopes = mean_interval([float(np.polyfit(logs, column, 1)[0]) for column in work.T])
    counts = [(rows[0]["bits"], rows[0]["sets"] / rows[0]["windows"]) for rows in sizes]
    exponents = [
        math.log(b[1] / a[1]) / math.log(b[0] / a[0]) for a, b in itertools.pairwise(counts)
    ]
    steeper = exponents[-1] > exponents[0]
    verdict: Verdict = decide_above(slopes, 0.0) if right and steeper else "refuted"
    last = searched[-1]
    ratio = mean_interval([row["junta_rows"] / row["window_rows"] for row in last])
    outcome = (
        "both found the bits in every repetition"
        if right
        else "some repetition did not find the bits"
    )
    reason = (
        f"sets over windows: {counts[0][1]:.3g} at n = {counts[0][0]}, {counts[-1][1]:.3g} at n = "
        f"{counts[-1][0]}, a local exponent from {exponents[0]:.1f} to {exponents[-1]:.1f}; rows "
        f"read: junta/window {ratio} at n = {last[0]['bits']}, growing like n to the {slopes}; "
        f"{outcome}"
    )
    power = float(
        np.polyfit(np.log([n for n, _ in counts]), np.log([ratio for _, ratio in counts]), 1)[0]
    )
    evidence = (
        Evidence.of(
            "exponent in n of the ratio of rows read, junta/window search",
            slopes,
            0.0,
            candidates=power,
        ),
        Evidence.of(
            f"ratio of rows read at n = {last[0]['bits']}",
            ratio,
            1.0,
            candidates=last[0]["sets"] / last[0]["windows"],
        ),
    )
    return Finding(SEARCH_GAP, verdict, reason, True, evidence)
