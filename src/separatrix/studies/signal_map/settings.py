"""What the map study varies, at each scale, and how the network of a cell is trained."""

import dataclasses
import functools
import itertools
import math
from typing import NamedTuple

from separatrix.engine import Measure, Trial
from separatrix.errors import ParameterError, check_integer, check_number
from separatrix.learners import Learner, Ramp
from separatrix.studies.signal_map.network import map_network
from separatrix.tasks import SignalTask
from separatrix.theory.signal import true_signal_risk


class Spot(NamedTuple):
    """One place of the map: how many patches a unit sees, and how many filters there are.

    >>> Spot(field=1, groups=8)
    Spot(field=1, groups=8)
    """

    field: int
    groups: int


@dataclasses.dataclass(frozen=True)
class MapRecipe:
    """Factors on the base learning rate and on the initial norm of a filter.

    >>> MapRecipe(rate=3.0).describe()
    'rate x3, start x1'
    """

    rate: float = 1.0
    norm: float = 1.0

    def describe(self) -> str:
        """In words, for tables."""
        return f"rate x{self.rate:g}, start x{self.norm:g}"


@dataclasses.dataclass(frozen=True)
class MapSettings:
    """The cell of the task, the map over it, the target, the searches and the tuning.

    >>> MapSettings().spots()[0], len(MapSettings().spots())
    (Spot(field=1, groups=1), 16)
    """

    patches: int = 8
    dimension: int = 8
    fields: tuple[int, ...] = (1, 2, 4, 8)
    groups: tuple[int, ...] = (1, 2, 4, 8)
    noise: float = 0.3
    bias: float = 0.5
    margin: float = 0.05
    steps: int = 100
    test: int = 1024
    largest: int = 8192
    width: float = 1.2
    trials: int = 40
    round: int = 320
    tune_rates: tuple[float, ...] = (1.0, 0.33, 3.0)
    tune_norms: tuple[float, ...] = (1.0,)
    tune_factors: tuple[float, ...] = (1.0,)
    tune_seeds: int = 3
    seed: int = 0

    def __post_init__(self):
        for name in ("fields", "groups"):
            for count in getattr(self, name):
                check_integer("the map study", name, count, low=1, high=self.patches)
            if len(set(getattr(self, name))) < 2:
                raise ParameterError(
                    "the map study", name, "at least two different numbers", getattr(self, name)
                )
        check_number("the map study", "noise", self.noise, low=0, open_low=True)
        check_number("the map study", "margin", self.margin, low=0, open_low=True)
        if self.target >= 0.5:
            raise ParameterError(
                "the map study",
                "margin",
                f"such that the target ({self.target:.3g}) is better than guessing",
                self.margin,
            )
        for name in ("tune_rates", "tune_norms"):
            for factor in getattr(self, name):
                check_number("the map study", name, factor, low=0, open_low=True)

    @property
    def task(self) -> SignalTask:
        """The one cell of the task."""
        return _task(self.patches, self.dimension, self.noise)

    @property
    def floor(self) -> float:
        """The risk of the network that knows the signal."""
        return true_signal_risk(self.patches, self.noise, self.bias)

    @property
    def target(self) -> float:
        """The risk that counts as success."""
        return self.floor + self.margin

    def spots(self) -> list[Spot]:
        """The places of the map."""
        return [
            Spot(*each)
            for each in itertools.product(sorted(set(self.fields)), sorted(set(self.groups)))
        ]

    def recipes(self) -> list[MapRecipe]:
        """The grid on which every place is tuned; the first recipe is the untuned one."""
        return [MapRecipe(*each) for each in itertools.product(self.tune_rates, self.tune_norms)]


def base_rate(spot: Spot, patches: int) -> float:
    """The untuned learning rate: the recipes' 3 (CNN), 1.5k (LCN) and 3k (FCN) at the corners,
    geometrically between them.

    >>> [round(base_rate(Spot(*place), 8), 6) for place in ((1, 1), (1, 8), (8, 8))]
    [3.0, 12.0, 24.0]
    """
    across, up = _shares(spot, patches)
    return 3.0 * spot.groups * 2.0 ** (-up * (1.0 - across))


def base_norm(spot: Spot, patches: int) -> float:
    """The untuned initial norm of a filter: the recipes' .05 where it sees one patch, .7 where it
    sees all, geometrically between.

    >>> [round(base_norm(Spot(*place), 8), 6) for place in ((1, 1), (1, 8), (8, 8))]
    [0.05, 0.05, 0.7]
    """
    return 0.05 * 14.0 ** _shares(spot, patches)[0]


def _shares(spot: Spot, patches: int) -> tuple[float, float]:
    """How far a place lies from one patch to all and from one filter to one a patch, on log scales."""
    whole = math.log(max(patches, 2))
    return math.log(spot.field) / whole, math.log(spot.groups) / whole


# Parts are kept, so that the trials of a search share them: a plan looks at each object once.
@functools.lru_cache(maxsize=4096)
def _task(patches: int, dimension: int, noise: float) -> SignalTask:
    return SignalTask(patches, dimension, noise)


@functools.lru_cache(maxsize=64)
def _measure(test: int) -> Measure:
    return Measure(("risk",), test=test)


@functools.lru_cache(maxsize=4096)
def _learner(spot: Spot, patches: int, steps: int, bias: float, recipe: MapRecipe) -> Learner:
    return Learner(
        rate=base_rate(spot, patches) * recipe.rate,
        steps=steps,
        projection="ball",
        lsa_bias=Ramp(0.0, bias),
    )


@functools.lru_cache(maxsize=4096)
def _network(spot: Spot, patches: int, bias: float, recipe: MapRecipe):
    return map_network(
        patches, spot.field, spot.groups, bias, min(1.0, base_norm(spot, patches) * recipe.norm)
    )


def map_trial(s: MapSettings, spot: Spot, recipe: MapRecipe, samples: int, seed: int) -> Trial:
    """One trial at a place of the map: projected gradient descent as in the study `signal`.

    >>> map_trial(MapSettings(), Spot(1, 1), MapRecipe(), 8, 0).samples
    8
    """
    network, learner = (
        _network(spot, s.patches, s.bias, recipe),
        _learner(spot, s.patches, s.steps, s.bias, recipe),
    )
    return Trial(s.task, network, learner, samples, seed, _measure(s.test))


SCALES = {
    "quick": MapSettings(),
    "laptop": MapSettings(
        patches=16,
        dimension=8,
        fields=(1, 2, 4, 8, 16),
        groups=(1, 2, 4, 8, 16),
        steps=150,
        test=2048,
        largest=32768,
        width=0.7,
        trials=80,
        round=800,
        tune_factors=(0.7, 1.4),
        tune_seeds=6,
    ),
    "full": MapSettings(
        patches=20,
        dimension=20,
        fields=(1, 2, 4, 5, 10, 20),
        groups=(1, 2, 4, 5, 10, 20),
        steps=200,
        test=4096,
        largest=131072,
        width=0.4,
        trials=200,
        round=3600,
        tune_norms=(1.0, 0.3),
        tune_factors=(0.7, 1.4),
        tune_seeds=12,
    ),
}
