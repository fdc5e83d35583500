"""The two-step algorithm of Lahoti et al., with the constants of signal.md."""

import math

import numpy as np
import pytest

import separatrix as sx
from separatrix.theory.signal import best_linear_risk

PATCHES, DIMENSION, NOISE = 8, 8, 8**-0.5


def test_the_constants_are_the_specifications():
    learner = sx.two_step(20, 30)
    first = math.sqrt((20 + 30) * math.log(20 * 30) / (20 * 30)) / 32
    assert learner.rate == sx.Stages(1.0, 1e3 * 20)
    assert learner.lsa_bias.first == pytest.approx(first, rel=1e-5)
    assert learner.lsa_bias.later == 1e-4
    assert (learner.steps, learner.projection, learner.loss) == (2, "sphere", "correlation")


def rows(programs, loss, bias=0.5, seeds=4):
    initial = sx.Initial("normal", scale=1 / (10 * PATCHES * DIMENSION))
    network = sx.CNN(1, activation=sx.LSA(bias), readout="sum", bias=False, initial=initial)
    measure = sx.Measure(("risk", "alignment", "weight_gradient_norm"), test=4000, times=2)
    task, learner = sx.SignalTask(PATCHES, DIMENSION, NOISE), sx.two_step(PATCHES, DIMENSION, loss)
    trials = [sx.Trial(task, network, learner, 2000, seed, measure) for seed in range(seeds)]
    return programs.run(trials, trials[0])


def test_with_the_correlation_loss_two_steps_find_the_signal(programs):
    found = rows(programs, "correlation")
    # After m = 2000 rows the gradient's noise is about σ√(kd/m) ≈ 0.06 per unit of signal:
    # alignment above 0.99.
    assert min(row["alignment"] for row in found) > 0.99
    # From the small start no unit passes the first threshold: the first step only projects, the
    # second does the work.
    for row in found:
        assert row["trace.weight_gradient_norm"][0] == 0.0
        assert row["trace.alignment"][1] == pytest.approx(row["trace.alignment"][0], abs=1e-5)


def test_with_the_second_threshold_the_risk_stays_at_the_linear_rules(programs):
    found = rows(programs, "correlation", bias=1e-4)  # shares the program: the bias is a value
    linear = best_linear_risk(PATCHES, NOISE)
    for row in found:
        # 4.5 standard errors of a risk on 4000 rows, and 0.01 for an alignment a little below 1.
        assert abs(row["risk"] - linear) < 4.5 * math.sqrt(linear * (1 - linear) / 4000) + 0.01
    better = rows(programs, "correlation")
    assert max(row["risk"] for row in better) < linear - 0.03


def test_with_the_squared_loss_two_steps_do_not_find_the_signal(programs):
    found = rows(programs, "squared")
    start = np.array([row["trace.alignment"][1] for row in found])
    end = np.array([row["alignment"] for row in found])
    # The second step pushes away from where the weights stood (the more, the better they were
    # aligned): no run gets close.
    assert end.max() < 0.95
    assert np.corrcoef(start, end)[0, 1] < -0.8
