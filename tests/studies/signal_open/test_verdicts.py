"""The claims of the study of open questions follow its thresholds."""

import pytest

from separatrix.studies.search import SearchResult
from separatrix.studies.signal_open import verdicts as c
from separatrix.studies.signal_open.settings import OpenCell, OpenSettings
from sharp_searches import sharp_search


def found_at(
    sizes: dict[tuple[str, str, int], float], never: tuple[str, ...] = ()
) -> dict[OpenCell, SearchResult]:
    """Sharp thresholds; networks in `never` always fail."""
    return {
        OpenCell(*place): sharp_search(size, "right" if place[1] in never else "")
        for place, size in sizes.items()
    }


def test_verdicts_follow_the_thresholds():
    s = OpenSettings()
    order = {
        ("uneven", "CNN", 6): 5.0,
        ("uneven", "LCN", 6): 50.0,
        ("uneven", "CNN", 8): 6.0,
        ("uneven", "LCN", 8): 120.0,
    }
    order |= {("uneven", "FCN", 8): 900.0}
    finding = c.judge_variant(s, found_at(order), "uneven")
    assert finding.verdict == "supported"
    assert finding.conditions_met is False
    growth = next(each for each in finding.evidence if each.name.startswith("growth"))
    assert growth.estimate == pytest.approx(2.0, rel=0.05)  # from 10 to 20
    assert (
        c.judge_variant(s, found_at(order | {("uneven", "FCN", 8): 30.0}), "uneven").verdict
        == "refuted"
    )
    assert (
        c.judge_variant(s, found_at(order | {("uneven", "FCN", 8): 120.0}), "uneven").verdict
        == "undecided"
    )
    never = c.judge_variant(
        s, found_at(order | {("uneven", "FCN", 8): 900.0}, never=("FCN",)), "uneven"
    )
    assert never.verdict == "supported"  # at least 900 is enough
    assert "not reached" in never.reason
    product = {("product", name, 6): 2000.0 for name in ("CNN", "LCN")} | {
        ("product", "FCN", 6): 300.0
    }
    finding = c.judge_variant(s, found_at(product, never=("CNN", "LCN")), "product")
    assert finding.verdict == "refuted"  # the order is turned round
    assert "a quarter" in finding.reason


def test_verdicts_on_the_start():
    s = OpenSettings()
    sizes = {("plain", "FCN", k): 10.0 * k**3 for k in (6, 10)} | {
        ("plain", "FCN with ℓ1", k): 20.0 * k for k in (6, 10)
    }
    _, saves, _, grows = c.judge_algorithms(s, found_at(sizes))
    assert (saves.verdict, grows.verdict) == ("supported", "supported")
    assert saves.conditions_met is True
    assert saves.evidence[0].estimate == pytest.approx(18.0, rel=0.05)
    assert grows.evidence[0].estimate == pytest.approx(50 / 18, rel=0.1)
    worse = {key: size * (10 if key[1] == "FCN with ℓ1" else 0.1) for key, size in sizes.items()}
    assert c.judge_algorithms(s, found_at(worse))[1].verdict == "refuted"
    assert (
        c.judge_algorithms(OpenSettings(noise=0.35), found_at(sizes))[1].outside
        == "σ exceeds 1/√k at k = 10"
    )
