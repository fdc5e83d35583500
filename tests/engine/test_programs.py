"""Programs: one for many trials, the same rows in every company."""

import math

import jax
import numpy as np
import pytest

import separatrix as sx
from running import TASK, measured, plain_rows, tiny
from separatrix.engine import Device, Programs, Rounding, frame_of, make_plan, policy, programs
from separatrix.engine.execute.executor import InProcess
from separatrix.engine.programs import Program
from separatrix.networks import convolutions

ROUNDING = Device("cpu").rounding


@pytest.fixture
def traced(monkeypatch):
    """The frames for which trials were traced: every program is traced exactly once, so this counts
    compilations.
    """
    seen = []
    run_trial = programs.run_trial
    monkeypatch.setattr(
        programs,
        "run_trial",
        lambda trial, words, frame, *arrays: (
            seen.append(frame) or run_trial(trial, words, frame, *arrays)
        ),
    )
    return seen


def run(sweep, with_programs, rounding=ROUNDING, batch=1):
    rows = [with_programs.run([trial], frame_of(trial, rounding), batch)[0] for trial in sweep]
    return plain_rows(rows)


def test_one_program_serves_rates_noises_seeds_and_sample_sizes(traced):
    noisy = [TASK.replace(noise=noise) for noise in (0.1, 0.3, 0.9)]
    sweep = tiny(
        noisy,
        learner=[sx.Learner(rate=rate, steps=6) for rate in (0.5, 1.0)],
        samples=[9, 12, 16, 32],
        seeds=4,
    )
    lab = sx.Lab(workers=0)
    assert len(lab.run(sweep)) == lab.tally.trials == 2 * 3 * 4 * 4
    assert lab.tally.programs == len(traced) == 1
    assert lab.manifest()["programs_compiled"] == 1
    assert lab.tally.compile_seconds > 0
    # The same values again: nothing is run. Other values: nothing is compiled.
    lab.run(sweep)
    assert lab.tally.trials == len(sweep)
    lab.run(tiny(TASK.replace(noise=0.5), samples=20))
    assert lab.tally.programs == len(traced) == 1
    # Another structure is another program.
    lab.run(tiny(TASK.replace(position="fixed"), seeds=1))
    assert lab.tally.programs == len(traced) == 2


def test_a_trial_is_the_same_alone_in_company_in_any_order_and_with_any_chunks(programs):
    sweep = tiny(samples=[12, 20], seeds=6)
    alone = run(sweep, programs)
    frame = frame_of(sweep.trials[0], ROUNDING)
    assert plain_rows(programs.run(list(sweep), frame)) == alone
    assert plain_rows(programs.run(list(reversed(sweep.trials)), frame)) == alone[::-1]
    for cut in (1, 5, 7):
        chunks = [
            programs.run(list(sweep.trials[i : i + cut]), frame) for i in range(0, len(sweep), cut)
        ]
        assert plain_rows([row for rows in chunks for row in rows]) == alone
    # A frame made from another trial of the same structure: only its sizes count.
    noisy = frame_of(sweep.trials[0].replace(task=TASK.replace(noise=2.0), seed=99), ROUNDING)
    assert plain_rows(Programs().run(list(sweep), noisy)) == alone
    # Rows are no constants: every trial has its own.
    assert len({row["loss"] for row in alone}) == len(sweep)


def test_a_plan_of_another_device_gives_the_same_rows_bit_by_bit(programs):
    sweep = tiny(samples=[12, 20], seeds=6)
    alone = {row["trial"]: row for row in run(sweep, programs)}
    for workers in (1, 3):
        plan = make_plan(sweep, Device("cpu", workers=workers, flops=1e7))
        rows = plain_rows([row for done in InProcess(programs).run(plan) for row in done.rows])
        assert {row["trial"]: row for row in rows} == alone


