"""Plans: every trial once, and batches that fit the device."""

import pytest

import separatrix as sx
from running import tiny
from separatrix.engine import Device, frame_of, make_plan, structure

CPU, GPU = Device("cpu", workers=2), Device("gpu")


@pytest.mark.parametrize("device", [CPU, GPU, Device("cpu", workers=1), Device("gpu", memory=1e6)])
def test_a_plan_holds_every_trial_once_and_leaves_out_what_is_done(device):
    sweep = tiny(samples=[8, 12, 64, 3000], seeds=9) + tiny(
        network=sx.LCN(1, readout="sum", bias=False), seeds=5
    )
    plan = make_plan(sweep, device)
    planned = [trial.identity for chunk in plan.chunks for trial in chunk.trials]
    assert sorted(planned) == sorted(trial.identity for trial in sweep)
    assert plan.trials == len(sweep)
    assert plan.programs == len({structure(frame_of(trial, device.rounding)) for trial in sweep})
    assert plan.seconds > 0
    assert plan.bytes > 0
    for chunk in plan.chunks:
        assert {structure(frame_of(trial, device.rounding)) for trial in chunk.trials} == {
            chunk.program
        }
    done = set(planned[::2])
    rest = make_plan(sweep, device, done)
    assert sorted(trial.identity for chunk in rest.chunks for trial in chunk.trials) == sorted(
        set(planned) - done
    )
    # What is done changes neither programs nor batches of the rest: resumed numbers are the
    # numbers.
    assert {(chunk.program, chunk.batch) for chunk in rest.chunks} <= {
        (chunk.program, chunk.batch) for chunk in plan.chunks
    }
    assert make_plan(sweep, device, set(planned)).chunks == ()


def test_batches_fit_the_memory():
    plan = make_plan(tiny(samples=4000, seeds=100), Device("gpu", memory=2e8))
    assert 1 < plan.chunks[0].batch < 64
    assert plan.bytes <= 2e8
    assert make_plan(tiny(samples=4000, seeds=3), Device("gpu", memory=1.0)).chunks[0].batch == 1


@pytest.mark.parametrize(
    "samples, steps, width, count, batch",
    [
        (
            1024,
            3000,
            256,
            3,
            3,
        ),  # 4 · 1024 · 400 · 256 operations a step, 1.3e12 in all: heavy, no copies
        (1024, 3000, 64, 3, 4),
        (1024, 3000, 64, 12, 16),
        (1024, 3000, 64, 100, 64),
        (
            100,
            3000,
            64,
            3,
            64,
        ),  # 4e10 with the rows rounded up to 128: light, one size whatever the number
        (1024, 1000, 128, 3, 64),  # few steps
    ],
)
def test_batches_of_long_trainings_have_few_copies(samples, steps, width, count, batch):
    task = sx.SphereTask(400, patch=10, noise=1.0)
    sweep = sx.Sweep.grid(
        task,
        sx.FCN(width),
        sx.Learner(0.2, steps, "squared"),
        samples,
        seeds=count,
        measure=sx.Measure(test=1),
    )
    plan = make_plan(sweep, Device("gpu", memory=1e12))
    assert {chunk.batch for chunk in plan.chunks} == {batch}
    assert plan.trials == count


def test_a_long_trial_that_fills_a_gpu_runs_alone():
    device = Device("gpu", memory=1e12)
    task, learner = (
        sx.ImageRegressionTask("embedded-photographs", 32),
        sx.Learner(0.2, 5000, "squared"),
    )

    def batch(width, steps):
        trial = sx.Trial(
            task, sx.CNN(3, width, readout="pooled"), learner.replace(steps=steps), samples=1024
        )
        return (
            make_plan(sx.Sweep(tuple(trial.replace(seed=seed) for seed in range(5))), device)
            .chunks[0]
            .batch
        )

    assert batch(1024, 5000) == 1  # 1e11 operations a step, 5e14 in all
    assert batch(16, 5000) == 5  # small steps share the device
    assert batch(1024, 20) >= 5  # soon over: nothing to be made safe
