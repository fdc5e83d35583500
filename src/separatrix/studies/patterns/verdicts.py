"""The claims on learning, and the steps and risks that are their evidence;
claims of theorems are in theorem_verdicts.py.
"""

import math
from typing import Any

from separatrix.inference.censored_medians import Amounts, MedianGrowth, MedianRatio, median_ratio
from separatrix.inference.estimates import Estimate, MeanOf, ShareOf
from separatrix.inference.intervals import Interval
from separatrix.studies.claims import Claim, Evidence, Finding, judge
from separatrix.studies.kinds import (
    Certificate,
    Comparison,
    Equivalence,
    Identity,
)
from separatrix.studies.pattern_search.verdicts import lucky
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.studies.patterns.trials import (
    PASSES,
    CaseResult,
    LearningResults,
    cap_of,
    network_of,
)

_LEARN = "k = ⌈log2 n⌉; the theorems speak of Theorem 4's recipe and of gradients at the start"
MARGIN = 2.0  # two numbers of steps within this factor of each other count as equal
AT_CHANCE = 0.05  # a risk within this of ½ is called chance
SYMMETRIC = 1e-6  # gaps of equivariant training in float64 stay far below

STEPS_GROW = Claim(
    "malach.separation.steps-grow",
    "On the parity of k = ⌈log2 n⌉ neighbouring bits, the number of steps that a fully connected "
    "network needs, over the convolutional one's, grows with n.",
    "Theorems 4 and 12, Section 4",
    _LEARN,
    Comparison("exponent in n of the FCN/CNN ratio of median steps", "above", 0.0),
)
LOCAL = Claim(
    "malach.lcn-as-good-as-cnn",
    "A locally connected network learns k-patterns as well as a convolutional one: weight sharing "
    "gives no benefit there.",
    "Section 3.1",
    _LEARN,
    Comparison("median steps, LCN over CNN", "below", MARGIN),
)
GAUSSIAN = Claim(
    "malach.gaussian-start",
    "A result similar to Theorem 4 holds for a more natural start: from normally distributed "
    "weights, too, a convolutional network learns k-patterns.",
    "Comment 7",
    "k = ⌈log2 n⌉; a Gaussian start in the first layer, the readout trained as well",
    Comparison("share of runs from a Gaussian start that reach the target", "above", 0.5),
)
CNN_LOSES = Claim(
    "malach.permutation.cnn-loses",
    "When the order of the bits is unknown, the convolutional network loses its advantage: its "
    "risk on the parity of k bits stays at chance.",
    "Section 5",
    "label = parity of k bits after a fixed unknown permutation",
    Equivalence("risk of the CNN on permuted bits", AT_CHANCE, reference=0.5),
)
FCN_INDIFFERENT = Claim(
    "ours.permutation.fcn-indifferent",
    "A fully connected network does not notice a permutation of the bits: from permuted weights, "
    "whose distribution is the same, it learns the same function of the permuted inputs.",
    "ours; the symmetry behind Theorem 12 and Section 5",
    "weights whose distribution is invariant under permutations, an optimizer that treats all "
    "coordinates alike, the whole training set at each step, float64",
    Identity("scores after training on permuted bits = scores after training in order", SYMMETRIC),
)
EXPRESSES = Claim(
    "malach.fcn-expresses-cnn",
    "A fully connected network expresses every convolutional network exactly, with one unit for "
    "every filter and window, so expressive power does not explain the separation.",
    "Section 1",
    "one hidden layer; the embedding of shared into local into full networks",
    Identity("scores of the FCN = scores of the CNN that it embeds", 1e-5),
)
COROLLARY5 = Claim(
    "malach.corollary5.gap",
    "The trained convolutional network's risk exceeds its training risk by no more than what its "
    "VC dimension, O(W log W) for W weights, allows with probability 1 - δ.",
    "Corollary 5, the step from the training loss to the loss",
    "fixed training sets; the constants of Bartlett et al. (2019) and of Vapnik's inequality",
    Certificate("risk - training risk ≤ the VC bound", 1e-6),
)
CLAIMS = (
    STEPS_GROW,
    LOCAL,
    GAUSSIAN,
    CNN_LOSES,
    FCN_INDIFFERENT,
    EXPRESSES,
    COROLLARY5,
)

CURRENCIES = ("steps", "samples", "FLOPs", "seconds")
_OUTSIDE = (
    "Gaussian initialisation, fresh batches, tuned rates and few filters, not Theorem 4's recipe"
)


