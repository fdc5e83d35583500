"""The claims of the study of open questions, and how thresholds decide them."""

import math

from separatrix.inference import Interval, threshold_ratio
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
from separatrix.studies.signal_open.settings import VARIANTS, OpenCell, OpenSettings
from separatrix.theory.signal import bounds_for

CONDITIONS = (
    "the paper proves the order for one hidden layer on its own task (one signal, independent "
    "Gaussian noise of one variance σ² at most about 1/k) and leaves this variant open"
)
BOUND_CONDITIONS = (
    "the FCN's lower bound speaks of algorithms equivariant under O(kd), with final bias at least "
    "0.01, k at most exponential in d and σ at most about 1/√k"
)
PAIRS = (("CNN", "LCN"), ("LCN", "FCN"))
OPEN = {
    name: Claim(
        f"lahoti.open.{name}",
        f"The order CNN < LCN < FCN of the samples needed persists when {variant.text}.",
        "open questions and next checks of the paper's summary",
        CONDITIONS,
    )
    for name, variant in VARIANTS.items()
    if name != "plain"
}
_CITATION = "open question 3: non-equivariant algorithms"
_SAVES = (
    "The FCN's lower bound is about algorithms: the same FCN {} needs fewer samples than by "
    "gradient descent from a random start."
)
ALGORITHMS = {
    "FCN from CNN": Claim(
        "lahoti.bound-is-about-algorithms.start",
        _SAVES.format("started inside the CNN"),
        _CITATION,
        BOUND_CONDITIONS,
    ),
    "FCN with ℓ1": Claim(
        "lahoti.bound-is-about-algorithms.sparse",
        _SAVES.format("with an ℓ1 step"),
        _CITATION,
        BOUND_CONDITIONS,
    ),
    "FCN by Adam": Claim(
        "lahoti.bound-is-about-algorithms.adam",
        _SAVES.format("trained by Adam"),
        _CITATION,
        BOUND_CONDITIONS,
    ),
}
ALGORITHMS_GROW = Claim(
    "lahoti.bound-is-about-algorithms.growth",
    "What the ℓ1 step saves the FCN grows with k.",
    _CITATION,
    BOUND_CONDITIONS,
)


def judge_variant(s: OpenSettings, searches: dict[OpenCell, SearchResult], variant: str) -> Finding:
    """CNN < LCN and LCN < FCN at every cell where both were measured; the growth of the ratios is
    evidence too, but decides nothing.

    >>> judge_variant(OpenSettings(), {}, "sign").reason
    'the variant is not measured at this scale'
    """
    claim = OPEN[variant]
    own = {cell: search for cell, search in searches.items() if cell.variant == variant}
    if not own:
        return Finding(claim, "undecided", "the variant is not measured at this scale", None)
    verdicts: list[Verdict] = []
    evidence, words = [], []
    for smaller, larger in PAIRS:
        gaps = ratios(own, variant, larger, smaller)
        for k, gap in gaps.items():
            verdicts.append(decide_ratio(gap))
            evidence.append(Evidence.of(f"samples {larger}/{smaller}, k = {k}", gap, 1.0))
            words.append(f"{larger}/{smaller} at k = {k}: {ratio_in_words(gap)}")
        growth = growth_of(gaps)
        if growth is not None:
            evidence.append(
                Evidence.of(
                    f"growth of {larger}/{smaller} from k = {min(gaps)} to {max(gaps)}", growth, 1.0
                )
            )
    never = [
        f"{cell.network} (k = {cell.patches})"
        for cell, search in own.items()
        if search.threshold.censoring == "right"
    ]
    if never:
        words.append(f"not reached by the largest size or within the trials: {', '.join(never)}")
    if variant == "product":
        words.append(
            "networks that add up functions of single patches, as CNN and LCN with one-patch "
            "fields do, err on a quarter of the inputs or more whatever their weights: their "
            "right-censored searches are what must happen"
        )
    if not verdicts:
        return Finding(claim, "undecided", "no cell was measured for two networks", None)
    outside = "; ".join(
        part for part in (VARIANTS[variant].text, s.outside([cell.patches for cell in own])) if part
    )
    return Finding(claim, all_of(verdicts), "; ".join(words), False, tuple(evidence), outside)


