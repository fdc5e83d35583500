"""The claims of the sample-complexity study, and how thresholds decide them.

Where more data no longer help at a threshold, the threshold measures training and not samples:
`is_flat` finds such places.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from separatrix.errors import SeparatrixError
from separatrix.inference import (
    NONE_FITS,
    Interval,
    PowerLaw,
    Ranking,
    Threshold,
    cell_of,
    fit_exponents,
    rank_laws,
    standard_laws,
    threshold_ratio,
)
from separatrix.studies.claims import (
    Claim,
    Evidence,
    Finding,
    Verdict,
    all_of,
    decide_above,
    decide_ratio,
    finite,
)
from separatrix.studies.search import SearchResult
from separatrix.studies.signal.settings import NETWORKS, REGIMES, SignalSettings
from separatrix.studies.signal.trials import SignalCell
from separatrix.theory.signal import bounds_for

CONDITIONS = (
    "one hidden layer with LSA activation; σ at most about 1/√k; for the FCN's lower bound an "
    "algorithm equivariant under O(kd), final bias at least 0.01 and k at most exponential in d"
)
PREDICTED = {
    "CNN": "k+d",
    "LCN": "k(k+d)",
    "FCN": "k²d",
}  # the paper's laws, σ² and logarithms aside
TOLERANCE = 0.3  # an exponent counts as the claimed one when its whole interval lies this close
FLAT_SHARE = (
    0.2  # of the margin: a curve that falls by less with each doubling of the samples is flat
)
FLAT_TRIALS = 8  # trials below which nothing is said


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


def outside_of(s: SignalSettings, cells: Iterable[SignalCell]) -> str:
    """In words, which cells lie outside the paper's conditions; empty when none does.

    >>> outside_of(SignalSettings(), [SignalCell("fixed", "CNN", 16, 8)])
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
    cells: Iterable[SignalCell],
    evidence: Iterable[Evidence],
) -> Finding:
    """A finding with its conditions looked up.

    Without cells nothing was measured, and it is not known whether the conditions are met.
    """
    cells = list(cells)
    outside = outside_of(s, cells)
    return Finding(
        claim, verdict, reason, None if not cells else not outside, tuple(evidence), outside
    )


def judge_order(s: SignalSettings, searches: dict[SignalCell, SearchResult]) -> Finding:
    """CNN < LCN < FCN in every cell that two of them share."""
    verdicts: list[Verdict] = []
    evidence, used = [], []
    for cell, search in searches.items():
        for smaller, larger in (("CNN", "LCN"), ("LCN", "FCN"), ("CNN", "FCN")):
            other = searches.get(cell._replace(network=larger))
            implied = (smaller, larger) == ("CNN", "FCN") and (
                cell._replace(network="LCN") in searches
            )
            if cell.network != smaller or other is None or implied:
                continue
            gap = threshold_ratio(other.threshold, search.threshold)
            verdicts.append(decide_ratio(gap))
            where = f"{cell.regime}, k = {cell.patches}, d = {cell.dimension}"
            name = f"samples {larger}/{smaller}, {where}"
            evidence.append(Evidence.of(name, gap, 1.0))
            used += [cell, cell._replace(network=larger)]
    if not verdicts:
        return finding(s, ORDER, "undecided", "no cell was measured for two networks", [], [])
    counts = {verdict: verdicts.count(verdict) for verdict in ("supported", "refuted", "undecided")}
    reason = (
        f"of {len(verdicts)} comparisons {counts['supported']} show it, {counts['refuted']} the "
        f"contrary, {counts['undecided']} cannot tell"
    )
    return finding(s, ORDER, all_of(verdicts), reason, used, evidence)


