"""The networks and learners of the signal studies, and the grid on which they are tuned."""

import dataclasses
import functools
import itertools
from typing import Any

from separatrix.engine import Measure, Trial
from separatrix.learners import Learner, Ramp, two_step
from separatrix.networks import CNN, FCN, LCN, LSA, Initial, Network
from separatrix.tasks import SignalTask

NETWORKS = ("CNN", "LCN", "FCN")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a network is trained: factors on the base learning rate, the LSA bias, and the share of
    steps over which it is ramped up.

    The base rates are 3 (CNN), 1.5k (LCN) and 3k (FCN): one filter's gradient shrinks with the
    number of patches that it must serve. The initial norms of a filter are .05, .05 and .7.

    >>> Recipe().describe()
    'rate x1, bias 0.5, ramp 0.5'
    """

    rate: float = 1.0
    bias: float = 0.5
    ramp: float = 0.5

    def describe(self) -> str:
        """In words, for tables."""
        return f"rate x{self.rate:g}, bias {self.bias:g}, ramp {self.ramp:g}"


@functools.lru_cache(maxsize=4096)
def signal_network(name: str, patches: int, bias: float) -> Network:
    """The paper's networks on patches: one filter, a filter per patch, or one full unit per patch.

    >>> [signal_network(name, 10, 0.5).parameter_count((10, 20)) for name in NETWORKS]
    [20, 200, 2000]
    """
    common: dict[str, Any] = {"activation": LSA(bias), "readout": "sum", "bias": False}
    small, large = Initial("directions", scale=0.05), Initial("directions", scale=0.7)
    match name:
        case "CNN":
            return CNN(field=1, initial=small, **common)
        case "LCN":
            return LCN(field=1, initial=small, **common)
        case _:
            return FCN(width=patches, initial=large, **common)


@functools.lru_cache(maxsize=4096)
def signal_learner(name: str, patches: int, steps: int, recipe: Recipe) -> Learner:
    """Projected gradient descent: logistic loss, the whole batch, the unit ball, the LSA bias
    ramped up from 0.

    >>> signal_learner("LCN", 10, 200, Recipe()).rate
    Constant(level=15.0)
    """
    base = {"CNN": 3.0, "LCN": 1.5 * patches, "FCN": 3.0 * patches}[name]
    ramp = Ramp(0.0, recipe.bias, share=recipe.ramp)
    return Learner(rate=base * recipe.rate, steps=steps, projection="ball", lsa_bias=ramp)


def signal_trial(
    task: SignalTask,
    name: str,
    recipe: Recipe,
    steps: int,
    samples: int,
    seed: int,
    measure: Measure,
) -> Trial:
    """One trial of a signal study.

    >>> signal_trial(SignalTask(4, 3, 0.3), "CNN", Recipe(), 10, 8, 0, Measure()).samples
    8
    """
    learner = signal_learner(name, task.patches, steps, recipe)
    return Trial(
        task, signal_network(name, task.patches, recipe.bias), learner, samples, seed, measure
    )


def two_step_trial(
    task: SignalTask, name: str, bias: float, samples: int, seed: int, measure: Measure
) -> Trial:
    """One trial of the paper's two-step algorithm, evaluated with an LSA bias of our choice.

    >>> two_step_trial(SignalTask(4, 3, 0.3), "CNN", 0.5, 8, 0, Measure()).learner.steps
    2
    """
    tiny = Initial("normal", scale=1.0 / (10 * task.patches * task.dimension))
    network = signal_network(name, task.patches, bias).replace(initial=tiny)
    return Trial(task, network, two_step(task.patches, task.dimension), samples, seed, measure)


def recipe_grid(
    rates: tuple[float, ...], biases: tuple[float, ...], ramps: tuple[float, ...]
) -> list[Recipe]:
    """The same grid for every network.

    >>> len(recipe_grid((0.3, 1.0, 3.0), (0.35, 0.5), (0.5,)))
    6
    """
    return [Recipe(*each) for each in itertools.product(rates, biases, ramps)]
