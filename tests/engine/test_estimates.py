"""Estimates of time and memory: what is counted, the fit of a speed, the file it is kept in, and
that no row depends on it.
"""

import dataclasses
import json

import numpy as np
import pytest

import separatrix as sx
from separatrix.engine import (
    Device,
    Making,
    Speed,
    Work,
    bytes_of,
    find_speed,
    fit_speed,
    keep_speed,
    make_plan,
    making_of,
    work_of,
)
from separatrix.engine import programs as compiled
from separatrix.engine.calibration import Calibration, Timed, cases
from separatrix.engine.speed import ASSUMED, speed_file

TRIAL = sx.Trial(
    sx.SignalTask(5, 3, 0.3), sx.LCN(1, 2), sx.Learner(1.0, 6), 100, measure=sx.Measure(test=64)
)
ONLINE = TRIAL.replace(samples=0, learner=sx.Learner(1.0, 6, oracle="online", batch=4))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "cache"))


# What is counted


def test_counts_are_those_of_a_small_trial_by_hand():
    work = work_of(TRIAL)
    gradients = 6 + 2  # steps, and measurements at steps 0 and 6
    assert work.calls == 1
    assert work.rounds == gradients * 2  # a hidden layer and the readout
    assert work.drawn == (100 + 64) * 15
    assert work.copied == 0
    assert work.read == (100 * gradients + 64 * 2) * 15
    assert work.activated == (100 * gradients + 64) * 10
    assert work.updated == 6 * TRIAL.network.parameter_count((5, 3))
    assert work.windowed == (2 * 100 * gradients + 64 * 2) * TRIAL.network.flops((5, 3))
    assert (work.full, work.convolved, work.shifted) == (0, 0, 0)
    assert work_of(ONLINE).drawn == (4 * gradients + 64) * 15


def test_each_kind_of_network_has_its_own_products():
    used = {
        kind: {name for name in ("full", "windowed", "convolved") if getattr(work_of(trial), name)}
        for kind, trial in cases()
    }
    assert {kind: names for kind, names in used.items() if len(names) != 1} == {}
    assert used["CNN, deep, images"] == {"convolved"}
    assert used["FCN, wide"] == {"full"}
    assert used["LCN, few rows"] == {"windowed"}


def test_the_cases_show_every_quantity():
    for count in (work_of, making_of):
        table = np.array([dataclasses.astuple(count(trial)) for _, trial in cases()])
        assert np.all(table.max(0) > 0)
        assert (
            np.linalg.matrix_rank(table / table.max(0)) == table.shape[1]
        )  # so that a fit can tell them apart


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
    for speed in ASSUMED.values():
        assert speed.running(work_of(larger)) > speed.running(work_of(TRIAL))
    assert bytes_of(larger) >= bytes_of(TRIAL)


def test_sharpness_costs_products_memory_and_compiling():
    trial = dict(cases())["CNN, sharpness"]
    plain = trial.replace(measure=trial.measure.replace(probes=("regression", "activation")))
    assert work_of(trial).windowed > work_of(plain).windowed
    assert bytes_of(trial) > bytes_of(plain)
    assert (making_of(trial).spectra, making_of(plain).spectra) == (1, 0)


def test_trials_of_a_batch_share_rounds_and_nothing_else():
    one, four = (dataclasses.asdict(work_of(TRIAL, batch)) for batch in (1, 4))
    for name in one:
        assert four[name] == one[name] * (1 if name in ("calls", "rounds") else 4)


def test_a_task_whose_data_is_missing_can_be_planned():
    class Lost(sx.SignalTask):
        def arrays(self):
            raise sx.SeparatrixError("no data")

    trial = TRIAL.replace(task=Lost(5, 3, 0.3))
    assert work_of(trial).copied == work_of(TRIAL).drawn
    assert bytes_of(trial) == bytes_of(TRIAL)
    assert making_of(trial).drawing > 0


