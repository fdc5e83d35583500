"""Cells: their rows come back sorted, also where a budget ends or trials are shared."""

import threading

import pytest

import separatrix as sx
from separatrix.studies.cells import in_background, run_cells

TASK, LEARNER = sx.SignalTask(3, 2, 0.3), sx.Learner(rate=1.0, steps=3)


def trials(network, seeds):
    return sx.Trial(TASK, network, LEARNER, 8).at_seeds(seeds)


def test_rows_are_those_of_the_cells_trials_in_their_order():
    cnn, lcn = trials(sx.CNN(1), range(3)), trials(sx.LCN(1), range(2))
    cells = {"CNN": cnn, "LCN": iter(lcn), "both": (lcn[1], cnn[2]), "none": ()}
    rows = run_cells(sx.Lab(workers=0), cells, "demo")
    assert list(rows) == list(cells)
    assert [row["trial"] for row in rows["CNN"]] == [trial.identity for trial in cnn]
    assert [row["trial"] for row in rows["both"]] == [lcn[1].identity, cnn[2].identity]
    assert rows["none"] == []
    assert "risk" in rows["LCN"][0]


def test_some_columns_are_enough():
    rows = run_cells(sx.Lab(workers=0), {"CNN": trials(sx.CNN(1), range(2))}, "demo", ["risk"])
    assert {tuple(row) for row in rows["CNN"]} == {("trial", "risk")}


def test_without_trials_nothing_is_run():
    assert run_cells(None, {"CNN": []}, "demo") == {"CNN": []}


def test_where_the_budget_ends_rows_are_missing(tmp_path):
    lab = sx.Lab(tmp_path, workers=0, budget=1e-9)
    rows = run_cells(lab, {"CNN": trials(sx.CNN(1), range(2))}, "demo")
    assert rows == {"CNN": []}


def test_a_background_calculation_gives_its_result_or_its_error():
    begin = threading.Event()
    result = in_background(lambda: begin.wait(60) and 42)
    begin.set()
    assert result() == 42

    def broken():
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        in_background(broken)()
