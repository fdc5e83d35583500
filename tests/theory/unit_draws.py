"""Activations and random units, for the tests of exact gradients."""

import math

import numpy as np

from separatrix.theory.patterns.units import UnitActivation

ACTIVATIONS = [
    UnitActivation("relu"),
    UnitActivation("clipped", ceiling=0.8),
    UnitActivation("tanh"),
]


names = [activation.name for activation in ACTIVATIONS]


def gaussian(units, bits, seed=0):
    return np.random.default_rng([seed, units, bits]).standard_normal((units, bits)) / math.sqrt(
        bits
    )
