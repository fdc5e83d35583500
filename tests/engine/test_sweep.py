"""Sweeps: their order, and the identity of their trials."""

import itertools

import numpy as np
import pytest

import separatrix as sx
from running import LEARNER, MEASURE, NETWORK, TASK, tiny
from separatrix.engine import Sweep
from separatrix.errors import SeparatrixError


def test_a_grid_is_every_combination_in_order():
    learners = [sx.Learner(rate=rate, steps=5) for rate in (1.0, 2.0)]
    sweep = Sweep.grid(TASK, NETWORK, learners, samples=[8, 16], seeds=[5, 3])
    given = [(trial.learner.rate.level, trial.samples, trial.seed) for trial in sweep]
    assert given == list(itertools.product([1.0, 2.0], [8, 16], [5, 3]))


def test_repeated_trials_are_dropped_and_the_first_keeps_its_place():
    first, second, third = tiny(seeds=3)
    sweep = Sweep((third, first, third, second, first))
    assert sweep.trials == (third, first, second)
    assert (tiny(seeds=2) + tiny(seeds=3)).trials == tiny(seeds=3).trials


def test_a_number_of_seeds_may_be_a_numpy_integer():
    assert tiny(seeds=np.int64(3)).trials == tiny(seeds=3).trials
    assert [trial.seed for trial in tiny(seeds=np.arange(2, 5))] == [2, 3, 4]


@pytest.mark.parametrize(
    "empty",
    [{"seeds": 0}, {"seeds": []}, {"samples": []}, {"network": []}, {"learner": []}, {"task": []}],
)
def test_an_empty_grid_is_one_sentence(empty):
    with pytest.raises(SeparatrixError, match="a sweep needs at least one"):
        tiny(**empty)


def test_identity_is_what_a_trial_is_and_nothing_else():
    trial = tiny(seeds=1).trials[0]
    same = sx.Trial(
        sx.SignalTask(np.int64(4), np.int32(3), np.float64(0.3)),
        NETWORK,
        sx.Learner(rate=1, steps=6),
        np.int64(12),
        np.int64(0),
        MEASURE,
    )
    assert same.identity == trial.identity
    others = [
        trial.replace(samples=13),
        trial.replace(seed=1),
        trial.replace(precision="tf32"),
        trial.replace(task=TASK.replace(noise=0.31)),
        trial.replace(task=TASK.replace(position="fixed")),
        trial.replace(network=NETWORK.replace(width=2)),
        trial.replace(learner=LEARNER.replace(steps=7)),
        trial.replace(learner=LEARNER.replace(rate=1.5)),
        trial.replace(measure=MEASURE.replace(times=1)),
    ]
    assert len({each.identity for each in [trial, *others]}) == 1 + len(others)
