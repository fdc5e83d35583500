"""The laboratory: budgets, interruptions, progress, and where sweeps run."""

import os
import signal
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from running import LEARNER, MEASURE, NETWORK, measured, plain_rows, tiny
from separatrix.engine import Device, find_device
from separatrix.engine.execute import local
from separatrix.errors import ParameterError, SeparatrixError


def lab_here(programs, folder=None, **options):
    lab = sx.Lab(folder, workers=0, **options)
    lab._in_process.programs = programs
    # Chunks of one trial: there is a moment after each.
    lab._device = Device("cpu", workers=100)
    return lab


def test_progress_starts_at_what_is_done_and_ends_at_all(programs):
    seen = []
    lab = lab_here(programs, progress=lambda *args: seen.append(args))
    lab.run(tiny(seeds=2), "first")
    assert seen == [("first", 0, 2), ("first", 1, 2), ("first", 2, 2)]
    seen.clear()
    lab.run(tiny(seeds=3), "second")
    assert seen == [("second", 2, 3), ("second", 3, 3)]
    seen.clear()
    lab.run(tiny(seeds=3), "third")
    assert seen == []


def test_a_budget_starts_no_new_chunk_and_the_rest_follows_later(tmp_path, programs):
    lab = lab_here(programs, tmp_path, budget=3600.0)

    def show(what, done, total):
        if done == 2:
            lab.budget = 0.0

    lab.progress = show
    some = lab.run(tiny(seeds=5))
    assert len(some) == lab.tally.trials == 2
    assert not lab.complete
    assert not lab.manifest()["complete"]
    spent = lab_here(programs, tmp_path, budget=0.0)
    assert plain_rows(spent.run(tiny(seeds=5))) == plain_rows(some)
    assert (spent.tally.trials, spent.complete) == (0, False)
    rest = lab_here(programs, tmp_path)
    assert plain_rows(rest.run(tiny(seeds=5))) == plain_rows(lab_here(programs).run(tiny(seeds=5)))
    assert (rest.tally.trials, rest.complete) == (3, True)


def test_ctrl_c_is_one_sentence_and_keeps_what_is_done(tmp_path, programs):
    def interrupt(what, done, total):
        if done == 3:
            raise KeyboardInterrupt

    for folder, words in ((tmp_path, "kept; the same command goes on from there"), (None, "done")):
        lab = lab_here(programs, folder, progress=interrupt)
        with pytest.raises(SeparatrixError) as error:
            lab.run(tiny(seeds=5))
        assert str(error.value) == f"interrupted: 3 of 5 trials of this sweep are {words}"
        assert not lab.complete
    rest = lab_here(programs, tmp_path)
    rest.run(tiny(seeds=5))
    assert rest.tally.trials == 2


@pytest.mark.parametrize("workers", [-1, -5])
def test_a_negative_number_of_workers_is_one_sentence(workers):
    with pytest.raises(ParameterError, match=r"the `workers` of Lab must be an integer >= 0"):
        sx.Lab(workers=workers)


def test_the_device_of_this_machine_has_a_worker_a_core():
    device = find_device()
    assert device.platform == jax.devices()[0].platform
    assert device.workers >= 1
    assert find_device(workers=3).workers in (1, 3)


class Here(sx.Task):
    """A task of this test module, which a worker can import."""

    bits: int = sx.static(low=1)

    @property
    def shape(self):
        return (self.bits, 1)

    def draw(self, key, rows, truth=None, within=None):
        x = jnp.where(jax.random.bernoulli(key, shape=(rows, self.bits, 1)), 1.0, -1.0)
        return sx.Sample(x, jnp.sign(x.sum((1, 2)) + 0.5))


def test_a_task_that_no_worker_could_import_runs_in_this_process(monkeypatch):
    class Inside(Here):
        """Not importable."""

    monkeypatch.setattr(local.Workers, "run", lambda *_: pytest.fail("went to a worker"))
    lab = sx.Lab(workers=1)
    assert len(lab.run(sx.Sweep.grid(Inside(3), NETWORK, LEARNER, 12, 1, MEASURE))) == 1


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().split(")")[-1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="a GPU needs no worker processes")
def test_workers_give_the_same_rows_are_kept_between_sweeps_and_end_with_the_lab(
    tmp_path, programs
):
    sweep = tiny(seeds=5)
    with sx.Lab(tmp_path / "two", workers=2) as lab:
        first = lab.run(sweep)
        pids = [process.pid for process in lab._workers._processes]
        assert len(pids) == 2
        lab.run(tiny(seeds=7))
        # A finished sweep leaves its workers, with their programs, to the next one.
        assert [process.pid for process in lab._workers._processes] == pids
        assert lab.tally.trials == 7
        assert 1 <= lab.tally.programs <= 2
        assert all(alive(pid) for pid in pids)
        # A worker that is killed while it works: one sentence, not a hang, and what was finished is
        # kept.
        lab.progress = lambda what, done, total: (
            os.kill(pids[0], signal.SIGKILL) if done == 7 else None
        )
        with pytest.raises(SeparatrixError, match="a worker process ended unexpectedly"):
            lab.run(tiny(seeds=300))
        assert not any(alive(pid) for pid in pids)
        assert 7 <= len(lab.ledger.done()) < 300
    # One worker, in another order: bit by bit the same.
    with sx.Lab(tmp_path / "one", workers=1) as lab:
        backwards = lab.run(sx.Sweep(sweep.trials[::-1]))
        assert lab.tally.programs == 1
    assert plain_rows(backwards)[::-1] == plain_rows(first)
    # This process has more threads and other flags: not the same program, so only nearly the same
    # (float32 sums in another order).
    here = lab_here(programs).run(sweep)
    np.testing.assert_allclose(
        measured(plain_rows(here)), measured(plain_rows(first)), atol=1e-5, rtol=0
    )
