"""Clipping counts the steps on which it acts."""

import pytest

import separatrix as sx
from separatrix.learners import clipping, counted_clip


def test_clipping_counts_the_steps_on_which_it_acts(programs):
    task, network = (
        sx.PatchSphereTask(views=3, patch=4),
        sx.CNN(4, 6, stride=4, readout="pooled", offset=True),
    )
    learner, measure = sx.Learner(0.1, 30, "squared"), sx.Measure(test=16)
    trials = [
        sx.Trial(task, network, learner.replace(clip=clip), 12, 0, measure)
        for clip in (None, 1e6, 1e-3)
    ]
    free, idle, always = (programs.run([each], each)[0] for each in trials)
    assert "clipped_steps" not in free
    assert (idle["clipped_steps"], idle["clipped_last"]) == (0, 0)
    assert idle["loss"] == pytest.approx(free["loss"], rel=1e-6)
    assert (always["clipped_steps"], always["clipped_last"]) == (30, 30)
    # 30 steps of length at most 0.1 · 1e-3 change the loss by at most the gradient times 3e-3.
    assert abs(always["loss"] - always["trace.loss"][0]) < 0.05
    assert clipping(((), (counted_clip(1.0).init(None), ()))).total == 0