def spent(s: PatternsSettings, result: CaseResult, currency: str) -> Amounts:
    """What the seeds of a case spent until they reached the target.

    FLOPs are three forward passes on each row of each step; seconds are those of the trial's
    program, measurements included.

    >>> import numpy as np
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
    return MedianGrowth(tuple(cells), s.seed).interval(0.95) if len(cells) >= 3 else None


def learning_findings(s: PatternsSettings, learned: LearningResults) -> list[Finding]:
    """The verdicts on the separation, locality, the start, an unknown order, and samples.

    >>> nothing = LearningResults({}, {})
    >>> {finding.verdict for finding in learning_findings(PatternsSettings(), nothing)}
    {'not measured'}
    """
    return [
        _steps_grow(s, learned),
        _local(s, learned),
        _gaussian(s, learned),
        _cnn_loses(s, learned),
    ]


def _steps_grow(s: PatternsSettings, learned: LearningResults) -> Finding:
    evidence: dict[str, Estimate | None] = {}
    shown_ratios, words = [], []
    for optimizer in s.learning.optimizers:
        cells = _pairs(s, learned, optimizer, "steps", ("FCN", "CNN"))
        if len(cells) < 3:
            words.append(f"{optimizer}: fewer than three sizes were measured")
            continue
        evidence[optimizer] = MedianGrowth(tuple(cells), s.seed)
        parts = []
        for bits, ratio in ratios(s, learned, optimizer, "steps", ("FCN", "CNN")).items():
            name = f"FCN/CNN median steps, {optimizer}, n = {bits}"
            shown_ratios.append(Evidence.of(name, ratio, 1.0))
            parts.append(f"{shown(ratio)} at n = {bits}")
        words.append(f"{optimizer}: the ratio is {', '.join(parts)}{_cut(s, learned, optimizer)}")
    return judge(STEPS_GROW, evidence, _OUTSIDE, "; ".join(words), shown_ratios)


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
    evidence: dict[str, Estimate | None] = {
        f"{optimizer}, n = {bits}": MedianRatio(first, second, s.seed)
        for optimizer in s.learning.optimizers
        for bits, first, second in _pairs(s, learned, optimizer, "steps", ("LCN", "CNN"))
    }
    return judge(LOCAL, evidence, _OUTSIDE, "" if evidence else "no size has both networks")


def _gaussian(s: PatternsSettings, learned: LearningResults) -> Finding:
    """The CNN from a Gaussian start, and beside it how many times more steps that takes than
    Theorem 4's start, wherever both were run.
    """
    evidence: dict[str, Estimate | None] = {}
    also = []
    for bits in s.learning.sizes:
        gaussian, signs = (
            learned.get(variant, "CNN", "adam", bits) for variant in ("plain", "signs")
        )
        if gaussian is None:
            continue
        evidence[f"n = {bits}"] = ShareOf(gaussian.reached, len(gaussian.risks))
        if signs is not None:
            ratio = MedianRatio(gaussian.steps, signs.steps, s.seed).interval(0.95)
            name = f"median steps, Gaussian start over Theorem 4's, n = {bits}"
            also.append(Evidence.of(name, ratio, 1.0))
    reason = "" if evidence else "the CNN was not run"
    return judge(GAUSSIAN, evidence, _OUTSIDE if evidence else "", reason, also)


def _cnn_loses(s: PatternsSettings, learned: LearningResults) -> Finding:
    """At chance on permuted bits, at every size where a permutation hardly ever leaves the bits in
    one window.
    """
    evidence: dict[str, Estimate | None] = {}
    also = []
    for bits in s.learning.variant_sizes:
        permuted, ordered = (
            learned.get(variant, "CNN", "adam", bits) for variant in ("hidden", "plain")
        )
        if permuted is None:
            continue
        estimate = MeanOf(tuple(permuted.risks))
        evidence[f"n = {bits}, {cap_of(s, permuted.case)} steps"] = estimate
        baselines = {"constant": 0.5, "luck": lucky(bits, permuted.case.window)}
        if ordered is not None:
            baselines["ordered bits"] = float(ordered.risks.mean())
        name = f"risk of the CNN on permuted bits, n = {bits}"
        also.append(Evidence.of(name, estimate.interval(0.95), 0.5, **baselines))
    reason = "" if evidence else "the permuted task was not measured (variant `hidden`)"
    return judge(CNN_LOSES, evidence, reason=reason, also=also)


def symmetry_finding(gaps: dict[str, list[float]]) -> Finding:
    """The verdict on the FCN's indifference, from the audit's gaps by optimizer.

    >>> gaps = ({"adam": [1e-12, 2e-12]}, {"adam": [0.1]})
    >>> tuple(symmetry_finding(gap).verdict for gap in gaps)
    ('supported', 'refuted')
    """
    evidence = {
        f"{optimizer}, draw {number}": gap
        for optimizer, draws in gaps.items()
        for number, gap in enumerate(draws)
    }
    return judge(FCN_INDIFFERENT, evidence)


def expression_finding(errors: dict[str, float]) -> Finding:
    """The verdict on expressive power, from the embedding's relative errors.

    >>> expression_finding({"n = 8": 1e-7}).verdict
    'supported'
    """
    return judge(EXPRESSES, errors)


def generalization_finding(rows: list[dict[str, Any]]) -> Finding:
    """The verdict on Corollary 5's sample step, from rows with `gap` and `bound`.

    >>> generalization_finding([{"label": "m = 64", "gap": 0.1, "bound": 2.0}]).verdict
    'supported'
    """
    evidence = {row["label"]: row["gap"] / row["bound"] - 1 for row in rows}
    if not rows:
        return judge(COROLLARY5, {}, reason="no fixed training sets (`finite_samples`) were run")
    tight = min(rows, key=lambda row: row["bound"] / max(row["gap"], 1e-12))
    factor = tight["bound"] / max(tight["gap"], 1e-12)
    vacuous = sum(row["bound"] >= 1 for row in rows)
    reason = (
        f"the bound is at least {factor:.2g} times too large ({tight['label']}) and says nothing "
        f"(1 or more) in {vacuous} of {len(rows)} runs"
    )
    return judge(COROLLARY5, evidence, reason=reason)
