"""The claims of the study `dial`, and how accuracies and labels decide them."""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.inference import Interval
from separatrix.inference.intervals import gap_over_seeds, mean_over_seeds
from separatrix.studies.claims import Claim, Evidence, Finding, Verdict, all_of, decide_above
from separatrix.studies.dial.settings import CORNERS, DialPlace, DialSettings
from separatrix.studies.dial.trials import DialResults

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

DRAWS = 4000
METHOD = "interpolated ladder, Student's t at each rung"


def findings(s: DialSettings, results: DialResults) -> list[Finding]:
    """The verdict on every claim.

    >>> s = DialSettings(sources=("embedded-digits",))
    >>> {finding.verdict for finding in findings(s, DialResults({}, {}))}
    {'undecided'}
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


def _pays(s: DialSettings, results: DialResults, claim: Claim, better: str, worse: str) -> Finding:
    where = results.complete(s)
    verdicts: list[Verdict] = []
    evidence = []
    for source, depth in where:
        gap = paired(results, source, depth, better, worse)
        lead = mean_over_seeds(gap, level_for(len(where)))
        verdicts.append(decide_above(lead, 0.0))
        evidence.append(
            Evidence.of(
                f"{source}, depth {depth}: {better}'s accuracy less the {worse}'s",
                lead,
                0.0,
                **_levels(results, source, depth),
            )
        )
    savings = [
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
        f"judged on accuracies with all labels at {_listed(where)}, paired by seed, intervals "
        "widened for their number; what it saves in labels is told beside"
    )
    return _finding(s, claim, where, verdicts, reason, [*evidence, *savings])


def _loses(s: DialSettings, results: DialResults) -> Finding:
    where = results.complete(s)
    verdicts: list[Verdict] = []
    losses, remainders = [], []
    for source, depth in where:
        plain, permuted = (
            paired(results, source, depth, "LCN", "FCN", hidden) for hidden in (False, True)
        )
        lost = gap_over_seeds(plain, permuted, level_for(len(where)))
        verdicts.append(decide_above(lost, 0.0))
        losses.append(
            Evidence.of(
                f"{source}, depth {depth}: LCN less FCN on pixels in order, less the same on "
                "permuted ones",
                lost,
                0.0,
            )
        )
        remainders.append(
            Evidence.of(
                f"{source}, depth {depth}: LCN less FCN on permuted pixels",
                mean_over_seeds(permuted),
                0.0,
            )
        )
    reason = (
        f"judged at {_listed(where)}: by how much the LCN's lead over the FCN is smaller on "
        "permuted pixels (other seeds' rows, so not paired), intervals widened for their number; "
        "a lead that remains is not the locality of images"
    )
    return _finding(s, LOSES, where, verdicts, reason, [*losses, *remainders])


def _indifferent(s: DialSettings, results: DialResults) -> Finding:
    where = results.complete(s)
    verdicts: list[Verdict] = []
    evidence = []
    for source, depth in where:
        place = _corner(results, source, depth, "FCN")
        gap = gap_over_seeds(
            _accuracy(results, place, True), _accuracy(results, place), level_for(len(where))
        )
        inside = gap.low > -s.margin and gap.high < s.margin
        outside = gap.low > s.margin or gap.high < -s.margin
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
        f"judged at {_listed(where)}: supported where the whole interval lies within "
        f"±{s.margin:g}, refuted where it lies outside; intervals widened for their number"
    )
    return _finding(s, INDIFFERENT, where, verdicts, reason, evidence)


def one_by_one(where: list[tuple[str, int]], verdicts: list[Verdict]) -> str:
    """What each data set and depth says by itself, in words.

    >>> one_by_one([("cifar10", 1), ("cifar10", 2)], ["supported", "undecided"])
    'supported at cifar10 (depth 1); undecided at cifar10 (depth 2)'
    """
    depths: dict[str, dict[str, list[str]]] = {}
    for (source, depth), verdict in zip(where, verdicts):
        depths.setdefault(verdict, {}).setdefault(source, []).append(str(depth))
    places = {
        verdict: ", ".join(f"{name} (depth {', '.join(parts)})" for name, parts in sources.items())
        for verdict, sources in depths.items()
    }
    return "; ".join(f"{verdict} at {listed}" for verdict, listed in places.items())


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
    results: DialResults, source: str, depth: int, first: str, second: str, permuted: bool = False
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


def locality_share(results: DialResults, source: str, depth: int) -> Interval | None:
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


@dataclasses.dataclass(frozen=True)
class LabelsNeeded:
    """The labels at which the mean accuracy passes a target, as logarithms: the estimate, and draws
    that carry its error.

    Minus infinity says "below the first rung", infinity "above the last".
    """

    log_labels: float
    draws: np.ndarray
    seeds: int

    def interval(self) -> Interval:
        """The labels with their interval; an end is 0 or infinite beyond the ladder's ends."""
        low, high = np.exp(_quantiles(self.draws, self.draws))
        return Interval(np.exp(self.log_labels), float(low), float(high), 0.95, METHOD, self.seeds)


