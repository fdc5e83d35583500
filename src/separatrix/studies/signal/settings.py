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
# Where searches begin, as multiples of the floor: descent's efficiency in earlier runs. The start
# decides how soon a search ends, not what it finds.
BEGIN = {"CNN": 3.5, "LCN": 5.0, "FCN": 7.0}


class Grid(Settings, of="signal.grid"):
    """A factorial grid of cells: every number of patches with every dimension."""

    patches: tuple[int, ...] = setting(default=(6, 12, 24), low=1)
    dimensions: tuple[int, ...] = setting(default=(6, 12, 64), low=1)

    def pairs(self) -> list[tuple[int, int]]:
        """The (patches, dimension) of every cell."""
        return [(k, d) for k in self.patches for d in self.dimensions]


class Search(Settings, of="signal.search"):
    """When a search for a threshold ends.

    It ends when the interval of the threshold's logarithm is no wider than `width`, or after
    `trials`: the CNN's cost little and scatter much (`shared_trials`), the FCN's cost more and
    scatter less (`full_trials`). Searches at neighbouring recipes and for the second target end
    after `few` trials. A search begins with `ahead` sizes a factor of two apart, `first` trials
    each.
    """

    width: float = setting(default=0.2, low=0.02)
    shared_trials: int = setting(default=48, low=8)
    trials: int = setting(default=48, low=8)
    full_trials: int = setting(default=40, low=8)
    few: int = setting(default=24, low=8)
    first: int = setting(default=4, low=1)
    ahead: int = setting(default=1, low=1)
    largest: int = setting(default=16384, low=16)
    ratio: float = setting(default=1.25, low=1.05, high=2)
    round: int = setting(default=400, low=1)


class Tuning(Settings, of="signal.tune"):
    """How the recipe of a cell is chosen, on seeds that no result uses.

    A recipe is a place of a lattice: learning rates a factor `step` apart, and LSA biases `bias`
    apart (0: the bias is not tuned). Recipes of the CNN are compared on `seeds` seeds, those of the
    LCN on `local_seeds` and of the FCN on `full_seeds`: their trials cost more, and they average
    over patches, so that they scatter less. The search begins at the untuned recipe and
    moves to the best neighbour until no neighbour is better: then the optimum is interior. It gives
    up after `moves`.
    """

    step: float = setting(default=2.0, low=1.1)
    bias: float = setting(default=0.0, low=0, high=0.4)
    seeds: int = setting(default=6, low=1)
    local_seeds: int = setting(default=6, low=1)
    full_seeds: int = setting(default=3, low=1)
    moves: int = setting(default=1, low=0)


