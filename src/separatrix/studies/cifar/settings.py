"""The settings of the study `cifar` at its three scales."""

import math

from separatrix.data import available, training_images
from separatrix.errors import ParameterError
from separatrix.studies.settings import Settings, at_scales, setting
from separatrix.tasks.data_source import check_source
from separatrix.tasks.images import SHAPES

# Pooling after each hidden layer of a convolutional network, by the number of layers with weights
# (the readout is one of them).
POOLS = {2: (2,), 4: (2, 1, 2), 6: (1, 2, 1, 1, 2)}
PAPER = {"epochs": 125}


class CifarSettings(Settings, of="cifar"):
    """What the study varies.

    `depths` count layers with weights, as the paper does: 2 is one hidden layer. `source` is a data
    set, or "auto": CIFAR-10 where it is in the data folder, else the embedded digits. Training
    takes `epochs` passes over its images, but `most_steps` steps at most (0: no limit), so that a
    scale that is quick with few images is so with many. `control` runs the widest networks of the
    first depth on permuted pixels as well.

    >>> CifarSettings(depths=(3,))
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `depths` of cifar must be among 2, 4, 6, got 3
    """

    source: str = "auto"
    depths: tuple[int, ...] = (2, 4)
    cnn_widths: tuple[int, ...] = setting(default=(2, 8), low=1)
    fcn_widths: tuple[int, ...] = setting(default=(4, 16, 64), low=1)
    seeds: int = setting(default=4, low=2)
    epochs: int = setting(default=24, low=1)
    most_steps: int = setting(default=500, low=0)
    batch: int = setting(default=64, low=1)
    rate: float = setting(default=0.001, low=0, open_low=True)
    test: int = setting(default=500, low=1)
    times: int = setting(default=4, low=1)
    control: bool = True
    precision: str = setting(default="float32", among=("float32", "tf32"))
    seed: int = 0

    def check(self) -> None:
        if self.source != "auto":
            check_source(self.owner, self.source)
        for depth in self.depths:
            if depth not in POOLS:
                allowed = f"among {', '.join(map(str, POOLS))}"
                raise ParameterError(self.owner, "depths", allowed, depth)

    def chosen_source(self) -> str:
        """The data set that is used.

        >>> CifarSettings(source="embedded-photographs").chosen_source()
        'embedded-photographs'
        """
        if self.source != "auto":
            return self.source
        return "cifar10" if "cifar10" in available() else "embedded-digits"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an image."""
        return SHAPES[self.chosen_source()]

    def steps(self) -> int:
        """The steps of training: as many rows as `epochs` passes over the training images hold, and
        `most_steps` at most.

        >>> s = CifarSettings(source="embedded-digits")
        >>> s.steps(), s.replace(most_steps=100).steps()
        (487, 100)
        """
        wanted = max(1, math.ceil(self.epochs * training_images(self.chosen_source()) / self.batch))
        return min(wanted, self.most_steps or wanted)

    def outside(self) -> str:
        """How these settings differ from what the paper says; empty where they do not."""
        parts = (
            []
            if self.chosen_source() == "cifar10"
            else [f"the images of {self.chosen_source()} instead of CIFAR-10"]
        )
        passes = self.epochs
        if self.most_steps:
            passes = min(
                passes, self.most_steps * self.batch / training_images(self.chosen_source())
            )
        if passes != PAPER["epochs"]:
            parts.append(f"{passes:.2g} epochs instead of {PAPER['epochs']}")
        if set(self.depths) != set(POOLS):
            parts.append(f"depths {', '.join(map(str, self.depths))} instead of 2, 4, 6")
        return ", ".join(parts)


SCALES = at_scales(
    CifarSettings(),
    quick={"depths": (2,), "cnn_widths": (8,), "fcn_widths": (4, 64), "control": False},
    laptop={
        "depths": (2, 4, 6),
        "cnn_widths": (2, 4, 8),  # of 16 filters, CIFAR-10 takes a core a quarter of an hour
        "fcn_widths": (4, 16, 64, 256),
        "seeds": 4,
        "epochs": 40,
        "most_steps": 1000,
        "times": 8,
    },
    full={
        "depths": (2, 4, 6),
        "cnn_widths": (4, 16, 64),
        "fcn_widths": (4, 32, 256, 2048),
        "seeds": 3,
        "epochs": 125,
        "most_steps": 0,
        "batch": 256,
        "test": 4000,  # activations of all test rows are held at once
        "times": 10,
        "precision": "tf32",
    },
)
