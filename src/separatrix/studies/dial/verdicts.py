"""The claims of the study `dial`, and how accuracies and labels decide them."""

from collections.abc import Callable

import numpy as np

from separatrix.errors import SeparatrixError
from separatrix.inference import Interval
from separatrix.inference.intervals import gap_over_seeds, mean_over_seeds
from separatrix.studies.claims import Claim, Evidence, Finding, Verdict, all_of, decide_above
from separatrix.studies.dial.labels import Needed, label_ratio, labels_needed
from separatrix.studies.dial.settings import CORNERS, DialSettings, Place
from separatrix.studies.dial.trials import Results

CONDITIONS = (
    "the paper proves its bounds for a task of its own and asks what becomes of them on images "
    "(next check 3: a map over receptive field and sharing on CIFAR-10); networks of equal depth "
    "with equally many hidden units, tuned with equal effort"
)
LOCALITY = Claim(
    "lahoti.dial.locality-pays",
    "On images, and at every depth tried, the locally connected network is ahead of the fully "
    "connected one.",
    "abstract: locality alone separates LCN from FCN; asked here of images",
    CONDITIONS,
)
SHARING = Claim(
    "lahoti.dial.sharing-pays",
    "On images, and at every depth tried, the convolutional network is ahead of the locally "
    "connected one.",
    "abstract: weight sharing separates CNN from LCN; asked here of images",
    CONDITIONS,
)
LOSES = Claim(
    "lahoti.dial.permuted-loses-locality",
    "When the pixels of all images are reordered by one permutation, locality is worth less than "
    "before.",
    "Malach & Shalev-Shwartz, Section 5, hide the order of bits; asked here of images",
    CONDITIONS,
)
INDIFFERENT = Claim(
    "lahoti.dial.permuted-fcn-indifferent",
    "The fully connected network does not notice that permutation: its accuracy stays within the "
    "margin.",
    "symmetry: its initial weights and its optimizer treat all coordinates alike",
    CONDITIONS,
)
CLAIMS = (LOCALITY, SHARING, LOSES, INDIFFERENT)


def findings(s: DialSettings, results: Results) -> list[Finding]:
    """The verdict on every claim.

    >>> [each.verdict for each in findings(DialSettings(sources=("embedded-digits",)), Results({}, {}))]
    ['undecided', 'undecided', 'undecided', 'undecided']
    """
    judges: tuple[tuple[Claim, Callable[..., Finding]], ...] = (
        (LOCALITY, lambda: _pays(s, results, LOCALITY, "LCN", "FCN")),
        (SHARING, lambda: _pays(s, results, SHARING, "CNN", "LCN")),
        (LOSES, lambda: _loses(s, results)),
        (INDIFFERENT, lambda: _indifferent(s, results)),
    )
    if not results.complete(s):
        reason = (
            "at no data set and depth were all three networks measured on pixels in order and on "
            "permuted ones"
        )
        return [Finding(claim, "undecided", reason, None) for claim, _ in judges]
    return [judge() for _, judge in judges]


def level_for(parts: int) -> float:
    """The level of each of several intervals that decide one claim together (Bonferroni).

    >>> level_for(1), level_for(5)
    (0.95, 0.99)
    """
    return 1.0 - 0.05 / parts


def _pays(s: DialSettings, results: Results, claim: Claim, better: str, worse: str) -> Finding:
    where = results.complete(s)
    judged = []
    for source, depth in where:
        gap = paired(results, source, depth, better, worse)
        interval = mean_over_seeds(gap, level_for(len(where)))
        judged.append(
            Evidence.of(
                f"{source}, depth {depth}: {better}'s accuracy less the {worse}'s",
                interval,
                0.0,
                **_levels(results, source, depth),
            )
        )
    extra = [
        Evidence.of(
            f"{source}: labels of the {worse} over those of the {better} at accuracy "
            f"{s.accuracy_target(source):g}",
            ratio,
            1.0,
        )
        for source in s.chosen_sources()
        if (ratio := label_gap(s, results, source, worse, better)) is not None
    ]
    reason = (
        f"judged on accuracies with all labels at {_told(where)}, paired by seed, intervals "
        "widened for their number; what it saves in labels is told beside"
    )
    return _finding(
        s, claim, where, [decide_above(each, 0.0) for each in judged], reason, [*judged, *extra]
    )


def _loses(s: DialSettings, results: Results) -> Finding:
    where = results.complete(s)
    judged, beside = [], []
    for source, depth in where:
        plain, permuted = (
            paired(results, source, depth, "LCN", "FCN", hidden) for hidden in (False, True)
        )
        lost = gap_over_seeds(plain, permuted, level_for(len(where)))
        judged.append(
            Evidence.of(
                f"{source}, depth {depth}: LCN less FCN on pixels in order, less the same on "
                "permuted ones",
                lost,
                0.0,
            )
        )
        beside.append(
            Evidence.of(
                f"{source}, depth {depth}: LCN less FCN on permuted pixels",
                mean_over_seeds(permuted),
                0.0,
            )
        )
    reason = (
        f"judged at {_told(where)}: by how much the LCN's lead over the FCN is smaller on "
        "permuted pixels (other seeds' rows, so not paired), intervals widened for their number; "
        "a lead that remains is not the locality of images"
    )
    return _finding(
        s, LOSES, where, [decide_above(each, 0.0) for each in judged], reason, [*judged, *beside]
    )


