"""The claims of the map study, and the evidence that decides them."""

import itertools
import math

import numpy as np

from separatrix.inference import Interval, Threshold
from separatrix.inference.estimates import ThresholdRatio
from separatrix.studies.claims import Claim, Evidence, Finding, judge
from separatrix.studies.kinds import Comparison, Trend
from separatrix.studies.search import SearchResult
from separatrix.studies.signal_map.settings import MapSettings, Spot
from separatrix.theory.signal import best_linear_risk

CONDITIONS = (
    "one hidden layer with LSA activation, one unit per patch, gradient descent projected to the "
    "unit ball, noise σ at most about 1/√k"
)
SHARING = Claim(
    "ours.map.monotone-sharing",
    "At every receptive field the samples needed grow with the number of filters, from one that "
    "all patches share to one per patch.",
    "ours; the paper speaks of the corners of the map",
    CONDITIONS,
    Trend("samples needed", "number of filters", "rising", 1.0),
)
LOCALITY = Claim(
    "ours.map.monotone-locality",
    "At every number of filters the samples needed grow with the receptive field, from one patch "
    "to all.",
    "ours; the paper speaks of the corners of the map",
    CONDITIONS,
    Trend("samples needed", "receptive field", "rising", 1.0),
)
PARTS = Claim(
    "ours.map.parts",
    "Of what the FCN needs more than the CNN, weight sharing saves one factor (LCN over CNN) and "
    "locality a further one (FCN over LCN).",
    "ours; introduction of the paper: a factor for each of two reasons",
    CONDITIONS,
    Comparison("ratio of samples", "above", 1.0),
)
CLAIMS = (SHARING, LOCALITY, PARTS)


def judge_all(s: MapSettings, searches: dict[Spot, SearchResult]) -> tuple[Finding, ...]:
    """The findings of the map, in the order of its claims."""
    return (
        judge_growth(s, searches, SHARING, "groups"),
        judge_growth(s, searches, LOCALITY, "field"),
        judge_parts(s, searches),
    )


def trained(s: MapSettings, searches: dict[Spot, SearchResult]) -> dict[Spot, Threshold]:
    """The thresholds of the places where the network trained.

    >>> trained(MapSettings(), {})
    {}
    """
    limit = best_linear_risk(s.patches, s.noise)
    return {
        spot: search.threshold
        for spot, search in searches.items()
        if not search.failed_to_train(limit)
    }


def judge_growth(
    s: MapSettings, searches: dict[Spot, SearchResult], claim: Claim, along: str
) -> Finding:
    """The ratios of samples of neighbours along one axis, at every value of the other.

    >>> judge_growth(MapSettings(), {}, SHARING, "groups").verdict
    'not measured'
    """
    across = "field" if along == "groups" else "groups"
    known = trained(s, searches)
    lines: dict[int, list[Spot]] = {}
    for spot in sorted(searches):
        lines.setdefault(getattr(spot, across), []).append(spot)
    steps = {
        f"{_letter(across)} = {value}, {_letter(along)} = {getattr(a, along)} to "
        f"{getattr(b, along)}": _ratio(known, b, a)
        for value, line in lines.items()
        for a, b in itertools.pairwise(sorted(line, key=lambda spot: getattr(spot, along)))
    }
    return judge(claim, steps, outside_of(s), reason="" if steps else "no line was measured")


def judge_parts(s: MapSettings, searches: dict[Spot, SearchResult]) -> Finding:
    """LCN over CNN and FCN over LCN; beside them the whole factor and sharing's part of it.

    >>> judge_parts(MapSettings(), {}).verdict
    'not measured'
    """
    k, d = s.patches, s.dimension
    known = trained(s, searches)
    cnn, lcn, fcn = Spot(1, 1), Spot(1, k), Spot(k, k)
    parts = {
        "sharing: LCN over CNN": _ratio(known, lcn, cnn),
        "locality: FCN over LCN": _ratio(known, fcn, lcn),
    }
    also, words = [], []
    if whole := _ratio(known, fcn, cnn):
        bounds = {"ratio of the bounds, constants and logarithms aside": k * k * d / (k + d)}
        also.append(Evidence.of("both: samples, FCN over CNN", whole.interval(0.95), 1.0, **bounds))
        share = share_of_sharing(known[cnn], known[lcn], known[fcn]) if lcn in known else None
        if share is not None:
            also.append(Evidence.of("share of sharing in the log of the whole factor", share))
            words.append(f"sharing is {share} of the log of the whole factor")
    missing = [
        name for name, spot in (("CNN", cnn), ("LCN", lcn), ("FCN", fcn)) if spot not in known
    ]
    if missing:
        words.append(f"not measured, or not trained, at the corner {', '.join(missing)}")
    evidence = {} if all(part is None for part in parts.values()) else parts
    return judge(PARTS, evidence, outside_of(s), "; ".join(words), also)


def share_of_sharing(
    cnn: Threshold, lcn: Threshold, fcn: Threshold, draws: int = 20_000
) -> Interval | None:
    """log(LCN/CNN) over log(FCN/CNN), its interval by drawing the three log thresholds with their
    errors; None where one is censored.

    >>> from separatrix.inference import Tally, estimate_threshold
    >>> made = [estimate_threshold([Tally(m, 0, 20), Tally(2 * m, 20, 20)]) for m in (8, 80, 800)]
    >>> abs(share_of_sharing(*made).estimate - 0.5) < 0.01
    True
    """
    thresholds = (cnn, lcn, fcn)
    if any(threshold.censoring != "none" for threshold in thresholds):
        return None
    rng = np.random.default_rng(0)
    middle = [math.log(threshold.estimate) for threshold in thresholds]
    logs = [
        math.log(threshold.estimate) + threshold.log_error * rng.standard_normal(draws)
        for threshold in thresholds
    ]
    shares = (logs[1] - logs[0]) / (logs[2] - logs[0])
    low, high = np.quantile(shares, [0.025, 0.975])
    count = cnn.trials + lcn.trials + fcn.trials
    return Interval(
        (middle[1] - middle[0]) / (middle[2] - middle[0]),
        float(low),
        float(high),
        0.95,
        "drawn from the thresholds' errors",
        count,
    )


def _ratio(known: dict[Spot, Threshold], first: Spot, second: Spot) -> ThresholdRatio | None:
    if first not in known or second not in known:
        return None
    return ThresholdRatio(known[first], known[second])


def _letter(axis: str) -> str:
    return {"field": "r", "groups": "g"}[axis]


def outside_of(s: MapSettings) -> str:
    """In words, how the map lies outside the noise condition; empty when it does not.

    >>> outside_of(MapSettings(patches=16))
    'σ = 0.3 exceeds 1/√k = 0.25'
    """
    edge = 1 / math.sqrt(s.patches)
    return f"σ = {s.noise:g} exceeds 1/√k = {edge:.3g}" if s.noise > (1 + 1e-9) * edge else ""