def judge_algorithms(s: OpenSettings, searches: dict[OpenCell, SearchResult]) -> list[Finding]:
    """For each other algorithm the FCN's samples by plain gradient descent over its own: above 1,
    and for ℓ1 growing with k.

    >>> {finding.verdict for finding in judge_algorithms(OpenSettings(), {})}
    {'undecided'}
    """
    findings = [_judge_algorithm(s, searches, name) for name in ALGORITHMS]
    gaps = ratios(searches, "plain", "FCN", "FCN with ℓ1")
    growth = growth_of(gaps)
    if growth is None:
        return [
            *findings,
            Finding(ALGORITHMS_GROW, "undecided", "fewer than two cells, or censored ones", None),
        ]
    grown = Evidence.of(
        f"growth of what ℓ1 saves, from k = {min(gaps)} to {max(gaps)}", growth, 1.0
    )
    words, outside = (
        f"from k = {min(gaps)} to {max(gaps)} the saving changes by {ratio_in_words(growth)}",
        s.outside(list(gaps)),
    )
    return [
        *findings,
        Finding(ALGORITHMS_GROW, decide_ratio(growth), words, not outside, (grown,), outside),
    ]


def _judge_algorithm(s: OpenSettings, searches: dict[OpenCell, SearchResult], name: str) -> Finding:
    claim, gaps = ALGORITHMS[name], ratios(searches, "plain", "FCN", name)
    if not gaps:
        return Finding(claim, "undecided", "the algorithm is not measured at this scale", None)
    outside = s.outside(list(gaps))
    evidence = [
        Evidence.of(f"samples, FCN over {name}, k = {k}", gap, 1.0, **_lower_bound(s, k))
        for k, gap in gaps.items()
    ]
    evidence += [
        Evidence.of(f"samples, {name} over CNN, k = {k}", gap, 1.0)
        for k, gap in ratios(searches, "plain", name, "CNN").items()
    ]
    reason = "; ".join(
        f"plain descent needs {ratio_in_words(gap)} more at k = {k}" for k, gap in gaps.items()
    )
    return Finding(
        claim,
        all_of([decide_ratio(gap) for gap in gaps.values()]),
        reason,
        not outside,
        tuple(evidence),
        outside,
    )


def _lower_bound(s: OpenSettings, patches: int) -> dict[str, float]:
    return {
        "FCN lower bound (constant 1)": bounds_for("FCN")[0].value(patches, s.dimension, s.noise)
    }


def ratios(
    searches: dict[OpenCell, SearchResult], variant: str, first: str, second: str
) -> dict[int, Interval]:
    """How many times more samples the first network needs than the second, at every cell that both
    have.

    >>> ratios({}, "plain", "LCN", "CNN")
    {}
    """
    cells = sorted(
        cell.patches for cell in searches if (cell.variant, cell.network) == (variant, first)
    )
    pairs = {
        k: (searches[OpenCell(variant, first, k)], searches.get(OpenCell(variant, second, k)))
        for k in cells
    }
    return {
        k: threshold_ratio(a.threshold, b.threshold) for k, (a, b) in pairs.items() if b is not None
    }


def growth_of(gaps: dict[int, Interval]) -> Interval | None:
    """The last ratio over the first, their intervals' distances combined on the log scale; None
    where a ratio has no value.

    >>> made = [Interval(2.0, 1.0, 4.0, 0.95, "", 9), Interval(8.0, 8.0, 8.0, 0.95, "", 9)]
    >>> print(growth_of({5: made[0], 10: made[1]}))
    4 [2, 8]
    """
    if len(gaps) < 2:
        return None
    first, last = gaps[min(gaps)], gaps[max(gaps)]
    if not all(
        math.isfinite(end) and end > 0
        for gap in (first, last)
        for end in (gap.estimate, gap.low, gap.high)
    ):
        return None
    logs = [
        {name: math.log(getattr(gap, name)) for name in ("estimate", "low", "high")}
        for gap in (first, last)
    ]
    middle = logs[1]["estimate"] - logs[0]["estimate"]
    low = middle - math.hypot(
        logs[1]["estimate"] - logs[1]["low"], logs[0]["high"] - logs[0]["estimate"]
    )
    high = middle + math.hypot(
        logs[1]["high"] - logs[1]["estimate"], logs[0]["estimate"] - logs[0]["low"]
    )
    return Interval(
        math.exp(middle),
        math.exp(low),
        math.exp(high),
        first.level,
        "ratio of ratios",
        first.count + last.count,
    )
