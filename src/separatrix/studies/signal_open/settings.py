"""What the study of open questions varies, at each scale."""

import dataclasses
import math
from typing import Any, NamedTuple

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.studies.settings import Settings, at_scales, setting
from separatrix.studies.signal.settings import NETWORKS
from separatrix.theory.signal import true_signal_risk

MOST_SIGNALS = 3
# Algorithms on the FCN that the lower bound does not speak of
STARTS = ("FCN from CNN", "FCN with ℓ1", "FCN by Adam")


@dataclasses.dataclass(frozen=True)
class Variant:
    """A change of the task (or of the networks) that the paper leaves open."""

    text: str
    changes: dict[str, Any] = dataclasses.field(default_factory=dict)


VARIANTS = {
    "plain": Variant("the paper's own task"),
    "uneven": Variant(
        "the noise variance runs from 0.1σ² in the first patch to 1.9σ² in the last",
        {"unevenness": 0.9},
    ),
    "one": Variant("one patch carries the signal, in patches of more dimensions"),
    "two": Variant("two patches carry the signal at once", {"signals": 2}),
    "three": Variant("three patches carry the signal at once", {"signals": 3}),
    "dependent": Variant(
        "half of the noise variance is common to all patches", {"dependence": 0.5}
    ),
    "laplace": Variant("the noise is Laplace of the same variance", {"law": 1}),
    "uniform": Variant("the noise is uniform of the same variance", {"law": 2}),
    "sign": Variant(
        "the noise is a random sign of the same variance in each coordinate", {"law": 3}
    ),
    "product": Variant(
        "two patches carry independent signs and the label is their product",
        {"signals": 2, "product": 1},
    ),
    "depth-two": Variant("the networks have two hidden layers"),
    "fixed": Variant("the signal is always in the same patch", {"still": 1}),
    "dimensions": Variant(
        "every second patch has two thirds of the dimensions, with a signal of the same norm",
        {"narrow": 1},
    ),
}
# Noise that the paper leaves open: does its variance say how many samples are needed?
NOISY = ("uneven", "laplace", "uniform", "sign")
# With the number of signals tasks become easy: these three have settings of their own.
COUNTED = ("one", "two", "three")
# Learnt by the paper's own networks
SIGNED = tuple(name for name in VARIANTS if name not in ("product", "depth-two"))


class OpenCell(NamedTuple):
    """One threshold of the study: a variant, a network (or an algorithm on one), a number of
    patches.
    """

    variant: str
    network: str
    patches: int


class ProductSettings(Settings, of="signal-open.product"):
    """The variant whose label is a product: a trial must come within `margin` of the Bayes rule.

    What one hidden layer can express does not depend on k: one small cell shows it.
    """

    patches: int = setting(default=4, low=MOST_SIGNALS)
    margin: float = setting(default=0.1, low=0, open_low=True)
    steps: int = 300
    largest: int = 2048


class CountSettings(Settings, of="signal-open.counted"):
    """The variants with one, two and three signals, for CNN and LCN.

    The noise is 1/√k, the largest inside the paper's condition, and a trial must come within
    `margin` of the floor. With three signals, the CNN needs about a tenth of `dimension` samples:
    in small patches it would need fewer than can be counted.
    """

    patches: tuple[int, ...] = setting(default=(6, 8), low=MOST_SIGNALS)
    dimension: int = setting(default=96, low=1)
    margin: float = setting(default=0.02, low=0, open_low=True)


class RateTuning(Settings, of="signal-open.tune"):
    """The factors on learning rates, the sizes over the rough threshold, and the seeds."""

    rates: tuple[float, ...] = setting(default=(1.0,), low=0, open_low=True)
    factors: tuple[float, ...] = setting(default=(0.7, 1.4), low=0, open_low=True)
    seeds: int = setting(default=6, low=1)


