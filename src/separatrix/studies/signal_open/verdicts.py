"""The claims of the study of open questions, and the evidence that decides them.

The break conditions of the paper's summary are claims of the paper: "if X, the advantage
disappears" is supported when it does. What the paper leaves open is our question.
"""

import itertools
from collections.abc import Mapping

import numpy as np

from separatrix.inference import Threshold
from separatrix.inference.estimates import QuotientOf, ThresholdOver, ThresholdRatio
from separatrix.studies.claims import Claim, Evidence, Finding, judge
from separatrix.studies.kinds import Comparison, Equivalence, Existence, Trend
from separatrix.studies.search import SearchResult
from separatrix.studies.signal_open.settings import (
    COUNTED,
    NOISY,
    VARIANTS,
    OpenCell,
    OpenSettings,
)
from separatrix.studies.signal_open.trials import Floors, target_of
from separatrix.theory.signal import bounds_for, floor_samples

CONDITIONS = (
    "one hidden layer with LSA activation, independent Gaussian noise, σ at most about 1/√k, but "
    "for what the sentence changes"
)
BOUND_CONDITIONS = (
    "the FCN's lower bound speaks of algorithms equivariant under O(kd), with final bias at least "
    "0.01, k at most exponential in d and σ at most about 1/√k"
)
PAIRS = (("CNN", "LCN"), ("LCN", "FCN"))
NO_ADVANTAGE = 1.25  # a smaller ratio of samples counts as no advantage
SAME_SAMPLES = 0.25  # ratios within this margin count as the same number of samples
SUMMARY = "summary of arXiv 2403.15707"

