"""The claims of the map study, and how its thresholds decide them."""

import itertools
import math

import numpy as np
from scipy.special import ndtri

from separatrix.inference import Interval, Threshold, threshold_ratio
from separatrix.studies.claims import (
    Claim,
    Evidence,
    Finding,
    Verdict,
    all_of,
    decide_ratio,
    ratio_in_words,
)
from separatrix.studies.search import SearchResult
from separatrix.studies.signal_map.settings import MapSettings, Spot

CONDITIONS = (
    "the paper proves bounds for three corners of the map, the CNN (r = 1, g = 1), the LCN (r = "
    "1, g = k) and the FCN (r = k, g = k), with one hidden layer, LSA activation and σ at most "
    "about 1/√k; between them it says nothing"
)
SHARING = Claim(
    "lahoti.map.monotone-sharing",
    "At every receptive field the samples needed grow with the number of filters that the "
    "positions share.",
    "abstract: k+d against k(k+d), extended between the corners",
    CONDITIONS,
)
LOCALITY = Claim(
    "lahoti.map.monotone-locality",
    "At every number of filters the samples needed grow with the receptive field.",
    "abstract: k(k+d) against k²d, extended between the corners",
    CONDITIONS,
)
PARTS = Claim(
    "lahoti.map.parts",
    "Of what the FCN needs more than the CNN, weight sharing saves one factor (LCN over CNN) and "
    "locality a further one (FCN over LCN).",
    "abstract: k+d, k(k+d) and k²d; introduction: a factor k for each of two reasons",
    CONDITIONS,
)


def judge_growth(
    s: MapSettings, searches: dict[Spot, SearchResult], claim: Claim, along: str
) -> Finding:
    """m* from the smallest to the largest value of one axis, at every value of the other; steps
    between neighbours are counted too.

    The verdict uses the ends, one comparison per line. A step between neighbours whose whole
    interval, widened for the number of steps, goes the other way refutes monotony.

    >>> judge_growth(MapSettings(), {}, SHARING, "groups").verdict
    'undecided'
    """
    across = "field" if along == "groups" else "groups"
    lines: dict[int, list[Spot]] = {}
    for spot in sorted(searches):
        lines.setdefault(getattr(spot, across), []).append(spot)
    ends: list[Verdict] = []
    evidence = []
    neighbours = [(a, b) for line in lines.values() for a, b in itertools.pairwise(line)]
    for value, line in lines.items():
        if len(line) < 2:
            continue
        gap = _ratio(searches, line[-1], line[0])
        ends.append(decide_ratio(gap))
        most, least = (f"{_letter(along)} = {getattr(line[place], along)}" for place in (-1, 0))
        name = f"samples at {most} over {least}, {_letter(across)} = {value}"
        evidence.append(Evidence.of(name, gap, 1.0))
    steps = [
        decide_ratio(_stretched(_ratio(searches, b, a), len(neighbours))) for a, b in neighbours
    ]
    if not ends:
        return Finding(claim, "undecided", "no two places of a line were measured", None)
    verdict = all_of([*ends, *(step for step in steps if step == "refuted")])
    counts = {
        verdict: (ends.count(verdict), steps.count(verdict))
        for verdict in ("supported", "refuted", "undecided")
    }
    reason = (
        f"from end to end {counts['supported'][0]} of {len(ends)} lines grow, "
        f"{counts['refuted'][0]} fall, {counts['undecided'][0]} cannot tell; of {len(steps)} "
        f"steps between neighbours {counts['supported'][1]} grow, {counts['refuted'][1]} fall and "
        f"{counts['undecided'][1]} cannot be told (their intervals widened for their number)"
    )
    outside = outside_of(s, corners_only=False)
    return Finding(claim, verdict, reason, not outside, tuple(evidence), outside)


