"""Scheduling and compiling ahead: what workers are handed, and that only the time depends on it."""

import json
import threading
import time

import jax
import pytest

import separatrix as sx
from running import TASK, fake_worker, plain_rows, tiny
from separatrix.engine import Device, make_plan
from separatrix.engine.execute.local import Workers
from separatrix.engine.execute.scheduler import Scheduler, hints_of
from separatrix.errors import SeparatrixError

CPU = Device("cpu", workers=2)


SIZES = tiny(samples=[12, 3000], seeds=3)  # two programs, of 2048 and of 4096 samples


def scheduler_of(count=2):
    scheduler = Scheduler()
    for _ in range(count):
        scheduler.join()
    return scheduler


def sizes_of(tasks):
    return [task.frame.samples for task in tasks]


def ended(take, number):
    """Whether a worker that asks for something would wait."""
    asked = threading.Thread(target=take, args=(number,), daemon=True)
    asked.start()
    asked.join(0.1)
    return asked.is_alive()


def test_hints_are_one_a_program_in_the_order_of_the_trials_and_none_that_a_worker_cannot_import():
    backwards = sx.Sweep(SIZES.trials[::-1])
    assert sizes_of(hints_of(backwards, CPU)) == [4096, 2048]
    assert {hint.program for hint in hints_of(SIZES, CPU)} == {
        chunk.program for chunk in make_plan(SIZES, CPU).chunks
    }

    class Inside(type(TASK)):
        """Not importable."""

    assert hints_of(tiny(task=Inside(4, 3, 0.3)), CPU) == []


def test_no_program_is_handed_out_twice_and_a_chunk_goes_where_its_program_is_being_compiled():
    scheduler = scheduler_of()
    scheduler.expect(hints_of(SIZES, CPU))
    scheduler.expect(hints_of(SIZES, CPU))
    assert scheduler.next_hint(1).frame.samples == 2048
    assert ended(scheduler.next_hint, 0)  # one worker is left for what is wanted at once
    assert scheduler.next_hint(1).frame.samples == 4096
    assert ended(scheduler.next_hint, 1)
    plan = make_plan(SIZES, CPU)
    scheduler.post(plan)
    assert ended(scheduler.next_chunk, 0)
    assert {scheduler.next_chunk(1) for _ in plan.chunks} == set(plan.chunks)
    scheduler.close()


def test_chunks_do_not_wait_for_hints_and_need_none():
    scheduler = scheduler_of()
    scheduler.expect(hints_of(tiny(samples=6000), CPU))
    assert scheduler.next_hint(0).frame.samples == 8192
    scheduler.post(make_plan(SIZES, CPU))
    # The worker that compiles ahead leaves a new program to one that is free, and takes it where
    # none is.
    first = threading.Thread(target=lambda: got.append(scheduler.next_chunk(0)), daemon=True)
    got = []
    first.start()
    first.join(0.1)
    assert got == []
    got.append(scheduler.next_chunk(1))
    first.join(60)
    assert {chunk.program for chunk in got} == {
        chunk.program for chunk in make_plan(SIZES, CPU).chunks
    }
    scheduler.close()
    assert scheduler.next_chunk(0) is None
    assert scheduler.next_hint(0) is None


ANSWERS = """print(json.dumps({"rows": [], "tally": {"trials": 1}}), flush=True)"""


def test_a_worker_that_never_ends_compiling_ahead_blocks_no_sweep_and_ends_with_the_lab(
    tmp_path, monkeypatch
):
    fake_worker(tmp_path, monkeypatch, f"if 'prepare' not in message:\n    {ANSWERS}")
    with Workers(1) as workers:
        workers.expect(hints_of(tiny(samples=6000), CPU))
        plan = make_plan(SIZES, CPU)
        assert len(list(workers.run(plan))) == len(plan.chunks)
        (process,) = workers._processes
    assert process.poll() is not None


def test_a_worker_that_dies_compiling_ahead_is_one_sentence_in_the_next_sweep(
    tmp_path, monkeypatch
):
    fake_worker(tmp_path, monkeypatch, f"os._exit(1) if 'prepare' in message else {ANSWERS}")
    with Workers(1) as workers:
        workers.expect(hints_of(SIZES, CPU))
        workers.start()
        workers._processes[0].wait(60)
        with pytest.raises(SeparatrixError, match="a worker process ended unexpectedly"):
            list(workers.run(make_plan(SIZES, CPU)))
        assert workers._processes == []
        with pytest.raises(SeparatrixError, match="have ended"):
            list(workers.run(make_plan(SIZES, CPU)))


def test_what_was_compiled_ahead_is_counted_once(tmp_path, monkeypatch):
    answer = json.dumps({"prepared": {"programs": 1, "compile_seconds": 2.5}})
    fake_worker(
        tmp_path,
        monkeypatch,
        f"if 'prepare' in message:\n    print({answer!r}, flush=True)\nelse:\n    {ANSWERS}",
    )
    with sx.Lab(tmp_path / "out", workers=1) as lab:
        lab.expect(SIZES)
        end = time.monotonic() + 60
        while lab.manifest()["programs_compiled"] < 2 and time.monotonic() < end:
            time.sleep(0.01)
        assert (lab.tally.programs, lab.tally.compile_seconds) == (2, 5.0)
    assert lab.tally.programs == lab.manifest()["programs_compiled"] == 2


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": 2, "budget": 0.0}])
def test_nothing_starts_ahead_without_workers_or_when_the_budget_is_spent(tmp_path, options):
    with sx.Lab(tmp_path, **options) as lab:
        lab.start()
        lab.expect(SIZES)
        assert lab._workers is None
        assert lab._expected == []


def test_nothing_starts_ahead_on_a_gpu(tmp_path):
    with sx.Lab(tmp_path, workers=2) as lab:
        lab._device = Device("gpu")
        lab.start()
        lab.expect(SIZES)
        assert lab._workers is None


def test_a_complete_run_that_is_resumed_starts_no_worker_and_compiles_nothing(tmp_path, programs):
    with sx.Lab(tmp_path, workers=0) as lab:
        lab._in_process.programs = programs
        rows = plain_rows(lab.run(SIZES))
    with sx.Lab(tmp_path, workers=2) as lab:
        lab.start()
        lab.expect(SIZES)
        lab.expect(
            tiny(samples=6000)
        )  # a search may have been expected at a size that it did not need
        assert plain_rows(lab.run(SIZES)) == rows
        assert lab._workers is None
    assert (lab.tally.programs, lab.tally.trials) == (0, 0)
    with sx.Lab(tmp_path, workers=2) as lab:
        lab.expect(sx.Sweep(SIZES.trials + tiny(samples=6000).trials))
        assert sizes_of(lab._expected) == [8192]  # of the others nothing is missing


@pytest.mark.slow
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="a GPU needs no worker processes")
def test_rows_are_the_same_with_and_without_hints_and_nothing_is_compiled_twice(tmp_path):
    with sx.Lab(tmp_path / "plain", workers=1) as lab:
        rows = plain_rows(lab.run(SIZES))
        assert lab.tally.programs == 2
    with sx.Lab(tmp_path / "hinted", workers=2) as lab:
        lab.start()
        assert len(lab._workers._processes) == 2
        lab.expect(SIZES)
        assert plain_rows(lab.run(SIZES)) == rows
        end = time.monotonic() + 60
        while (
            lab.tally.programs < 2 and time.monotonic() < end
        ):  # a worker may say a little later what it compiled
            time.sleep(0.05)
            lab.manifest()
        assert lab.tally.programs == 2
        assert lab.tally.compile_seconds > 0
