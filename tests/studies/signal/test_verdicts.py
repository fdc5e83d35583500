"""The claims on samples follow the thresholds; a curve that has stopped falling is found."""

import numpy as np
import pandas as pd
import pytest

from separatrix.studies.signal import verdicts as c
from separatrix.studies.signal.settings import NETWORKS, SignalSettings
from separatrix.studies.signal.trials import SignalCell
from separatrix.studies.signal.verdicts import fall, is_flat
from sharp_searches import sharp_search

LAWS = {
    "CNN": lambda k, d: k + d,
    "LCN": lambda k, d: k * (k + d),
    "FCN": lambda k, d: k * k * d,
}
LONG = SignalSettings(patches=(4, 8, 16, 32), dimensions=(4, 16, 32), noise=0.1).replace(
    full={"patches": (4, 8, 16, 32), "dimensions": (4, 16, 32)}
)


def searches_by(laws):
    """Sharp thresholds that follow a law for each network."""
    return {
        SignalCell("fixed", network, *cell): sharp_search(laws[network](*cell))
        for network in NETWORKS
        for cell in LONG.cells(network)
    }


def verdicts(searches, two_step=None):
    fits = c.fit_laws(LONG, searches)
    findings = c.judge_all(LONG, searches, two_step or {}, fits)
    return {finding.claim: finding.verdict for finding in findings}


def test_thresholds_that_follow_the_papers_laws_support_its_claims():
    found = verdicts(searches_by(LAWS))
    assert len(found) == 6 + len(c.LAWS)
    assert found[c.ORDER] == found[c.SHARING_GROWS] == found[c.FCN_GROWTH] == "supported"
    assert found[c.LAWS["fixed", "FCN"]] == "supported"
    assert found[c.LAWS["root", "CNN"]] == found[c.TWO_STEP] == "undecided"  # not measured


def test_thresholds_that_follow_other_laws_refute_them():
    turned = {"CNN": LAWS["FCN"], "LCN": LAWS["LCN"], "FCN": LAWS["CNN"]}
    found = verdicts(searches_by(turned))
    assert found[c.ORDER] == found[c.SHARING_GROWS] == found[c.CNN_LINEAR] == "refuted"
    assert found[c.LAWS["fixed", "CNN"]] == found[c.LAWS["fixed", "FCN"]] == "refuted"


def test_two_steps_must_beat_the_local_network_and_reach_the_target():
    cell = SignalCell("fixed", "CNN", LONG.base_patches, LONG.base_dimension)
    local = cell._replace(network="LCN")
    searches = searches_by(LAWS)
    for two_step, verdict in (
        ({cell: sharp_search(20.0), local: sharp_search(200.0)}, "supported"),
        ({cell: sharp_search(200.0), local: sharp_search(20.0)}, "refuted"),
        ({cell: sharp_search(LONG.largest, "right"), local: sharp_search(200.0)}, "refuted"),
        ({cell: sharp_search(20.0)}, "undecided"),
    ):
        assert verdicts(searches, two_step)[c.TWO_STEP] == verdict


def rows(slope: float, noise: float = 0.002, each: int = 20) -> pd.DataFrame:
    """Trials whose risk is .12 at 256 samples and falls by `slope` with each doubling."""
    rng = np.random.default_rng(5)
    sizes = np.repeat([64, 256, 512, 1024, 2048], each)
    return pd.DataFrame(
        {
            "samples": sizes,
            "risk": 0.12 - slope * (np.log2(sizes) - 8) + noise * rng.normal(size=len(sizes)),
        }
    )


@pytest.mark.parametrize("slope", [0.0, 0.003, 0.02, -0.01])
def test_the_fall_of_a_line_is_its_slope(slope):
    found = fall(rows(slope))
    assert found is not None
    assert found.low < slope < found.high
    # 60 trials over three doublings of sd .002: a standard error of .002 / sqrt(60 * 2/3) = .0003
    assert found.high - found.low < 0.0016


def test_only_a_line_that_is_known_to_be_level_is_flat():
    assert is_flat(rows(0.001), target=0.11, margin=0.05)
    assert not is_flat(rows(0.02), target=0.11, margin=0.05)
    assert not is_flat(rows(0.001, noise=0.2), target=0.11, margin=0.05)  # not known
    assert not is_flat(rows(0.001), target=0.16, margin=0.05)  # reached long ago
    assert not is_flat(
        rows(0.001), target=0.02, margin=0.05
    )  # far from the target: no threshold hangs on it


def test_too_little_is_not_judged():
    assert fall(rows(0.0, each=1)) is None
    assert fall(pd.DataFrame({"samples": [], "risk": []})) is None
    assert fall(pd.DataFrame({"samples": [64] * 30, "risk": [0.1] * 30})) is None
