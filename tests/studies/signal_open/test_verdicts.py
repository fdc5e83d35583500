"""Planted thresholds lead to the verdicts that they must."""

import collections

import pandas as pd

from separatrix.inference import Tally, estimate_threshold
from separatrix.studies.search import SearchResult
from separatrix.studies.signal_open import verdicts as c
from separatrix.studies.signal_open.settings import COUNTED, OpenCell, OpenSettings
from separatrix.studies.signal_open.trials import Floor
from separatrix.theory.signal import floor_samples
from sharp_searches import sharp_search

S = OpenSettings()
FLOORS = collections.defaultdict(lambda: Floor(0.02, 0.0, 0.12, "made up"))


def found_at(
    sizes: dict[tuple[str, str, int], float], never: tuple[str, ...] = (), risk: float = 0.05
) -> dict[OpenCell, SearchResult]:
    """Sharp thresholds; networks in `never` always fail, with this training risk."""
    return {
        OpenCell(*place): sharp_search(size, "right", risk)
        if place[1] in never
        else sharp_search(size)
        for place, size in sizes.items()
    }


def judged(searches, s=S):
    findings = c.judge_all(s, searches, FLOORS)
    assert [finding.claim for finding in findings] == list(c.CLAIMS)
    return {finding.claim.id: finding for finding in findings}


def test_nothing_run_is_not_measured():
    findings = judged({})
    assert {finding.verdict for finding in findings.values()} == {"not measured"}
    assert "--scale laptop" in findings["lahoti.break.fixed"].reason
    assert "--scale laptop" in findings["ours.open.sign"].reason
    assert "fewer than two numbers" in findings["ours.algorithms.growth"].reason


def test_the_order_is_supported_refuted_undecided_or_not_measured():
    sizes = {
        ("uneven", "CNN", 6): 5.0,
        ("uneven", "LCN", 6): 50.0,
        ("uneven", "CNN", 8): 6.0,
        ("uneven", "LCN", 8): 120.0,
    }

    def order(full: float, **options):
        searches = found_at(sizes | {("uneven", "FCN", 8): full}, **options)
        return judged(searches)["ours.open.uneven"]

    assert order(900.0).verdict == "supported"
    assert order(900.0).conditions_met is True
    assert order(30.0).verdict == "refuted"
    assert order(120.0).verdict == "undecided"
    assert order(900.0, never=("FCN",)).verdict == "supported"  # at least 900 is enough
    failed = order(900.0, never=("FCN",), risk=0.2)
    assert failed.verdict == "not measured"
    assert failed.reason == "FCN at k = 8 did not train: it needs a recipe that trains it"
    # A comparison that was measured and goes the other way refutes the order by itself.
    sizes |= {("uneven", "LCN", 6): 0.5}
    assert order(900.0, never=("FCN",), risk=0.2).verdict == "refuted"


def test_several_signals_diminish_what_sharing_saves():
    def several(*savings: float, k=8):
        sizes = {}
        for variant, saved in zip(COUNTED, savings):
            sizes |= {(variant, "CNN", k): 10.0, (variant, "LCN", k): 10.0 * saved}
        return judged(found_at(sizes))["lahoti.break.several"]

    assert several(16.0, 6.0, 2.0).verdict == "supported"
    assert several(2.0, 6.0, 16.0).verdict == "refuted"
    assert several(6.0, 6.0, 6.0).verdict == "undecided"
    inside = several(2.0, 6.0, 16.0, k=16)  # its noise is 1/√k at every k
    assert (inside.verdict, inside.outside) == ("refuted", "")
    assert several(16.0, 6.0).verdict == "not measured"


def test_an_interaction_takes_the_advantage_of_locality():
    def interaction(local: float, full: float, **options):
        sizes = {("product", "LCN", 4): local, ("product", "FCN", 4): full}
        return judged(found_at(sizes, **options))["lahoti.break.interaction"]

    assert interaction(2000.0, 300.0).verdict == "supported"
    # What a local network cannot express is no failed recipe.
    assert interaction(2000.0, 300.0, never=("LCN",), risk=0.3).verdict == "supported"
    assert interaction(300.0, 2000.0).verdict == "refuted"
    assert interaction(300.0, 375.0).verdict == "undecided"
    failed = interaction(2000.0, 300.0, never=("FCN",), risk=0.5)
    assert failed.verdict == "not measured"
    assert "FCN at k = 4 did not train" in failed.reason


