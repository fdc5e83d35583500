"""A tiny map from trials to findings."""

import dataclasses
import math

import separatrix as sx
from separatrix.studies import find_study
from separatrix.studies.signal_map.settings import MapRecipe, MapSettings, MapTuning


def test_a_tiny_map_runs_to_its_findings():
    tiny = MapSettings(
        patches=3,
        dimension=2,
        fields=(1, 3),
        groups=(1, 3),
        steps=10,
        test=64,
        largest=64,
        trials=8,
        round=64,
        tune=MapTuning(seeds=2),
    )
    study = find_study("signal-map")
    lab = sx.Lab(workers=0)
    outcome = study.conclude(lab, tiny)
    assert [finding.claim for finding in outcome.findings] == list(study.claims)
    assert len(outcome.tables[0].rows) == 4
    assert len(outcome.tables[1].rows) == 4 * len(tiny.recipes())
    for row in outcome.tables[0].rows:
        assert row[3] == row[0] * row[1] * 2  # parameters
    planned = study.sweeps(tiny)
    assert len(planned) == 8
    again = study.conclude(lab, tiny)
    assert again.plain() == outcome.plain()
    assert math.isfinite(tiny.target)
    assert dataclasses.asdict(MapRecipe()) == {"rate": 1.0, "norm": 1.0}
