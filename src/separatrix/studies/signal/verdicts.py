"""The claims of the sample-complexity study, and how thresholds decide them."""

import math
from collections.abc import Iterable
from typing import Any

from separatrix.inference import NONE_FITS, Interval, PowerLaw, Ranking, Threshold, threshold_ratio
from separatrix.studies.claims import Claim, Evidence, Finding, Verdict, all_of, decide_above
from separatrix.studies.search import Found
from separatrix.studies.signal.settings import REGIMES, SignalSettings
from separatrix.studies.signal.trials import CellKey
from separatrix.theory.signal import bounds_for

CONDITIONS = (
    "one hidden layer with LSA activation; σ at most about 1/√k; for the FCN's lower bound an algorithm equivariant under O(kd), "
    "final bias at least 0.01 and k at most exponential in d"
)
PREDICTED = {
    "CNN": "k+d",
    "LCN": "k(k+d)",
    "FCN": "k²d",
}  # the paper's laws, σ² and logarithms aside
TOLERANCE = 0.3  # an exponent counts as the claimed one when its whole interval lies this close


def _claim(name: str, statement: str, citation: str) -> Claim:
    return Claim(f"lahoti.{name}", statement, citation, CONDITIONS)


ORDER = _claim(
    "order",
    "The CNN needs fewer samples than the LCN, and the LCN fewer than the FCN, wherever measured.",
    "abstract; Theorems on CNN, LCN and FCN",
)
SHARING_GROWS = _claim(
    "sharing-grows",
    "What weight sharing saves, the ratio of the LCN's to the CNN's samples, grows with k.",
    "abstract: k(k+d) against k+d",
)
CNN_LINEAR = _claim(
    "cnn-linear",
    "The CNN's samples grow linearly in k and in d.",
    "summary, second and third experiment; figures",
)
LCN_GROWTH = _claim(
    "lcn-growth",
    "The LCN's samples grow about as k² and linearly in d.",
    "summary, second and third experiment; figures",
)
FCN_GROWTH = _claim("fcn-growth", "The FCN's samples grow as k²d.", "abstract: Ω(k²d)")
TWO_STEP = _claim(
    "two-step",
    "Two steps of gradient descent learn the CNN with about as few samples as the bound says.",
    "upper bounds by a two-step analysis",
)
LAWS = {
    (regime, network): _claim(
        f"law.{regime}.{network.lower()}",
        f"With {text}, the {network}'s samples follow {law} (up to σ² and logarithms).",
        "abstract",
    )
    for regime, text in REGIMES.items()
    for network, law in PREDICTED.items()
}


def outside_of(s: SignalSettings, cells: Iterable[CellKey]) -> str:
    """In words, which cells lie outside the paper's conditions; empty when none does.

    >>> outside_of(SignalSettings(), [CellKey("fixed", "CNN", 16, 8)])
    'σ exceeds 1/√k at k = 16'
    """
    far = sorted(
        {
            cell.patches
            for cell in cells
            if s.sigma(cell.regime, cell.patches) > (1 + 1e-9) / math.sqrt(cell.patches)
        }
    )
    return f"σ exceeds 1/√k at k = {', '.join(str(k) for k in far)}" if far else ""


def finding(
    s: SignalSettings,
    claim: Claim,
    verdict: Verdict,
    reason: str,
    cells: Iterable[CellKey],
    evidence: Iterable[Evidence],
) -> Finding:
    """A finding with its conditions looked up.

    >>> finding(SignalSettings(), ORDER, "undecided", "nothing measured", [], []).conditions_met is None
    True
    """
    cells = list(cells)
    outside = outside_of(s, cells)
    return Finding(
        claim, verdict, reason, None if not cells else not outside, tuple(evidence), outside
    )


