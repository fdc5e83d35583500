"""A tiny first experiment from trials to findings."""

import numpy as np

import separatrix as sx
from separatrix.studies import find_study
from separatrix.theory.signal import best_linear_risk

STUDY = find_study("signal-first")
TINY = {"patches": "3", "dimension": "4", "samples": "40", "steps": "60", "seeds": "2"}


def test_evidence_is_the_mean_over_seeds():
    settings, lab = STUDY.settings("quick", 0, TINY), sx.Lab(workers=0)
    findings = STUDY.conclude(lab, settings).findings
    assert [finding.claim for finding in findings] == list(STUDY.claims)
    by_claim = {finding.claim.id: finding for finding in findings}
    limit = best_linear_risk(3, 0.1)
    assert by_claim["lahoti.first.cnn-aligned"].conditions_met is True
    for name, sweep in STUDY.sweeps(settings).items():
        frame = lab.run(sweep).to_pandas()
        assert len(frame) == 2
        owner = "ours" if name == "FCN" else "lahoti"
        finding = by_claim[f"{owner}.first.{name.lower()}-aligned"]
        if frame["train_risk"].mean() >= limit:
            assert finding.verdict == "not measured"
            continue
        (evidence,) = finding.evidence
        # Rows are float32.
        np.testing.assert_allclose(evidence.estimate, frame["patch_alignment"].mean(), rtol=1e-6)
        assert evidence.count == 2
        assert evidence.low <= evidence.estimate <= evidence.high


def test_nothing_run_is_not_measured():
    outcome = STUDY.conclude(sx.Lab(budget=0.0), STUDY.settings("quick", 0, TINY))
    assert {finding.verdict for finding in outcome.findings} == {"not measured"}
    assert outcome.answer == ""
