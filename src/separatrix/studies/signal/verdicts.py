"""The claims of the sample-complexity study, and the evidence that decides them.

The bounds and their cells are in `bound_verdicts`; here are the order of the networks, the floors
and the algorithms, and the list of all claims.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from separatrix.inference import Threshold
from separatrix.inference.estimates import GeometricMean, ThresholdRatio
from separatrix.studies.claims import Claim, Finding, judge
from separatrix.studies.kinds import Certificate, Comparison, Equivalence
from separatrix.studies.search import SearchResult
from separatrix.studies.signal.bound_verdicts import (
    AFFINE,
    BOUND_CLAIMS,
    BOUNDS,
    CONDITIONS,
    EFFICIENCY,
    FULL_CONDITIONS,
    LAW_CLAIMS,
    LEAST_SAMPLES,
    OUTSIDE_CLAIMS,
    PAIRS,
    SEPARATION,
    TWO_STEP,
    is_inside,
    judge_affine,
    judge_bound,
    judge_law,
    judge_separation,
    outside_of,
    thresholds_of,
)
from separatrix.studies.signal.settings import NETWORKS, SignalSettings
from separatrix.studies.signal.trials import (
    TWO_STEPS,
    Searches,
    SearchKey,
    SignalCell,
    Thresholds,
)
from separatrix.theory.signal import floor_alignment

AS_AVERAGE = 0.25  # two thresholds within this factor are the same algorithm
# Standard errors by which a mean alignment must exceed its floor to count as above it. Among the
# 3000 groups of a full run the largest of as many normal errors is below it 99.9 times in 100.
FLOOR_ERRORS = 5.0
FLOOR_TOLERANCE = 0.005  # of the simulated share of information in the floor, relative
FLOOR_TRIALS = 8  # with fewer trials at a size the error of the mean is not known

ORDER = Claim(
    "lahoti.order",
    "The CNN needs fewer samples than the LCN, and the LCN fewer than the FCN.",
    "title and abstract (the separation); since the bounds leave their constants open, the order "
    "is asked of every measured cell",
    FULL_CONDITIONS,
    Comparison("samples of the larger network over the smaller one's", "above", 1.0),
)
TWO_STEP_NOTED = Claim(
    "ours.two-step.averages",
    "With the constants of readers' notes the first gradient is zero, so that the two-step "
    "algorithm is label averaging: both need the same samples.",
    "ours",
    "the constants are second-hand: η = 1 and 10³k, b = √((k+d)ln(kd)/(kd))/32 and 10⁻⁴",
    Equivalence("samples, two steps as noted over averaging", AS_AVERAGE, 1.0, ratio=True),
)
RESPECTED = Claim(
    "ours.floor.respected",
    "No learner that is equivariant under its network's group has a mean patch alignment above "
    "the floor's at the same number of samples.",
    "ours; proof in docs/floors.md",
    "learners equivariant under O(d), O(d)^k or O(kd)",
    Certificate(
        f"mean patch alignment − {FLOOR_ERRORS:g} standard errors ≤ floor", FLOOR_TOLERANCE
    ),
)
EM_SAVES = Claim(
    "ours.efficiency.em",
    "The samples belong to the algorithm, not to the network: on the same network "
    "expectation-maximisation needs fewer samples than tuned descent.",
    "ours",
    CONDITIONS,
    Comparison("samples, descent over expectation-maximisation", "above", 1.0),
)
CLAIMS = (
    *BOUND_CLAIMS.values(),
    SEPARATION,
    ORDER,
    TWO_STEP,
    *AFFINE.values(),
    RESPECTED,
    *EFFICIENCY.values(),
    EM_SAVES,
    *LAW_CLAIMS.values(),
    *OUTSIDE_CLAIMS.values(),
    TWO_STEP_NOTED,
)


def judge_all(s: SignalSettings, searches: Searches, estimators: Thresholds) -> tuple[Finding, ...]:
    """The findings of the study, in the order of its claims."""
    descent = thresholds_of(s, searches)
    findings = {finding.claim.id: finding for finding in _judged(s, searches, descent, estimators)}
    return tuple(findings[claim.id] for claim in CLAIMS)


def _judged(
    s: SignalSettings,
    searches: Searches,
    descent: dict[SignalCell, Threshold],
    estimators: Thresholds,
) -> Iterable[Finding]:
    for name, (network, *_) in BOUNDS.items():
        yield judge_bound(s, BOUND_CLAIMS[name], descent, network, inside=True)
        yield judge_bound(s, OUTSIDE_CLAIMS[name], descent, network, inside=False)
    for network in NETWORKS:
        yield judge_bound(s, EFFICIENCY[network], descent, network, inside=True)
        yield judge_law(s, descent, network)
    yield judge_separation(s, descent)
    yield judge_order(s, descent)
    two_step = thresholds_of(s, searches, TWO_STEPS[1])
    yield judge_bound(s, TWO_STEP, two_step, "CNN", inside=True)
    for network in AFFINE:
        yield judge_affine(s, descent, network)
    yield judge_floors(s, searches)
    yield judge_em(s, descent, estimators)
    yield judge_noted(s, thresholds_of(s, searches, TWO_STEPS[0]), estimators)


def order_parts(
    s: SignalSettings, thresholds: Mapping[SignalCell, Threshold]
) -> dict[str, ThresholdRatio]:
    """The ratio of samples of neighbouring networks in every cell that both have.

    >>> order_parts(SignalSettings(), {})
    {}
    """

    def name(cell: SignalCell) -> str:
        return f"{cell.regime}, k = {cell.patches}, d = {cell.dimension}"

    return {
        f"{larger}/{smaller}, {name(cell)}": ThresholdRatio(
            threshold, thresholds[cell._replace(network=smaller)]
        )
        for smaller, larger in PAIRS
        for cell, threshold in thresholds.items()
        if cell.network == larger and cell._replace(network=smaller) in thresholds
    }


def judge_order(s: SignalSettings, thresholds: Mapping[SignalCell, Threshold]) -> Finding:
    """CNN < LCN < FCN in every cell inside the conditions that two of them share."""
    inside = {cell: t for cell, t in thresholds.items() if is_inside(s, cell)}
    parts = order_parts(s, inside)
    return judge(ORDER, parts, outside_of(s, inside) if parts else "")


def floor_excess(s: SignalSettings, cell: SignalCell, search: SearchResult) -> dict[str, float]:
    """By how much mean alignments exceed the floor, relative to it, at every size that was tried.

    A mean counts less its error. A size with few trials is left out.
    """
    out: dict[str, float] = {}
    if search.rows.empty:
        return out
    rows, sigma = search.rows, s.sigma(cell.regime, cell.patches)
    aligned = np.nan_to_num(rows["patch_alignment"].to_numpy(float))
    sizes = rows["samples"].to_numpy()
    for samples in np.unique(sizes):
        own = aligned[sizes == samples]
        if len(own) < FLOOR_TRIALS:
            continue
        low = own.mean() - FLOOR_ERRORS * own.std(ddof=1) / math.sqrt(len(own))
        best = floor_alignment(
            cell.network, cell.patches, cell.dimension, sigma, np.asarray(int(samples))
        )
        out[f"{cell.describe()}, m = {samples}"] = float(low / best - 1)
    return out


def judge_floors(s: SignalSettings, searches: Searches) -> Finding:
    """Every group of trials at one size against the floor: all searches are of equivariant
    learners.

    >>> judge_floors(SignalSettings(), {}).verdict
    'not measured'
    """
    excess: dict[str, float] = {}
    for key, search in searches.items():
        for name, value in floor_excess(s, key.cell, search).items():
            excess[f"{key.learner}: {name}"] = value
    return judge(RESPECTED, excess)


def judge_em(
    s: SignalSettings, thresholds: Mapping[SignalCell, Threshold], estimators: Thresholds
) -> Finding:
    """Descent over expectation-maximisation in every cell that carries a law.

    A cell whose estimator a budget left out is a part that was not measured.
    """
    parts = {
        cell.describe(): ThresholdRatio(threshold, em) if em is not None else None
        for cell, threshold in thresholds.items()
        for em in (estimators.get((cell, "em")),)
        if is_inside(s, cell) and threshold.estimate >= LEAST_SAMPLES
    }
    reason = "" if estimators else "the estimators were not run"
    return judge(EM_SAVES, parts, reason=reason)


def judge_noted(
    s: SignalSettings, thresholds: Mapping[SignalCell, Threshold], estimators: Thresholds
) -> Finding:
    """The two-step algorithm as noted over averaging, the geometric mean over the cells of each
    regime.

    >>> judge_noted(SignalSettings(), {}, {}).verdict
    'not measured'
    """
    parts = {}
    for regime in s.regimes:
        ratios = [
            t.estimate / estimators[cell, "average"].estimate
            for cell, t in thresholds.items()
            if cell.regime == regime
            and t.censoring == "none"
            and t.estimate >= LEAST_SAMPLES
            and (cell, "average") in estimators
            and estimators[cell, "average"].censoring == "none"
        ]
        if len(ratios) >= 3:
            parts[regime] = GeometricMean(tuple(ratios))
    return judge(TWO_STEP_NOTED, parts)


def key_of(cell: SignalCell, learner: str = "descent", target: str = "alignment") -> SearchKey:
    """The name of a search.

    >>> key_of(SignalCell("root", "CNN", 6, 6)).target
    'alignment'
    """
    return SearchKey(cell, learner, target)
