"""Estimates of time and memory: the fit, the file it is kept in, and that no row depends on it."""

import dataclasses
import json

import numpy as np
import pytest

import separatrix as sx
from separatrix.engine import Device, cost_model, cost_of, make_plan
from separatrix.engine import programs as compiled
from separatrix.engine.cost_model import (
    ASSUMED,
    CaseTime,
    CostModel,
    cases,
    find_cost_model,
    fit_cost_model,
    keep_cost_model,
)

TRIAL = sx.Trial(
    sx.SignalTask(5, 3, 0.3), sx.LCN(1, 2), sx.Learner(1.0, 6), 100, measure=sx.Measure(test=64)
)
MODEL = CostModel(1e-10, 1e-5, 3.0, 7.0, measured=True)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "cache"))


def plan_of(trial, **device):
    return make_plan(sx.Sweep((trial,)), Device("cpu", **device))


# What grows


@pytest.mark.parametrize(
    "larger",
    [
        TRIAL.replace(samples=200),
        TRIAL.replace(learner=TRIAL.learner.replace(steps=7)),
        TRIAL.replace(network=TRIAL.network.replace(width=3)),
        TRIAL.replace(measure=TRIAL.measure.replace(test=128)),
        TRIAL.replace(measure=TRIAL.measure.replace(times=2)),
    ],
)
def test_time_and_memory_grow_with_every_size(larger):
    small, large = cost_of(TRIAL), cost_of(larger)
    assert large.bytes >= small.bytes
    for model in ASSUMED.values():
        assert model.call(large.flops, larger.steps) > model.call(small.flops, TRIAL.steps)


def test_a_task_whose_data_is_missing_can_be_planned():
    class Lost(sx.SignalTask):
        def arrays(self):
            raise sx.SeparatrixError("no data")

    assert plan_of(TRIAL.replace(task=Lost(5, 3, 0.3))).seconds == plan_of(TRIAL).seconds


@pytest.mark.parametrize("kind", ["CNN, many rows", "CNN, fresh rows", "FCN, wide"])
def test_memory_is_what_the_compiler_says_within_a_factor_of_three(kind):
    trial = cases()[kind]
    sizes = compiled._compile(trial, trial, 1).call.memory_analysis()
    truth = sizes.temp_size_in_bytes + sizes.argument_size_in_bytes + sizes.output_size_in_bytes
    assert 1 / 1.5 < cost_of(trial).bytes / truth < 3.0


# The fit


def test_a_fit_finds_the_model_that_made_the_times():
    # Times of other machines, up to 8 times slower and faster, measured to 2 %.
    rng = np.random.default_rng(0)
    for _ in range(20):
        per_flop, per_step = np.exp(rng.uniform(-2, 2, 2)) * (3e-11, 2e-5)
        truth = CostModel(per_flop, per_step, 2.5, 5.0)
        times = [
            CaseTime(kind, cost_of(trial).flops, trial.steps, 2.5 + noise, seconds * (1 + noise))
            for kind, trial in cases().items()
            for seconds in [truth.call(cost_of(trial).flops, trial.steps)]
            for noise in [0.02 * rng.standard_normal()]
        ]
        model = fit_cost_model(times, per_run=5.0)
        assert model.measured
        assert model.per_program == pytest.approx(2.5, abs=0.1)
        for case in times:
            assert model.call(case.flops, case.steps) == pytest.approx(case.running, rel=0.1)


def test_the_cases_tell_steps_and_operations_apart():
    work = np.array([(cost_of(trial).flops, trial.steps) for trial in cases().values()])
    assumed = work * (ASSUMED["cpu"].per_flop, ASSUMED["cpu"].per_step)
    share = assumed[:, 0] / assumed.sum(1)
    assert share.min() < 0.2
    assert share.max() > 0.8


def test_a_fit_never_has_negative_seconds():
    model = fit_cost_model([CaseTime("a", 1e9, 1, 1.0, 1.0), CaseTime("b", 2e9, 9, 1.0, 0.1)], 0.0)
    assert min(model.per_flop, model.per_step) >= 0


def test_processes_measure_at_once_and_their_median_is_fitted(monkeypatch):
    script = (
        "import json, os; n = int(os.environ['SEPARATRIX_WORKER']);"
        "print(json.dumps({'importing': 1.0 + n, 'times': ["
        "['a', 1e9, 10, 2.0 + n, 1.01 + n], ['b', 1e6, 1000, 2.0 + n, 0.101]]}))"
    )
    popen = cost_model.subprocess.Popen

    def stand_in(command, **options):
        return popen([command[0], "-c", script], **options)

    monkeypatch.setattr(cost_model.subprocess, "Popen", stand_in)
    model, times = cost_model.calibrate("cpu", workers=3)
    assert [case.running for case in times] == pytest.approx([2.01, 0.101])
    assert model.per_program == pytest.approx(3.0)
    assert model.per_run == pytest.approx(2 * 2.0 + 3.0)
    script = "raise SystemExit(3)"
    with pytest.raises(sx.SeparatrixError, match="`separatrix doctor` may say why"):
        cost_model.calibrate("cpu", workers=2)


