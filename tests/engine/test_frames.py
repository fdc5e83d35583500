"""Frames: sizes rounded up, the structure of programs, and the cost of trials."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import separatrix as sx
from running import LEARNER, MEASURE, NETWORK, TASK, tiny
from separatrix.engine import Device, Rounding, Sweep, cost_of, frame_of, make_plan, structure
from separatrix.engine.frames import framed

CPU, GPU = Device("cpu", workers=2), Device("gpu")


@given(
    st.integers(1, 100_000),
    st.integers(1, 100_000),
    st.sampled_from([1.0, 2.0, 4.0]),
    st.sampled_from([1.0, 2.0, 4.0]),
)
def test_rounding_grows_keeps_order_and_is_done_once(a, b, ratio, large):
    rounding = Rounding(samples=ratio, large=large, sizes=ratio)
    for up in (rounding.samples_up, rounding.size_up):
        assert up(a) >= a
        assert up(up(a)) == up(a)
        assert (up(a) <= up(b)) or a > b
    if ratio == large == 1.0:
        assert rounding.samples_up(a) == rounding.size_up(a) == a


sizes = st.integers(1, 40)


trials = st.builds(
    lambda patches, dimension, noise, network, rate, samples, seed: sx.Trial(
        sx.SignalTask(patches, dimension, noise),
        network,
        sx.Learner(rate=rate, steps=5),
        samples,
        seed,
    ),
    sizes,
    sizes,
    st.floats(0.01, 2.0),
    st.one_of(
        st.builds(sx.FCN, sizes),
        st.builds(lambda width: sx.CNN(1, width), sizes),
        st.builds(lambda width: sx.LCN(1, width), sizes),
    ),
    st.floats(0.01, 10.0),
    st.integers(1, 5000),
    st.integers(0, 10**6),
)


@settings(max_examples=40)
@given(trials, st.sampled_from([CPU, GPU]))
def test_frames_are_at_least_as_large_and_depend_on_the_trial_alone(trial, device):
    frame = frame_of(trial, device.rounding)
    assert frame.samples >= trial.samples
    for part in ("task", "network"):
        small, large = getattr(trial, part).sizes(), getattr(frame, part).sizes()
        assert all(large[name] >= count for name, count in small.items())
    # Values and seeds do not shape a program: neither its sizes nor its structure.
    other = trial.replace(
        seed=trial.seed + 1,
        task=trial.task.replace(noise=3.0),
        learner=trial.learner.replace(rate=0.5),
    )
    twin = frame_of(other, device.rounding)
    assert structure(twin) == structure(frame)
    assert (twin.samples, twin.task.sizes(), twin.network.sizes()) == (
        frame.samples,
        frame.task.sizes(),
        frame.network.sizes(),
    )
    assert structure(frame_of(frame, device.rounding)) == structure(frame)


def test_light_trials_share_a_larger_frame_and_others_keep_their_own():
    def frames(rounding, **changes):
        return [
            frame_of(trial, rounding).samples
            for trial in tiny(samples=[12, 64, 300, 2000, 3000], seeds=1, **changes)
        ]

    plain = dataclasses.replace(CPU.rounding, light=0.0)
    own = [32, 128, 512, 2048, 4096]
    assert frames(plain) == own
    assert frames(CPU.rounding) == [2048, 2048, 2048, 2048, 4096]
    # A row of a step costs 4 * 12 * 12 = 576 operations in a frame of 12 by 12, so 512 rows for 200
    # steps just miss 6e7, and 128 rows for 2000 do.
    assert frames(CPU.rounding, learner=LEARNER.replace(steps=200)) == [128, 128, 512, 2048, 4096]
    assert frames(CPU.rounding, learner=LEARNER.replace(steps=2000)) == own
    assert make_plan(tiny(samples=[12, 64, 300]), CPU).programs == 1
    assert (
        make_plan(tiny(samples=[12, 64, 300], learner=LEARNER.replace(steps=2000)), CPU).programs
        == 3
    )


def test_rows_that_are_drawn_count_even_where_a_step_takes_few_of_them():
    def frame(patches, dimension):
        (trial,) = tiny(
            sx.SignalTask(patches, dimension, 0.3),
            learner=LEARNER.replace(batch=4),
            samples=30,
            seeds=1,
        )
        frame = frame_of(trial, CPU.rounding)
        assert (
            cost_of(frame).flops == cost_of(frame.replace(samples=2048)).flops < CPU.rounding.light
        )
        return frame.samples

    assert frame(4, 3) == 2048
    assert (
        frame(100, 100) == 32
    )  # 2048 rows of it are 3e7 numbers: most of a second, for a trial of milliseconds


@settings(max_examples=60)
@given(
    trials,
    st.integers(1, 5000),
    st.sampled_from([1.0, 2.0, 4.0]),
    st.sampled_from([0.0, 1e6, 6e7, 1e9, math.inf]),
)
def test_frames_of_light_trials_keep_order_are_made_once_and_stay_light(trial, other, ratio, light):
    rounding = Rounding(samples=ratio, large=2.0, sizes=2.0, light=light)
    frame = frame_of(trial, rounding)
    assert frame_of(frame, rounding) == frame
    plain = frame_of(trial, dataclasses.replace(rounding, light=0.0))
    assert plain.samples == rounding.samples_up(trial.samples)
    assert frame.replace(samples=plain.samples) == plain  # only the sample size grows further
    if frame != plain:
        assert plain.samples < frame.samples <= 2048
        assert rounding.samples_up(frame.samples) == frame.samples
        assert cost_of(frame).flops < light
    if ratio > 1 and light == math.inf:
        assert frame.samples == max(plain.samples, 2048)
    twin = frame_of(trial.replace(samples=other), rounding)
    assert (frame.samples <= twin.samples) or trial.samples > other


@pytest.mark.parametrize("ratio", [1.0, 4.0])
def test_trials_without_a_training_set_get_none(ratio):
    trial = tiny(learner=LEARNER.replace(oracle="online", batch=4), samples=0, seeds=1).trials[0]
    assert frame_of(trial, Rounding(samples=ratio, light=math.inf)).samples == 0


def test_what_the_compiler_sees_is_structure():
    trial = tiny(seeds=1).trials[0]
    others = [
        trial.replace(samples=13),
        trial.replace(task=TASK.replace(position="fixed")),
        trial.replace(task=TASK.replace(unevenness=0.5)),  # a value that was not there before
        trial.replace(network=NETWORK.replace(activation=sx.Tanh())),
        trial.replace(learner=LEARNER.replace(steps=7)),
        trial.replace(learner=LEARNER.replace(optimizer="adam")),
        trial.replace(measure=MEASURE.replace(test=65)),
        trial.replace(precision="tf32"),
    ]
    assert len({structure(each) for each in [trial, *others]}) == 1 + len(others)


def test_embedded_networks_and_images_keep_their_sizes():
    inside = sx.LCN(field=1, width=5, start=sx.CNN(field=1, width=5))
    trial = sx.Trial(sx.SignalTask(20, 20, 0.3), inside, LEARNER, 100)
    frame = frame_of(trial, GPU.rounding)
    assert (frame.task, frame.network) == (trial.task, trial.network)
    assert frame.samples > 100


def test_trials_with_noisy_gradients_keep_their_sizes():
    """Noise would train the units that padding adds; rounding alone leaves them at 0."""
    trial = sx.Trial(sx.SignalTask(20, 20, 0.3), sx.CNN(field=1, width=5), LEARNER, 100)
    for learner, grows in (
        (LEARNER, True),
        (LEARNER.replace(gradient_precision="bfloat16"), True),
        (LEARNER.replace(gradient_noise=0.1), False),
        (LEARNER.replace(gradient_noise=0.0), False),  # a value: its program can add noise
    ):
        frame = frame_of(trial.replace(learner=learner), GPU.rounding)
        assert (frame.network.width > 5) == grows
        assert (frame.task != trial.task) == grows
        assert frame.samples > 100


@settings(max_examples=30)
@given(trials)
def test_costs_are_positive_and_grow_with_every_size(trial):
    cost = cost_of(trial)
    assert cost.flops > 0
    assert cost.bytes > 0
    larger = [
        trial.replace(samples=2 * trial.samples),
        trial.replace(learner=trial.learner.replace(steps=10)),
        trial.replace(network=trial.network.replace(width=2 * trial.network.width)),
        trial.replace(task=trial.task.replace(dimension=2 * trial.task.dimension)),
        trial.replace(measure=trial.measure.replace(test=2 * trial.measure.test)),
    ]
    for other in larger:
        assert cost_of(other).flops > cost.flops
        assert cost_of(other).bytes >= cost.bytes


def test_heavy_trials_are_not_rounded_up_and_do_not_meet_others_in_a_program():
    class Batched(Device):
        rounding = Rounding(samples=4.0, sizes=2.0, heavy=1e7)

    task, network, learner = sx.SignalTask(5, 3, 0.3), sx.FCN(5), sx.Learner(rate=1.0, steps=5)
    trials = [
        sx.Trial(task, network, learner, samples, seed, MEASURE)
        for seed in range(2)
        for samples in (20, 128, 100)
    ]
    sweep = Sweep(tuple(trials))
    plan = make_plan(sweep, Batched("gpu"))
    light, *heavy = sorted(plan.chunks, key=lambda chunk: chunk.frame.samples)
    assert light.frame.samples == 32  # rounded up
    assert light.frame.task.patches == 16
    assert [chunk.frame.samples for chunk in heavy] == [100, 128]  # both would have been 128
    assert all(chunk.frame == chunk.trials[0].replace(seed=0) for chunk in heavy)
    assert plan.trials == 6


def test_long_trainings_of_short_steps_meet_in_one_program():
    rounding = GPU.rounding
    sphere = sx.SphereTask(50, patch=10, noise=1.0)
    learner = sx.Learner(0.2, 50_000, "squared")

    def frames(samples, learner=learner, task=sphere):
        sweep = sx.Sweep.grid(task, sx.FCN(256), learner, samples=samples)
        assert [frame for _, _, frame in framed(sweep, rounding)] == [
            frame_of(trial, rounding) for trial in sweep
        ]
        return [frame_of(trial, rounding) for trial in sweep]

    level = frames([64, 1000, 1024])
    assert [frame.samples for frame in level] == [1024] * 3
    assert len({structure(frame) for frame in level}) == 1
    # The two next to each other, of which one shares its rung of the ladder with what is level.
    assert [frame.samples for frame in frames([1500, 1024])] == [2048, 1024]
    # Few steps: the next rung. Long steps, and steps on a part of the rows: as without the rule.
    assert [frame.samples for frame in frames([64], learner.replace(steps=5))] == [128]
    for other in (
        frames([64], task=sphere.replace(dimension=400)),
        frames([64], learner.replace(batch=32)),
    ):
        assert other[0] == frame_of(
            other[0].replace(samples=64), dataclasses.replace(rounding, long=np.inf)
        )
