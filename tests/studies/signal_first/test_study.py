"""A tiny first experiment from trials to findings."""

import numpy as np

import separatrix as sx
from separatrix.studies import find_study

STUDY = find_study("signal-first")
TINY = {"patches": "3", "dimension": "4", "samples": "40", "steps": "4", "seeds": "2"}


def test_evidence_is_the_mean_over_seeds():
    settings, lab = STUDY.settings("quick", 0, TINY), sx.Lab(workers=0)
    findings = STUDY.conclude(lab, settings).findings
    assert [finding.claim for finding in findings] == list(STUDY.claims)
    assert all(finding.conditions_met is True for finding in findings)
    by_claim = {finding.claim.id: finding.evidence for finding in findings}
    for name, sweep in STUDY.sweeps(settings).items():
        frame = lab.run(sweep).to_pandas()
        assert len(frame) == 2
        owner = "ours" if name == "FCN" else "lahoti"
        (evidence,) = by_claim[f"{owner}.first.{name.lower()}-aligned"]
        # Rows are float32.
        np.testing.assert_allclose(evidence.estimate, frame["patch_alignment"].mean(), rtol=1e-6)
        assert evidence.count == 2
        assert evidence.low <= evidence.estimate <= evidence.high


def test_nothing_run_is_not_measured():
    outcome = STUDY.conclude(sx.Lab(budget=0.0), STUDY.settings("quick", 0, TINY))
    assert {finding.verdict for finding in outcome.findings} == {"not measured"}
    assert outcome.answer == ""
