"""Worker processes: what fails is one sentence, and time limits hold."""

import math

import pytest

import separatrix as sx
from running import fake_worker, tiny
from separatrix.engine import Device, make_plan
from separatrix.engine.execute.local import Workers, worker_environment
from separatrix.errors import SeparatrixError


@pytest.mark.parametrize(
    "body, expected",
    [
        ("sys.exit(3)", "a worker process ended unexpectedly"),
        ("os.kill(os.getpid(), 9)", "a worker process ended unexpectedly"),
        # Killed in the middle of an answer.
        (
            """print('{"rows": [{"trial": "a', end="", flush=True); os._exit(1)""",
            "a worker process ended unexpectedly",
        ),
        (
            """print(json.dumps({"error": "it does not fit", "tally": {}}), flush=True)""",
            "it does not fit",
        ),
    ],
)
def test_a_worker_that_fails_is_one_sentence_and_not_a_hang(tmp_path, monkeypatch, body, expected):
    fake_worker(tmp_path, monkeypatch, body)
    with sx.Lab(tmp_path / "out", workers=2) as lab:
        with pytest.raises(SeparatrixError, match=expected):
            lab.run(tiny(seeds=6))
        assert lab._workers is None
        assert not lab.complete


def test_one_worker_that_dies_ends_the_others(tmp_path, monkeypatch):
    fake_worker(
        tmp_path,
        monkeypatch,
        "os._exit(1) if os.environ['SEPARATRIX_WORKER'] == '1' else time.sleep(600)",
    )
    with Workers(2) as workers:
        # Two programs: a worker is given no program that the other one has.
        source = workers.run(make_plan(tiny(samples=[12, 3000], seeds=6), Device("cpu", workers=2)))
        with pytest.raises(SeparatrixError, match="ended unexpectedly"):
            next(iter(source))
        assert workers._processes == []


def test_workers_past_their_time_finish_one_chunk_and_are_not_waited_for_with_the_next(
    tmp_path, monkeypatch
):
    answer = """print(json.dumps({"rows": [], "tally": {}}), flush=True)"""
    fake_worker(
        tmp_path, monkeypatch, f"time.sleep(0.2)\n{answer}\nnext(sys.stdin)\ntime.sleep(600)"
    )
    plan = make_plan(tiny(seeds=3), Device("cpu", workers=100))
    assert len(plan.chunks) == 3
    with Workers(1) as workers:
        assert len(list(workers.run(plan, until=0.0))) == 1
        assert workers._processes == []


@pytest.mark.parametrize("end", [1e300, math.inf])
def test_workers_with_all_the_time_in_the_world_finish(tmp_path, monkeypatch, end):
    fake_worker(
        tmp_path, monkeypatch, """print(json.dumps({"rows": [], "tally": {}}), flush=True)"""
    )
    plan = make_plan(tiny(seeds=3), Device("cpu", workers=100))
    with Workers(1) as workers:
        assert len(list(workers.run(plan, end))) == 3


def test_a_worker_has_one_thread_and_keeps_the_users_flags():
    made = worker_environment({"XLA_FLAGS": "--xla_dump_to=x", "HOME": "h"})
    assert made["XLA_FLAGS"].startswith("--xla_dump_to=x ")
    assert made["HOME"] == "h"
    assert made["OMP_NUM_THREADS"] == made["OPENBLAS_NUM_THREADS"] == "1"
    assert "HOME" not in worker_environment({})