SEVERAL = Claim(
    "lahoti.break.several",
    "If the signal appears in several patches at once, the advantage of weight sharing (samples of "
    "the LCN over those of the CNN) diminishes with their number.",
    f"{SUMMARY}, break condition of mechanism 1 (sharing)",
    CONDITIONS,
    Trend("samples, LCN over CNN", "number of signals", "falling", 1.0),
)
INTERACTION = Claim(
    "lahoti.break.interaction",
    "If the label needs an interaction of patches, the advantage of locality (samples of the FCN "
    "over those of the LCN) disappears.",
    f"{SUMMARY}, break condition of mechanism 2 (locality)",
    f"{CONDITIONS}; ReLU units with a trained readout, since networks with LSA and a sum are odd "
    "functions and the product of two signs is even",
    Comparison("samples, FCN over LCN", "below", NO_ADVANTAGE),
)
FIXED = Claim(
    "lahoti.break.fixed",
    "If the signal is always in the same patch, the advantages of weight sharing (LCN over CNN) "
    "and of locality (FCN over LCN) disappear.",
    f"{SUMMARY}, break conditions",
    CONDITIONS,
    Comparison("samples, larger network over the smaller one", "below", NO_ADVANTAGE),
)
DIMENSIONS = Claim(
    "lahoti.break.dimensions",
    "If patches differ in dimension, the advantage of weight sharing (LCN over CNN) is smaller "
    "than with patches of one dimension.",
    f"{SUMMARY}, break conditions",
    CONDITIONS,
    Comparison("samples, LCN over CNN, relative to patches of one dimension", "below", 1.0),
)
EFFECTIVE = Claim(
    "ours.open.effective-noise",
    "Uneven and non-Gaussian noise counts by its variance: a network needs as many samples as with "
    "even Gaussian noise of the same mean variance.",
    f"ours; {SUMMARY}, open question 2 (how the bounds change)",
    CONDITIONS,
    Equivalence("samples, over those with even Gaussian noise", SAME_SAMPLES, 1.0, True),
)
OPEN = {
    name: Claim(
        f"ours.open.{name}",
        f"The order CNN < LCN < FCN of the samples needed persists when {VARIANTS[name].text}.",
        f"ours; {SUMMARY}, open question {1 if name == 'depth-two' else 2}",
        CONDITIONS,
        Comparison("samples of the larger network over the smaller one's", "above", 1.0),
    )
    for name in ("uneven", "dependent", "laplace", "uniform", "sign", "depth-two")
}
_ASKED = f"ours; {SUMMARY}, open question 3 (algorithms that are not equivariant)"
ALGORITHMS = {
    "FCN from CNN": Claim(
        "ours.algorithms.start",
        "The FCN started inside the CNN needs as many samples as from a random start: the start "
        "alone does not escape the lower bound.",
        _ASKED,
        BOUND_CONDITIONS,
        Equivalence("samples, started inside the CNN over random start", SAME_SAMPLES, 1.0, True),
    ),
    "FCN with ℓ1": Claim(
        "ours.algorithms.sparse",
        "The FCN's lower bound is about algorithms: the same FCN with an ℓ1 step needs fewer "
        "samples than by gradient descent.",
        _ASKED,
        BOUND_CONDITIONS,
        Comparison("samples, with ℓ1 over gradient descent", "below", 1.0),
    ),
    "FCN by Adam": Claim(
        "ours.algorithms.adam",
        "The FCN's lower bound is about algorithms: the same FCN trained by Adam needs fewer "
        "samples than by gradient descent.",
        _ASKED,
        BOUND_CONDITIONS,
        Comparison("samples, by Adam over gradient descent", "below", 1.0),
    ),
}
GROWTH = Claim(
    "ours.algorithms.growth",
    "What the ℓ1 step saves the FCN, samples by gradient descent over those with ℓ1, grows with k.",
    _ASKED,
    BOUND_CONDITIONS,
    Trend("samples, gradient descent over ℓ1", "k", "rising", 1.0),
)
BELOW = Claim(
    "ours.algorithms.below-floor",
    "Some algorithm on the FCN that is not equivariant under O(kd) needs fewer samples than any "
    "equivariant learner can: its threshold is below the floor.",
    _ASKED,
    BOUND_CONDITIONS,
    Existence("samples over the FCN's floor", "below", 1.0),
)
CLAIMS = (
    *(SEVERAL, INTERACTION, FIXED, DIMENSIONS),
    *OPEN.values(),
    EFFECTIVE,
    *ALGORITHMS.values(),
    GROWTH,
    BELOW,
)
ABSENT = "this scale does not contain it: `--scale laptop` does"

Known = Mapping[OpenCell, Threshold]


def judge_all(
    s: OpenSettings, searches: dict[OpenCell, SearchResult], floors: Floors
) -> tuple[Finding, ...]:
    """The findings of the study, in the order of its claims."""
    known, failed = trained(searches, floors), untrained(searches, floors)
    return (
        judge_several(s, known, failed),
        judge_interaction(s, known, failed),
        judge_fixed(s, known, failed),
        judge_dimensions(s, known, failed),
        *(judge_order(s, known, failed, variant) for variant in OPEN),
        judge_effective(s, known, failed),
        *(judge_algorithm(s, known, failed, name) for name in ALGORITHMS),
        judge_growth(s, known, failed),
        judge_below(s, known, failed, floors),
    )


def untrained(searches: dict[OpenCell, SearchResult], floors: Floors) -> list[OpenCell]:
    """The cells in which a network did not train: a failed recipe, not a number of samples.

    Local networks err on a quarter of the products or more whatever their weights: that they do not
    reach the target there is their number of samples, not a failed recipe.

    >>> untrained({}, {})
    []
    """
    return [
        cell
        for cell, search in searches.items()
        if not (cell.variant == "product" and cell.network != "FCN")
        and search.failed_to_train(floors[cell.variant, cell.patches].linear)
    ]


def trained(searches: dict[OpenCell, SearchResult], floors: Floors) -> dict[OpenCell, Threshold]:
    """The thresholds of all other cells.

    >>> trained({}, {})
    {}
    """
    failed = set(untrained(searches, floors))
    return {cell: search.threshold for cell, search in searches.items() if cell not in failed}


