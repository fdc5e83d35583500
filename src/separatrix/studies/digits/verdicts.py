"""The claims of the study `digits`, and how accuracies decide them."""

from typing import Any

import numpy as np

from separatrix.inference.intervals import gap_over_seeds, mean_over_seeds
from separatrix.studies.claims import (
    Claim,
    Evidence,
    Finding,
    Verdict,
    all_of,
    decide_above,
    decide_below,
)
from separatrix.studies.digits.settings import DigitsSettings
from separatrix.studies.digits.trials import NETWORKS, DigitsResults

_COMMON = (
    "MNIST digits at 24x8, one hidden layer of 1024 ReLU units, kernels 24x24 (three digits), "
    "AdaDelta, 30 epochs, digits reshuffled into sequences every epoch"
)
_CENTRE = f"label = parity of the sum of the 3 central digits; {_COMMON}"
_ENDS = f"label = parity of the sum of the first, middle and last digit; {_COMMON}"

LOCAL_HOLD = Claim(
    "malach.digits.local-networks-hold",
    "On the parity of three neighbouring digits, the CNN and the LCN perform well whatever the "
    "length of the sequence.",
    "Figure 3, Section 6",
    _CENTRE,
)
FCN_CHANCE = Claim(
    "malach.digits.fcn-to-chance-by-19",
    "There, the fully connected network degrades with the length and is at chance level when n = "
    "19.",
    "Figure 3, Section 6",
    _CENTRE,
)
LCN_AHEAD = Claim(
    "malach.digits.lcn-ahead-of-cnn",
    "There, the LCN has an advantage over the CNN.",
    "Figure 3, Section 6",
    _CENTRE,
)
ENDS_FCN = Claim(
    "malach.digits.ends.fcn-wins-small-n",
    "On the parity of three digits that are far apart, the fully connected network is better "
    "than the CNN and the LCN for small n.",
    "Figure 4, Section 6",
    _ENDS,
)
ENDS_FAIL = Claim(
    "malach.digits.ends.all-fail-large-n",
    "There, all three networks perform poorly for large n.",
    "Figure 4, Section 6",
    _ENDS,
)

CLAIMS = (LOCAL_HOLD, FCN_CHANCE, LCN_AHEAD, ENDS_FCN, ENDS_FAIL)

NEAR_CHANCE = 0.05  # an accuracy at most this far above the best constant answer's is called chance
LARGE = 19  # the n at which the paper calls the fully connected network's accuracy chance
KEPT = 0.5  # a network that keeps this share of its advantage over chance is said to hold


def findings(s: DigitsSettings, results: DigitsResults) -> list[Finding]:
    """The verdict on every claim.

    >>> s = DigitsSettings(source="embedded-digits")
    >>> {finding.verdict for finding in findings(s, DigitsResults({}, 0.5))}
    {'undecided'}
    """
    outside = s.outside()
    decisions = (
        _local(results),
        _fcn(results),
        _ahead(results),
        _ends_small(results),
        _ends_large(results),
    )
    return [
        Finding(claim, verdict, reason, not outside, evidence, outside)
        for claim, verdict, reason, evidence in decisions
    ]


Decision = tuple[Claim, Verdict, str, tuple[Evidence, ...]]


def _local(results: DigitsResults) -> Decision:
    """Both local networks learn at the smallest n and keep at least half of their advantage over
    chance at every other n.
    """
    sizes = results.digits("centre")
    if len(sizes) < 2:
        return LOCAL_HOLD, "undecided", "fewer than two lengths were measured", ()
    verdicts: list[Verdict] = []
    evidence = []
    for name in ("CNN", "LCN"):
        first = _above(results, "centre", name, sizes[0])
        learned = _level(results, "centre", name, sizes[0])
        evidence.append(learned)
        if decide_above(learned, results.chance + NEAR_CHANCE) != "supported":
            verdicts.append("undecided")  # what did not learn at the smallest n has nothing to lose
            continue
        for n in sizes[1:]:
            left = gap_over_seeds(_above(results, "centre", name, n), KEPT * first)
            evidence.append(
                Evidence.of(
                    f"{name}: accuracy above chance at n = {n}, less half of that at n = "
                    f"{sizes[0]}",
                    left,
                    0.0,
                )
            )
            verdicts.append(decide_above(left, 0.0))
    reason = (
        "holding means keeping at least half of the advantage over chance that the network has "
        f"at n = {sizes[0]}, up to n = {sizes[-1]}"
    )
    return LOCAL_HOLD, all_of(verdicts), reason, tuple(evidence)