def judge_parts(s: MapSettings, searches: dict[Spot, SearchResult]) -> Finding:
    """Both factors exceed 1; the reason also gives their shares of the whole, on a log scale.

    >>> judge_parts(MapSettings(), {}).verdict
    'undecided'
    """
    k, d = s.patches, s.dimension
    corners = {"CNN": Spot(1, 1), "LCN": Spot(1, k), "FCN": Spot(k, k)}
    missing = [name for name, spot in corners.items() if spot not in searches]
    if missing:
        return Finding(
            PARTS, "undecided", f"the corner {', '.join(missing)} was not measured", None
        )
    sharing = _ratio(searches, corners["LCN"], corners["CNN"])
    locality = _ratio(searches, corners["FCN"], corners["LCN"])
    whole = _ratio(searches, corners["FCN"], corners["CNN"])
    laws = {
        "sharing": k * 1.0,
        "locality": k * d / (k + d),
    }  # ratios of the paper's laws, constants and logarithms aside
    evidence = [
        Evidence.of(
            "sharing: samples LCN over CNN", sharing, 1.0, **{"ratio of the laws": laws["sharing"]}
        ),
        Evidence.of(
            "locality: samples FCN over LCN",
            locality,
            1.0,
            **{"ratio of the laws": laws["locality"]},
        ),
        Evidence.of(
            "both: samples FCN over CNN",
            whole,
            1.0,
            **{"ratio of the laws": laws["sharing"] * laws["locality"]},
        ),
    ]
    words = [f"sharing saves {ratio_in_words(sharing)} (the laws' ratio is {laws['sharing']:.3g})"]
    words.append(
        f"locality {ratio_in_words(locality)} more (the laws' ratio is {laws['locality']:.3g})"
    )
    cnn, lcn, fcn = (searches[spot].threshold for spot in corners.values())
    share = share_of_sharing(cnn, lcn, fcn)
    if share is not None:
        law = math.log(laws["sharing"]) / math.log(laws["sharing"] * laws["locality"])
        evidence.append(
            Evidence.of(
                "share of sharing in the log of the whole factor",
                share,
                None,
                **{"by the laws": law},
            )
        )
        words.append(f"sharing is {share} of the log of the whole factor (by the laws {law:.2f})")
    else:
        words.append("the shares of the whole have no value while a corner is censored")
    outside = outside_of(s, corners_only=True)
    verdict = all_of([decide_ratio(sharing), decide_ratio(locality)])
    return Finding(PARTS, verdict, "; ".join(words), not outside, tuple(evidence), outside)


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


def _ratio(searches: dict[Spot, SearchResult], first: Spot, second: Spot) -> Interval:
    return threshold_ratio(searches[first].threshold, searches[second].threshold)


def _stretched(gap: Interval, comparisons: int) -> Interval:
    """A ratio's interval widened, on the log scale, for the number of comparisons (Bonferroni,
    normal quantiles).
    """
    if (
        not math.isfinite(gap.estimate)
        or gap.estimate <= 0
        or gap.low <= 0
        or not math.isfinite(gap.high)
    ):
        return gap
    wider = float(ndtri(1 - 0.025 / max(1, comparisons)) / ndtri(0.975))
    low, high = (gap.estimate * (end / gap.estimate) ** wider for end in (gap.low, gap.high))
    return Interval(gap.estimate, low, high, gap.level, gap.method, gap.count)


def _letter(axis: str) -> str:
    return {"field": "r", "groups": "g"}[axis]


def outside_of(s: MapSettings, corners_only: bool) -> str:
    """In words, how the map lies outside the paper's conditions; empty when it does not.

    >>> outside_of(MapSettings(patches=16), corners_only=True)
    'σ = 0.3 exceeds 1/√k = 0.25'
    """
    out: list[str] = []
    if s.noise > (1 + 1e-9) / math.sqrt(s.patches):
        out.append(f"σ = {s.noise:g} exceeds 1/√k = {1 / math.sqrt(s.patches):.3g}")
    if not corners_only:
        out.append("places between the corners are not in the paper")
    return "; ".join(out)