def ratios(known: Known, variant: str, first: str, second: str) -> dict[int, ThresholdRatio]:
    """How many times more samples the first network needs than the second, at every k that both
    have.

    >>> ratios({}, "plain", "LCN", "CNN")
    {}
    """
    sizes = sorted(cell.patches for cell in known if cell[:2] == (variant, first))
    return {
        k: ThresholdRatio(known[OpenCell(variant, first, k)], known[OpenCell(variant, second, k)])
        for k in sizes
        if OpenCell(variant, second, k) in known
    }


def _inside(s: OpenSettings, sizes: Mapping[int, object]) -> list[int]:
    """The numbers of patches inside the noise condition, or all where none is."""
    return [k for k in sizes if not s.outside([k])] or list(sizes)


def _why(failed: list[OpenCell], variant: str, networks: tuple[str, ...]) -> str:
    """Why a sentence was not measured: a failed recipe, or not at this scale."""
    cells = [c for c in failed if c.variant == variant and c.network in networks]
    if not cells:
        return ABSENT
    where = ", ".join(f"{cell.network} at k = {cell.patches}" for cell in cells)
    return f"{where} did not train: it needs a recipe that trains it"


def judge_several(s: OpenSettings, known: Known, failed: list[OpenCell]) -> Finding:
    """LCN over CNN with two signals over that with one, and with three over that with two.

    >>> judge_several(OpenSettings(), {}, []).verdict
    'not measured'
    """
    saved = [ratios(known, variant, "LCN", "CNN") for variant in COUNTED]
    sizes = [k for k in saved[0] if all(k in each for each in saved)]
    steps = {
        f"{count} to {count + 1} signals, k = {k}": QuotientOf(after[k], before[k])
        for k in sizes
        for count, (before, after) in enumerate(itertools.pairwise(saved), start=1)
    }
    also = [
        Evidence.of(f"samples, LCN over CNN, {count} signals, k = {k}", gap.interval(0.95))
        for count, each in enumerate(saved, start=1)
        for k, gap in each.items()
        if steps
    ]
    why = "; ".join({_why(failed, variant, ("CNN", "LCN")) for variant in COUNTED})
    return judge(SEVERAL, steps, reason="" if steps else why, also=also)


def judge_interaction(s: OpenSettings, known: Known, failed: list[OpenCell]) -> Finding:
    """FCN over LCN when the label is the product of two signs.

    >>> judge_interaction(OpenSettings(), {}, []).verdict
    'not measured'
    """
    gaps = ratios(known, "product", "FCN", "LCN")
    reason = (
        "a sum of functions of single patches errs on a quarter of the products or more whatever "
        "its weights, so the LCN's searches must end without success"
        if gaps
        else _why(failed, "product", ("FCN",))
    )
    parts = {f"k = {k}": gaps[k] for k in _inside(s, gaps)}
    return judge(INTERACTION, parts, s.outside(_inside(s, gaps)), reason)


def judge_fixed(s: OpenSettings, known: Known, failed: list[OpenCell]) -> Finding:
    """LCN over CNN and FCN over LCN when the signal stays in one patch.

    >>> judge_fixed(OpenSettings(), {}, []).verdict
    'not measured'
    """
    gaps = {pair: ratios(known, "fixed", pair[1], pair[0]) for pair in PAIRS}
    sizes = {k: None for own in gaps.values() for k in own}
    parts = {
        f"{larger}/{smaller}, k = {k}": own[k]
        for (smaller, larger), own in gaps.items()
        for k in _inside(s, own)
    }
    reason = "" if parts else _why(failed, "fixed", ("CNN", "LCN", "FCN"))
    return judge(FIXED, parts, s.outside(_inside(s, sizes)), reason)


