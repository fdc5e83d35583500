"""Compaction: many parts become few; no row changes, is lost or comes twice, whoever is killed and
whoever else writes.
"""

import contextlib
import os
import threading
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import separatrix as sx
from running import filled_ledger, numbered_row, plain_rows, tiny
from separatrix.engine import DamagedPart, Ledger, policy
from separatrix.engine.policy import COMPACTION_PARTS
from separatrix.engine.store import ledger, parts
from separatrix.engine.store.compaction import LOCK, groups_to_merge, merge_parts, pack
from separatrix.engine.store.parts import scan_part, write_part
from separatrix.files import lock
from separatrix.spec import digest


def rows_in(folder):
    found = Ledger(folder).read().arrow.sort_by("number").to_pylist()
    assert len({each["trial"] for each in found}) == len(found)
    return found


def test_packed_rows_are_the_same_rows_in_fewer_parts(tmp_path):
    source = filled_ledger(tmp_path, COMPACTION_PARTS + 5, each=3)
    before = rows_in(tmp_path)
    assert source.compact() == 1
    assert len(source.files()) <= 6
    assert (
        rows_in(tmp_path) == before == [numbered_row(i) for i in range(3 * (COMPACTION_PARTS + 5))]
    )
    # The laboratory that packed, and one that looks for the first time, find every trial, in the
    # order asked for.
    wanted = [digest(i) for i in (200, 3, 77, 10**6)]
    for each in (source, Ledger(tmp_path)):
        assert [found["number"] for found in each.read(wanted).arrow.to_pylist()] == [200, 3, 77]
        assert each.done(wanted) == set(wanted[:3])
    assert Ledger(tmp_path).done() == {digest(i) for i in range(3 * (COMPACTION_PARTS + 5))}


def test_a_long_run_packs_as_it_goes(tmp_path):
    source = Ledger.open(tmp_path)
    for i in range(2 * COMPACTION_PARTS):
        source.write([numbered_row(i)])
    assert len(source.files()) == 2
    assert rows_in(tmp_path) == [numbered_row(i) for i in range(2 * COMPACTION_PARTS)]


def test_parts_with_other_columns_or_types_are_not_packed_together(tmp_path):
    source = filled_ledger(tmp_path, COMPACTION_PARTS, extra=1)
    for i in range(1000, 1000 + COMPACTION_PARTS):
        parts.write_part(source.parts, ledger.table_of([numbered_row(i, extra="one")]).arrow)
    before = {file.name: scan_part(file).columns for file in source.files()}
    assert len(set(before.values())) == 2
    assert source.compact() == 2
    kinds = {
        str(pq.read_schema(file).field("extra").type): scan_part(file).rows
        for file in source.files()
    }
    assert kinds == {"int64": COMPACTION_PARTS, "string": COMPACTION_PARTS}


