"""What the map study varies, at each scale."""

import dataclasses
import functools
import itertools
from typing import NamedTuple

from separatrix.errors import ParameterError, check_integer
from separatrix.studies.settings import Settings, at_scales, setting
from separatrix.tasks import SignalTask
from separatrix.theory.signal import true_signal_risk


class Spot(NamedTuple):
    """One place of the map: how many patches a unit sees, and how many filters there are."""

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


class MapTuning(Settings, of="signal-map.tune"):
    """The grid on which every place is tuned, the sizes over the rough threshold, and the seeds."""

    rates: tuple[float, ...] = setting(default=(1.0, 0.33, 3.0), low=0, open_low=True)
    norms: tuple[float, ...] = setting(default=(1.0,), low=0, open_low=True)
    factors: tuple[float, ...] = (1.0,)
    seeds: int = 2


class MapSettings(Settings, of="signal-map"):
    """The cell of the task, the map over it, the target, the searches and the tuning.

    >>> MapSettings().spots()[0], len(MapSettings().spots())
    (Spot(field=1, groups=1), 9)
    """

    patches: int = setting(default=6, low=2)
    dimension: int = setting(default=12, low=1)
    fields: tuple[int, ...] = (1, 2, 6)
    groups: tuple[int, ...] = (1, 2, 6)
    noise: float = setting(default=0.3, low=0, open_low=True)
    bias: float = 0.5
    margin: float = setting(default=0.05, low=0, open_low=True)
    steps: int = 100
    test: int = 1024
    largest: int = 8192
    width: float = 1.2
    trials: int = 32
    round: int = 320
    tune: MapTuning = MapTuning()
    seed: int = 0

    def check(self) -> None:
        for name in ("fields", "groups"):
            counts = getattr(self, name)
            for count in counts:
                check_integer(self.owner, name, count, low=1, high=self.patches)
            if len(set(counts)) < 2:
                raise ParameterError(self.owner, name, "at least two different numbers", counts)
        if self.target >= 0.5:
            raise ParameterError(
                self.owner,
                "margin",
                f"such that the target ({self.target:.3g}) is better than guessing",
                self.margin,
            )

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
        places = itertools.product(sorted(set(self.fields)), sorted(set(self.groups)))
        return [Spot(field, groups) for field, groups in places]

    def recipes(self) -> list[MapRecipe]:
        """The grid on which every place is tuned; the first recipe is the untuned one."""
        factors = itertools.product(self.tune.rates, self.tune.norms)
        return [MapRecipe(rate, norm) for rate, norm in factors]


# One object for equal tasks: a plan looks at each object once.
@functools.lru_cache(maxsize=4096)
def _task(patches: int, dimension: int, noise: float) -> SignalTask:
    return SignalTask(patches, dimension, noise)


SCALES = at_scales(
    MapSettings(),
    laptop={
        "patches": 16,
        "dimension": 8,
        "fields": (1, 2, 4, 8, 16),
        "groups": (1, 2, 4, 8, 16),
        "steps": 150,
        "test": 2048,
        "largest": 32768,
        "width": 0.7,
        "trials": 80,
        "round": 800,
        "tune": {"factors": (0.7, 1.4), "seeds": 6},
    },
    full={
        "patches": 20,
        "dimension": 20,
        "fields": (1, 2, 4, 5, 10, 20),
        "groups": (1, 2, 4, 5, 10, 20),
        "steps": 200,
        "test": 4096,
        "largest": 131072,
        "width": 0.4,
        "trials": 200,
        "round": 3600,
        "tune": {"norms": (1.0, 0.3), "factors": (0.7, 1.4), "seeds": 12},
    },
)
