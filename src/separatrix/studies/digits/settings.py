"""The settings of the study `digits` at its three scales."""

import dataclasses
import math

from separatrix.data import available
from separatrix.errors import ParameterError, check_choice, check_integer, check_number
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


@dataclasses.dataclass(frozen=True)
class DigitsSettings:
    """What the study varies.

    `digits` are the n of the figures; a digit is `height` x `across` pixels, windows are three
    digits wide and move by `stride` pixels. An epoch has `sequences` sequences. `source` is a data
    set, or "auto": MNIST where it is in the data folder, else the embedded digits. `variations`
    names, with commas between, what else is tried, at the n of `variation_digits`; "none" for
    nothing.

    >>> DigitsSettings().steps(5)
    1080
    >>> DigitsSettings(variations="fine-strid")
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `variations` of digits must be none, or names among fewer-sequences, fine-stride, ..., got 'fine-strid'
    """

    source: str = "auto"
    digits: tuple[int, ...] = (3, 5, 9)
    seeds: int = 4
    filters: int = 48
    height: int = 8
    across: int = 8
    stride: int = 8
    crop: str = "tight"
    scaling: str = "standard"
    epochs: int = 30
    sequences: int = 4608
    batch: int = 128
    rate: float = 1.0
    test: int = 2048
    times: int = 6
    precision: str = "float32"
    variations: str = "none"
    variation_digits: tuple[int, ...] = (5, 9)
    variation_seeds: int = 3
    seed: int = 0

    def __post_init__(self):
        if self.source != "auto":
            check_source("digits", self.source)
        for name in ("digits", "variation_digits"):
            for count in getattr(self, name):
                check_integer("digits", name, count, 3, 255)
                if count % 2 == 0:
                    raise ParameterError("digits", name, "odd numbers >= 3", count)
        for name in ("seeds", "variation_seeds"):
            check_integer("digits", name, getattr(self, name), 2)
        for name in (
            "filters",
            "height",
            "across",
            "stride",
            "epochs",
            "sequences",
            "batch",
            "test",
            "times",
        ):
            check_integer("digits", name, getattr(self, name), 1)
        check_number("digits", "rate", self.rate, 0, open_low=True)
        check_choice("digits", "crop", self.crop, CROPS)
        check_choice("digits", "scaling", self.scaling, ("unit", "standard"))
        check_choice("digits", "precision", self.precision, ("float32", "tf32"))
        for name in self.varied():
            if name not in VARIATIONS:
                raise ParameterError(
                    "digits",
                    "variations",
                    f"none, or names among {', '.join(VARIATIONS)}",
                    self.variations,
                )

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
                return dataclasses.replace(self, stride=max(1, self.across // 2))
            case "coarse-stride":
                return dataclasses.replace(self, stride=3 * self.across)
            case "other-crop":
                return dataclasses.replace(self, crop="whole" if self.crop == "tight" else "tight")
            case "other-scaling":
                return dataclasses.replace(
                    self, scaling="standard" if self.scaling == "unit" else "unit"
                )
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


_ALL = ",".join(VARIATIONS)

SCALES = {
    "quick": DigitsSettings(),
    "laptop": DigitsSettings(
        digits=(3, 5, 9, 13, 19),
        filters=64,
        sequences=8192,
        test=4096,
        times=10,
        # The embedded digits have no margin to crop
        variations="fewer-sequences,coarse-stride,other-scaling",
        variation_digits=(5, 19),
    ),
    "full": DigitsSettings(
        digits=(3, 5, 7, 9, 13, 19, 25),
        seeds=8,
        filters=1024,
        height=24,
        scaling="unit",
        sequences=60000,
        test=8192,
        times=15,
        precision="tf32",
        variations=_ALL,
        variation_digits=(5, 19),
    ),
}