class OpenSettings(Settings, of="signal-open"):
    """The variants, their cells, the target, the searches and the tuning.

    `dimension`, `noise`, `margin` and `patches` are those of all variants but the `counted` ones,
    which have other numbers of signals, and, for its margin and patches, the `product`.

    CNN and LCN are measured at `patches`, the FCN at `full_patches`; the algorithms on the FCN at
    `start_patches`, beside the CNN and the FCN from a random start. `least` are the sizes at which
    searches of CNN, LCN and FCN end below: a threshold under it is left-censored.

    >>> [cell.network for cell in OpenSettings().wanted()[:3]]
    ['CNN', 'LCN', 'FCN']
    """

    variants: tuple[str, ...] = setting(
        default=("uneven", "laplace"),
        among=(name for name in VARIANTS if name != "plain"),
    )
    patches: tuple[int, ...] = setting(default=(6,), low=MOST_SIGNALS)
    full_patches: tuple[int, ...] = setting(default=(6,), low=MOST_SIGNALS)
    start_patches: tuple[int, ...] = setting(default=(6,), low=MOST_SIGNALS)
    starts: tuple[str, ...] = setting(default=("FCN with ℓ1",), among=STARTS)
    dimension: int = 6
    noise: float = setting(default=0.3, low=0, open_low=True)
    bias: float = 0.5
    margin: float = setting(default=0.05, low=0, open_low=True)
    steps: int = 150
    product: ProductSettings = ProductSettings()
    counted: CountSettings = CountSettings()
    test: int = 1024
    least: tuple[int, ...] = (2, 9, 129)
    largest: int = 4096
    width: float = 1.2
    trials: int = 36
    round: int = 480
    tune: RateTuning = RateTuning()
    seed: int = 0

    def check(self) -> None:
        if len(self.least) != len(NETWORKS):
            raise ParameterError(
                self.owner, "least", "three numbers, for CNN, LCN and FCN", self.least
            )
        for variant in ("plain", *self.variants):
            counts = {k for network in NETWORKS for k in self.cells(variant, network)}
            for patches in () if variant == "product" else sorted(counts):
                self._check_target(variant, patches)

    def _check_target(self, variant: str, patches: int) -> None:
        # A variant's own floor is simulated later; the plain task's is near it.
        noise = self.noise_of(variant, patches)
        target = true_signal_risk(patches, noise, self.bias) + self.margin_of(variant)
        if variant not in COUNTED and target >= 0.5:
            raise SeparatrixError(
                f"at k = {patches} and σ = {noise:.3g} the target {target:.3g} of signal-open is "
                "no better than guessing; choose less noise or a smaller margin"
            )

    def cells(self, variant: str, network: str) -> list[int]:
        """The numbers of patches at which a network is measured on a variant."""
        if network in STARTS:
            return sorted(set(self.start_patches)) if variant == "plain" else []
        if variant == "product":
            return [self.product.patches]
        if variant in COUNTED:
            return [] if network == "FCN" else sorted(set(self.counted.patches))
        own = set(self.full_patches if network == "FCN" else self.patches)
        if variant == "plain" and self.starts and network != "LCN":
            own |= set(self.start_patches)
        # Programs of two layers are dear: only where the FCN is there to compare.
        if variant == "depth-two" and network != "FCN":
            own &= set(self.full_patches)
        return sorted(own)

    def wanted(self) -> list[OpenCell]:
        """Every threshold that is measured: the plain task first."""
        arms = [(variant, network) for variant in ("plain", *self.variants) for network in NETWORKS]
        arms += [("plain", start) for start in self.starts]
        return [
            OpenCell(variant, network, k)
            for variant, network in arms
            for k in self.cells(variant, network)
        ]

    def dimension_of(self, variant: str) -> int:
        """The dimension of a variant's patches.

        >>> OpenSettings().dimension_of("laplace"), OpenSettings().dimension_of("two")
        (6, 96)
        """
        return self.counted.dimension if variant in COUNTED else self.dimension

    def noise_of(self, variant: str, patches: int) -> float:
        """The noise of a variant.

        >>> OpenSettings().noise_of("laplace", 16), OpenSettings().noise_of("two", 16)
        (0.3, 0.25)
        """
        return 1 / math.sqrt(patches) if variant in COUNTED else self.noise

    def margin_of(self, variant: str) -> float:
        """How far above the floor a trial's risk may be."""
        if variant == "product":
            return self.product.margin
        return self.counted.margin if variant in COUNTED else self.margin

    def outside(self, patches: list[int]) -> str:
        """In words, at which of these cells the noise exceeds the paper's assumption.

        >>> OpenSettings().outside([8, 16])
        'σ exceeds 1/√k at k = 16'
        """
        far = [str(k) for k in sorted(set(patches)) if self.noise > (1 + 1e-9) / math.sqrt(k)]
        return f"σ exceeds 1/√k at k = {', '.join(far)}" if far else ""


LARGER = {
    "variants": (
        "uneven",
        *COUNTED,
        "product",
        "dependent",
        "laplace",
        "uniform",
        "sign",
        "depth-two",
        "fixed",
        "dimensions",
    ),
    "starts": STARTS,
    "least": (2, 2, 2),
}
SCALES = at_scales(
    OpenSettings(),
    laptop=LARGER
    | {
        "patches": (6, 8, 10),
        "full_patches": (6, 8),
        "start_patches": (6, 8, 10),
        "dimension": 24,  # at 6 the CNN needs two samples, and at a fixed place the LCN as well
        "steps": 150,
        "product": {"largest": 4096},
        "test": 2048,
        "largest": 8192,
        "width": 0.8,
        "trials": 48,
        "round": 1200,
        "tune": {"rates": (1.0, 0.33, 3.0), "seeds": 4},
    },
    full=LARGER
    | {
        "patches": (10, 14, 20),
        "full_patches": (10, 14),
        "start_patches": (8, 10, 14),  # at 20 an FCN of 24 dimensions takes as much as all the rest
        "dimension": 24,
        "counted": {"patches": (8, 16), "dimension": 192},
        "steps": 200,
        "product": {"largest": 16384},
        "test": 4096,
        "largest": 65536,
        "width": 0.4,
        "trials": 112,
        "round": 6000,
        "tune": {"rates": (1.0, 0.33, 3.0), "seeds": 12},
    },
)