@pytest.mark.parametrize("kind", ["CNN, many rows", "CNN, patterns online", "LCN, digits online"])
def test_memory_is_what_the_compiler_says_within_a_half(kind):
    trial = dict(cases())[kind]
    found = compiled._compile(trial, trial, 1).call.memory_analysis()
    truth = found.temp_size_in_bytes + found.argument_size_in_bytes + found.output_size_in_bytes
    assert 1 / 1.5 < bytes_of(trial) / truth < 1.5


# The fit


@pytest.mark.parametrize("count", [work_of, making_of])
def test_a_fit_finds_the_speed_that_made_the_times(count):
    # Times of another machine, up to 8 times slower and faster in each quantity, measured to 2 %.
    prior = ASSUMED["cpu"].work if count is work_of else ASSUMED["cpu"].making
    rng = np.random.default_rng(0)
    truth = np.array(dataclasses.astuple(prior)) * np.exp(
        rng.uniform(-2, 2, len(dataclasses.astuple(prior)))
    )
    counts = [count(trial) for _, trial in cases()]
    exact = np.array([dataclasses.astuple(each) for each in counts]) @ truth
    found = fit_speed(counts, exact * np.exp(0.02 * rng.standard_normal(exact.size)), prior)
    predicted = np.array([dataclasses.astuple(each) for each in counts]) @ np.array(
        dataclasses.astuple(found)
    )
    np.testing.assert_allclose(
        predicted, exact, rtol=0.1
    )  # five times the noise, and what the prior pulls
    exactly = fit_speed(counts, exact, prior)
    share = np.array([dataclasses.astuple(each) for each in counts]) * truth / exact[:, None]
    large = share.max(0) > 0.3  # a quantity that makes up a third of some time is well determined
    assert large.sum() >= 2
    np.testing.assert_allclose(
        np.array(dataclasses.astuple(exactly))[large], truth[large], rtol=0.15
    )


def test_a_fit_never_has_negative_seconds_and_keeps_what_nothing_was_said_about():
    prior = Making(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
    found = fit_speed([Making(1.0), Making(1.0, layers=1.0)], [4.0, 3.0], prior)
    assert min(dataclasses.astuple(found)) >= 0
    assert dataclasses.astuple(found)[2:] == pytest.approx((3.0, 4.0, 5.0, 6.0, 7.0))


@pytest.mark.parametrize("seconds", [[1.0], [1.0, 0.0], [1.0, float("nan")]])
def test_a_fit_refuses_times_that_are_none(seconds):
    with pytest.raises(sx.SeparatrixError, match="one positive time for each of 2"):
        fit_speed([Making(), Making(layers=1.0)], seconds, ASSUMED["cpu"].making)


# The file


def test_a_kept_speed_is_found_again_for_as_many_workers():
    speed = Speed(Work(calls=0.25, drawn=1e-9), Making(3.0, 0.5), start=7.0, measured=True)
    assert find_speed("cpu", 2) == ASSUMED["cpu"]
    file = keep_speed(speed, 2, times=[])
    assert find_speed("cpu", 2) == speed
    assert find_speed("cpu", 3) == ASSUMED["cpu"]
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    assert sx.engine.find_device(workers=2).speed == speed


def _broken():
    yield "not JSON", lambda stored: "{"
    yield "empty", lambda stored: ""
    yield "a list", lambda stored: "[]"
    yield "another compiler", lambda stored: json.dumps(stored | {"jax": "0.0"})
    yield "another machine", lambda stored: json.dumps(stored | {"device": "other"})
    yield "another format", lambda stored: json.dumps(stored | {"format": 99})
    yield "negative", lambda stored: json.dumps(stored | {"work": stored["work"] | {"calls": -1.0}})
    yield "not finite", lambda stored: json.dumps(stored | {"start": float("nan")})
    yield "a word", lambda stored: json.dumps(stored | {"work": stored["work"] | {"calls": "1"}})
    yield (
        "an unknown quantity",
        lambda stored: json.dumps(stored | {"work": stored["work"] | {"else": 1.0}}),
    )
    yield (
        "a missing part",
        lambda stored: json.dumps(
            {name: part for name, part in stored.items() if name != "making"}
        ),
    )


@pytest.mark.parametrize(
    "spoil", [each for _, each in _broken()], ids=[name for name, _ in _broken()]
)
def test_a_damaged_or_foreign_file_counts_as_none(spoil):
    keep_speed(Speed(Work(calls=0.25), Making(3.0)), 2)
    file = speed_file(2)
    file.write_text(spoil(json.loads(file.read_text())))
    assert find_speed("cpu", 2) == ASSUMED["cpu"]


def test_a_cache_that_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "file"))
    with pytest.raises(sx.SeparatrixError, match="set SEPARATRIX_CACHE"):
        keep_speed(Speed(Work(), Making()), 2)
    assert find_speed("cpu", 2) == ASSUMED["cpu"]


