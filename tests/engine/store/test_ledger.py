"""The ledger: parts complete or absent, rows read as they were written, one sentence for what is
wrong.
"""

import errno
import os
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import separatrix as sx
from running import plain_rows, tiny
from separatrix.engine import DamagedPart, Ledger, table_of
from separatrix.errors import SeparatrixError

ROWS = [
    {
        "trial": f"{i:032x}",
        "risk": 0.1 * i,
        "status": "exhausted",
        "trace.loss": [0.5, 0.25 * i],
        "learner.stop.target": None,
    }
    for i in range(3)
]


def lab_in(folder, programs):
    """A laboratory in this process that uses what is compiled already."""
    lab = sx.Lab(folder, workers=0)
    lab._in_process.programs = programs
    return lab


def left_over(folder):
    return [file.name for file in Path(folder).rglob("*") if file.name.endswith(".tmp")]


def sentence(error):
    text = str(error.value)
    assert "\n" not in text
    return text


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


# Round trips
def test_rows_come_back_in_the_order_asked_for(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.write(ROWS[:1])
    ledger.write(ROWS[1:])
    assert ledger.done() == {row["trial"] for row in ROWS}
    wanted = [ROWS[2]["trial"], "f" * 32, ROWS[0]["trial"]]
    assert Ledger(tmp_path).read(wanted).arrow.to_pylist() == [ROWS[2], ROWS[0]]
    assert len(Ledger(tmp_path).read()) == 3
    assert len(Ledger(tmp_path / "empty").read()) == 0


def test_parts_with_other_columns_and_types_come_back_together(tmp_path):
    others = [
        {"trial": "a" * 32, "risk": 1, "extra": True, "trace.step": [0, 1, 2]},
        {"trial": "b" * 32, "risk": float("nan"), "learner.stop.target": 0.5, "trace.loss": [1.0]},
        {"trial": "c" * 32, "network.field": 3},
        {"trial": "d" * 32, "network.field": "[3, 3]"},
        {"trial": "e" * 32, "network.field": None},
    ]
    ledger = Ledger(tmp_path)
    ledger.write(ROWS)
    for row in others:
        ledger.write([row])
    rows = {row["trial"]: row for row in Ledger(tmp_path).read().arrow.to_pylist()}
    assert rows["a" * 32]["risk"] == 1.0
    assert rows["a" * 32]["trace.step"] == [0, 1, 2]
    assert rows["a" * 32]["trace.loss"] is None
    assert rows["b" * 32]["risk"] != rows["b" * 32]["risk"]
    assert rows[ROWS[1]["trial"]]["learner.stop.target"] is None
    assert rows["b" * 32]["learner.stop.target"] == 0.5
    # A number in one part and text in another: text in the whole table, and absent stays absent.
    assert [rows[letter * 32]["network.field"] for letter in "cdea"] == ["3", "[3, 3]", None, None]
    # The same rows in one table, as a laboratory without a folder keeps them.
    assert [row.get("network.field") for row in table_of(others).arrow.to_pylist()] == [
        None,
        None,
        "3",
        "[3, 3]",
        None,
    ]


def test_writing_a_part_twice_is_harmless(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.write(ROWS)
    first = {file: file.read_bytes() for file in ledger.files()}
    ledger.write(list(reversed(ROWS)))
    assert [file.name for file in ledger.files()] == [file.name for file in first]
    ledger.write(ROWS[:2])  # another cut of the same trials
    assert sorted(Ledger(tmp_path).read().arrow["trial"].to_pylist()) == [
        row["trial"] for row in ROWS
    ]
    assert not left_over(tmp_path)


# Resuming
def test_a_second_run_computes_nothing_and_a_longer_one_only_what_is_new(tmp_path, programs):
    lab = lab_in(tmp_path / "out", programs)
    first = lab.run(tiny(seeds=4))
    assert lab.tally.trials == 4
    again = lab_in(tmp_path / "out", programs)
    assert plain_rows(again.run(tiny(seeds=4))) == plain_rows(first)
    assert again.run(tiny(seeds=4)).arrow.equals(first.arrow)  # even how long they took
    assert (again.tally.trials, again.tally.programs) == (0, 0)
    longer = again.run(tiny(seeds=6))
    assert again.tally.trials == 2
    assert plain_rows(longer)[:4] == plain_rows(first)
    assert plain_rows(longer) == plain_rows(lab_in(tmp_path / "other", programs).run(tiny(seeds=6)))


def test_a_truncated_part_is_set_aside_and_computed_again(tmp_path, programs):
    lab = lab_in(tmp_path, programs)
    good = lab.run(tiny(seeds=4))
    victim = lab.ledger.files()[0]
    whole = victim.read_bytes()
    for kept in (0, 3, len(whole) // 2, len(whole) - 1):
        victim.write_bytes(whole[:kept])
        with pytest.raises(DamagedPart):
            Ledger(tmp_path).done()
        after = lab_in(tmp_path, programs)
        assert [note.code for note in after.notes] == ["damaged-part"]
        assert victim.name in after.notes[0].message
        assert plain_rows(after.run(tiny(seeds=4))) == plain_rows(good)
        assert 0 < after.tally.trials <= 4
        assert victim.with_name(victim.name + ".damaged").read_bytes() == whole[:kept]
        assert not lab_in(tmp_path, programs).notes
        assert after.manifest()["notes"][0]["code"] == "damaged-part"


def test_every_flipped_bit_is_seen_or_harmless(tmp_path):
    source = Ledger(tmp_path)
    source.write(ROWS)
    (file,) = source.files()
    whole = file.read_bytes()
    good = source.read().arrow
    harmless, sentences = 0, []
    for place in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        file.write_bytes(bytes(changed))
        try:
            same = Ledger(tmp_path).read().arrow.equals(good)
            assert same, f"byte {place} changed what was read"
            harmless += 1  # statistics and hints that nothing depends on
        except SeparatrixError as error:
            sentences.append(str(error))
    assert len(sentences) > harmless > 0
    assert all(
        "is damaged; run the study again" in each or "was not written by separatrix" in each
        for each in sentences
    )


def test_a_flipped_bit_in_a_page_is_found_by_its_checksum(tmp_path, programs):
    lab = lab_in(tmp_path, programs)
    good = lab.run(tiny(seeds=3))
    victim = lab.ledger.files()[0]
    group = pq.ParquetFile(victim).metadata.row_group(0)
    column = next(
        group.column(i)
        for i in range(group.num_columns)
        if group.column(i).path_in_schema == "risk"
    )
    # The last byte but one of the values: they are the dictionary's, whose page ends where the page
    # of indices begins.
    place = (
        column.data_page_offset
        if column.has_dictionary_page
        else column.data_page_offset + column.total_compressed_size
    ) - 2
    changed = bytearray(victim.read_bytes())
    changed[place] ^= 1
    victim.write_bytes(bytes(changed))
    with pytest.raises(DamagedPart) as error:
        Ledger(tmp_path).read()
    assert "CRC" in str(error.value.__cause__)
    after = lab_in(tmp_path, programs)
    assert [note.code for note in after.notes] == ["damaged-part"]
    assert plain_rows(after.run(tiny(seeds=3))) == plain_rows(good)


# Foreign things
@pytest.mark.parametrize("name", ["part-1.parquet", "results.parquet", "notes.txt"])
def test_a_foreign_file_in_the_ledger_is_one_sentence(tmp_path, name):
    Ledger.open(tmp_path)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "ledger" / name)
    with pytest.raises(
        SeparatrixError, match=f"the ledger holds {name}, which is not a part of it"
    ) as error:
        sx.Lab(tmp_path)
    sentence(error)


def test_a_foreign_parquet_with_a_parts_name_is_one_sentence_and_is_not_touched(tmp_path):
    Ledger.open(tmp_path)
    file = tmp_path / "ledger" / f"part-{'0' * 32}.parquet"
    pq.write_table(pa.table({"trial": ["a" * 32]}), file)
    before = file.read_bytes()
    with pytest.raises(SeparatrixError, match="was not written by separatrix") as error:
        sx.Lab(tmp_path)
    sentence(error)
    assert file.read_bytes() == before


def test_a_folder_of_something_else_is_one_sentence_and_is_not_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("important")
    with pytest.raises(
        SeparatrixError,
        match="is not empty and was not made by separatrix; choose another with --out",
    ) as error:
        sx.Lab(tmp_path)
    sentence(error)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_output_folder_that_is_a_file_or_lies_in_one_is_one_sentence(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(SeparatrixError, match="is a file; choose another with --out"):
        sx.Lab(file)
    with pytest.raises(SeparatrixError, match="Not a directory") as error:
        sx.Lab(file / "below")
    sentence(error)
    with pytest.raises(SeparatrixError, match="File name too long") as error:
        sx.Lab(tmp_path / ("x" * 300))
    sentence(error)


@pytest.mark.parametrize("call", ["mkdir", "scandir", "listdir", "replace", "fsync"])
@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_folder_that_cannot_be_used_is_one_sentence(tmp_path, monkeypatch, call, code):
    def refuse(*_, **__):
        raise OSError(code, os.strerror(code))

    out = tmp_path / "out"
    if call in ("scandir", "listdir"):
        out.mkdir()
        monkeypatch.setattr(os, "scandir", refuse)
        call = "listdir"
    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(SeparatrixError, match=os.strerror(code)) as error:
        sx.Lab(out)
    assert "out" in sentence(error) or "separatrix.json" in sentence(error)
    monkeypatch.undo()
    assert not left_over(tmp_path)
    sx.Lab(out)  # what was left does not stand in the way


@pytest.mark.parametrize("mark", ['{"format": "2"}', "[]", "", "{", '{"format": 1}'])
def test_another_format_is_one_sentence(tmp_path, mark):
    (tmp_path / "separatrix.json").write_text(mark)
    with pytest.raises(SeparatrixError, match="this version reads '1'") as error:
        sx.Lab(tmp_path)
    sentence(error)


# Mishaps while writing
def test_a_full_disk_is_one_sentence_and_keeps_what_was_written(tmp_path, monkeypatch, programs):
    lab = lab_in(tmp_path, programs)
    good = lab.run(tiny(seeds=2))
    parts = {file.name: file.read_bytes() for file in lab.ledger.files()}

    def half(table, target, **options):
        Path(target).write_bytes(b"PAR1 and then nothing")
        full_disk()

    for owner, name, broken in (
        (os, "fsync", full_disk),
        (os, "replace", full_disk),
        (pq, "write_table", half),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, broken)
            with pytest.raises(
                SeparatrixError,
                match=r"cannot write part-[0-9a-f]{32}\.parquet: No space left on device",
            ) as error:
                lab_in(tmp_path, programs).run(tiny(seeds=5))
            sentence(error)
        assert not left_over(tmp_path)
        assert {file.name: file.read_bytes() for file in Ledger(tmp_path).files()} == parts
    assert plain_rows(lab_in(tmp_path, programs).run(tiny(seeds=5)))[:2] == plain_rows(good)


def test_a_lab_whose_disk_filled_up_is_not_complete(tmp_path, monkeypatch, programs):
    lab = lab_in(tmp_path, programs)
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(SeparatrixError):
        lab.run(tiny(seeds=2))
    assert not lab.complete
    assert lab.tally.trials == 0


class Crash(BaseException):
    """The end of the process, as far as a `try` can see."""


def test_temporary_parts_of_a_killed_run_are_not_read(tmp_path, monkeypatch):
    source = Ledger.open(tmp_path)
    source.write(ROWS[:2])

    def crash(*_):
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", crash)
        patch.setattr(Path, "unlink", lambda *_: None)
        with pytest.raises(Crash):
            source.write(ROWS[2:])
    assert left_over(tmp_path)
    lab = sx.Lab(tmp_path)
    assert not lab.notes
    assert lab.ledger.done() == {row["trial"] for row in ROWS[:2]}


@pytest.mark.parametrize("step", range(6))
def test_a_run_killed_while_it_makes_its_folder_does_not_lock_it(tmp_path, monkeypatch, step):
    out = tmp_path / "out"
    calls = iter(range(100))

    def dies(real):
        def call(*args, **options):
            if next(calls) == step:
                raise Crash
            return real(*args, **options)

        return call

    with monkeypatch.context() as patch:
        for name in ("mkdir", "replace", "fsync"):
            patch.setattr(os, name, dies(getattr(os, name)))
        patch.setattr(Path, "unlink", lambda *_: None)
        with pytest.raises(Crash):
            Ledger.open(out)
    Ledger.open(out).write(ROWS)
    assert len(Ledger.open(out).read()) == 3


# Company
def test_two_ledgers_may_write_to_one_folder_at_once(tmp_path):
    begin, failed = threading.Barrier(2), []

    def work(first):
        try:
            begin.wait()
            own = Ledger.open(tmp_path / "out")
            for i in range(first, first + 20):
                own.write([{"trial": f"{i:032x}", "risk": float(i)}])
                own.done()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    found = Ledger.open(tmp_path / "out").read().arrow.to_pylist()
    assert sorted((row["trial"], row["risk"]) for row in found) == [
        (f"{i:032x}", float(i)) for i in range(30)
    ]


def test_two_laboratories_with_one_folder_agree(tmp_path, programs):
    one, two = lab_in(tmp_path, programs), lab_in(tmp_path, programs)
    a = one.run(tiny(seeds=3))
    b = two.run(tiny(seeds=5))  # sees what the other one did meanwhile
    assert two.tally.trials == 2
    assert plain_rows(b)[:3] == plain_rows(a)
    # Both compute the same trials before either sees the other's.
    three, four = lab_in(tmp_path, programs), lab_in(tmp_path, programs)
    plans = [each.plan(tiny(seeds=7)) for each in (three, four)]
    for each, plan in zip((three, four), plans):
        each._execute(plan, "trials", 7)
    assert len(Ledger(tmp_path).read()) == 7
    assert plain_rows(four.run(tiny(seeds=7))) == plain_rows(three.run(tiny(seeds=7)))


# Calculations
def test_calculations_are_done_once_and_again_when_their_file_is_damaged(tmp_path):
    done = []

    def calculate():
        done.append(1)
        return {"list": [1, 2.5, None]}

    source = Ledger(tmp_path)
    for _ in range(2):
        assert source.remember("sum", {"a": 1, "b": (1, 2)}, calculate) == {"list": [1, 2.5, None]}
    assert len(done) == 1
    (file,) = (tmp_path / "calculations").iterdir()
    for text in (
        "",
        "{",
        "[]",
        '{"parameters": {"a": 2}, "result": 0}',
        '{"parameters": {"a": 1, "b": [1, 2]}}',
    ):
        file.write_text(text)
        assert source.remember("sum", {"a": 1, "b": (1, 2)}, calculate) == {"list": [1, 2.5, None]}
    assert len(done) == 6
    source.remember("sum", {"a": 2}, calculate)
    assert len(done) == 7
    with sx.Lab() as lab:
        assert lab.remember("sum", {"a": 1}, calculate) == lab.remember("sum", {"a": 1}, calculate)
    assert len(done) == 8
