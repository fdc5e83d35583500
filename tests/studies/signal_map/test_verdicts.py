"""Planted thresholds lead to the verdicts that they must."""

import pytest

from separatrix.studies.search import SearchResult
from separatrix.studies.signal_map import verdicts as c
from separatrix.studies.signal_map.settings import MapSettings, Spot
from sharp_searches import sharp_search

EIGHT = MapSettings(patches=8, fields=(1, 2, 4, 8), groups=(1, 2, 4, 8))


def found_at(
    sizes: dict[tuple[int, int], float], censored: dict[tuple[int, int], str] | None = None
) -> dict[Spot, SearchResult]:
    """Sharp thresholds at places of the map."""
    sides = censored or {}
    return {Spot(*place): sharp_search(size, sides.get(place, "")) for place, size in sizes.items()}


def grid(function) -> dict[tuple[int, int], float]:
    return {(r, g): function(r, g) for r in (1, 2, 8) for g in (1, 2, 8)}


def test_growth_is_supported_refuted_or_undecided():
    s = EIGHT
    rising = found_at(grid(lambda r, g: 10.0 * r**2 * g**2))
    assert c.judge_growth(s, rising, c.SHARING, "groups").verdict == "supported"
    finding = c.judge_growth(s, rising, c.LOCALITY, "field")
    assert finding.verdict == "supported"
    assert finding.conditions_met is True
    assert len(finding.evidence) == 6  # two steps on each of three lines
    # Falling with g at one field, although it rises at the others.
    falling = found_at(grid(lambda r, g: 10.0 * r**2 * (g**-2.0 if r == 2 else g**2)))
    assert c.judge_growth(s, falling, c.SHARING, "groups").verdict == "refuted"
    # The ends rise, but a step between neighbours falls.
    bent = found_at(grid(lambda r, g: {1: 10.0, 2: 400.0, 8: 40.0}[g] * r**2))
    assert c.judge_growth(s, bent, c.SHARING, "groups").verdict == "refuted"
    flat = found_at(grid(lambda r, g: 10.0 * r**2))
    assert c.judge_growth(s, flat, c.SHARING, "groups").verdict == "undecided"
    assert c.judge_growth(s, flat, c.LOCALITY, "field").verdict == "supported"


def test_a_network_that_did_not_train_is_not_a_large_threshold():
    s = EIGHT
    places = {(1, 1): 10.0, (1, 8): 80.0, (8, 8): 640.0}
    censored = found_at(places, {(8, 8): "right"})
    assert c.judge_parts(s, censored).verdict == "supported"  # at least so many are enough
    failed = censored | {Spot(8, 8): sharp_search(640.0, "right", 0.45)}
    finding = c.judge_parts(s, failed)
    assert finding.verdict == "undecided"
    assert "corner FCN" in finding.reason
    nothing = {spot: sharp_search(9.0, "right", 0.45) for spot in failed}
    assert c.judge_parts(s, nothing).verdict == "not measured"


def test_parts_of_the_whole_factor():
    s = EIGHT
    finding = c.judge_parts(s, found_at({(1, 1): 10.0, (1, 8): 80.0, (8, 8): 640.0}))
    assert finding.verdict == "supported"
    sharing, locality, whole, share = finding.evidence
    assert sharing.estimate == pytest.approx(8.0, rel=0.02)
    assert locality.estimate == pytest.approx(8.0, rel=0.02)
    assert whole.estimate == pytest.approx(64.0, rel=0.02)
    assert share.estimate == pytest.approx(0.5, abs=0.01)
    assert share.low < 0.5 < share.high
    worse = found_at({(1, 1): 10.0, (1, 8): 80.0, (8, 8): 20.0})
    assert c.judge_parts(s, worse).verdict == "refuted"
    same = found_at({(1, 1): 10.0, (1, 8): 80.0, (8, 8): 80.0})
    assert c.judge_parts(s, same).verdict == "undecided"
    censored = found_at({(1, 1): 10.0, (1, 8): 80.0, (8, 8): 640.0}, {(1, 1): "left"})
    finding = c.judge_parts(s, censored)
    assert finding.verdict == "supported"  # a bound on the side that matters is enough
    assert len(finding.evidence) == 3  # the share has no value
    outside = c.judge_parts(
        MapSettings(patches=16, fields=(1, 16), groups=(1, 16)),
        found_at({(1, 1): 9.0, (1, 16): 99.0, (16, 16): 999.0}),
    )
    assert outside.conditions_met is False
