"""The networks and learners of the study of open questions."""

import functools
import math
from typing import Any

from separatrix.engine import Measure, Trial
from separatrix.learners import Learner, Ramp
from separatrix.networks import CNN, FCN, LCN, LSA, Initial, Network
from separatrix.spec import rounded_constant
from separatrix.studies.signal.recipes import Recipe, signal_learner, signal_network
from separatrix.studies.signal_open.settings import STARTS, OpenKey, OpenSettings
from separatrix.studies.signal_open.task import VariantTask, variant_task

DEEP_WIDTH = 4  # filters a patch in each of two layers; the FCN has as many units as the LCN in all
DEEP_BIAS = 0.25  # half of the one layer's: the signal passes two thresholds
RELU_WIDTH = 4
SPARSITY = 0.1  # the ℓ1 penalty, as a share of the noise that a coordinate's gradient has


def sparsity_level(patches: int, dimension: int, noise: float, samples: int) -> float:
    """The ℓ1 penalty: a share of σ√(2 ln(kd)/m)/2, the largest of kd coordinates of pure noise in
    the gradient of a unit at the start.

    >>> sparsity_level(10, 10, 0.3, 400) < sparsity_level(10, 10, 0.3, 100)
    True
    """
    return rounded_constant(
        SPARSITY * noise * math.sqrt(2 * math.log(max(patches * dimension, 2)) / samples) / 2
    )


@functools.lru_cache(maxsize=4096)
def open_network(variant: str, network: str, patches: int, bias: float) -> Network:
    """The network of a threshold: the paper's; of two hidden layers; or, for the product, with ReLU
    and a trained readout.

    >>> open_network("plain", "FCN from CNN", 5, 0.5).start.connectivity, open_network("depth-two", "FCN", 5, 0.5).width
    ('shared', 20)
    """
    if network in STARTS:
        full = signal_network("FCN", patches, bias)
        # The start differs in where it points, not in how long it is: a filter begins with the norm
        # that the FCN's units begin with.
        inner = signal_network("CNN", patches, bias).replace(initial=full.initial)
        return full.replace(start=inner) if network == "FCN from CNN" else full
    options: dict[str, Any]
    if variant == "depth-two":
        options = {
            "activation": LSA(DEEP_BIAS),
            "readout": "sum",
            "bias": False,
            "depth": 2,
            "initial": Initial("directions", scale=0.5),
        }
        width = DEEP_WIDTH
    elif variant == "product":
        options = {"offset": True, "readout": "pooled" if network == "CNN" else "positions"}
        width = RELU_WIDTH
    else:
        return signal_network(network, patches, bias)
    if network == "FCN":
        return FCN(width=width * patches, **options)
    return (CNN if network == "CNN" else LCN)(field=1, width=width, **options)


@functools.lru_cache(maxsize=4096)
def open_learner(
    variant: str, network: str, patches: int, steps: int, bias: float, rate: float
) -> Learner:
    """Gradient descent on the logistic loss of the whole batch; `rate` is a factor on the base
    rate.

    Base rates: those of the study `signal` for the paper's networks (and 3k for the FCN that starts
    inside the CNN), a tenth of the CNN's, times k for LCN and FCN, with two layers, 1 for the
    product's; Adam's is 0.03. With ℓ1 the factor is on the penalty (see `open_trial`), not on the
    rate.

    >>> open_learner("depth-two", "LCN", 10, 100, 0.5, 1.0).rate
    Constant(level=3.0)
    """
    if variant == "depth-two":
        base = 0.3 * (1 if network == "CNN" else patches)
        return Learner(
            rate=base * rate, steps=steps, projection="ball", lsa_bias=Ramp(0.0, DEEP_BIAS)
        )
    if variant == "product":
        return Learner(rate=rate, steps=steps)
    if network == "FCN by Adam":
        return Learner(
            rate=0.03 * rate,
            steps=steps,
            optimizer="adam",
            projection="ball",
            lsa_bias=Ramp(0.0, bias),
        )
    factor = 1.0 if network == "FCN with ℓ1" else rate
    return signal_learner(
        "FCN" if network in STARTS else network, patches, steps, Recipe(rate=factor, bias=bias)
    )


@functools.lru_cache(maxsize=4096)
def _task(variant: str, patches: int, dimension: int, noise: float) -> VariantTask:
    return variant_task(variant, patches, dimension, noise)


@functools.lru_cache(maxsize=64)
def _measure(test: int) -> Measure:
    return Measure(("risk",), test=test)


@functools.lru_cache(maxsize=4096)
def _sparse(learner: Learner, level: float) -> Learner:
    return learner.replace(sparsity=level)


def open_trial(s: OpenSettings, key: OpenKey, rate: float, samples: int, seed: int) -> Trial:
    """One trial of the study.

    >>> open_trial(OpenSettings(), OpenKey("laplace", "CNN", 5), 1.0, 8, 0).task.law
    1
    """
    steps = s.product_steps if key.variant == "product" else s.steps
    network = open_network(key.variant, key.network, key.patches, s.bias)
    learner = open_learner(key.variant, key.network, key.patches, steps, s.bias, rate)
    if key.network == "FCN with ℓ1":
        learner = _sparse(
            learner, rate * sparsity_level(key.patches, s.dimension, s.noise, samples)
        )
    task = _task(key.variant, key.patches, s.dimension, s.noise)
    return Trial(task, network, learner, samples, seed, _measure(s.test))