class SignalSettings(Settings, of="signal"):
    """The grids, the regimes, the targets, the searches and the tuning.

    `shared`, `local` and `full` are the grids of CNN, LCN and FCN. The FCN is measured where a step
    at the size at which its search begins takes at most `full_work` multiply-adds. `alignment` is
    the patch alignment of the first target and `margin` the distance to the network that knows the
    signal of the second one. The regimes of `thorough` also have the second target and, with
    `neighbours`, thresholds at the neighbouring recipes. `two_steps` measures the two-step
    algorithms.

    >>> len(SignalSettings().cells("root", "CNN"))
    4
    """

    regimes: tuple[str, ...] = setting(default=("root",), among=REGIMES)
    targets: tuple[str, ...] = setting(default=("alignment",), among=TARGETS)
    thorough: tuple[str, ...] = setting(default=("root", "fixed"), among=REGIMES)
    shared: Grid = Grid(patches=(6, 12), dimensions=(12, 64))
    local: Grid = Grid()
    full: Grid = Grid(patches=(6, 12), dimensions=(12,))
    full_work: float = setting(default=4.5e8, low=1)
    noise: float = setting(default=0.3, low=0, open_low=True)
    alignment: float = setting(default=0.8, low=0, open_low=True)
    bias: float = setting(default=0.5, low=0)
    margin: float = 0.05
    steps: int = setting(default=100, low=2)
    test: int = setting(default=512, low=1)
    search: Search = Search()
    tune: Tuning = Tuning()
    neighbours: bool = False
    two_steps: bool = False
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
        self._check_reach()
        for regime in self.regimes if "risk" in self.targets else ():
            for grid in (self.shared, self.local, self.full):
                for patches in grid.patches:
                    self._check_target(patches, self.sigma(regime, patches))

    def _check_reach(self) -> None:
        """Refuse an alignment that a network cannot reach in any of its cells: σ²D·a²/(1 − a²), the
        floor's leading term, is above the largest size that searches try.
        """
        odds = self.alignment**2 / (1 - self.alignment**2)
        for network, grid in zip(NETWORKS, (self.shared, self.local, self.full), strict=True):
            unknown = {"CNN": lambda k, d: d, "LCN": lambda k, d: k * d}.get(
                network, lambda k, d: k * (k * d - k + 1)
            )
            least = min(
                self.sigma(regime, k) ** 2 * unknown(k, d) * odds
                for regime in self.regimes
                for k, d in grid.pairs()
            )
            if least > self.search.largest:
                raise SeparatrixError(
                    f"the alignment {self.alignment:g} takes the {network} at least about "
                    f"{least:.3g} samples in every cell, and searches of signal end at "
                    f"{self.search.largest}; choose a smaller `alignment` or a larger "
                    "`search.largest`"
                )

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
        if network != "FCN":
            return grid.pairs()
        return [
            (k, d)
            for k, d in grid.pairs()
            if k * k * d * self.start(network, regime, k, d) <= self.full_work
        ]

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

    def start(self, network: str, regime: str, patches: int, dimension: int) -> int:
        """Where a search begins, and the size at which recipes are compared.

        >>> SignalSettings().start("FCN", "root", 6, 6)
        476
        """
        wanted = math.ceil(BEGIN[network] * self.floor(network, regime, patches, dimension))
        return int(min(max(wanted, 4), self.search.largest))


# One object for equal tasks: a plan looks at each object once.
@functools.lru_cache(maxsize=4096)
def _task(patches: int, dimension: int, noise: float) -> SignalTask:
    return SignalTask(patches, dimension, noise)


@functools.lru_cache(maxsize=4096)
def _floor(network: str, patches: int, dimension: int, noise: float, alignment: float) -> int:
    return floor_samples(network, patches, dimension, noise, alignment=alignment)


# Powers of two: cells of the same shape d/k lie on lines along which both sizes grow, all three
# networks have cells in common, and a GPU's programs are padded least. The CNN needs large
# dimensions, since it needs few samples; so does the LCN beside it.
SCALES = at_scales(
    SignalSettings(),
    laptop={
        "regimes": ("root", "fixed"),
        "targets": TARGETS,
        "shared": {"patches": (6, 12, 24, 48), "dimensions": (24, 48, 96, 192, 384)},
        "local": {"patches": (6, 12, 24, 48), "dimensions": (6, 12, 24, 48, 96)},
        "full": {"patches": (6, 12, 24), "dimensions": (6, 12, 24)},
        "full_work": 5e7,  # (24, 24) would take as long as all other cells of the FCN
        "steps": 150,
        "test": 2048,
        "search": {
            "width": 0.15,
            "shared_trials": 192,
            "trials": 96,
            "full_trials": 64,
            "round": 600,
        },
        "tune": {"seeds": 16, "local_seeds": 4, "full_seeds": 4, "moves": 4},
        "two_steps": True,
        "estimator_trials": 40,
    },
    full={
        "regimes": tuple(REGIMES),
        "targets": TARGETS,
        "shared": {"patches": (8, 16, 32, 64), "dimensions": (8, 16, 32, 64, 256)},
        "local": {"patches": (8, 16, 32, 64), "dimensions": (8, 16, 32, 64, 256)},
        "full": {"patches": (8, 16, 32, 40), "dimensions": (8, 16, 32)},
        "steps": 150,
        "test": 2048,
        "search": {
            "width": 0.16,
            "shared_trials": 120,
            "trials": 100,
            "full_trials": 64,
            "few": 24,
            "first": 6,
            "ahead": 3,
            "largest": 131072,
            "ratio": 1.2,
            "round": 24000,
        },
        "tune": {"bias": 0.15, "seeds": 16, "local_seeds": 4, "full_seeds": 4, "moves": 5},
        "neighbours": True,
        "two_steps": True,
        "estimator_trials": 48,
    },
)
