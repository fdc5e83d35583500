"""The ledger in memory answers as the one in a folder does."""

import pytest

import separatrix as sx
from separatrix.engine import DamagedPart, Ledger
from separatrix.engine.store.memory import MemoryLedger

ROWS = [{"trial": f"{i:032x}", "risk": 0.1 * i, "trace.loss": [0.5, 0.25 * i]} for i in range(4)]
NAMES = [row["trial"] for row in ROWS]


@pytest.fixture(params=["folder", "memory"])
def ledger(request, tmp_path):
    return Ledger.open(tmp_path) if request.param == "folder" else MemoryLedger()


def test_rows_are_read_in_the_order_asked_for(ledger):
    assert ledger.is_empty()
    assert len(ledger.read(NAMES)) == 0
    ledger.write(ROWS[:1])
    ledger.write(ROWS[2:])
    assert not ledger.is_empty()
    assert ledger.done() == {NAMES[0], NAMES[2], NAMES[3]}
    assert ledger.done(NAMES[:3]) == {NAMES[0], NAMES[2]}
    assert ledger.read(NAMES[::-1]).arrow.to_pylist() == [ROWS[3], ROWS[2], ROWS[0]]
    assert len(ledger.read()) == 3


def test_a_trial_written_twice_is_read_once(ledger):
    ledger.write(ROWS)
    ledger.write(ROWS)
    assert len(ledger.read()) == len(ROWS)
    assert (ledger.mend(), ledger.compact()) == ([], 0)


def test_calculations_are_done_once_for_their_parameters(ledger):
    calls = []
    for number in (1, 2, 1):
        result = ledger.remember("square", {"x": number}, lambda n=number: calls.append(n) or n * n)
        assert result == number * number
    assert calls == [1, 2]


def test_only_a_folder_can_be_damaged(tmp_path):
    damage = DamagedPart(tmp_path / "part-0.parquet")
    Ledger.open(tmp_path).set_aside(damage)
    with pytest.raises(DamagedPart):
        MemoryLedger().set_aside(damage)


def test_a_laboratory_says_where_it_keeps_its_rows(tmp_path):
    assert sx.Lab().ledger.folder is None
    assert sx.Lab(tmp_path).ledger.folder == tmp_path
