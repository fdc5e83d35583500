"""Planted alignments lead to the verdicts that they must."""

import pytest

from separatrix.studies.signal_first import verdicts as c
from separatrix.studies.signal_first.settings import SignalFirstSettings

SPREAD = (0.0, 0.03, -0.02, 0.01, -0.03, 0.02, 0.015, -0.015)


def rows(level, seeds=range(8), wide=1.0, train_risk=0.0):
    """Rows around a level; what a seed has in common is the same in all networks."""
    return [
        {
            "seed": seed,
            "patch_alignment": level + wide * SPREAD[seed % 8] + 0.05 * (seed % 3),
            "train_risk": train_risk,
        }
        for seed in seeds
    ]


def verdicts(found, **settings):
    findings = c.judge_all(SignalFirstSettings(**settings), found)
    assert [finding.claim for finding in findings] == list(c.CLAIMS)
    return {finding.claim.id: finding.verdict for finding in findings}


def test_alignments_are_supported_refuted_or_undecided():
    good = {"CNN": rows(0.9), "LCN": rows(0.8, wide=1.5), "FCN": rows(0.6)}
    assert set(verdicts(good).values()) == {"supported"}
    bad = {"CNN": rows(0.0), "LCN": rows(0.05, wide=1.5), "FCN": rows(0.12)}
    assert set(verdicts(bad).values()) == {"refuted"}
    near = {name: rows(0.2, wide=width) for name, width in (("CNN", 1), ("LCN", -1), ("FCN", 1))}
    assert set(verdicts(near).values()) == {"undecided"}


def test_a_paper_is_not_refuted_outside_its_conditions():
    bad = {name: rows(0.0) for name in ("CNN", "LCN", "FCN")}
    found = verdicts(bad, noise=0.9)
    assert found["lahoti.first.cnn-aligned"] == "undecided"
    assert found["ours.first.fcn-aligned"] == "refuted"


def test_what_was_not_run_is_not_measured():
    found = verdicts({"CNN": rows(0.9), "FCN": rows(0.6)})
    assert found["lahoti.first.cnn-aligned"] == "supported"
    for name in (
        "lahoti.first.lcn-aligned",
        "ours.first.sharing-aligns",
        "ours.first.locality-aligns",
    ):
        assert found[name] == "not measured"


def test_a_network_that_did_not_train_is_not_measured():
    good = {"CNN": rows(0.9), "LCN": rows(0.8, wide=1.5), "FCN": rows(0.1, train_risk=0.3)}
    findings = {one.claim.id: one for one in c.judge_all(SignalFirstSettings(), good)}
    for name in ("ours.first.fcn-aligned", "ours.first.locality-aligns"):
        assert findings[name].verdict == "not measured"
        assert "the FCN did not train" in findings[name].reason
    assert findings["ours.first.sharing-aligns"].verdict == "supported"


def test_a_network_that_aligns_has_trained_whatever_its_training_risk():
    aligned = {"CNN": rows(0.9), "LCN": rows(0.8, wide=1.5), "FCN": rows(0.6, train_risk=0.03)}
    assert set(verdicts(aligned).values()) == {"supported"}
    near = aligned | {"FCN": rows(0.22, train_risk=0.03)}
    assert verdicts(near)["ours.first.fcn-aligned"] == "undecided"


def test_a_network_that_fits_and_does_not_align_has_trained():
    fits = {"CNN": rows(0.9), "LCN": rows(0.8, wide=1.5), "FCN": rows(0.1)}
    assert verdicts(fits)["ours.first.fcn-aligned"] == "refuted"


def test_differences_are_paired_by_seed():
    gap = c.paired_difference(rows(0.7), rows(0.6, range(4, 12)), c.QUANTITY).interval(0.95)
    assert gap.count == 4
    assert gap.estimate == pytest.approx(0.1)
    assert gap.high - gap.low < 1e-6  # what a seed has in common cancels
    assert c.paired_difference(rows(0.7), rows(0.6, [7]), c.QUANTITY) is None
