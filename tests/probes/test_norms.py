"""Norms of parts, and the distance from the subspace in which a network started."""

import jax.numpy as jnp

import separatrix as sx
from moments import moment
from separatrix.networks import Params
from separatrix.probes import norm


def test_probes_of_parts_that_are_missing_or_not_trained_are_zero():
    assert float(norm(None)) == 0.0
    assert float(norm(jnp.array([[3.0, 4.0]]))) == 5.0
    here = moment(
        Params(jnp.zeros((1, 1, 2))),
        sx.CNN(1, readout="sum", bias=False),
        (4, 2),
        jnp.array([1.0, 0.0]),
    )
    for name in (
        "alignment",
        "drift",
        "signal_gradient",
        "weight_gradient_norm",
        "readout_gradient_norm",
        "readout_norm",
    ):
        assert float(sx.PROBES[name].measure(here)) == 0.0


def test_a_full_network_leaves_the_subspace_it_started_in_while_it_learns(programs):
    start = sx.CNN(2, 2, activation=sx.Tanh())
    network = sx.FCN(6, activation=sx.Tanh(), start=start)
    measure = sx.Measure(("off_locality", "off_sharing", "weight_norm"), test=64, times=2)
    trial = sx.Trial(
        sx.SignalTask(4, 2, 0.3), network, sx.Learner(rate=0.5, steps=10), 16, 0, measure
    )
    (row,) = programs.run([trial], trial)
    assert row["trace.off_locality"][0] == 0.0
    assert row["trace.off_sharing"][0] < 1e-6
    assert row["off_locality"] > 0.01
    assert row["off_sharing"] > 0.01
    assert row["off_locality"] ** 2 + row["off_sharing"] ** 2 < row["weight_norm"] ** 2
