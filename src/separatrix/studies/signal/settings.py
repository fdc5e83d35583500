"""What the sample-complexity study varies, at each scale."""

import dataclasses
import math

from separatrix.errors import (
    ParameterError,
    SeparatrixError,
    check_choice,
    check_integer,
    check_number,
)
from separatrix.studies.signal.recipes import NETWORKS
from separatrix.tasks import SignalTask
from separatrix.theory.signal import true_signal_risk

REGIMES = {
    "fixed": "σ = .3 for every k",
    "root": "σ = 1/√k, the edge of the paper's assumption",
    "half-root": "σ = .5/√k, where a linear rule suffices",
}


@dataclasses.dataclass(frozen=True)
class SignalSettings:
    """The grid of cells, the target, the searches and the tuning.

    Cells lie on two lines: patches vary at dimension `base_dimension`, and dimensions at
    `base_patches` patches. A search ends when the logarithm's interval is no wider than `width`, or
    after `trials`. The fully connected network has lines and ends of its own (`full_`), since it
    costs so much more. A network's recipe is chosen over all numbers of patches with `tune_each`,
    else at the first one alone. `map_places` are the receptive fields and numbers of filters of the
    sketched map (none: no map).

    >>> SignalSettings().cells("CNN")[:2]
    [(6, 8), (8, 8)]
    """

    regimes: tuple[str, ...] = ("fixed",)
    patches: tuple[int, ...] = (6, 8, 12)
    dimensions: tuple[int, ...] = (6, 8, 12)
    base_patches: int = 8
    base_dimension: int = 8
    full_patches: tuple[int, ...] = (6, 8, 12)
    full_dimensions: tuple[int, ...] = (6, 8, 12)
    full_base_patches: int = 8
    full_base_dimension: int = 8
    noise: float = 0.3
    bias: float = 0.5
    margin: float = 0.05
    steps: int = 200
    test: int = 1024
    largest: int = 16384
    width: float = 1.0
    trials: int = 36
    full_width: float = 1.0
    full_trials: int = 36
    round: int = 120
    tune_rates: tuple[float, ...] = (0.33, 1.0, 3.0)
    tune_biases: tuple[float, ...] = (0.5,)
    tune_ramps: tuple[float, ...] = (0.5,)
    tune_seeds: int = 4
    tune_each: bool = False
    estimator_seeds: int = 24
    map_places: tuple[int, ...] = (1, 2, 4)
    seed: int = 0

    def __post_init__(self):
        for regime in self.regimes:
            check_choice("the signal study", "regimes", regime, REGIMES)
        for name in ("patches", "dimensions", "full_patches", "full_dimensions", "map_places"):
            for count in getattr(self, name):
                check_integer("the signal study", name, count, low=1)
        if len(set(self.map_places)) == 1:
            raise ParameterError(
                "the signal study",
                "map_places",
                "at least two different numbers, or none",
                self.map_places,
            )
        check_number("the signal study", "noise", self.noise, low=0, open_low=True)
        check_number("the signal study", "bias", self.bias, low=0)
        check_number("the signal study", "width", self.width, low=0.05)
        check_number("the signal study", "full_width", self.full_width, low=0.05)
        if self.margin <= 0:
            raise ParameterError(
                "the signal study",
                "margin",
                "> 0: no learner can be asked to beat the network that knows the signal",
                self.margin,
            )
        for regime in self.regimes:
            for network in NETWORKS:
                for patches, _ in self.cells(network):
                    target = self.target(patches, self.sigma(regime, patches))
                    if target >= 0.5:
                        raise SeparatrixError(
                            f"at k = {patches} and σ = {self.sigma(regime, patches):.3g} the target {target:.3g} is no better than guessing; "
                            "choose less noise or a smaller margin"
                        )

    def cells(self, network: str) -> list[tuple[int, int]]:
        """The (patches, dimension) at which a network's threshold is measured."""
        if network == "FCN":
            ks, ds, k0, d0 = (
                self.full_patches,
                self.full_dimensions,
                self.full_base_patches,
                self.full_base_dimension,
            )
        else:
            ks, ds, k0, d0 = self.patches, self.dimensions, self.base_patches, self.base_dimension
        return list(dict.fromkeys([(k, d0) for k in ks] + [(k0, d) for d in ds]))

    def tuned_patches(self, network: str, patches: int) -> int:
        """The number of patches at which the recipe of a cell with so many patches is chosen."""
        return patches if self.tune_each else self.cells(network)[0][0]

    def tuned_cell(self, network: str, patches: int) -> tuple[int, int]:
        """The cell at which that recipe is chosen."""
        dimension = self.full_base_dimension if network == "FCN" else self.base_dimension
        return self.tuned_patches(network, patches), dimension

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
        return true_signal_risk(patches, sigma, self.bias) + (
            self.margin if margin is None else margin
        )


SCALES = {
    "quick": SignalSettings(),
    "laptop": SignalSettings(
        regimes=("fixed", "root", "half-root"),
        patches=(10, 15, 20, 25, 30),
        dimensions=(10, 15, 20, 25, 30),
        base_patches=20,
        base_dimension=20,
        width=0.5,
        trials=120,
        full_width=0.5,
        full_trials=120,
        round=400,
        test=4096,
        tune_biases=(0.35, 0.5),
        tune_ramps=(0.25, 0.5),
        tune_seeds=4,
        tune_each=True,
        estimator_seeds=200,
    ),
    "full": SignalSettings(
        regimes=("fixed", "root", "half-root"),
        patches=(10, 15, 20, 25, 30),
        dimensions=(10, 15, 20, 25, 30),
        base_patches=20,
        base_dimension=20,
        full_patches=(10, 15, 20, 25, 30),
        full_dimensions=(10, 15, 20, 25, 30),
        full_base_patches=20,
        full_base_dimension=20,
        largest=131072,
        width=0.16,
        trials=1200,
        full_width=0.22,
        full_trials=320,
        round=2400,
        test=8192,
        tune_rates=(0.1, 0.33, 1.0, 3.0),
        tune_biases=(0.35, 0.5),
        tune_ramps=(0.25, 0.5),
        tune_seeds=4,
        tune_each=True,
        estimator_seeds=200,
        map_places=(),
    ),
}