def test_other_algorithms_on_the_full_network():
    def algorithms(factors, **options):
        sizes = {("plain", "FCN", k): 10.0 * k**3 for k in (6, 10)}
        sizes |= {
            ("plain", name, k): 10.0 * k**3 * factor(k)
            for name, factor in factors.items()
            for k in (6, 10)
        }
        return {k: f.verdict for k, f in judged(found_at(sizes, **options)).items()}

    names = tuple(c.ALGORITHMS)
    found = algorithms(dict(zip(names, (lambda k: 1.0, lambda k: 2.0 / k**2, lambda k: 0.4))))
    assert found["ours.algorithms.sparse"] == "supported"
    assert found["ours.algorithms.adam"] == "supported"
    assert found["ours.algorithms.growth"] == "supported"
    # Trials this far apart cannot tell a factor 1.25 from 1 at the level of a claim among many.
    assert found["ours.algorithms.start"] in ("supported", "undecided")
    worse = algorithms(dict.fromkeys(names, lambda k: 0.1 * k**2))
    assert worse["ours.algorithms.start"] == "refuted"
    assert worse["ours.algorithms.sparse"] == "refuted"
    assert worse["ours.algorithms.growth"] == "refuted"
    same = algorithms(dict.fromkeys(names, lambda k: 1.0))
    assert same["ours.algorithms.sparse"] == "undecided"
    assert same["ours.algorithms.growth"] == "undecided"
    failed = algorithms({"FCN by Adam": lambda k: 1.0}, never=("FCN by Adam",), risk=0.3)
    assert failed["ours.algorithms.adam"] == "not measured"


def test_equal_samples_are_told_where_trials_are_many():
    exact = estimate_threshold([Tally(99, 0, 4000), Tally(101, 4000, 4000)])
    known = {OpenCell("plain", name, 8): exact for name in ("FCN", "FCN from CNN")}
    assert c.judge_algorithm(S, known, [], "FCN from CNN").verdict == "supported"


def test_a_fixed_place_ends_both_advantages():
    def verdict(local, full):
        sizes = {("fixed", "CNN", 8): 50.0, ("fixed", "LCN", 8): local, ("fixed", "FCN", 8): full}
        return judged(found_at(sizes))["lahoti.break.fixed"].verdict

    assert verdict(25.0, 12.0) == "supported"
    assert verdict(25.0, 900.0) == "refuted"
    assert verdict(25.0, 30.0) == "undecided"


def test_narrow_patches_are_compared_with_equal_ones():
    def verdict(local):
        sizes = {
            ("plain", "CNN", 8): 10.0,
            ("plain", "LCN", 8): 200.0,
            ("dimensions", "CNN", 8): 20.0,
            ("dimensions", "LCN", 8): local,
        }
        return judged(found_at(sizes))["lahoti.break.dimensions"].verdict

    assert verdict(150.0) == "supported"
    assert verdict(1600.0) == "refuted"
    assert verdict(400.0) == "undecided"


def test_noise_of_one_variance_is_compared_with_the_plain_task():
    def verdict(uneven):
        sizes = {("plain", "LCN", 8): 200.0, ("uneven", "LCN", 8): uneven}
        return judged(found_at(sizes))["ours.open.effective-noise"]

    assert verdict(200.0).verdict == "undecided"
    tallies = [Tally(170, 0, 900), Tally(200, 450, 900), Tally(235, 900, 900)]
    same = SearchResult(estimate_threshold(tallies), pd.DataFrame())
    searches = {OpenCell(name, "LCN", 8): same for name in ("plain", "uneven")}
    assert judged(searches)["ours.open.effective-noise"].verdict == "supported"
    assert verdict(380.0).verdict == "refuted"
    assert "harmonic mean" in verdict(380.0).reason


def test_an_algorithm_below_the_floor_is_shown_and_never_refuted():
    least = floor_samples("FCN", 8, S.dimension, S.noise, risk=0.02 + S.margin)

    def below(sparse: float, **options):
        sizes = {("plain", "FCN", 8): 6.0 * least, ("plain", "FCN with ℓ1", 8): sparse * least}
        return judged(found_at(sizes, **options))["ours.algorithms.below-floor"]

    assert below(0.3).verdict == "supported"
    assert below(3.0).verdict == "undecided"
    assert below(1.0).verdict == "undecided"
    assert below(0.3, never=("FCN with ℓ1",), risk=0.3).verdict == "not measured"
    shown = {each.name: each for each in below(0.3).evidence}
    descent = shown["samples over the FCN's floor, descent, k = 8"]
    assert descent.low < 6.0 < descent.high