def _indifferent(s: DialSettings, results: Results) -> Finding:
    where = results.complete(s)
    verdicts: list[Verdict] = []
    evidence = []
    for source, depth in where:
        place = _corner(results, source, depth, "FCN")
        gap = gap_over_seeds(
            _accuracy(results, place, True), _accuracy(results, place), level_for(len(where))
        )
        inside, outside = (
            gap.low > -s.margin and gap.high < s.margin,
            gap.low > s.margin or gap.high < -s.margin,
        )
        verdicts.append("supported" if inside else "refuted" if outside else "undecided")
        evidence.append(
            Evidence.of(
                f"{source}, depth {depth}: FCN's accuracy on permuted pixels less that on pixels "
                "in order",
                gap,
                0.0,
                margin=s.margin,
            )
        )
    reason = (
        f"judged at {_told(where)}: supported where the whole interval lies within ±{s.margin:g}, "
        "refuted where it lies outside; intervals widened for their number"
    )
    return _finding(s, INDIFFERENT, where, verdicts, reason, evidence)


def one_by_one(where: list[tuple[str, int]], verdicts: list[Verdict]) -> str:
    """What each data set and depth says by itself, in words.

    >>> one_by_one([("cifar10", 1), ("cifar10", 2), ("mnist", 1)], ["supported", "supported", "undecided"])
    'supported at cifar10 (depth 1, 2); undecided at mnist (depth 1)'
    """
    found: dict[str, dict[str, list[str]]] = {}
    for (source, depth), verdict in zip(where, verdicts):
        found.setdefault(verdict, {}).setdefault(source, []).append(str(depth))
    told = {
        verdict: ", ".join(f"{source} (depth {', '.join(some)})" for source, some in places.items())
        for verdict, places in found.items()
    }
    return "; ".join(f"{verdict} at {places}" for verdict, places in told.items())


def _finding(
    s: DialSettings,
    claim: Claim,
    where: list[tuple[str, int]],
    verdicts: list[Verdict],
    reason: str,
    evidence: list[Evidence],
) -> Finding:
    outside = (
        ""
        if "cifar10" in s.chosen_sources()
        else f"the images of {', '.join(s.chosen_sources())} instead of CIFAR-10"
    )
    return Finding(
        claim,
        all_of(verdicts),
        f"{reason}. One by one: {one_by_one(where, verdicts)}",
        not outside,
        tuple(evidence),
        outside,
    )


def paired(
    results: Results, source: str, depth: int, first: str, second: str, permuted: bool = False
) -> np.ndarray:
    """The accuracy of one corner less that of another, seed by seed: networks of a seed saw the
    same images.
    """
    a, b = (
        _accuracy(results, _corner(results, source, depth, name), permuted)
        for name in (first, second)
    )
    seeds = min(len(a), len(b))
    return a[:seeds] - b[:seeds]


def locality_share(results: Results, source: str, depth: int) -> Interval | None:
    """Which part of the CNN's lead over the FCN the LCN already has; None where there is no lead to
    divide.

    The interval is that of the mean of (LCN - FCN) - share·(CNN - FCN), seed by seed, over the mean
    lead.
    """
    part, whole = (paired(results, source, depth, name, "FCN") for name in ("LCN", "CNN"))
    seeds = min(len(part), len(whole))
    part, whole = part[:seeds], whole[:seeds]
    if mean_over_seeds(whole).low <= 0:
        return None
    share = float(part.mean() / whole.mean())
    spread = mean_over_seeds((part - share * whole) / whole.mean())
    return Interval(
        share,
        share + spread.low,
        share + spread.high,
        spread.level,
        "Student's t of the linearised ratio",
        seeds,
    )


def ladder(s: DialSettings, results: Results, place: Place) -> dict[int, np.ndarray]:
    """The accuracies of a corner by number of labels, as far as they were measured."""
    rungs = s.labels(place.source)
    found = {
        labels: results.accuracy(place, labels=0 if labels == rungs[-1] else labels)
        for labels in rungs
    }
    return {labels: accuracy for labels, accuracy in found.items() if accuracy is not None}


def needed(s: DialSettings, results: Results, source: str, name: str) -> Needed | None:
    """The labels at which a corner of one hidden layer passes the target accuracy; None where its
    ladder was not measured.
    """
    place = results.corner(source, 1, name)
    rungs = {} if place is None else ladder(s, results, place)
    if len(rungs) < 2:
        return None
    return labels_needed(
        rungs,
        s.accuracy_target(source),
        stream=CORNERS.index(name) if name in CORNERS else len(CORNERS),
    )


def label_gap(
    s: DialSettings, results: Results, source: str, more: str, fewer: str
) -> Interval | None:
    """How many times more labels one corner needs than another."""
    a, b = needed(s, results, source, more), needed(s, results, source, fewer)
    return None if a is None or b is None else label_ratio(a, b)


def _levels(results: Results, source: str, depth: int) -> dict[str, float]:
    return {
        name: float(_accuracy(results, _corner(results, source, depth, name)).mean())
        for name in CORNERS
    }


def _corner(results: Results, source: str, depth: int, name: str) -> Place:
    place = results.corner(source, depth, name)
    if place is None:
        raise SeparatrixError(f"the {name} of depth {depth} on {source} was not measured")
    return place


def _accuracy(results: Results, place: Place, permuted: bool = False) -> np.ndarray:
    found = results.accuracy(place, permuted)
    if found is None:
        raise SeparatrixError(
            f"the {place.name} of depth {place.depth} on {place.source} was not measured"
        )
    return found


def _told(where: list[tuple[str, int]]) -> str:
    return "; ".join(f"{source}, depth {depth}" for source, depth in where)
