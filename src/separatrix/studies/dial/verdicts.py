"""The claims of the study `dial`, and the accuracies and labels that are their evidence."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.inference import Interval
from separatrix.inference.estimates import Estimate, MeanDifference, MeanOf
from separatrix.inference.intervals import mean_over_seeds
from separatrix.studies.claims import Claim, Evidence, Finding, judge
from separatrix.studies.dial.settings import CORNERS, DialPlace, DialSettings
from separatrix.studies.dial.trials import DialResults
from separatrix.studies.kinds import Comparison, Identity

CONDITIONS = (
    "networks of equal depth with equally many hidden units, tuned with equal effort, all labels"
)
# The data sets that have claims, with the numbers of hidden layers.
JUDGED = {
    "cifar10": (1, 2, 3),
    "mnist": (1, 2, 3),
    "embedded-digits": (1, 2),
    "embedded-photographs": (1, 2),
}
IMAGES = {
    "cifar10": "CIFAR-10",
    "mnist": "MNIST",
    "embedded-digits": "the embedded digits",
    "embedded-photographs": "the embedded photographs",
}
LAYERS = {1: "one hidden layer", 2: "two hidden layers", 3: "three hidden layers"}
SYMMETRIC = 1e-6  # gaps of equivariant training in float64 stay far below


def _claims(source: str, depth: int) -> dict[str, Claim]:
    where = f"On {IMAGES[source]} with {LAYERS[depth]}"

    def claim(name: str, statement: str, citation: str, quantity: str) -> Claim:
        kind = Comparison(quantity, "above", 0.0)
        identity = f"ours.dial.{source}.{depth}.{name}"
        return Claim(identity, f"{where}, {statement}", f"ours; {citation}", CONDITIONS, kind)

    return {
        "locality": claim(
            "locality",
            "the locally connected network is ahead of the fully connected one.",
            "Lahoti et al. separate LCN from FCN on a task of their own",
            "accuracy, LCN minus FCN",
        ),
        "sharing": claim(
            "sharing",
            "the convolutional network is ahead of the locally connected one.",
            "Lahoti et al. separate CNN from LCN on a task of their own",
            "accuracy, CNN minus LCN",
        ),
        "permuted": claim(
            "permuted",
            "locality is worth less when one permutation reorders the pixels of all images.",
            "Malach & Shalev-Shwartz, Section 5, hide the order of bits",
            "lead of the LCN over the FCN on pixels in order, minus that on permuted ones",
        ),
    }


BY_PLACE = {
    (source, depth): _claims(source, depth) for source, depths in JUDGED.items() for depth in depths
}
INDIFFERENT = Claim(
    "ours.dial.fcn-indifferent",
    "The fully connected network does not notice a permutation of the pixels: from permuted first "
    "weights, whose distribution is the same, it learns the same function of the permuted images.",
    "ours; a symmetry of the network, its start and its optimizer",
    "Adam, softmax cross-entropy, every depth of the dial, float64",
    Identity("scores after training on permuted pixels = scores in order", SYMMETRIC),
)
CLAIMS = (*(claim for claims in BY_PLACE.values() for claim in claims.values()), INDIFFERENT)

DRAWS = 4000
METHOD = "interpolated ladder, Student's t at each rung"


def findings(s: DialSettings, results: DialResults, symmetry: Mapping[str, float]) -> list[Finding]:
    """The verdict on every claim; `symmetry` holds the gaps of the audit under permutations.

    >>> s = DialSettings(sources=("embedded-digits",))
    >>> {finding.verdict for finding in findings(s, DialResults({}, {}), {})}
    {'not measured'}
    """
    complete = set(results.complete(s))
    out = []
    for place, claims in BY_PLACE.items():
        if place in complete:
            out += _at(s, results, *place)
        else:
            reason = _absent(s, *place)
            out += [judge(claim, {}, reason=reason) for claim in claims.values()]
    return [*out, judge(INDIFFERENT, dict(symmetry))]


def _absent(s: DialSettings, source: str, depth: int) -> str:
    """Why a place was not measured."""
    if source not in s.chosen_sources():
        return f"the study used {', '.join(s.chosen_sources())}; set `sources={source}`"
    if depth not in s.depths:
        return f"networks of {LAYERS[depth]} were not run; add {depth} to `depths`"
    return "some network was not measured on pixels in order and on permuted ones"


def _at(s: DialSettings, results: DialResults, source: str, depth: int) -> list[Finding]:
    claims = BY_PLACE[source, depth]
    out = []
    for name, better, worse in (("locality", "LCN", "FCN"), ("sharing", "CNN", "LCN")):
        evidence: dict[str, Estimate | None] = {
            "": MeanOf(tuple(paired(results, source, depth, better, worse)))
        }
        also = [
            Evidence.of(
                f"accuracy, {better} minus {worse}",
                mean_over_seeds(paired(results, source, depth, better, worse)),
                0.0,
                **_levels(results, source, depth),
            )
        ]
        saved = label_gap(s, results, source, worse, better) if depth == 1 else None
        if saved is not None:
            target = f"at accuracy {s.accuracy_target(source):g}"
            also.append(Evidence.of(f"labels, {worse} over {better}, {target}", saved, 1.0))
        out.append(judge(claims[name], evidence, reason="paired by seed", also=also))
    plain, permuted = (
        tuple(paired(results, source, depth, "LCN", "FCN", hidden)) for hidden in (False, True)
    )
    rest = Evidence.of("LCN minus FCN on permuted pixels", mean_over_seeds(permuted), 0.0)
    reason = "rows of other seeds, so not paired; a lead that remains is not the locality of images"
    lost = {"": MeanDifference(plain, permuted)}
    out.append(judge(claims["permuted"], lost, reason=reason, also=[rest]))
    return out


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
