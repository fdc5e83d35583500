"""A row is believed only if it is the row of the trial that it claims to be."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import separatrix as sx
from running import plain_rows, tiny
from separatrix.engine import Ledger, policy
from separatrix.engine.store.identity import contradicting, equal_rows
from separatrix.engine.store.parts import (
    DamagedPart,
    _columns,
    key_of,
    name_of_keys,
    part_name,
    read_columns,
    scan_part,
    write_part,
)
from separatrix.errors import SeparatrixError
from separatrix.report import Watcher


@pytest.fixture(scope="module")
def networks():
    """A sweep of two networks, whose rows differ."""
    learner = sx.Learner(rate=1.0, steps=5)
    both = [sx.CNN(1, width=2), sx.FCN(width=2)]
    return sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), both, learner, samples=8, seeds=3)


@pytest.fixture(scope="module")
def table(networks):
    return sx.Lab(workers=0).run(networks).arrow


def folder_with(path, *tables):
    """A results folder whose ledger has these parts."""
    ledger = Ledger.open(path)
    for each in tables:
        write_part(ledger.parts, each)
    return path


def swapped(table):
    """The table with the identities of the two networks exchanged."""
    half = table.num_rows // 2
    order = [*range(half, table.num_rows), *range(half)]
    place = table.column_names.index("trial")
    return table.set_column(place, "trial", table["trial"].take(pa.array(order)))


def test_rows_of_their_trials_pass_and_others_are_named(table, networks):
    trials = list(networks)
    assert contradicting(table, trials) == {}
    wrong = contradicting(swapped(table), trials)
    assert wrong["trial"].all()
    for name, value in (("seed", 7), ("task.noise", 0.25), ("network.type", "LCN")):
        place = table.column_names.index(name)
        values = table[name].to_pylist()
        changed = table.set_column(place, name, [[*values[:2], value, *values[3:]]])
        assert np.flatnonzero(contradicting(changed, trials)[name]).tolist() == [2]


@pytest.mark.parametrize("name", ["task.type", "samples", "seed", "risk", "status"])
def test_a_column_that_is_missing_or_empty_is_named(table, networks, name):
    trials = list(networks)
    assert contradicting(table.drop_columns([name]), trials)[name].all()
    place = table.column_names.index(name)
    holes = [None, *table[name].to_pylist()[1:]]
    wrong = contradicting(table.set_column(place, name, [holes]), trials)
    assert np.flatnonzero(wrong[name]).tolist() == [0]


def test_a_row_from_before_a_field_existed_is_of_a_trial_with_its_default(table, networks):
    trials, name = list(networks), "measure.start_counts"
    assert contradicting(table.drop_columns([name]), trials) == {}
    place = table.column_names.index(name)
    holes = table.set_column(place, name, [[None] * len(trials)])
    assert contradicting(holes, trials) == {}
    others = [t.replace(measure=t.measure.replace(start_counts=False)) for t in trials]
    assert contradicting(table.drop_columns([name]), others)[name].all()
    assert contradicting(holes, others)[name].all()
    assert contradicting(table, others)[name].all()


@pytest.mark.parametrize(
    "name, value", [("loss", float("nan")), ("loss", float("inf")), ("status", "won")]
)
def test_a_result_that_no_trial_can_have_is_named(table, networks, name, value):
    place = table.column_names.index(name)
    values = [value, *table[name].to_pylist()[1:]]
    forged = table.set_column(place, name, [values])
    assert np.flatnonzero(contradicting(forged, list(networks))[name]).tolist() == [0]
    if name == "loss":  # a trial whose loss is no number says so
        place = table.column_names.index("status")
        ends = ["non-finite", *table["status"].to_pylist()[1:]]
        assert contradicting(forged.set_column(place, "status", [ends]), list(networks)) == {}


def test_numbers_that_a_mixed_column_stores_as_text_are_the_same(table, networks):
    place = table.column_names.index("network.field")
    column = [None if v is None else str(v) for v in table["network.field"].to_pylist()]
    assert contradicting(table.set_column(place, "network.field", [column]), list(networks)) == {}


def test_swapped_identities_do_not_reach_a_study(table, networks, tmp_path):
    folder = folder_with(tmp_path, swapped(table))  # the name fits: it holds the same trials
    lab = sx.Lab(folder, workers=0)
    assert plain_rows(lab.run(networks)) == plain_rows(sx.Lab(workers=0).run(networks))
    assert lab.tally.trials == len(networks)  # computed again
    assert "another" in lab.notes[0].message
    assert "part-" in lab.notes[0].message
    assert len(list((folder / "ledger").glob("*.damaged"))) == 1


def test_parts_that_disagree_about_a_trial_are_both_set_aside(table, networks, tmp_path):
    place = table.column_names.index("risk")
    forged = table.set_column(place, "risk", [[0.0] * table.num_rows]).slice(0, 2)
    folder = folder_with(tmp_path, table, forged)
    lab = sx.Lab(folder, workers=0)
    assert [note.code for note in lab.notes] == ["damaged-part"] * 2
    assert plain_rows(lab.run(networks)) == plain_rows(sx.Lab(workers=0).run(networks))
    assert lab.tally.trials == len(networks)


def test_copies_that_agree_are_left_alone(table, networks, tmp_path):
    place = table.column_names.index("run.seconds")
    later = table.set_column(place, "run.seconds", [[9.0] * table.num_rows]).slice(1, 3)
    lab = sx.Lab(folder_with(tmp_path, table, later), workers=0)
    assert len(lab.run(networks)) == len(networks)
    assert lab.tally.trials == 0
    assert not lab.notes


def test_a_forged_part_that_comes_while_a_run_goes_on_is_noticed(table, networks, tmp_path):
    lab = sx.Lab(folder_with(tmp_path, table), workers=0)
    assert len(lab.run(networks)) == len(networks)
    place = table.column_names.index("risk")
    forged = table.set_column(place, "risk", [[0.0] * table.num_rows]).slice(0, 1)
    write_part(lab.ledger.parts, forged)
    assert plain_rows(lab.run(networks)) == plain_rows(sx.Lab(workers=0).run(networks))
    assert len(lab.notes) == 2


@pytest.mark.parametrize("rows", [3, policy.NAMED_ROWS + 1])
def test_a_part_under_another_name_is_damaged_at_every_size(tmp_path, rows):
    trials = [format(n, "032x") for n in range(rows)]
    file = write_part(tmp_path, pa.table({"trial": trials}))
    assert file.name == part_name(trials) == name_of_keys(key_of(trials))
    other = file.rename(tmp_path / part_name(trials[1:]))
    with pytest.raises(DamagedPart, match="holds other trials than its name says"):
        scan_part(other)


def test_a_part_with_a_column_twice_is_damaged(tmp_path):
    file = write_part(tmp_path, pa.table({"trial": ["a" * 32], "risk": [0.5]}))
    table = pq.read_table(file)
    names = ["trial", "trial"]
    twice = pa.table([table["trial"], table["trial"]], names=names)
    about = {"separatrix": "1", "columns": _columns(twice.schema), "rows": "1"}
    pq.write_table(twice.replace_schema_metadata(about), file)
    with pytest.raises(DamagedPart, match="has two columns 'trial'"):
        scan_part(file)


def test_a_run_gives_up_when_its_rows_are_damaged_again_and_again(table, networks, monkeypatch):
    monkeypatch.setattr(policy, "DAMAGED_READS", 3)
    seen = []

    def check(lab, rows, sweep):
        seen.append(len(rows))
        raise DamagedPart(Path("part-0.parquet"), "has rows with another `seed` than their trial")

    monkeypatch.setattr(sx.Lab, "_check_rows", check)
    lab = sx.Lab(workers=0)
    monkeypatch.setattr(lab.ledger, "set_aside", lambda damage: None)
    with pytest.raises(SeparatrixError, match="another `seed`"):
        lab.run(tiny(seeds=1))
    assert seen == [1, 1, 1]


def bomb(folder, trials, name, words):
    """A part whose column `name` has one long word in every row, in a few kilobytes."""
    encoded = pa.DictionaryArray.from_arrays(pa.array([0] * len(trials), pa.int32()), words)
    columns = {"trial": pa.array(trials)} | {name: encoded}
    plain = pa.schema([("trial", pa.string()), *([(name, pa.string())] if name != "trial" else [])])
    file = folder / part_name(trials)
    about = {"separatrix": "1", "columns": _columns(plain), "rows": str(len(trials))}
    with pq.ParquetWriter(
        file, pa.table(columns).schema, store_schema=False, dictionary_pagesize_limit=2**30
    ) as writer:
        writer.write_table(pa.table(columns))
        writer.add_key_value_metadata(about)
    return file


@pytest.mark.parametrize("name", ["status", "trial"])
def test_a_part_of_long_equal_words_is_not_unpacked(tmp_path, name):
    ledger = Ledger.open(tmp_path)
    trials = [format(n, "032x") for n in range(2000)]
    file = bomb(ledger.parts, trials, name, ["w" * 10**6])
    assert file.stat().st_size < 10**5  # and 2 GB unpacked
    pool = pa.default_memory_pool()
    before = max(pool.max_memory(), pool.bytes_allocated() + 2**28)
    with pytest.raises(DamagedPart, match="would take 2000000000 bytes"):
        read_columns(file, [name])
    assert Watcher(tmp_path).look().unreadable == 1
    assert ledger.mend() == [file.name]
    assert pool.max_memory() <= before


def test_a_part_with_columns_that_no_part_has_is_damaged(tmp_path):
    table = pa.table({"trial": ["a" * 32], "x": pa.array([["text"]])})
    with pytest.raises(DamagedPart, match=r"has a column 'x' of type list<.*string>"):
        scan_part(write_part(tmp_path, table))


def test_rows_are_equal_with_nan_and_without_times():
    a = pa.table({"x": [float("nan")], "l": [[1.0, float("nan")]], "run.seconds": [1.0]})
    b = pa.table({"x": [float("nan")], "l": [[1.0, float("nan")]], "run.seconds": [2.0]})
    assert equal_rows(a, b)
    assert not equal_rows(a, pa.table({"x": [0.0], "l": [[1.0, float("nan")]]}))
    assert not equal_rows(a, pa.table({"x": [float("nan")]}))


def test_thousands_of_rows_are_checked():
    sweep = list(tiny(seeds=5000))
    rows = pa.Table.from_pylist(
        [t.row_head() | {"status": "reached", "steps": 1, "loss": 0, "risk": 0} for t in sweep]
    )
    assert contradicting(rows, sweep) == {}
    shifted = rows.set_column(0, "trial", rows["trial"].take(pa.array(np.roll(range(5000), 1))))
    assert contradicting(shifted, sweep)["trial"].all()


def test_no_rows_contradict_nothing():
    assert contradicting(pa.table({}), []) == {}
