"""What the sample-complexity study varies, at each scale."""

import functools
import math

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.studies.settings import Settings, at_scales, setting
from separatrix.tasks import SignalTask
from separatrix.theory.signal import floor_samples, true_signal_risk

NETWORKS = ("CNN", "LCN", "FCN")
# The noise of a regime is c/√k; None stands for the same noise at every k.
REGIMES: dict[str, float | None] = {"root": 1.0, "root-0.7": 0.7, "root-0.5": 0.5, "fixed": None}
TARGETS = ("alignment", "risk")


class Grid(Settings, of="signal.grid"):
    """A factorial grid of cells: every number of patches with every dimension."""

    patches: tuple[int, ...] = setting(default=(3, 6, 12), low=1)
    dimensions: tuple[int, ...] = setting(default=(6, 12, 24), low=1)

    def pairs(self) -> list[tuple[int, int]]:
        """The (patches, dimension) of every cell."""
        return [(k, d) for k in self.patches for d in self.dimensions]


class Search(Settings, of="signal.search"):
    """When a search for a threshold ends.

    It ends when the interval of the threshold's logarithm is no wider than `width`, or after
    `trials`. Searches at neighbouring recipes and for the second target end after `few` trials.
    """

    width: float = setting(default=0.35, low=0.02)
    trials: int = setting(default=48, low=8)
    few: int = setting(default=24, low=8)
    largest: int = setting(default=16384, low=16)
    ratio: float = setting(default=1.25, low=1.05, high=2)
    round: int = setting(default=240, low=1)


class Tuning(Settings, of="signal.tune"):
    """How the recipe of a cell is chosen, on seeds that no result uses.

    A recipe is a place of a lattice: learning rates a factor `step` apart, and LSA biases `bias`
    apart (0: the bias is not tuned). Recipes are compared on `seeds` seeds, those of the FCN on
    `full_seeds`: its trials cost more and scatter less. The search begins at the untuned recipe and moves to the best
    neighbour until no neighbour is better: then the optimum is interior. It gives up after `moves`.
    """

    step: float = setting(default=2.0, low=1.1)
    bias: float = setting(default=0.0, low=0, high=0.4)
    seeds: int = setting(default=8, low=1)
    full_seeds: int = setting(default=3, low=1)
    moves: int = setting(default=1, low=0)