def _fcn(results: DigitsResults) -> Decision:
    sizes = results.digits("centre")
    evidence = tuple(_level(results, "centre", "FCN", n) for n in sizes)
    large = [n for n in sizes if n >= LARGE]
    if not large:
        return (
            FCN_CHANCE,
            "undecided",
            f"no sequence of at least {LARGE} digits was measured",
            evidence,
        )
    decisive = evidence[sizes.index(large[0])]
    verdict = decide_below(decisive, results.chance + NEAR_CHANCE)
    return (
        FCN_CHANCE,
        verdict,
        f"judged at n = {large[0]}; chance means at most {NEAR_CHANCE:g} above the best constant "
        "answer",
        (decisive, *(level for level in evidence if level is not decisive)),
    )


def _ahead(results: DigitsResults) -> Decision:
    sizes = [n for n in results.digits("centre") if n > 3]
    if not sizes:
        return (
            LCN_AHEAD,
            "undecided",
            "no length above 3 was measured (at 3 there is one window, and the networks are the "
            "same)",
            (),
        )
    gaps = {n: _gap(results, "centre", "LCN", "CNN", n) for n in sizes}
    seeds = min(len(gap) for gap in gaps.values())
    overall = mean_over_seeds(np.mean([gap[:seeds] for gap in gaps.values()], axis=0))
    evidence = [Evidence.of("LCN's accuracy less the CNN's, mean over n", overall, 0.0)]
    evidence += [
        Evidence.of(f"LCN's accuracy less the CNN's at n = {n}", mean_over_seeds(gap), 0.0)
        for n, gap in gaps.items()
    ]
    return (
        LCN_AHEAD,
        decide_above(overall, 0.0),
        "judged on the mean over all n > 3, paired by seed",
        tuple(evidence),
    )


def _ends_small(results: DigitsResults) -> Decision:
    sizes = [n for n in results.digits("ends") if n > 3]
    if not sizes:
        return (
            ENDS_FCN,
            "undecided",
            "no length above 3 was measured (at 3 both labels are the same)",
            (),
        )
    n = sizes[0]
    gaps = {name: mean_over_seeds(_gap(results, "ends", "FCN", name, n)) for name in ("CNN", "LCN")}
    evidence = tuple(
        Evidence.of(f"FCN's accuracy less the {name}'s at n = {n}", gap, 0.0)
        for name, gap in gaps.items()
    )
    reason = (
        f"judged at n = {n}, the smallest at which the three digits do not fit one window, paired "
        "by seed"
    )
    return ENDS_FCN, all_of(decide_above(gap, 0.0) for gap in gaps.values()), reason, evidence


def _ends_large(results: DigitsResults) -> Decision:
    sizes = [n for n in results.digits("ends") if n > 3]
    if not sizes:
        return ENDS_FAIL, "undecided", "no length above 3 was measured", ()
    n = sizes[-1]
    evidence = tuple(_level(results, "ends", name, n) for name in NETWORKS)
    if n < LARGE:
        return (
            ENDS_FAIL,
            "undecided",
            f"no sequence of at least {LARGE} digits was measured; the evidence is that at n = {n}",
            evidence,
        )
    reason = f"judged at n = {n}; poor means at most {NEAR_CHANCE:g} above the best constant answer"
    return (
        ENDS_FAIL,
        all_of(decide_below(level, results.chance + NEAR_CHANCE) for level in evidence),
        reason,
        evidence,
    )


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