def test_tiers_keep_the_work_of_packing_small():
    def part(name, rows, size=10):
        return parts.Part(Path(name), "c", size, (0, rows), np.zeros((rows, 2), np.uint64))

    assert (
        groups_to_merge(
            [part(f"{i}", 1) for i in range(COMPACTION_PARTS - 1)] + [part("big", 5000)]
        )
        == []
    )
    (group,) = groups_to_merge(
        [part(f"{i}", 1) for i in range(COMPACTION_PARTS)] + [part("big", 5000)]
    )
    assert len(group) == COMPACTION_PARTS
    # What would become too large in bytes is packed in several, and large parts are left alone.
    heavy = groups_to_merge(
        [part(f"{i}", 64, policy.COMPACTION_BYTES // 16) for i in range(COMPACTION_PARTS)]
    )
    assert all(sum(each.bytes for each in group) <= policy.COMPACTION_BYTES for group in heavy)
    assert (
        groups_to_merge(
            [part(f"{i}", policy.COMPACTION_ROWS // 2 + 1) for i in range(COMPACTION_PARTS)]
        )
        == []
    )


class Crash(BaseException):
    """The end of the process, as far as a `try` can see."""


@pytest.mark.parametrize("call", ["fsync", "replace", "unlink"])
@pytest.mark.parametrize("time", range(0, 60, 7))
def test_killed_at_any_moment_packing_loses_nothing_and_goes_on(tmp_path, monkeypatch, call, time):
    source = filled_ledger(tmp_path, COMPACTION_PARTS)
    before = rows_in(tmp_path)
    real, calls = getattr(os, call), iter(range(1000))

    def dies(*args, **options):
        if next(calls) >= time:
            raise Crash
        return real(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, dies)
        with contextlib.suppress(Crash):
            source.compact()
    assert rows_in(tmp_path) == before
    # Copies that were left are no reason to compute anything, and are packed away with the rest in
    # time.
    assert Ledger(tmp_path).done({digest(i) for i in range(COMPACTION_PARTS)}) == {
        digest(i) for i in range(COMPACTION_PARTS)
    }
    again = Ledger(tmp_path)
    merge_parts(again.parts, [scan_part(file) for file in again.files()])
    assert rows_in(tmp_path) == before
    assert len(again.files()) == 1


def test_a_pack_of_copies_is_the_part_itself_and_stays(tmp_path):
    source = filled_ledger(tmp_path, 3)
    whole = merge_parts(source.parts, [scan_part(file) for file in source.files()])
    filled_ledger(tmp_path, 3)
    assert len(source.files()) == 4
    assert merge_parts(source.parts, [scan_part(file) for file in source.files()]) == whole
    assert source.files() == [whole]
    assert rows_in(tmp_path) == [numbered_row(i) for i in range(3)]


def test_one_packs_while_others_write_and_read(tmp_path):
    """Without the lock, as on a shared folder without locks: still nothing is lost and every read
    is whole.
    """
    count, failed = 6 * COMPACTION_PARTS, []
    Ledger.open(tmp_path)
    stop = threading.Event()

    def write(first):
        own = Ledger(tmp_path)
        for i in range(first, count, 2):
            parts.write_part(own.parts, ledger.table_of([numbered_row(i)]).arrow)

    def pack_all():
        own = Ledger(tmp_path)
        while not stop.is_set():
            for sources in groups_to_merge(own._scan()):
                try:
                    merge_parts(own.parts, sources)
                except FileNotFoundError:
                    own._forget()

    def read():
        own, seen = Ledger(tmp_path), set()
        while not stop.is_set():
            now = own.done([digest(i) for i in range(count)])
            if not seen <= now:
                failed.append(len(seen - now))
            seen = now

    def guarded(work, *args):
        try:
            work(*args)
        except BaseException as error:
            failed.append(error)

    writers = [threading.Thread(target=guarded, args=(write, first)) for first in (0, 1)]
    others = [threading.Thread(target=guarded, args=(work,)) for work in (pack_all, pack_all, read)]
    for thread in (*writers, *others):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in others:
        thread.join()
    assert not failed
    assert rows_in(tmp_path) == [numbered_row(i) for i in range(count)]


def test_a_lock_keeps_a_second_packer_out(tmp_path):
    source = filled_ledger(tmp_path, COMPACTION_PARTS)
    with lock(source.parts / LOCK) as mine:
        assert mine
        assert source.compact() == 0
    assert len(source.files()) == COMPACTION_PARTS
    assert source.compact() == 1


def test_a_part_written_anew_in_another_order_gives_the_right_rows(tmp_path):
    source = Ledger.open(tmp_path)
    source.write([numbered_row(0), numbered_row(1)])
    assert source.done([digest(0)]) == {digest(0)}  # it knows where the trials lie now
    Ledger(tmp_path).write([numbered_row(1), numbered_row(0)])
    assert source.read([digest(0)]).arrow["number"].to_pylist() == [0]


def test_damage_found_while_reading_a_large_ledger_is_named_and_computed_again(
    tmp_path, monkeypatch, programs
):
    def lab_in():
        lab = sx.Lab(tmp_path, workers=0)
        lab._in_process.programs = programs
        return lab

    good = lab_in().run(tiny(seeds=4))
    victim = Ledger(tmp_path).files()[0]
    lost = scan_part(victim).rows
    group = pq.ParquetFile(victim).metadata.row_group(0)
    column = next(
        group.column(i)
        for i in range(group.num_columns)
        if group.column(i).path_in_schema == "risk"
    )
    whole = bytearray(victim.read_bytes())
    whole[column.data_page_offset - 2] ^= 1
    victim.write_bytes(bytes(whole))
    monkeypatch.setattr(policy, "VERIFIED_BYTES", 0)
    lab = lab_in()
    assert not lab.notes  # the trials' names are whole, and rows were not read
    with pytest.raises(DamagedPart):
        Ledger(tmp_path).read()
    assert plain_rows(lab.run(tiny(seeds=4))) == plain_rows(good)
    assert lab.tally.trials == lost
    assert [victim.name in note.message for note in lab.notes] == [True]


def test_rows_that_are_kept_are_the_same_rows_in_one_tight_part(tmp_path):
    source = filled_ledger(tmp_path / "run", 9, each=40)
    before, files = rows_in(tmp_path / "run"), source.files()
    sizes = [file.stat().st_size for file in files]
    twice = scan_part(files[0])
    merge_parts(files[0].parent, [twice, scan_part(files[1])])
    write_part(files[0].parent, pq.read_table(files[2]).slice(0, 5))  # rows of another part
    kept = tmp_path / "kept" / "ledger"
    kept.mkdir(parents=True)
    (tmp_path / "slim").mkdir()
    (packed,) = pack(files[0].parent.glob("part-*.parquet"), kept)
    assert rows_in(tmp_path / "kept") == before
    assert packed.stat().st_size < sum(sizes) / 2
    assert rows_in(tmp_path / "run") == before
    (slim,) = pack([packed], tmp_path / "slim", lambda rows: rows.column_names[:2])
    assert pq.read_schema(slim).names == pq.read_schema(packed).names[:2]
    files[2].write_bytes(files[2].read_bytes()[:-200])
    with pytest.raises(DamagedPart):
        pack(files[0].parent.glob("part-*.parquet"), tmp_path / "kept" / "ledger")
