"""Tables of bounds, floors and growths, from planted thresholds."""

import pytest

from separatrix.studies.signal import bound_figures as f
from separatrix.studies.signal.settings import SignalSettings
from separatrix.studies.signal.trials import signal_cells
from separatrix.studies.signal.verdicts import key_of
from sharp_searches import sharp_search

S = SignalSettings()
SEARCHES = {
    key_of(cell): sharp_search(
        3.0 * S.floor(cell.network, cell.regime, cell.patches, cell.dimension)
    )
    for cell in signal_cells(S)
}


def test_constants_and_exponents_have_every_bound_and_network():
    names = {row[0] for row in f.constant_table(S, SEARCHES).rows}
    assert names == {"cnn-upper", "lcn-upper", "lcn-lower", "fcn-lower"}
    assert {row[1] for row in f.exponent_table(S, SEARCHES).rows} <= {"CNN", "LCN", "FCN"}


def test_efficiencies_are_multiples_of_the_floor():
    rows = f.efficiency_table(S, SEARCHES, {}).rows
    assert len(rows) == 3
    for row in rows:
        assert row[4:] == pytest.approx((3.0, 3.0, 3.0), rel=0.02)
