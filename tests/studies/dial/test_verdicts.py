"""The study `dial`: the reading of labels, and verdicts from made-up accuracies."""

import math

import numpy as np
import pytest

from separatrix.errors import SeparatrixError
from separatrix.studies.dial.settings import DialSettings
from separatrix.studies.dial.trials import DialAccuracy, DialCell, DialRecipe, DialResults
from separatrix.studies.dial.verdicts import (
    LabelsNeeded,
    findings,
    label_ratio,
    labels_needed,
    locality_share,
)
from separatrix.studies.tuning import Choice

SOURCE = "embedded-digits"


S = DialSettings(sources=(SOURCE,), depths=(1,))


PLACES = {place.name: place for place in S.places()}


def test_labels_are_read_between_the_rungs():
    # Accuracy .3 + .1·log2(m/100): .55 is passed at 100·2^2.5.
    ladder = {
        m: 0.3 + 0.1 * math.log2(m / 100) + np.array([-0.001, 0.001]) for m in (100, 200, 400, 800)
    }
    assert labels_needed(ladder, 0.55).interval().estimate == pytest.approx(100 * 2**2.5)
    assert labels_needed(ladder, 0.2).interval().high == 0  # passed before the first rung
    assert labels_needed(ladder, 0.7).interval().low == math.inf
    assert (
        labels_needed(ladder | {200: np.array([0.29, 0.29])}, 0.3).log_labels == -math.inf
    )  # a fall is noise
    with pytest.raises(SeparatrixError, match="at least two rungs"):
        labels_needed({100: np.array([0.1, 0.2])}, 0.5)


def test_intervals_of_labels_cover():
    rng = np.random.default_rng(0)
    rungs, hits, ratios = (100, 400, 1600), 0, 0
    for turn in range(300):
        noisy = [
            {m: 0.5 + slope * math.log(m / 400) + 0.02 * rng.standard_normal(6) for m in rungs}
            for slope in (0.1, 0.1)
        ]
        first, second = (
            labels_needed(each, 0.52, stream=2 * turn + i) for i, each in enumerate(noisy)
        )
        hits += first.interval().contains(400 * math.exp(0.2))
        ratios += label_ratio(first, second).contains(1.0)
    # 95 % of 300 is 285, its standard deviation 3.8; intervals of six seeds may be somewhat wide.
    assert hits >= 270
    assert ratios >= 270
    assert hits < 300


def test_ratios_with_an_end_out_of_reach_are_bounds():
    known, beyond = (
        LabelsNeeded(math.log(100), math.log(100) + np.linspace(-0.1, 0.1, 99), 6),
        LabelsNeeded(math.inf, np.full(99, math.inf), 6),
    )
    ratio = label_ratio(beyond, known)
    assert (math.isnan(ratio.estimate), ratio.high) == (True, math.inf)
    both = label_ratio(beyond, beyond)
    assert (both.low, both.high) == (0.0, math.inf)


PLAIN, MIXED = {"FCN": 0.50, "LCN": 0.56, "CNN": 0.64}, {"FCN": 0.50, "LCN": 0.47, "CNN": 0.46}


def results_with(plain=PLAIN, mixed=MIXED, spread=0.004, seeds=6):
    """Results with these mean accuracies."""
    noise = spread * np.linspace(-1, 1, seeds)
    turns = {"FCN": noise, "LCN": noise[::-1], "CNN": np.roll(noise, 2)}
    cells, recipes = {}, {}
    for permuted, means in ((False, plain), (True, mixed)):
        for name, mean in means.items():
            values = mean + turns[name]
            cells[DialCell(PLACES[name], permuted)] = DialAccuracy(values, values, 1.0)
            recipes[DialCell(PLACES[name], permuted)] = Choice(DialRecipe(0.01, 1), {})
    return DialResults(cells, recipes)


def verdicts(results, s=S):
    prefix = f"ours.dial.{SOURCE}.1."
    return {
        finding.claim.id.removeprefix(prefix): finding.verdict
        for finding in findings(s, results, {"depth 1": 1e-12})
        if finding.claim.id.startswith(prefix)
    }


def test_each_verdict_follows_its_accuracies():
    # 12 seeds: the level of a claim among all of ours is far above 95 %.
    def judged(*args, **more):
        return verdicts(results_with(*args, seeds=12, **more))

    assert judged() == dict.fromkeys(("locality", "sharing", "permuted"), "supported")
    assert judged(PLAIN | {"LCN": 0.45})["locality"] == "refuted"
    assert judged(PLAIN | {"LCN": 0.501})["locality"] == "undecided"
    assert judged(PLAIN | {"CNN": 0.53})["sharing"] == "refuted"
    assert judged(mixed=MIXED | {"LCN": 0.60})["permuted"] == "refuted"
    assert set(judged(spread=0.5).values()) == {"undecided"}


def test_other_places_are_not_measured_and_say_how_to_measure_them():
    found = {each.claim.id: each for each in findings(S, results_with(), {})}
    elsewhere = found["ours.dial.cifar10.1.sharing"]
    assert elsewhere.verdict == "not measured"
    assert "sources=cifar10" in elsewhere.reason
    assert "add 2 to `depths`" in found[f"ours.dial.{SOURCE}.2.sharing"].reason


def test_the_symmetry_is_decided_by_the_audit():
    def judged(gaps):
        return findings(S, results_with(), gaps)[-1]

    assert judged({"depth 1": 1e-12}).verdict == "supported"
    assert judged({"depth 1": 1e-12, "depth 2": 0.01}).verdict == "refuted"
    assert judged({}).verdict == "not measured"


def test_a_missing_corner_leaves_everything_unmeasured():
    results = results_with()
    fewer = {
        cell: each for cell, each in results.cells.items() if cell != DialCell(PLACES["LCN"], True)
    }
    assert set(verdicts(DialResults(fewer, results.recipes)).values()) == {"not measured"}


def test_the_share_of_locality():
    share = locality_share(results_with(), SOURCE, 1)
    assert share.estimate == pytest.approx(0.06 / 0.14)
    assert share.low < 0.06 / 0.14 < share.high
    assert locality_share(results_with(PLAIN | {"CNN": 0.5}), SOURCE, 1) is None
    # Without spread the share is known exactly.
    exact = locality_share(results_with(spread=0.0), SOURCE, 1)
    assert exact.high - exact.low == pytest.approx(0.0, abs=1e-12)