# The file


def test_a_kept_model_is_found_again_for_as_many_workers():
    assert find_cost_model("cpu", 2) == ASSUMED["cpu"]
    file = keep_cost_model(MODEL, 2)
    assert find_cost_model("cpu", 2) == MODEL
    assert find_cost_model("cpu", 3) == ASSUMED["cpu"]
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert sx.engine.find_device(workers=2).cost_model == MODEL


BROKEN = {
    "not JSON": lambda stored: "{",
    "empty": lambda stored: "",
    "a list": lambda stored: "[]",
    "another compiler": lambda stored: json.dumps(stored | {"jax": "0.0"}),
    "another machine": lambda stored: json.dumps(stored | {"device": "other"}),
    "another format": lambda stored: json.dumps(stored | {"format": 99}),
    "negative": lambda stored: json.dumps(stored | {"per_step": -1.0}),
    "not finite": lambda stored: json.dumps(stored | {"per_run": float("nan")}),
    "a word": lambda stored: json.dumps(stored | {"per_step": "1"}),
    "all zero": lambda stored: json.dumps(
        stored | {"per_flop": 0, "per_step": 0, "per_program": 0, "per_run": 0}
    ),
    "a missing number": lambda stored: json.dumps(
        {name: value for name, value in stored.items() if name != "per_flop"}
    ),
}


@pytest.mark.parametrize("spoil", BROKEN.values(), ids=BROKEN)
def test_a_damaged_or_foreign_file_counts_as_none(spoil):
    file = keep_cost_model(MODEL, 2)
    file.write_text(spoil(json.loads(file.read_text())))
    assert find_cost_model("cpu", 2) == ASSUMED["cpu"]


def test_a_cache_that_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "file"))
    with pytest.raises(sx.SeparatrixError, match="set SEPARATRIX_CACHE"):
        keep_cost_model(MODEL, 2)
    assert find_cost_model("cpu", 2) == ASSUMED["cpu"]


# Plans


def test_no_frame_chunk_or_identity_depends_on_the_cost_model():
    sweep = sx.Sweep.grid(
        sx.SignalTask(5, 3, 0.3),
        [sx.LCN(1, 2), sx.FCN(5)],
        sx.Learner(1.0, 6),
        samples=[9, 200, 3000],
        seeds=40,
    )
    slow = CostModel(1e-6, 1.0, 900.0, 1e3, measured=True)
    for kind in ("cpu", "gpu"):
        plan, other = (
            make_plan(sweep, Device(kind, workers=2, cost_model=model))
            for model in (ASSUMED["cpu"], slow)
        )
        assert plan.chunks == other.chunks
        assert [chunk.message() for chunk in plan.chunks] == [
            chunk.message() for chunk in other.chunks
        ]
        assert other.seconds > 10 * plan.seconds


def test_the_time_of_a_plan_is_shared_by_workers_but_for_its_longest_chunk():
    model = CostModel(per_flop=0.0, per_step=1.0, per_program=10.0, per_run=3.0)
    sweep = sx.Sweep.grid(
        sx.SignalTask(5, 3, 0.3), sx.LCN(1, 2), sx.Learner(1.0, 1), samples=9, seeds=100
    )
    plans = [
        make_plan(sweep, Device("cpu", workers=workers, cost_model=model)) for workers in (1, 2, 50)
    ]
    assert [plan.busy for plan in plans] == [110.0, max(55.0, 10.0 + 50.0), 12.0]
    assert [plan.seconds - plan.busy for plan in plans] == [3.0] * 3
    batched = make_plan(sweep, Device("gpu", cost_model=model))
    assert batched.busy == 10.0 + 2  # two batches of 64
    done = {trial.identity for trial in sweep}
    assert make_plan(sweep, Device("cpu", cost_model=model), done).busy == 0.0


def test_trials_that_may_stop_early_make_an_estimate_an_upper_end():
    for stop, early in (
        (sx.Stop(), False),
        (sx.Stop(target=0.1), True),
        (sx.Stop(plateau=0.1), True),
    ):
        plan = plan_of(TRIAL.replace(learner=TRIAL.learner.replace(stop=stop)))
        assert plan.at_most is early
        assert plan.describe()["at_most"] is early


def test_calibrated_plans_say_so():
    device = Device("cpu", cost_model=dataclasses.replace(MODEL, measured=True))
    assert make_plan(sx.Sweep((TRIAL,)), device).describe()["calibrated"] is True
    assert plan_of(TRIAL).describe()["calibrated"] is False
