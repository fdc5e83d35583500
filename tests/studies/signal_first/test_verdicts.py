"""Orders between networks are decided by differences that are paired by seed."""

import pytest

from separatrix.studies.signal_first import verdicts as c
from separatrix.studies.signal_first.settings import SignalFirstSettings


def rows(shift, seeds=range(8)):
    """Rows whose alignment grows and whose risk falls by `shift`, with a common part per seed."""
    return [
        {"seed": seed, "alignment": 0.5 + shift + 0.03 * seed, "risk": 0.3 - shift + 0.03 * seed}
        for seed in seeds
    ]


def test_the_order_is_supported_refuted_or_undecided():
    s = SignalFirstSettings()
    good = {"CNN": rows(0.2), "LCN": rows(0.1), "FCN": rows(0.0)}
    assert {finding.verdict for finding in c.judge_all(s, good)} == {"supported"}
    bad = {"CNN": rows(0.0), "LCN": rows(0.1), "FCN": rows(0.2)}
    by_claim = {finding.claim: finding.verdict for finding in c.judge_all(s, bad)}
    for claim in (c.CLAIM_SHARING, c.CLAIM_LOCALITY, c.CLAIM_RISK):
        assert by_claim[claim] == "refuted"
    without = {name: runs for name, runs in good.items() if name != "LCN"}
    for finding in c.judge_all(s, without)[3:]:
        assert finding.verdict == "undecided"
        assert "was not measured" in finding.reason


def test_differences_are_paired_by_seed():
    gap = c.paired_difference(rows(0.2), rows(0.1, range(4, 12)), "alignment")
    assert gap.estimate == pytest.approx(0.1)
    assert gap.count == 4
    assert gap.high - gap.low < 1e-6  # what a seed has in common cancels
    assert c.paired_difference(rows(0.2), rows(0.1, [7]), "risk") is None