def judge_order(s: SignalSettings, found: dict[CellKey, Found]) -> Finding:
    """CNN < LCN < FCN in every cell that two of them share."""
    verdicts: list[Verdict] = []
    evidence, used = [], []
    for cell, mine in found.items():
        for smaller, larger in (("CNN", "LCN"), ("LCN", "FCN"), ("CNN", "FCN")):
            other = found.get(cell._replace(network=larger))
            if (
                cell.network != smaller
                or other is None
                or ((smaller, larger) == ("CNN", "FCN") and cell._replace(network="LCN") in found)
            ):
                continue
            gap = threshold_ratio(other.threshold, mine.threshold)
            verdicts.append(
                "supported" if gap.low > 1 else "refuted" if gap.high < 1 else "undecided"
            )
            name = f"samples {larger}/{smaller}, {cell.regime}, k = {cell.patches}, d = {cell.dimension}"
            evidence.append(Evidence.of(name, gap, 1.0))
            used += [cell, cell._replace(network=larger)]
    if not verdicts:
        return finding(s, ORDER, "undecided", "no cell was measured for two networks", [], [])
    counts = {verdict: verdicts.count(verdict) for verdict in ("supported", "refuted", "undecided")}
    reason = f"of {len(verdicts)} comparisons {counts['supported']} show it, {counts['refuted']} the contrary, {counts['undecided']} cannot tell"
    return finding(s, ORDER, all_of(verdicts), reason, used, evidence)


def judge_sharing(
    s: SignalSettings, fits: dict[tuple[str, str], PowerLaw], cells: list[CellKey]
) -> Finding:
    """The k-exponent of the LCN minus that of the CNN is positive."""
    regime = s.regimes[0]
    cnn, lcn = fits.get((regime, "CNN")), fits.get((regime, "LCN"))
    if cnn is None or lcn is None:
        return finding(s, SHARING_GROWS, "undecided", "the exponents could not be fitted", [], [])
    gap = interval_difference(lcn.exponents["k"], cnn.exponents["k"])
    used = [cell for cell in cells if cell.regime == regime and cell.network != "FCN"]
    reason = f"exponent in k of the LCN minus the CNN's: {gap}"
    return finding(
        s,
        SHARING_GROWS,
        decide_above(gap, 0.0),
        reason,
        used,
        [Evidence.of("exponent in k, LCN minus CNN", gap, 0.0)],
    )


def judge_growth(
    s: SignalSettings,
    claim: Claim,
    network: str,
    wanted: dict[str, float],
    fit: PowerLaw | None,
    cells: list[CellKey],
) -> Finding:
    """Each exponent's whole interval lies close to the claimed value (supported), or does not meet
    that range (refuted).
    """
    regime = s.regimes[0]
    used = [cell for cell in cells if cell.regime == regime and cell.network == network]
    if fit is None:
        return finding(
            s,
            claim,
            "undecided",
            "the exponents could not be fitted: too few cells, or censored ones",
            used,
            [],
        )
    verdicts: list[Verdict] = []
    for name, value in wanted.items():
        mine = fit.exponents[name]
        inside = mine.low >= value - TOLERANCE and mine.high <= value + TOLERANCE
        apart = mine.high < value - TOLERANCE or mine.low > value + TOLERANCE
        verdicts.append("supported" if inside else "refuted" if apart else "undecided")
    reason = f"exponents of the {network}: {fit}; claimed {', '.join(f'{n}: {v:g}' for n, v in wanted.items())}, within {TOLERANCE:g}"
    evidence = [
        Evidence.of(f"exponent in {name}, {network}", fit.exponents[name], value)
        for name, value in wanted.items()
    ]
    return finding(s, claim, all_of(verdicts), reason, used, evidence)


