"""Searches with estimators."""

from separatrix.engine import Lab
from separatrix.studies.signal.estimators import estimators_of, measure_estimators
from separatrix.studies.signal.settings import SignalSettings
from separatrix.studies.signal.trials import SignalCell, signal_cells

SMALL = SignalSettings(
    shared=SignalSettings().shared.replace(patches=(3,), dimensions=(4,)),
    local=SignalSettings().local.replace(patches=(3,), dimensions=(4,)),
    full=SignalSettings().full.replace(patches=(3,), dimensions=(4,)),
)


def test_searches_with_estimators_find_the_alignment_and_go_on_after_a_budget(tmp_path):
    first = Lab(tmp_path, budget=0.0)
    # The genie and the average need no programs; their rounds end with those of the others.
    assert measure_estimators(first, SMALL) == {}
    assert not first.complete
    lab = Lab(tmp_path)
    found = measure_estimators(lab, SMALL)
    wanted = {(c, e) for c in signal_cells(SMALL) for e in estimators_of(c.network)}
    assert set(found) == wanted
    assert all(threshold.censoring in ("none", "left") for threshold in found.values())
    cell = SignalCell("root", "FCN", 3, 4)
    # More cannot be known than the genie knows.
    assert found[cell, "em"].high > found[cell, "genie"].low
    assert lab.complete
    # What was calculated is not calculated again, also without time.
    files = sorted(tmp_path.rglob("signal-estimator-*.json"))
    assert files
    again = measure_estimators(Lab(tmp_path), SMALL)
    assert {name: str(one) for name, one in again.items()} == {
        name: str(one) for name, one in found.items()
    }
    assert sorted(tmp_path.rglob("signal-estimator-*.json")) == files