def judge_dimensions(s: OpenSettings, known: Known, failed: list[OpenCell]) -> Finding:
    """LCN over CNN with narrow patches, over the same with patches of one dimension.

    >>> judge_dimensions(OpenSettings(), {}, []).verdict
    'not measured'
    """
    narrow, plain = (ratios(known, name, "LCN", "CNN") for name in ("dimensions", "plain"))
    sizes = {k: None for k in narrow if k in plain}
    parts = {f"k = {k}": QuotientOf(narrow[k], plain[k]) for k in _inside(s, sizes)}
    also = [
        Evidence.of(f"samples, LCN over CNN, {name}, k = {k}", gaps[k].interval(0.95))
        for name, gaps in (("narrow patches", narrow), ("patches of one dimension", plain))
        for k in sizes
    ]
    reason = "" if parts else _why(failed, "dimensions", ("CNN", "LCN"))
    return judge(DIMENSIONS, parts, s.outside(_inside(s, sizes)), reason, also)


def variance_factors(patches: int) -> dict[str, float]:
    """What an effective variance of uneven noise would be, over the mean variance of patches.

    >>> {name: round(factor, 2) for name, factor in variance_factors(8).items()}
    {'mean': 1.0, 'harmonic mean': 0.44, 'largest': 1.9}
    """
    tilt = 2 * np.arange(patches) / max(patches - 1, 1) - 1
    own = 1 + VARIANTS["uneven"].changes["unevenness"] * tilt
    return {
        "mean": float(own.mean()),
        "harmonic mean": float(1 / np.mean(1 / own)),
        "largest": float(own.max()),
    }


def noise_ratios(known: Known) -> dict[OpenCell, ThresholdRatio]:
    """The samples under uneven or non-Gaussian noise over those of the plain task, by cell.

    >>> noise_ratios({})
    {}
    """
    return {
        cell: ThresholdRatio(threshold, known[cell._replace(variant="plain")])
        for cell, threshold in known.items()
        if cell.variant in NOISY and cell._replace(variant="plain") in known
    }


def judge_effective(s: OpenSettings, known: Known, failed: list[OpenCell]) -> Finding:
    """Samples under noise of the same variance over those of the plain task, in every cell.

    >>> judge_effective(OpenSettings(), {}, []).verdict
    'not measured'
    """
    gaps = noise_ratios(known)
    inside = _inside(s, {cell.patches: None for cell in gaps})
    parts = {
        f"{cell.variant}, {cell.network}, k = {cell.patches}": gap
        for cell, gap in gaps.items()
        if cell.patches in inside
    }
    uneven = {cell.patches for cell in gaps if cell.variant == "uneven"}
    reason = "" if parts else _why(failed, "uneven", ("CNN", "LCN", "FCN"))
    if parts and uneven:
        most = max(uneven)
        shown = variance_factors(most)
        reason = (
            f"if uneven noise counted by the harmonic mean of the patches' variances, the factor "
            f"at k = {most} would be {shown['harmonic mean']:.2g}, and {shown['largest']:.2g} by "
            "the largest"
        )
    return judge(EFFECTIVE, parts, s.outside(inside), reason)


def judge_order(s: OpenSettings, known: Known, failed: list[OpenCell], variant: str) -> Finding:
    """LCN over CNN and FCN over LCN at every k that both have.

    Where one of the two comparisons is missing everywhere, the order was not measured, unless the
    other one refutes it.

    >>> judge_order(OpenSettings(), {}, [], "sign").verdict
    'not measured'
    """
    claim = OPEN[variant]
    gaps = {(larger, smaller): ratios(known, variant, larger, smaller) for smaller, larger in PAIRS}
    parts = {
        f"{larger}/{smaller}, k = {k}": gap
        for (larger, smaller), own in gaps.items()
        for k, gap in own.items()
    }
    sizes = {k: None for own in gaps.values() for k in own}
    finding = judge(claim, parts, s.outside(list(sizes)))
    if finding.verdict == "refuted" or all(gaps.values()):
        return finding
    reason = _why(failed, variant, ("CNN", "LCN", "FCN"))
    return judge(claim, {}, reason=reason, also=finding.evidence)