def labels_needed(ladder: Mapping[int, np.ndarray], target: float, stream: int = 0) -> LabelsNeeded:
    """The labels at which the mean accuracy over seeds passes `target`, from a ladder of accuracies
    by number of labels.

    Seeds lie much closer together than rungs do: counting successes rung by rung would know no more
    than the spacing of the ladder. So the mean accuracy is interpolated, linearly in the logarithm
    of the number of labels. Draws carry the error of each rung's mean (Student's t).

    >>> ladder = {100: np.array([0.39, 0.41]), 1000: np.array([0.59, 0.61])}
    >>> round(labels_needed(ladder, 0.5).interval().estimate), labels_needed(ladder, 0.7).log_labels
    (316, inf)
    """
    rungs = sorted(ladder)
    if len(rungs) < 2 or any(np.size(ladder[rung]) < 2 for rung in rungs):
        raise ParameterError(
            "labels_needed",
            "ladder",
            "at least two rungs of at least two seeds each",
            {r: np.size(ladder[r]) for r in rungs},
        )
    means = np.array([np.mean(ladder[rung]) for rung in rungs])
    errors = np.array(
        [np.std(ladder[rung], ddof=1) / np.sqrt(np.size(ladder[rung])) for rung in rungs]
    )
    rng = np.random.default_rng([stream, len(rungs)])
    tails = np.stack([rng.standard_t(np.size(ladder[rung]) - 1, DRAWS) for rung in rungs], axis=1)
    seeds = min(np.size(ladder[rung]) for rung in rungs)
    logs = np.log(np.array(rungs, float))
    return LabelsNeeded(
        float(_crossing(logs, means[None], target)[0]),
        _crossing(logs, means + errors * tails, target),
        seeds,
    )


def label_ratio(more: LabelsNeeded, fewer: LabelsNeeded) -> Interval:
    """How many times more labels the first needs; one-sided where a ladder does not reach, 0 to
    infinity where neither does.

    >>> error = np.linspace(-0.1, 0.1, 101)
    >>> more = LabelsNeeded(np.log(1000.0), np.log(1000.0) + error, 6)
    >>> fewer = LabelsNeeded(np.log(100.0), np.log(100.0) - error, 6)
    >>> ratio = label_ratio(more, fewer)
    >>> round(ratio.estimate, 6), ratio.low < 10 < ratio.high
    (10.0, True)
    """
    with np.errstate(invalid="ignore"):
        gaps = more.draws - fewer.draws
        middle = more.log_labels - fewer.log_labels
    unknown = np.isnan(gaps)  # both beyond the same end: anything is possible
    low, high = np.exp(
        _quantiles(np.where(unknown, -np.inf, gaps), np.where(unknown, np.inf, gaps))
    )
    estimate = float(np.exp(middle)) if np.isfinite(middle) else float("nan")
    return Interval(estimate, float(low), float(high), 0.95, METHOD, min(more.seeds, fewer.seeds))


def _crossing(logs: np.ndarray, means: np.ndarray, target: float) -> np.ndarray:
    """Where each row of means first reaches the target, between the rungs around it."""
    # More labels do not hurt: a fall between rungs is noise.
    rising = np.maximum.accumulate(means, axis=1)
    reached = rising >= target
    first = np.where(reached.any(axis=1), reached.argmax(axis=1), len(logs))
    at = np.clip(first, 1, len(logs) - 1)
    row = np.arange(len(means))
    below, above = rising[row, at - 1], rising[row, at]
    share = np.clip((target - below) / np.where(above > below, above - below, 1.0), 0.0, 1.0)
    inside = logs[at - 1] + share * (logs[at] - logs[at - 1])
    return np.where(first == 0, -np.inf, np.where(first == len(logs), np.inf, inside))


def _quantiles(lower: np.ndarray, upper: np.ndarray) -> tuple[float, float]:
    # Order statistics, because infinite draws cannot be interpolated.
    return float(np.quantile(lower, 0.025, method="lower")), float(
        np.quantile(upper, 0.975, method="higher")
    )


def ladder(s: DialSettings, results: DialResults, place: DialPlace) -> dict[int, np.ndarray]:
    """The accuracies of a corner by number of labels, as far as they were measured."""
    rungs = s.labels(place.source)
    return {
        labels: accuracy
        for labels in rungs
        if (accuracy := results.accuracy(place, labels=0 if labels == rungs[-1] else labels))
        is not None
    }


def needed(s: DialSettings, results: DialResults, source: str, name: str) -> LabelsNeeded | None:
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
    s: DialSettings, results: DialResults, source: str, more: str, fewer: str
) -> Interval | None:
    """How many times more labels one corner needs than another."""
    a, b = needed(s, results, source, more), needed(s, results, source, fewer)
    return None if a is None or b is None else label_ratio(a, b)


def _levels(results: DialResults, source: str, depth: int) -> dict[str, float]:
    return {
        name: float(_accuracy(results, _corner(results, source, depth, name)).mean())
        for name in CORNERS
    }


def _corner(results: DialResults, source: str, depth: int, name: str) -> DialPlace:
    place = results.corner(source, depth, name)
    if place is None:
        raise SeparatrixError(f"the {name} of depth {depth} on {source} was not measured")
    return place


def _accuracy(results: DialResults, place: DialPlace, permuted: bool = False) -> np.ndarray:
    accuracy = results.accuracy(place, permuted)
    if accuracy is None:
        raise SeparatrixError(
            f"the {place.name} of depth {place.depth} on {place.source} was not measured"
        )
    return accuracy


def _listed(where: list[tuple[str, int]]) -> str:
    return "; ".join(f"{source}, depth {depth}" for source, depth in where)