class SignalSettings(Settings, of="signal"):
    """The grids, the regimes, the targets, the searches and the tuning.

    `shared`, `local` and `full` are the grids of CNN, LCN and FCN. In the regime of fixed noise the
    FCN is measured up to `full_fixed` patches. `alignment` is the patch alignment of the first
    target and `margin` the distance to the network that knows the signal of the second one.

    >>> len(SignalSettings().cells("root", "CNN"))
    9
    """

    regimes: tuple[str, ...] = setting(default=("root",), among=REGIMES)
    targets: tuple[str, ...] = setting(default=("alignment",), among=TARGETS)
    shared: Grid = Grid()
    local: Grid = Grid()
    full: Grid = Grid(dimensions=(6, 12))
    full_fixed: int = setting(default=12, low=1)
    noise: float = setting(default=0.3, low=0, open_low=True)
    alignment: float = setting(default=0.8, low=0, open_low=True)
    bias: float = setting(default=0.5, low=0)
    margin: float = 0.05
    steps: int = setting(default=100, low=2)
    test: int = setting(default=512, low=1)
    search: Search = Search()
    tune: Tuning = Tuning()
    neighbours: bool = False
    estimator_trials: int = setting(default=24, low=8)
    seed: int = 0

    def check(self) -> None:
        if not self.regimes or "alignment" not in self.targets:
            raise SeparatrixError(
                "the study `signal` needs a regime and the target `alignment`, "
                f"got {self.regimes} and {self.targets}"
            )
        if not self.alignment < 1:
            raise ParameterError(
                self.owner, "alignment", "a number in (0, 1), since a cosine is", self.alignment
            )
        if self.margin <= 0:
            raise ParameterError(
                self.owner,
                "margin",
                "> 0: no learner can be asked to beat the network that knows the signal",
                self.margin,
            )
        for regime in self.regimes if "risk" in self.targets else ():
            for network in NETWORKS:
                for patches, _ in self.cells(regime, network):
                    self._check_target(patches, self.sigma(regime, patches))

    def _check_target(self, patches: int, sigma: float) -> None:
        target = self.target(patches, sigma)
        if target >= 0.5:
            raise SeparatrixError(
                f"at k = {patches} and σ = {sigma:.3g} the target {target:.3g} is no better than "
                "guessing; choose less noise or a smaller margin"
            )

    def cells(self, regime: str, network: str) -> list[tuple[int, int]]:
        """The (patches, dimension) at which a network's threshold is measured."""
        grid = {"CNN": self.shared, "LCN": self.local, "FCN": self.full}[network]
        most = self.full_fixed if (regime, network) == ("fixed", "FCN") else math.inf
        return [(k, d) for k, d in grid.pairs() if k <= most]

    def sigma(self, regime: str, patches: int) -> float:
        """The noise of a regime.

        >>> SignalSettings().sigma("root-0.5", 25)
        0.1
        """
        share = REGIMES[regime]
        return self.noise if share is None else share / math.sqrt(patches)

    def task(self, regime: str, patches: int, dimension: int) -> SignalTask:
        """The task of a cell."""
        return _task(patches, dimension, self.sigma(regime, patches))

    def target(self, patches: int, sigma: float) -> float:
        """The risk that counts as success: R(k, σ, b) plus the margin."""
        return true_signal_risk(patches, sigma, self.bias) + self.margin

    def floor(self, network: str, regime: str, patches: int, dimension: int) -> int:
        """The samples below which no equivariant learner reaches the alignment."""
        sigma = self.sigma(regime, patches)
        return _floor(network, patches, dimension, sigma, self.alignment)


# One object for equal tasks: a plan looks at each object once.
@functools.lru_cache(maxsize=4096)
def _task(patches: int, dimension: int, noise: float) -> SignalTask:
    return SignalTask(patches, dimension, noise)


@functools.lru_cache(maxsize=4096)
def _floor(network: str, patches: int, dimension: int, noise: float, alignment: float) -> int:
    return floor_samples(network, patches, dimension, noise, alignment=alignment)


# Powers of two: cells of the same shape d/k lie on lines along which both sizes grow, all three
# networks have cells in common, and a GPU's programs are padded least.
LOCAL_GRID = {"patches": (8, 16, 32, 64), "dimensions": (8, 16, 32, 64)}
SCALES = at_scales(
    SignalSettings(),
    laptop={
        "regimes": ("root", "fixed"),
        "targets": TARGETS,
        "shared": {"patches": (6, 12, 24), "dimensions": (6, 12, 24, 48)},
        "local": {"patches": (6, 12, 24), "dimensions": (6, 12, 24)},
        "full": {"patches": (6, 12), "dimensions": (6, 12, 24)},
        "steps": 200,
        "test": 2048,
        "search": {"width": 0.35, "trials": 60, "round": 600},
        "tune": {"seeds": 16, "full_seeds": 4, "moves": 4},
        "estimator_trials": 40,
    },
    full={
        "regimes": tuple(REGIMES),
        "targets": TARGETS,
        "shared": LOCAL_GRID | {"dimensions": (8, 16, 32, 64, 256)},
        "local": LOCAL_GRID,
        "full": {"patches": (8, 12, 16, 24, 32, 40), "dimensions": (8, 12, 16, 24, 32)},
        "full_fixed": 24,
        "steps": 200,
        "test": 2048,
        "search": {
            "width": 0.16,
            "trials": 160,
            "few": 32,
            "largest": 131072,
            "ratio": 1.2,
            "round": 12000,
        },
        "tune": {"bias": 0.15, "seeds": 32, "full_seeds": 8, "moves": 6},
        "neighbours": True,
        "estimator_trials": 48,
    },
)
