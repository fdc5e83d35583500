"""The claims of the study `digits`, and the accuracies that are their evidence."""

import itertools
from typing import Any

import numpy as np

from separatrix.inference.estimates import Estimate, MeanDifference, MeanOf, steps_of
from separatrix.inference.intervals import mean_over_seeds
from separatrix.studies.claims import Claim, Evidence, Finding, judge
from separatrix.studies.digits.settings import DigitsSettings
from separatrix.studies.digits.trials import NETWORKS, DigitsResults
from separatrix.studies.kinds import Comparison, Equivalence, Together, Trend

_COMMON = (
    "MNIST digits at 24x8, one hidden layer of 1024 ReLU units, kernels 24x24 (three digits), "
    "AdaDelta, 30 epochs, digits reshuffled into sequences every epoch"
)
_CENTRE = f"label = parity of the sum of the 3 central digits; {_COMMON}"
_ENDS = f"label = parity of the sum of the first, middle and last digit; {_COMMON}"
NEAR_CHANCE = 0.05  # an accuracy at most this far above the best constant answer's is called chance
LARGE = 19  # the n at which the paper calls the fully connected network's accuracy chance
KEPT = 0.5  # a network that keeps this share of its advantage over chance is said to hold

LOCAL_HOLD = Claim(
    "malach.digits.local-networks-hold",
    "On the parity of three neighbouring digits in a sequence of n digits, the CNN and the LCN "
    "perform well whatever n is.",
    "Figure 3, Section 6",
    _CENTRE,
    Together(
        (
            (
                "learns at the smallest n",
                Comparison("accuracy above the best constant answer's", "above", NEAR_CHANCE),
            ),
            (
                "keeps it",
                Comparison(
                    "accuracy above chance at n, less half of that at the smallest n", "above", 0.0
                ),
            ),
        )
    ),
)
FCN_CHANCE = Claim(
    "malach.digits.fcn-to-chance-by-19",
    "On the parity of three neighbouring digits in a sequence of n digits, the fully connected "
    f"network degrades as n grows and is at chance when n = {LARGE}.",
    "Figure 3, Section 6",
    _CENTRE,
    Together(
        (
            ("degrades", Trend("the FCN's accuracy", "n", "falling")),
            (
                f"at chance when n = {LARGE}",
                Equivalence("accuracy less the best constant answer's", NEAR_CHANCE),
            ),
        )
    ),
)
LCN_AHEAD = Claim(
    "malach.digits.lcn-ahead-of-cnn",
    "On the parity of three neighbouring digits, the LCN has an advantage over the CNN, on "
    "average over the lengths of the sequence.",
    "Figure 3, Section 6",
    _CENTRE,
    Comparison("accuracy, LCN minus CNN", "above", 0.0),
)
ENDS_FCN = Claim(
    "malach.digits.ends.fcn-wins-small-n",
    "On the parity of three digits that are far apart, the fully connected network is better than "
    "the CNN and the LCN when the sequence is short.",
    "Figure 4, Section 6",
    _ENDS,
    Comparison("accuracy of the FCN minus that of a local network", "above", 0.0),
)
ENDS_FAIL = Claim(
    "malach.digits.ends.all-fail-large-n",
    "On the parity of three digits that are far apart, all three networks perform poorly when the "
    f"sequence is long (n ≥ {LARGE}).",
    "Figure 4, Section 6",
    _ENDS,
    Comparison("accuracy above the best constant answer's", "below", NEAR_CHANCE),
)

CLAIMS = (LOCAL_HOLD, FCN_CHANCE, LCN_AHEAD, ENDS_FCN, ENDS_FAIL)
Parts = dict[str, Estimate | None]


def findings(s: DigitsSettings, results: DigitsResults) -> list[Finding]:
    """The verdict on every claim.

    >>> s = DigitsSettings(source="embedded-digits")
    >>> {finding.verdict for finding in findings(s, DigitsResults({}, 0.5))}
    {'not measured'}
    """
    outside = s.outside()
    return [
        _local(results, outside),
        _fcn(results, outside),
        _ahead(results, outside),
        _ends_small(results, outside),
        _ends_large(results, outside),
    ]


def _local(results: DigitsResults, outside: str) -> Finding:
    """Both local networks learn at the smallest n and keep at least half of their advantage over
    chance at every other n.
    """
    sizes = results.digits("centre")
    if len(sizes) < 2:
        return judge(LOCAL_HOLD, {}, reason="fewer than two lengths were measured")
    first: Parts = {}
    kept: Parts = {}
    for name in ("CNN", "LCN"):
        smallest = _above(results, "centre", name, sizes[0])
        first[f"{name}, n = {sizes[0]}"] = MeanOf(tuple(smallest))
        for n in sizes[1:]:
            above = _above(results, "centre", name, n)
            kept[f"{name}, n = {n}"] = MeanDifference(tuple(above), tuple(KEPT * smallest))
    levels = [_level(results, "centre", name, n) for name in ("CNN", "LCN") for n in sizes]
    evidence = {"learns at the smallest n": first, "keeps it": kept}
    return judge(LOCAL_HOLD, evidence, outside, also=levels)