def judge_algorithm(s: OpenSettings, known: Known, failed: list[OpenCell], name: str) -> Finding:
    """The FCN's samples by another algorithm over those by gradient descent from a random start.

    >>> judge_algorithm(OpenSettings(), {}, [], "FCN by Adam").verdict
    'not measured'
    """
    gaps = ratios(known, "plain", name, "FCN")
    also = [
        Evidence.of(
            f"samples, {name} over CNN, k = {k}", gap.interval(0.95), None, **_lower_bound(s, k)
        )
        for k, gap in ratios(known, "plain", name, "CNN").items()
        if gaps
    ]
    parts = {f"k = {k}": gap for k, gap in gaps.items()}
    reason = "" if gaps else _why(failed, "plain", (name, "FCN"))
    return judge(ALGORITHMS[name], parts, s.outside(list(gaps)), reason, also)


def _lower_bound(s: OpenSettings, patches: int) -> dict[str, float]:
    return {
        "FCN lower bound (constant 1)": bounds_for("FCN")[0].value(patches, s.dimension, s.noise)
    }


def judge_growth(s: OpenSettings, known: Known, failed: list[OpenCell]) -> Finding:
    """What ℓ1 saves at one k over what it saves at the k before.

    >>> judge_growth(OpenSettings(), {}, []).verdict
    'not measured'
    """
    gaps = ratios(known, "plain", "FCN", "FCN with ℓ1")
    steps = {f"k = {a} to {b}": QuotientOf(gaps[b], gaps[a]) for a, b in itertools.pairwise(gaps)}
    reason = ""
    if not steps:
        reason = _why(failed, "plain", ("FCN", "FCN with ℓ1"))
        if reason == ABSENT:
            reason = "fewer than two numbers of patches at this scale: `--scale laptop` has three"
    return judge(GROWTH, steps, s.outside(list(gaps)), reason)


def fcn_floor(s: OpenSettings, floors: Floors, patches: int) -> int:
    """The samples below which no learner equivariant under O(kd) reaches the plain task's target.

    >>> from separatrix.studies.signal_open.trials import Floor
    >>> fcn_floor(OpenSettings(), {("plain", 8): Floor(0.02, 0.0, 0.1, "")}, 8)
    104
    """
    target = target_of(s, floors["plain", patches], "plain")
    return floor_samples("FCN", patches, s.dimension, s.noise, risk=target)


def over_floor(s: OpenSettings, known: Known, floors: Floors) -> dict[OpenCell, ThresholdOver]:
    """The samples of every algorithm on the FCN, on the plain task, over the FCN's floor at the
    same risk.

    >>> over_floor(OpenSettings(), {}, {})
    {}
    """
    return {
        cell: ThresholdOver(threshold, fcn_floor(s, floors, cell.patches))
        for cell, threshold in known.items()
        if cell.variant == "plain" and cell.network in ("FCN", *ALGORITHMS)
    }


def judge_below(s: OpenSettings, known: Known, failed: list[OpenCell], floors: Floors) -> Finding:
    """Whether an algorithm that the floor does not speak of passes it; descent, of which the floor
    speaks, is shown beside them.

    >>> judge_below(OpenSettings(), {}, [], {}).verdict
    'not measured'
    """
    over = over_floor(s, known, floors)
    parts = {f"{c.network}, k = {c.patches}": v for c, v in over.items() if c.network != "FCN"}
    also = [
        Evidence.of(
            f"samples over the FCN's floor, descent, k = {cell.patches}", value.interval(0.95)
        )
        for cell, value in over.items()
        if cell.network == "FCN" and parts
    ]
    reason = "" if parts else _why(failed, "plain", tuple(ALGORITHMS))
    sizes = sorted({cell.patches for cell in over})
    return judge(BELOW, parts, s.outside(sizes), reason, also)