def test_batched_and_padded_trials_agree_with_bare_ones(programs):
    sweep = tiny(seeds=6)
    bare = run(sweep, programs, Rounding())
    frame = frame_of(sweep.trials[0], Rounding(samples=4.0, large=2.0, sizes=2.0))
    assert (frame.task.shape, frame.samples) == ((16, 16), 32)
    padded = programs.run(list(sweep), frame)
    batched = programs.run(
        list(sweep), frame, batch=4
    )  # the last batch is topped up with two copies
    # Sums run over more terms, or in another order: a few units in the last place of float32 after
    # six steps, far below 1e-5. Risks are means of comparisons with 0, which no score comes near
    # enough to be pushed over.
    for rows in (padded, batched):
        assert [row["trial"] for row in rows] == [trial.identity for trial in sweep]
        np.testing.assert_allclose(measured(plain_rows(rows)), measured(bare), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name, batch", [("CNN", 0), ("LCN", 0), ("FCN", 0), ("CNN", 5)])
def test_light_trials_get_the_same_row_in_their_larger_frame(programs, signal_trials, name, batch):
    trial = signal_trials[name]
    trial = trial.replace(learner=trial.learner.replace(batch=batch))
    small, large = (
        frame_of(trial, Rounding(samples=4.0, sizes=2.0, light=light)) for light in (0.0, math.inf)
    )
    assert (small.samples, large.samples) == (32, 2048)
    (one,), (other,) = (
        plain_rows(programs.run([trial], small)),
        plain_rows(programs.run([trial], large)),
    )
    assert one.keys() == other.keys()
    # Every probe; sums over 2016 further zeros in float32, over 20 steps.
    for key, item in one.items():
        if isinstance(item, str | None):
            assert other[key] == item
        else:
            np.testing.assert_allclose(other[key], item, rtol=1e-5, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("platform", ["cpu", "gpu"])
def test_one_padded_program_serves_task_sizes(programs, platform):
    sizes = [(4, 3), (7, 9), (12, 12)]
    sweep = tiny([sx.SignalTask(*size, 0.3) for size in sizes], samples=[12, 30], seeds=1)
    plan = make_plan(sweep, Device(platform))
    assert (plan.programs, plan.trials) == (1, 6)
    before = programs.tally.programs
    rows = run(sweep, programs, plan.device.rounding)
    assert programs.tally.programs <= before + 1
    bare = run(tiny(seeds=1), programs, Rounding())
    np.testing.assert_allclose(measured(rows[:1]), measured(bare), atol=1e-5, rtol=0)
    assert len({row["loss"] for row in rows}) == 6


def test_statuses_are_told_apart(programs):
    def status(**learner):
        row = run(
            tiny(learner=sx.Learner(**{"rate": 1.0, "steps": 6} | learner), seeds=1), programs
        )[0]
        assert len(row["trace.step"]) == len(row["trace.loss"])
        return row["status"], row["steps"], row["trace.step"]

    assert status() == ("exhausted", 6, [0, 3, 6])
    assert status(stop=sx.Stop(target=1.0)) == ("reached", 0, [0])
    assert status(stop=sx.Stop(ceiling=0.0, target=-1.0)) == ("diverged", 0, [0])
    assert status(rate=3e38)[:2] in [("diverged", 3), ("non-finite", 3)]


def test_light_programs_have_options_of_their_own_and_heavy_ones_none(monkeypatch):
    monkeypatch.setattr(policy, "LIGHT_PROGRAM", {"cpu": 100.0})
    monkeypatch.setattr(policy, "LIGHT_PROGRAM_OPTIONS", {"cpu": {"quick": True}})
    monkeypatch.setattr(policy, "COMPILER_OPTIONS", {"cpu": {"always": 1, "quick": False}})
    assert programs._options("cpu", 99.0) == {"always": 1, "quick": True}
    assert programs._options("cpu", 100.0) == {"always": 1, "quick": False}
    assert programs._options("gpu", 1.0) == {}


def test_a_batch_is_light_only_as_a_whole(monkeypatch):
    asked = []
    monkeypatch.setattr(programs, "compiled", lambda lowered, operations: asked.append(operations))
    trial = sx.Trial(sx.SignalTask(2, 3, 0.3), sx.CNN(1, 1), sx.Learner(0.1, 2), samples=4)
    programs._compile(trial, trial, 1)
    programs._compile(trial, trial, 3)
    one, three = asked
    assert one > 0
    assert three == 3 * one


def test_a_heavy_trial_alone_has_a_convolution_of_its_own(monkeypatch):
    called = []
    monkeypatch.setattr(programs, "compiled", lambda lowered, operations: None)  # tracing is enough

    def other(x, filters, stride):
        called.append(x.shape)
        return convolutions.columns(x, filters, stride)

    monkeypatch.setitem(convolutions.IMPLEMENTATIONS, "other", other)
    monkeypatch.setitem(convolutions.FASTEST_SINGLE, jax.default_backend(), "other")
    network = sx.CNN(3, 2, depth=2, outputs=10, border="wrap")
    trial = sx.Trial(
        sx.ImageTask("embedded-digits", 10),
        network,
        sx.Learner(0.1, 1, oracle="online", batch=2),
        measure=sx.Measure(test=2),
    )
    for light, batch, wanted in ((0.0, 1, True), (0.0, 2, False), (1e30, 1, False)):
        monkeypatch.setattr(policy, "LIGHT_PROGRAM", {jax.default_backend(): light})
        monkeypatch.setattr(policy, "LIGHT_PROGRAM_OPTIONS", {})
        called.clear()
        programs._compile(trial, trial, batch)
        assert bool(called) == wanted


def test_a_program_is_made_once_and_one_that_failed_is_tried_again(monkeypatch):
    trial, programs = tiny().trials[0], Programs()
    calls = []

    def compile_it(*given):
        calls.append(given)
        if len(calls) == 1:
            raise ValueError("no")
        return made

    made = Program(print, kernels=False)
    monkeypatch.setattr("separatrix.engine.programs._compile", compile_it)
    with pytest.raises(ValueError, match="no"):
        programs.have(trial, trial)
    assert [programs.have(trial, trial).programs for _ in range(2)] == [1, 0]
    assert programs._program(trial, trial, 1) is made
    assert (len(calls), programs.tally.programs) == (2, 0)  # `have` has said what it cost


class CannotCapture:
    """A lowered program whose compiled form fails as on a GPU, unless nothing is captured."""

    def __init__(self, text, at_compile=False):
        self.text, self.at_compile, self.asked = text, at_compile, []

    def compile(self, compiler_options=None):
        options = compiler_options or {}
        self.asked.append(options)
        captures = options.get("xla_gpu_enable_command_buffer") != ""

        def fail(*_):
            raise jax.errors.JaxRuntimeError(self.text)

        if captures and self.at_compile:
            fail()
        return fail if captures else lambda *inputs: "result"


CAPTURE = (
    "INTERNAL: Failed to trace command buffer: cublasLtMatmul returned CUBLAS_STATUS_NOT_SUPPORTED"
)


def test_a_program_that_cannot_be_captured_is_compiled_without_command_buffers(monkeypatch):
    lowered = CannotCapture(CAPTURE, at_compile=True)
    assert programs.compiled(lowered, math.inf)() == "result"
    assert [options.get("xla_gpu_enable_command_buffer") for options in lowered.asked] == [None, ""]
    with pytest.raises(jax.errors.JaxRuntimeError):
        programs.compiled(CannotCapture("INTERNAL: ptxas failed", at_compile=True), math.inf)


@pytest.mark.parametrize(
    "text, goes_on", [(CAPTURE, True), ("INTERNAL: misaligned address", False)]
)
def test_a_program_that_fails_when_it_runs_is_compiled_once_more(monkeypatch, text, goes_on):
    real, made = programs._compile, []

    def compile_it(*given):
        good = real(*given)
        lowered = CannotCapture(text)
        made.append(lowered)
        return Program(
            lowered.compile(), False, lambda: (lowered.compile(policy.NO_COMMAND_BUFFERS), good)[1]
        )

    monkeypatch.setattr(programs, "_compile", compile_it)
    mine, trials = Programs(), list(tiny(seeds=2))
    if not goes_on:
        with pytest.raises(jax.errors.JaxRuntimeError, match="misaligned"):
            mine.run(trials, trials[0])
        return
    assert len(mine.run(trials, trials[0])) == 2
    assert len(made) == 1
    assert len(made[0].asked) == 2, "the second trial uses the program that works"
    assert mine.tally.programs == 2
