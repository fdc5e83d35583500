"""What the study of open questions varies, at each scale."""

import dataclasses
import math
from typing import NamedTuple

from separatrix.errors import ParameterError, check_choice, check_integer, check_number
from separatrix.studies.signal.recipes import NETWORKS
from separatrix.studies.signal_open.task import MOST_SIGNALS, VARIANTS

STARTS = (
    "FCN from CNN",
    "FCN with ℓ1",
    "FCN by Adam",
)  # algorithms on the FCN that the lower bound does not speak of


class OpenKey(NamedTuple):
    """One threshold of the study: a variant, a network (or an algorithm on one), a number of
    patches.

    >>> OpenKey("uneven", "CNN", 8).network
    'CNN'
    """

    variant: str
    network: str
    patches: int


@dataclasses.dataclass(frozen=True)
class OpenSettings:
    """The variants, their cells, the target, the searches and the tuning.

    CNN and LCN are measured at `patches`, the FCN at `full_patches`; the algorithms on the FCN at
    `start_patches`, beside the CNN and the FCN from a random start. A trial of the product must
    come within `product_margin` of the Bayes rule.

    >>> OpenSettings().wanted()[:3]
    [OpenKey(variant='plain', network='CNN', patches=6), OpenKey(variant='plain', network='CNN', patches=8), OpenKey(variant='plain', network='LCN', patches=6)]
    """

    variants: tuple[str, ...] = ("uneven", "dependent", "laplace")
    patches: tuple[int, ...] = (6, 8)
    full_patches: tuple[int, ...] = (8,)
    start_patches: tuple[int, ...] = (8,)
    product_patches: int = (
        4  # what one hidden layer can express does not depend on k: one small cell shows it
    )
    starts: tuple[str, ...] = ("FCN from CNN", "FCN with ℓ1")
    dimension: int = 6
    noise: float = 0.3
    bias: float = 0.5
    margin: float = 0.05
    product_margin: float = 0.1
    steps: int = 80
    product_steps: int = 300
    test: int = 1024
    least: tuple[int, ...] = (
        2,
        9,
        129,
    )  # where searches of CNN, LCN and FCN end below; a threshold under it is left-censored
    largest: int = 2048
    product_largest: int = 2048
    width: float = 1.2
    trials: int = 36
    round: int = 480
    tune_rates: tuple[float, ...] = (1.0,)
    tune_factors: tuple[float, ...] = (0.7, 1.4)
    tune_seeds: int = 6
    seed: int = 0

    def __post_init__(self):
        for variant in self.variants:
            check_choice(
                "the study of open questions",
                "variants",
                variant,
                [name for name in VARIANTS if name != "plain"],
            )
        for start in self.starts:
            check_choice("the study of open questions", "starts", start, STARTS)
        for name in ("patches", "full_patches", "start_patches"):
            for count in getattr(self, name):
                check_integer("the study of open questions", name, count, low=MOST_SIGNALS)
        check_integer(
            "the study of open questions", "product_patches", self.product_patches, low=MOST_SIGNALS
        )
        if len(self.least) != len(NETWORKS):
            raise ParameterError(
                "the study of open questions",
                "least",
                "three numbers, for CNN, LCN and FCN",
                self.least,
            )
        check_number("the study of open questions", "noise", self.noise, low=0, open_low=True)
        check_number("the study of open questions", "margin", self.margin, low=0, open_low=True)
        check_number(
            "the study of open questions",
            "product_margin",
            self.product_margin,
            low=0,
            open_low=True,
        )

    def cells(self, variant: str, network: str) -> list[int]:
        """The numbers of patches at which a network is measured on a variant."""
        if network in STARTS:
            return sorted(set(self.start_patches)) if variant == "plain" else []
        if variant == "product":
            return [self.product_patches]
        own = set(self.full_patches if network == "FCN" else self.patches)
        if variant == "plain" and self.starts and network != "LCN":
            own |= set(self.start_patches)
        if (
            variant == "depth-two" and network != "FCN"
        ):  # programs of two layers are dear: only where the FCN is there to compare
            own &= set(self.full_patches)
        return sorted(own)

    def wanted(self) -> list[OpenKey]:
        """Every threshold that is measured: the plain task first."""
        arms = [(variant, network) for variant in ("plain", *self.variants) for network in NETWORKS]
        arms += [("plain", start) for start in self.starts]
        return [
            OpenKey(variant, network, k)
            for variant, network in arms
            for k in self.cells(variant, network)
        ]

    def outside(self, patches: list[int]) -> str:
        """In words, at which of these cells the noise exceeds the paper's assumption.

        >>> OpenSettings().outside([8, 16])
        'σ exceeds 1/√k at k = 16'
        """
        far = [str(k) for k in sorted(set(patches)) if self.noise > (1 + 1e-9) / math.sqrt(k)]
        return f"σ exceeds 1/√k at k = {', '.join(far)}" if far else ""


EVERYTHING = (
    "uneven",
    "several",
    "three",
    "product",
    "dependent",
    "laplace",
    "uniform",
    "sign",
    "depth-two",
)
SCALES = {
    "quick": OpenSettings(),
    "laptop": OpenSettings(
        variants=EVERYTHING,
        patches=(6, 8, 10),
        full_patches=(6, 8, 10),
        start_patches=(6, 8, 10),
        starts=STARTS,
        steps=150,
        test=2048,
        least=(2, 2, 2),
        largest=8192,
        product_largest=4096,
        width=0.8,
        trials=48,
        round=1200,
        tune_rates=(1.0, 0.33, 3.0),
        tune_seeds=4,
    ),
    "full": OpenSettings(
        variants=EVERYTHING,
        patches=(10, 14, 20),
        full_patches=(10, 14, 20),
        start_patches=(10, 14, 20),
        starts=STARTS,
        dimension=12,
        steps=200,
        test=4096,
        least=(2, 2, 2),
        largest=65536,
        product_largest=16384,
        width=0.35,
        trials=160,
        round=6000,
        tune_rates=(1.0, 0.33, 3.0),
        tune_seeds=12,
    ),
}