# Plans


def test_no_frame_chunk_or_identity_depends_on_the_speed():
    sweep = sx.Sweep.grid(
        sx.SignalTask(5, 3, 0.3),
        [sx.LCN(1, 2), sx.FCN(5)],
        sx.Learner(1.0, 6),
        samples=[9, 200, 3000],
        seeds=40,
    )
    slow = Speed(ASSUMED["cpu"].work.times(1e4), Making(900.0), 1e3, measured=True)
    for kind in ("cpu", "gpu"):
        plan, other = (
            make_plan(sweep, Device(kind, workers=2, speed=speed))
            for speed in (ASSUMED["cpu"], slow)
        )
        assert plan.chunks == other.chunks
        assert [chunk.message() for chunk in plan.chunks] == [
            chunk.message() for chunk in other.chunks
        ]
        assert other.seconds > 10 * plan.seconds


def test_the_time_of_a_plan_is_shared_by_workers_but_for_its_longest_chunk():
    speed = Speed(Work(calls=1.0), Making(10.0), start=3.0)
    sweep = sx.Sweep.grid(
        sx.SignalTask(5, 3, 0.3), sx.LCN(1, 2), sx.Learner(1.0, 6), samples=9, seeds=100
    )
    plans = [
        make_plan(sweep, Device("cpu", workers=workers, speed=speed)) for workers in (1, 2, 50)
    ]
    assert [plan.busy for plan in plans] == [110.0, max(55.0, 10.0 + 50.0), 12.0]
    assert [plan.seconds - plan.busy for plan in plans] == [3.0] * 3
    batched = make_plan(sweep, Device("gpu", speed=speed))
    assert batched.busy == 10.0 + 2  # two batches of 64
    assert (
        make_plan(sweep, Device("cpu", speed=speed), {trial.identity for trial in sweep}).busy
        == 0.0
    )


def test_trials_that_may_stop_early_make_an_estimate_an_upper_end():
    for stop, early in (
        (sx.Stop(), False),
        (sx.Stop(target=0.1), True),
        (sx.Stop(plateau=0.1), True),
    ):
        plan = make_plan(
            sx.Sweep((TRIAL.replace(learner=TRIAL.learner.replace(stop=stop)),)), Device("cpu")
        )
        assert plan.at_most is early
        assert plan.describe()["at_most"] is early


def test_a_calibration_shows_each_case_beside_its_prediction():
    times = tuple(Timed(kind, trial.learner.steps, 2.0, 0.1) for kind, trial in cases())
    rows = Calibration(ASSUMED["cpu"], times, batch=1).rows()
    assert len(rows) == len(cases())
    first = cases()[0][1]
    assert rows[0]["predicted"] == ASSUMED["cpu"].running(work_of(first))
    assert rows[0]["ratio"] == pytest.approx(rows[0]["predicted"] / 0.1)
    assert rows[0]["compile_ratio"] == pytest.approx(
        ASSUMED["cpu"].compiling(making_of(first)) / 2.0
    )
