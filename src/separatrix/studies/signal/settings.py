"""What the sample-complexity study varies, at each scale."""

import math

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.studies.settings import Settings, at_scales, setting
from separatrix.tasks import SignalTask
from separatrix.theory.signal import true_signal_risk

NETWORKS = ("CNN", "LCN", "FCN")
REGIMES = {
    "fixed": "σ = .3 for every k",
    "root": "σ = 1/√k, the edge of the paper's assumption",
    "half-root": "σ = .5/√k, where a linear rule suffices",
}


class Lines(Settings, of="signal.full"):
    """Two lines of cells, and when the searches on them end.

    Patches vary at dimension `base_dimension`, dimensions at `base_patches` patches. A search ends
    when the interval of the threshold's logarithm is no wider than `width`, or after `trials`.
    """

    patches: tuple[int, ...] = setting(default=(6, 8, 12), low=1)
    dimensions: tuple[int, ...] = setting(default=(6, 8, 12), low=1)
    base_patches: int = 8
    base_dimension: int = 8
    width: float = setting(default=1.0, low=0.05)
    trials: int = 36

    def grid(self) -> list[tuple[int, int]]:
        """The (patches, dimension) of every cell."""
        along = [(patches, self.base_dimension) for patches in self.patches]
        return list(dict.fromkeys(along + [(self.base_patches, d) for d in self.dimensions]))


class TuningGrid(Settings, of="signal.tune"):
    """The grid of recipes, the same for every network, and the seeds on which they are compared.

    With `each` a network's recipe is chosen over all numbers of patches, else at the first one
    alone.
    """

    rates: tuple[float, ...] = (0.33, 1.0, 3.0)
    biases: tuple[float, ...] = (0.5,)
    ramps: tuple[float, ...] = (0.5,)
    seeds: int = 4
    each: bool = False


class SignalSettings(Lines, of="signal"):
    """The grid of cells, the target, the searches and the tuning.

    CNN and LCN are measured on the study's own lines. The fully connected network has lines and
    ends of its own (`full`), since it costs so much more. `map_places` are the receptive fields and
    numbers of filters of the sketched map; without any there is no map.

    >>> SignalSettings().cells("CNN")[:2]
    [(6, 8), (8, 8)]
    """

    regimes: tuple[str, ...] = setting(default=("fixed",), among=REGIMES)
    full: Lines = Lines()
    noise: float = setting(default=0.3, low=0, open_low=True)
    bias: float = setting(default=0.5, low=0)
    margin: float = 0.05
    steps: int = 200
    test: int = 1024
    largest: int = 16384
    round: int = 120
    tune: TuningGrid = TuningGrid()
    estimator_seeds: int = 24
    map_places: tuple[int, ...] = setting(default=(1, 2, 4), low=1)
    seed: int = 0

    def check(self) -> None:
        if len(set(self.map_places)) == 1:
            raise ParameterError(
                self.owner, "map_places", "at least two different numbers, or none", self.map_places
            )
        if self.margin <= 0:
            raise ParameterError(
                self.owner,
                "margin",
                "> 0: no learner can be asked to beat the network that knows the signal",
                self.margin,
            )
        for regime in self.regimes:
            for network in NETWORKS:
                for patches, _ in self.cells(network):
                    self._check_target(patches, self.sigma(regime, patches))

    def _check_target(self, patches: int, sigma: float) -> None:
        target = self.target(patches, sigma)
        if target >= 0.5:
            raise SeparatrixError(
                f"at k = {patches} and σ = {sigma:.3g} the target {target:.3g} is no better than "
                "guessing; choose less noise or a smaller margin"
            )

    def lines(self, network: str) -> Lines:
        """The lines on which a network is measured."""
        return self.full if network == "FCN" else self

    def cells(self, network: str) -> list[tuple[int, int]]:
        """The (patches, dimension) at which a network's threshold is measured."""
        return self.lines(network).grid()

    def tuned_patches(self, network: str, patches: int) -> int:
        """The number of patches at which the recipe of a cell with so many patches is chosen."""
        return patches if self.tune.each else self.cells(network)[0][0]

    def tuned_cell(self, network: str, patches: int) -> tuple[int, int]:
        """The cell at which that recipe is chosen."""
        return self.tuned_patches(network, patches), self.lines(network).base_dimension

    def sigma(self, regime: str, patches: int) -> float:
        """The noise of a regime."""
        scale = {
            "fixed": self.noise,
            "root": 1.0 / math.sqrt(patches),
            "half-root": 0.5 / math.sqrt(patches),
        }
        return scale[regime]

    def task(self, regime: str, patches: int, dimension: int) -> SignalTask:
        """The task of a cell."""
        return SignalTask(patches, dimension, self.sigma(regime, patches))

    def target(self, patches: int, sigma: float, margin: float | None = None) -> float:
        """The risk that counts as success: the floor R(k, σ, b) plus the margin."""
        floor = true_signal_risk(patches, sigma, self.bias)
        return floor + (self.margin if margin is None else margin)


PAPER_LINES = {
    "patches": (10, 15, 20, 25, 30),
    "dimensions": (10, 15, 20, 25, 30),
    "base_patches": 20,
    "base_dimension": 20,
}
LARGER = {
    "regimes": tuple(REGIMES),
    **PAPER_LINES,
    "estimator_seeds": 200,
}
TUNED_EACH = {"biases": (0.35, 0.5), "ramps": (0.25, 0.5), "each": True}
SCALES = at_scales(
    SignalSettings(),
    laptop=LARGER
    | {
        "width": 0.5,
        "trials": 120,
        "full": {"width": 0.5, "trials": 120},
        "round": 400,
        "test": 4096,
        "tune": TUNED_EACH,
    },
    full=LARGER
    | {
        "width": 0.16,
        "trials": 1200,
        "full": PAPER_LINES | {"width": 0.22, "trials": 320},
        "largest": 131072,
        "round": 2400,
        "test": 8192,
        "tune": TUNED_EACH | {"rates": (0.1, 0.33, 1.0, 3.0)},
        "map_places": (),
    },
)
