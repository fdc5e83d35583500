"""The trials of the study `digits`."""

from separatrix.engine import Device
from separatrix.engine.plan import make_plan
from separatrix.studies.digits.settings import DigitsSettings
from separatrix.studies.digits.trials import DigitsCell, network_of, sweep_of, task_of

S = DigitsSettings(source="embedded-digits")


def test_networks_are_the_papers_and_the_labels_share_programs():
    full = DigitsSettings(source="embedded-digits", height=24, filters=1024)
    shape = task_of(full, DigitsCell("centre", "CNN", 19)).shape
    assert shape == (24, 152, 1)
    assert network_of(full, "CNN").windows(shape).positions == 17
    assert network_of(full, "LCN").parameter_count(shape) == 17 * 1024 * 577 + 17 * 1024 + 1
    plan = make_plan(sweep_of(S), Device("gpu", memory=8e10))
    assert plan.programs == 9  # 3 networks at 3 lengths
    heavy = DigitsSettings(
        source="embedded-digits", height=24, filters=1024, sequences=60000, digits=(3, 5)
    )
    assert {
        (len(chunk.trials), chunk.batch)
        for chunk in make_plan(sweep_of(heavy), Device("gpu", memory=8e10)).chunks
    } == {(4, 4), (8, 8)}
