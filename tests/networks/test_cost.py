"""What networks cost: parameters, multiply-adds, numbers held."""

import itertools

import jax
import numpy as np
import pytest

import separatrix as sx
from numpy_reference import patches_of, random_params
from separatrix.engine.frames import cost_of

READOUTS = ["positions", "pooled", "sum"]
INPUTS = {  # shape, field, stride
    "1-D": ((7, 2), 3, 1),
    "1-D strided": ((8, 1), 3, 2),
    "1-D one window": ((4, 1), 3, 2),  # one window that does not cover the input
    "2-D": ((4, 5, 2), (2, 3), 1),
    "2-D strided": ((5, 6, 1), 2, (2, 3)),
}


def network_of(connectivity, field, stride, width=3, **options):
    if connectivity == "full":
        return sx.FCN(width, **options)
    return sx.Network(connectivity, width, field, stride, **options)


@pytest.mark.parametrize(
    "connectivity, readout", [*itertools.product(["full", "local", "shared"], READOUTS)]
)
def test_parameter_count_is_the_number_of_entries_and_flops_follow_the_formula(
    connectivity, readout
):
    for which, bias, offset in [("1-D strided", True, False), ("2-D", False, True)]:
        shape, field, stride = INPUTS[which]
        network = network_of(connectivity, field, stride, readout=readout, bias=bias, offset=offset)
        arrays = jax.eval_shape(lambda key, n=network, s=shape: n.init(key, s), jax.random.key(0))
        expected = random_params(network, shape, np.random.default_rng(0))
        assert {
            name: part.shape for name, part in arrays._asdict().items() if part is not None
        } == {name: np.shape(part) for name, part in expected.items()}
        assert network.parameter_count(shape) == sum(np.size(part) for part in expected.values())
        positions, span, _ = patches_of(np.zeros((1, *shape)), network.field, network.stride).shape
        # Per hidden unit: span multiply-adds into it, one out of it.
        assert network.flops(shape) == 2 * positions * 3 * span + 2 * positions * 3


def test_costs_follow_the_layers():
    task = sx.SignalTask(8, 4, 0.3)
    one, two = (
        sx.Trial(task, sx.CNN(1, 16, depth=depth), sx.Learner(0.1, 10), 64) for depth in (1, 2)
    )
    assert cost_of(two).flops > cost_of(one).flops * 2
    assert cost_of(two).bytes > cost_of(one).bytes
    image = sx.CNN(3, 8, depth=2).costs((32, 32, 3))
    assert (
        image.cut == 32 * 32 * 3
    )  # images are kept whole, not cut into nine times as many numbers
    assert image.hidden == 8 * (30**2 + 28**2)
