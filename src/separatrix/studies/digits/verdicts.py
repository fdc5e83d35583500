"""The verdicts of the study `digits`."""

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
from separatrix.studies.digits.claims import ENDS_FAIL, ENDS_FCN, FCN_CHANCE, LCN_AHEAD, LOCAL_HOLD
from separatrix.studies.digits.settings import DigitsSettings
from separatrix.studies.digits.trials import NETWORKS, Results

NEAR_CHANCE = 0.05  # an accuracy at most this far above the best constant answer's is called chance
LARGE = 19  # the n at which the paper calls the fully connected network's accuracy chance
KEPT = 0.5  # a network that keeps this share of its advantage over chance is said to hold


def findings(s: DigitsSettings, results: Results) -> list[Finding]:
    """The verdict on every claim.

    >>> [each.verdict for each in findings(DigitsSettings(source="embedded-digits"), Results({}, 0.5))]
    ['undecided', 'undecided', 'undecided', 'undecided', 'undecided']
    """
    outside = s.outside()
    judged = (
        _local(results),
        _fcn(results),
        _ahead(results),
        _ends_small(results),
        _ends_large(results),
    )
    return [
        Finding(claim, verdict, reason, not outside, evidence, outside)
        for claim, verdict, reason, evidence in judged
    ]


Judged = tuple[Claim, Verdict, str, tuple[Evidence, ...]]


def _local(results: Results) -> Judged:
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


def _fcn(results: Results) -> Judged:
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
    judged = evidence[sizes.index(large[0])]
    verdict = decide_below(judged, results.chance + NEAR_CHANCE)
    return (
        FCN_CHANCE,
        verdict,
        f"judged at n = {large[0]}; chance means at most {NEAR_CHANCE:g} above the best constant "
        "answer",
        (judged, *(each for each in evidence if each is not judged)),
    )


def _ahead(results: Results) -> Judged:
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


def _ends_small(results: Results) -> Judged:
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


def _ends_large(results: Results) -> Judged:
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
        all_of(decide_below(each, results.chance + NEAR_CHANCE) for each in evidence),
        reason,
        evidence,
    )


def _above(results: Results, label: str, network: str, n: int) -> np.ndarray:
    found = results.accuracy(label, network, n)
    assert found is not None
    return found - results.chance


def _gap(results: Results, label: str, first: str, second: str, n: int) -> np.ndarray:
    """Differences of accuracy seed by seed; networks of one seed saw the same sequences."""
    a, b = _above(results, label, first, n), _above(results, label, second, n)
    seeds = min(len(a), len(b))
    return a[:seeds] - b[:seeds]


def _level(results: Results, label: str, network: str, n: int) -> Any:
    """A network's accuracy beside the best constant answer's; chance ends at the reference."""
    interval = mean_over_seeds(_above(results, label, network, n) + results.chance)
    return Evidence.of(
        f"{network}: accuracy at n = {n}",
        interval,
        results.chance + NEAR_CHANCE,
        constant=results.chance,
    )