def _fcn(results: DigitsResults, outside: str) -> Finding:
    sizes = results.digits("centre")
    levels = [_level(results, "centre", "FCN", n) for n in sizes]
    evidence: dict[str, Parts | None] = {
        "degrades": None,
        f"at chance when n = {LARGE}": None,
    }
    if len(sizes) > 1:
        samples = [tuple(_above(results, "centre", "FCN", n)) for n in sizes]
        steps = steps_of(samples, paired=False)
        names = [f"n = {a} to {b}" for a, b in itertools.pairwise(sizes)]
        evidence["degrades"] = dict(zip(names, steps))
    large = [n for n in sizes if n >= LARGE]
    if large:
        at_large = tuple(_above(results, "centre", "FCN", large[0]))
        evidence[f"at chance when n = {LARGE}"] = {f"n = {large[0]}": MeanOf(at_large)}
    reason = "" if large else f"no sequence of at least {LARGE} digits was measured"
    return judge(FCN_CHANCE, evidence, outside if sizes else "", reason, levels)


def _ahead(results: DigitsResults, outside: str) -> Finding:
    sizes = [n for n in results.digits("centre") if n > 3]
    if not sizes:
        reason = (
            "no length above 3 was measured (at 3 there is one window, and the networks are the "
            "same)"
        )
        return judge(LCN_AHEAD, {}, reason=reason)
    gaps = {n: _gap(results, "centre", "LCN", "CNN", n) for n in sizes}
    seeds = min(len(gap) for gap in gaps.values())
    overall = np.mean([gap[:seeds] for gap in gaps.values()], axis=0)
    also = [
        Evidence.of(f"LCN's accuracy less the CNN's at n = {n}", mean_over_seeds(gap), 0.0)
        for n, gap in gaps.items()
    ]
    reason = "judged on the mean over all n > 3, paired by seed"
    return judge(LCN_AHEAD, {"mean over n": MeanOf(tuple(overall))}, outside, reason, also)


def _ends_small(results: DigitsResults, outside: str) -> Finding:
    sizes = [n for n in results.digits("ends") if n > 3]
    if not sizes:
        reason = "no length above 3 was measured (at 3 both labels are the same)"
        return judge(ENDS_FCN, {}, reason=reason)
    n = sizes[0]
    evidence: Parts = {
        f"FCN minus {name}, n = {n}": MeanOf(tuple(_gap(results, "ends", "FCN", name, n)))
        for name in ("CNN", "LCN")
    }
    reason = (
        f"judged at n = {n}, the smallest at which the three digits do not fit one window, paired "
        "by seed"
    )
    return judge(ENDS_FCN, evidence, outside, reason)


def _ends_large(results: DigitsResults, outside: str) -> Finding:
    sizes = [n for n in results.digits("ends") if n >= LARGE]
    if not sizes:
        reason = f"no sequence of at least {LARGE} digits was measured"
        return judge(ENDS_FAIL, {}, reason=reason)
    n = sizes[-1]
    evidence: Parts = {
        f"{name}, n = {n}": MeanOf(tuple(_above(results, "ends", name, n))) for name in NETWORKS
    }
    levels = [_level(results, "ends", name, n) for name in NETWORKS]
    return judge(ENDS_FAIL, evidence, outside, also=levels)


def _above(results: DigitsResults, label: str, network: str, n: int) -> np.ndarray:
    accuracy = results.accuracy(label, network, n)
    assert accuracy is not None
    return accuracy - results.chance


def _gap(results: DigitsResults, label: str, first: str, second: str, n: int) -> np.ndarray:
    """Differences of accuracy seed by seed; networks of one seed saw the same sequences."""
    a, b = _above(results, label, first, n), _above(results, label, second, n)
    seeds = min(len(a), len(b))
    return a[:seeds] - b[:seeds]


def _level(results: DigitsResults, label: str, network: str, n: int) -> Any:
    """A network's accuracy beside the best constant answer's; chance ends at the reference."""
    interval = mean_over_seeds(_above(results, label, network, n) + results.chance)
    return Evidence.of(
        f"{network}: accuracy at n = {n}",
        interval,
        results.chance + NEAR_CHANCE,
        constant=results.chance,
    )
