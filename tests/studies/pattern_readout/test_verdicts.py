"""The study `pattern-readout`: verdicts on tiny settings, and what they follow from."""

import dataclasses

import pytest

import separatrix as sx
from separatrix.studies import find_study
from separatrix.studies.pattern_readout import PatternReadoutSettings
from separatrix.studies.pattern_readout.trials import check_window
from separatrix.studies.pattern_readout.verdicts import findings
from separatrix.theory.patterns import readout

TINY = PatternReadoutSettings(bits=6, windows=(2, 3), draws=300, exact_draws=2, rules=2)


def verdicts(all_findings):
    return {
        finding.claim.id.removeprefix("malach.lemma6."): finding.verdict for finding in all_findings
    }


@pytest.fixture(scope="module")
def rows():
    return [check_window(TINY, window) for window in TINY.windows]


def test_a_tiny_run_supports_lemma_6():
    outcome = find_study("pattern-readout").conclude(sx.Lab(), TINY)
    assert verdicts(outcome.findings) == {
        "exact": "supported",
        "norm": "supported",
        # 0 of 300 draws fail: the interval ends at 0.013, below δ = 0.05
        "coverage": "supported",
    }


def test_a_wrong_readout_is_refuted(monkeypatch):
    right = readout.lemma6_readout

    def wrong(*args):
        certificate = right(*args)
        return dataclasses.replace(certificate, readout=certificate.readout * (1 + 1e-9))

    monkeypatch.setattr(readout, "lemma6_readout", wrong)
    outcome = find_study("pattern-readout").conclude(sx.Lab(), TINY)
    assert verdicts(outcome.findings)["exact"] == "refuted"


@pytest.mark.parametrize(
    "change, claim, verdict",
    [
        ({"norm_ratio": 1.01}, "norm", "refuted"),
        ({"unbalanced": 299, "draws": 300}, "coverage", "refuted"),
        ({"unbalanced": 15, "draws": 300}, "coverage", "undecided"),  # 5 % of 300, against δ = 5 %
        ({"checked": 0}, "exact", "not measured"),
        ({"unbalanced": 300, "draws": 300}, "norm", "not measured"),
    ],
)
def test_verdicts_follow_the_rows(rows, change, claim, verdict):
    changed = findings(TINY, [row | change for row in rows])
    assert verdicts(changed)[claim] == verdict
