"""A tiny study of open questions from trials to findings."""

import itertools

import separatrix as sx
from separatrix.studies import find_study
from separatrix.studies.signal.settings import NETWORKS
from separatrix.studies.signal_open.settings import OpenSettings


def test_a_tiny_study_runs_to_its_findings():
    tiny = OpenSettings(
        variants=("laplace",),
        patches=(3,),
        full_patches=(3,),
        starts=(),
        dimension=2,
        noise=0.2,
        steps=8,
        test=64,
        least=(2, 2, 2),
        largest=8,
        trials=8,
        round=64,
    )
    study = find_study("signal-open")
    lab = sx.Lab(workers=0)
    outcome = study.conclude(lab, tiny)
    assert [finding.claim for finding in outcome.findings] == list(study.claims)
    assert {(row[0], row[1]) for row in outcome.tables[0].rows} == {
        *itertools.product(("plain", "laplace"), NETWORKS),
    }
    assert outcome.findings[0].verdict == "not measured"
    assert study.conclude(lab, tiny).plain() == outcome.plain()
    assert len(study.sweeps(tiny)) == len(tiny.wanted())