def judge_law(
    s: SignalSettings,
    regime: str,
    network: str,
    ranking: Ranking | None,
    why: str,
    cells: list[CellKey],
) -> Finding:
    """The law that wins is the paper's, another one, or cannot be told."""
    claim = LAWS[regime, network]
    used = [cell for cell in cells if cell.regime == regime and cell.network == network]
    if ranking is None:
        return finding(s, claim, "undecided", why, used, [])
    predicted = PREDICTED[network]
    scores = {score.name: score for score in ranking.scores}
    families = {scores[name].family or name for name in ranking.remaining if name in scores}
    if ranking.verdict == NONE_FITS or predicted not in families:
        verdict: Verdict = "refuted"
    else:
        verdict = "supported" if families == {predicted} else "undecided"
    reason = f"{ranking}; weights {', '.join(f'{score.name} {score.weight:.2f}' for score in ranking.scores[:4])}"
    mine = sum(
        score.weight for score in ranking.scores if (score.family or score.name) == predicted
    )
    evidence = [
        Evidence(
            f"weight of {predicted} among the laws",
            mine,
            None,
            None,
            len(used),
            method="AICc weight",
        )
    ]
    return finding(s, claim, verdict, reason, used, evidence)


def judge_two_step(
    s: SignalSettings, two: dict[CellKey, Found], found: dict[CellKey, Found]
) -> Finding:
    """The two-step CNN beats the same algorithm's LCN and stays within a constant of the bound's
    scale.
    """
    cell = CellKey(s.regimes[0], "CNN", s.base_patches, s.base_dimension)
    mine = two.get(cell)
    if mine is None:
        return finding(s, TWO_STEP, "undecided", "it was not measured", [], [])
    descent, local = found.get(cell), two.get(cell._replace(network="LCN"))
    sigma = s.sigma(cell.regime, cell.patches)
    scale = bounds_for("CNN")[0].value(cell.patches, cell.dimension, sigma)
    evidence = [threshold_evidence("samples of the two-step CNN", mine.threshold, reference=scale)]
    words = [
        f"two steps: {mine.threshold} samples (the bound's scale with constant 1 is {scale:.3g})"
    ]
    if descent is not None:
        gap = threshold_ratio(mine.threshold, descent.threshold)
        evidence.append(Evidence.of("samples, two steps over tuned descent, CNN", gap, 1.0))
        words.append(f"{gap} times those of tuned descent")
    verdict: Verdict = "undecided"
    if local is not None:
        gain = threshold_ratio(local.threshold, mine.threshold)
        evidence.append(Evidence.of("samples, two-step LCN over two-step CNN", gain, 1.0))
        words.append(f"the two-step LCN needs {gain} times as many")
        # A search that gave up for want of trials is not a failure; one that reached the largest
        # size is.
        failed = mine.threshold.censoring == "right" and mine.threshold.low >= s.largest / 2
        found_it = mine.threshold.censoring in ("none", "left")
        verdict = (
            "refuted"
            if failed or gain.high < 1
            else "supported"
            if found_it and gain.low > 1
            else "undecided"
        )
    return finding(s, TWO_STEP, verdict, "; ".join(words), [cell], evidence)


def threshold_evidence(name: str, threshold: Threshold, reference: float | None = None) -> Evidence:
    """A threshold as evidence; a censored side has no bound.

    >>> from separatrix.inference import Tally, estimate_threshold
    >>> threshold_evidence("m*", estimate_threshold([Tally(8, 0, 8), Tally(16, 8, 8)])).count
    16
    """
    t = threshold
    plain = [value if math.isfinite(value) else None for value in (t.estimate, t.low, t.high)]
    return Evidence(
        name,
        plain[0],
        plain[1],
        plain[2],
        t.trials,
        t.level,
        f"threshold, censoring {t.censoring}",
        reference,
    )


def interval_difference(first: Any, second: Any) -> Interval:
    """The difference of two independent estimates, their intervals' distances combined (MOVER).

    >>> print(interval_difference(Interval(3.0, 2.0, 4.0, 0.95, "", 9), Interval(1.0, 1.0, 1.0, 0.95, "", 9)))
    2 [1, 3]
    """
    middle = first.estimate - second.estimate
    low = middle - math.hypot(first.estimate - first.low, second.high - second.estimate)
    high = middle + math.hypot(first.high - first.estimate, second.estimate - second.low)
    return Interval(
        middle, low, high, first.level, "difference of fits", first.count + second.count
    )