def judge_sharing(
    s: SignalSettings, fits: dict[tuple[str, str], PowerLaw], cells: list[SignalCell]
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
    cells: list[SignalCell],
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
        exponent = fit.exponents[name]
        inside = exponent.low >= value - TOLERANCE and exponent.high <= value + TOLERANCE
        apart = exponent.high < value - TOLERANCE or exponent.low > value + TOLERANCE
        verdicts.append("supported" if inside else "refuted" if apart else "undecided")
    reason = (
        f"exponents of the {network}: {fit}; claimed "
        f"{', '.join(f'{n}: {v:g}' for n, v in wanted.items())}, within {TOLERANCE:g}"
    )
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
    cells: list[SignalCell],
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
    reason = (
        f"{ranking}; weights "
        f"{', '.join(f'{score.name} {score.weight:.2f}' for score in ranking.scores[:4])}"
    )
    weight = sum(
        score.weight for score in ranking.scores if (score.family or score.name) == predicted
    )
    evidence = [
        Evidence(
            f"weight of {predicted} among the laws",
            estimate=weight,
            low=None,
            high=None,
            count=len(used),
            method="AICc weight",
        )
    ]
    return finding(s, claim, verdict, reason, used, evidence)


def judge_two_step(
    s: SignalSettings,
    two_step: dict[SignalCell, SearchResult],
    searches: dict[SignalCell, SearchResult],
) -> Finding:
    """The two-step CNN beats the same algorithm's LCN and stays within a constant of the bound's
    scale.
    """
    cell = SignalCell(s.regimes[0], "CNN", s.base_patches, s.base_dimension)
    if cell not in two_step:
        return finding(s, TWO_STEP, "undecided", "it was not measured", [], [])
    threshold = two_step[cell].threshold
    descent, local = searches.get(cell), two_step.get(cell._replace(network="LCN"))
    sigma = s.sigma(cell.regime, cell.patches)
    scale = bounds_for("CNN")[0].value(cell.patches, cell.dimension, sigma)
    evidence = [threshold_evidence("samples of the two-step CNN", threshold, reference=scale)]
    words = [f"two steps: {threshold} samples (the bound's scale with constant 1 is {scale:.3g})"]
    if descent is not None:
        gap = threshold_ratio(threshold, descent.threshold)
        evidence.append(Evidence.of("samples, two steps over tuned descent, CNN", gap, 1.0))
        words.append(f"{gap} times those of tuned descent")
    verdict: Verdict = "undecided"
    if local is not None:
        gain = threshold_ratio(local.threshold, threshold)
        evidence.append(Evidence.of("samples, two-step LCN over two-step CNN", gain, 1.0))
        words.append(f"the two-step LCN needs {gain} times as many")
        # A search that gave up for want of trials is not a failure; one that reached the largest
        # size is.
        if (threshold.censoring == "right" and threshold.low >= s.largest / 2) or gain.high < 1:
            verdict = "refuted"
        elif threshold.censoring in ("none", "left") and gain.low > 1:
            verdict = "supported"
    return finding(s, TWO_STEP, verdict, "; ".join(words), [cell], evidence)


def threshold_evidence(name: str, threshold: Threshold, reference: float | None = None) -> Evidence:
    """A threshold as evidence; a censored side has no bound."""
    return Evidence(
        name,
        estimate=finite(threshold.estimate),
        low=finite(threshold.low),
        high=finite(threshold.high),
        count=threshold.trials,
        level=threshold.level,
        method=f"threshold, censoring {threshold.censoring}",
        reference=reference,
    )


def interval_difference(first: Any, second: Any) -> Interval:
    """The difference of two independent estimates, their intervals' distances combined (MOVER).

    >>> first, second = Interval(3.0, 2.0, 4.0, 0.95, "", 9), Interval(1.0, 1.0, 1.0, 0.95, "", 9)
    >>> print(interval_difference(first, second))
    2 [1, 3]
    """
    middle = first.estimate - second.estimate
    low = middle - math.hypot(first.estimate - first.low, second.high - second.estimate)
    high = middle + math.hypot(first.high - first.estimate, second.estimate - second.low)
    return Interval(
        middle, low, high, first.level, "difference of fits", first.count + second.count
    )


Arm = tuple[str, str]  # a regime and a network


@dataclasses.dataclass(frozen=True)
class LawFits:
    """Exponents and law rankings for each regime and network, and why one is missing."""

    exponents: dict[Arm, PowerLaw]
    rankings: dict[Arm, Ranking]
    reasons: dict[Arm, str]


def fit_laws(s: SignalSettings, searches: dict[SignalCell, SearchResult]) -> LawFits:
    """Fit exponents and rank laws on the thresholds of every regime and network.

    >>> fit_laws(SignalSettings(), {}).reasons["fixed", "CNN"]
    'it was not measured'
    """
    fits = LawFits({}, {}, {})
    for regime, network in itertools.product(s.regimes, NETWORKS):
        arm = regime, network
        points = [
            cell_of(
                {"k": cell.patches, "d": cell.dimension, "sigma": s.sigma(regime, cell.patches)},
                search.threshold,
            )
            for cell, search in searches.items()
            if (cell.regime, cell.network) == arm
        ]
        known: list[Any] = [point for point in points if point is not None]
        if not known:
            fits.reasons[arm] = "it was not measured"
            continue
        try:
            # Cells on two lines are few and have leverage: there the likelihood interval is the
            # narrower of two calibrated ones.
            fits.exponents[arm] = fit_exponents(known, ("k", "d"), method="likelihood")
            fits.rankings[arm] = rank_laws(known, standard_laws(noise=(regime != "fixed",)))
        except SeparatrixError as error:
            fits.reasons[arm] = str(error)
    return fits


def judge_all(
    s: SignalSettings,
    searches: dict[SignalCell, SearchResult],
    two_step: dict[SignalCell, SearchResult],
    fits: LawFits,
) -> tuple[Finding, ...]:
    """The findings of the study, in the order of its claims."""
    cells, regime = list(searches), s.regimes[0]
    growth = {
        "CNN": (CNN_LINEAR, {"k": 1.0, "d": 1.0}),
        "LCN": (LCN_GROWTH, {"k": 2.0, "d": 1.0}),
        "FCN": (FCN_GROWTH, {"k": 2.0, "d": 1.0}),
    }
    return (
        judge_order(s, searches),
        judge_sharing(s, fits.exponents, cells),
        *(
            judge_growth(s, claim, network, exponents, fits.exponents.get((regime, network)), cells)
            for network, (claim, exponents) in growth.items()
        ),
        *(
            judge_law(
                s,
                *arm,
                fits.rankings.get(arm),
                fits.reasons.get(arm, f"the {arm[0]} regime is not measured at this scale"),
                cells,
            )
            for arm in itertools.product(REGIMES, NETWORKS)
        ),
        judge_two_step(s, two_step, searches),
    )


def fall(rows: pd.DataFrame, level: float = 0.95) -> Interval | None:
    """By how much the risk falls with each doubling of the samples at the larger half (in
    logarithms) of the sizes tried.

    None where fewer than two sizes or too few trials lie there.

    >>> rows = pd.DataFrame({"samples": [2, 64, 128] * 8, "risk": [0.5, 0.2, 0.1] * 8})
    >>> round(fall(rows).estimate, 6)
    0.1
    """
    if rows.empty:
        return None
    doublings = np.log2(rows["samples"].to_numpy(float))
    late = doublings >= (doublings.min() + doublings.max()) / 2
    if late.sum() < FLAT_TRIALS or len(set(doublings[late])) < 2:
        return None
    x, y = doublings[late] - doublings[late].mean(), rows["risk"].to_numpy(float)[late]
    spread = float(x @ x)
    slope = -float(x @ y) / spread
    left = y - y.mean() + slope * x
    half = float(special.stdtrit(len(x) - 2, (1 + level) / 2)) * math.sqrt(
        float(left @ left) / (len(x) - 2) / spread
    )
    return Interval(slope, slope - half, slope + half, level, "least squares", len(x))


def is_flat(rows: pd.DataFrame, target: float, margin: float) -> bool:
    """Whether the risk has not got well below the target and is known to fall by less than a fifth
    of the margin with each doubling.

    >>> flat = pd.DataFrame({"samples": [2, 64, 128] * 8, "risk": [0.5, 0.11, 0.11] * 8})
    >>> is_flat(flat, target=0.1, margin=0.05), is_flat(flat, target=0.4, margin=0.05)
    (True, False)
    """
    change = fall(rows)
    if change is None or not math.isfinite(change.high):
        return False
    last = float(
        np.mean(rows["risk"].to_numpy(float)[rows["samples"].to_numpy() == rows["samples"].max()])
    )
    return bool(change.high < FLAT_SHARE * margin and -margin / 4 < last - target < margin)
