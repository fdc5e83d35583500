"""The settings of the study `digits` at its three scales."""

import math

from separatrix.data import available
from separatrix.errors import ParameterError
from separatrix.studies.settings import Settings, at_scales, setting
from separatrix.tasks.data_source import check_source
from separatrix.tasks.digits import CROPS

# What the paper leaves open, each with another choice: the claims are judged again under it.
VARIATIONS = {
    "fewer-sequences": "an epoch has 1/n as many sequences, so that each digit is used about once",
    "fine-stride": "windows move by half a digit",
    "coarse-stride": "windows do not overlap",
    "other-crop": "digits are not cropped before they are resized",
    "other-scaling": "grey levels have mean 0 and variance 1 (or, where they had, lie in [0, 1])",
}
PAPER = {"height": 24, "across": 8, "filters": 1024, "epochs": 30}


class DigitsSettings(Settings, of="digits"):
    """What the study varies.

    `digits` are the n of the figures; a digit is `height` x `across` pixels, windows are three
    digits wide and move by `stride` pixels. An epoch has `sequences` sequences. `source` is a data
    set, or "auto": MNIST where it is in the data folder, else the embedded digits. `variations`
    names, with commas between, what else is tried, at the n of `variation_digits`; "none" for
    nothing.

    >>> DigitsSettings().steps(5)
    1080
    """

    source: str = "auto"
    digits: tuple[int, ...] = setting(default=(3, 5, 9), low=3, high=255)
    seeds: int = setting(default=4, low=2)
    filters: int = setting(default=48, low=1)
    height: int = setting(default=8, low=1)
    across: int = setting(default=8, low=1)
    stride: int = setting(default=8, low=1)
    crop: str = setting(default="tight", among=CROPS)
    scaling: str = setting(default="standard", among=("unit", "standard"))
    epochs: int = setting(default=30, low=1)
    sequences: int = setting(default=4608, low=1)
    batch: int = setting(default=128, low=1)
    rate: float = setting(default=1.0, low=0, open_low=True)
    test: int = setting(default=2048, low=1)
    times: int = setting(default=6, low=1)
    precision: str = setting(default="float32", among=("float32", "tf32"))
    variations: str = "none"
    variation_digits: tuple[int, ...] = setting(default=(5, 9), low=3, high=255)
    variation_seeds: int = setting(default=3, low=2)
    seed: int = 0

    def check(self) -> None:
        if self.source != "auto":
            check_source(self.owner, self.source)
        for name in ("digits", "variation_digits"):
            for count in getattr(self, name):
                if count % 2 == 0:
                    raise ParameterError(self.owner, name, "odd numbers >= 3", count)
        if set(self.varied()) - set(VARIATIONS):
            allowed = f"none, or names among {', '.join(VARIATIONS)}"
            raise ParameterError(self.owner, "variations", allowed, self.variations)

    def varied(self) -> list[str]:
        """The names of the variations.

        >>> DigitsSettings(variations="fine-stride, other-crop").varied()
        ['fine-stride', 'other-crop']
        """
        return (
            []
            if self.variations.strip() in ("", "none")
            else [name.strip() for name in self.variations.split(",")]
        )

    def steps(self, digits: int, variation: str = "") -> int:
        """The steps of training: whole epochs, rounded up."""
        sequences = self.sequences / digits if variation == "fewer-sequences" else self.sequences
        return max(1, math.ceil(self.epochs * sequences / self.batch))

    def chosen_source(self) -> str:
        """The data set that is used.

        >>> DigitsSettings(source="embedded-digits").chosen_source()
        'embedded-digits'
        """
        if self.source != "auto":
            return self.source
        return "mnist" if "mnist" in available() else "embedded-digits"

    def varied_by(self, variation: str) -> "DigitsSettings":
        """The settings under a variation (but for the number of sequences, which depends on n)."""
        match variation:
            case "fine-stride":
                return self.replace(stride=max(1, self.across // 2))
            case "coarse-stride":
                return self.replace(stride=3 * self.across)
            case "other-crop":
                return self.replace(crop="whole" if self.crop == "tight" else "tight")
            case "other-scaling":
                return self.replace(scaling="standard" if self.scaling == "unit" else "unit")
            case _:
                return self

    def outside(self) -> str:
        """How these settings differ from what the paper says, in words; empty where they do not."""
        parts = (
            []
            if self.chosen_source() == "mnist"
            else [f"the digits of {self.chosen_source()} instead of MNIST"]
        )
        words = {
            "height": "pixels high",
            "across": "pixels wide",
            "filters": "hidden units or filters",
            "epochs": "epochs",
        }
        for name, paper in PAPER.items():
            if getattr(self, name) != paper:
                parts.append(f"{getattr(self, name)} {words[name]} instead of {paper}")
        return ", ".join(parts)


SCALES = at_scales(
    DigitsSettings(),
    quick={
        "digits": (5, 9),
        "seeds": 3,
        "filters": 16,
        "sequences": 3072,
        "test": 1024,
        "times": 4,
    },
    laptop={
        "digits": (3, 5, 9, 13, 19),
        "filters": 64,
        "sequences": 8192,
        "test": 4096,
        "times": 10,
        # The embedded digits have no margin to crop
        "variations": "fewer-sequences,coarse-stride,other-scaling",
        "variation_digits": (5, 19),
    },
    full={
        "digits": (3, 5, 9, 13, 19),
        "seeds": 8,
        "filters": 1024,
        "height": 24,
        "scaling": "unit",
        "sequences": 60000,
        "test": 8192,
        "times": 15,
        "precision": "tf32",
        "variations": ",".join(VARIATIONS),
        "variation_digits": (5, 19),
    },
)
