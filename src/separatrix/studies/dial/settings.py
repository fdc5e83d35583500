"""The settings of the study `dial` at its three scales, and the places of the dial on each data
set.
"""

import dataclasses

from separatrix.data import available, training_images
from separatrix.errors import ParameterError
from separatrix.studies.settings import Settings, at_scales, setting
from separatrix.tasks.data_source import check_source
from separatrix.tasks.images import SHAPES
from separatrix.tasks.labelled_images import CLASSES, pool_size


@dataclasses.dataclass(frozen=True)
class DialGeometry:
    """The windows of the networks on the images of a data set.

    There is a window every `stride` pixels, around the edge. `fields` are the sides of windows that
    are tried, `groups` the sets of weights along an axis. `labels` are the rungs of the ladder
    below all labels; `target` is the accuracy at which the study counts labels.
    """

    stride: int
    fields: tuple[int, ...]
    groups: tuple[int, ...]
    labels: tuple[int, ...]
    target: float

    def windows(self, side: int) -> int:
        """The windows along an axis."""
        return side // self.stride


GEOMETRIES = {
    "embedded-digits": DialGeometry(2, (3, 5, 8), (1, 2, 4), (30, 80, 200, 500), 0.85),
    "embedded-photographs": DialGeometry(4, (6, 12, 32), (1, 2, 8), (60, 250, 1000, 2500), 0.85),
    "mnist": DialGeometry(4, (6, 28), (1, 7), (200, 800, 3000, 12_000), 0.95),
    "fashion-mnist": DialGeometry(4, (6, 28), (1, 7), (200, 800, 3000, 12_000), 0.85),
    "cifar10": DialGeometry(4, (6, 12, 32), (1, 2, 8), (500, 2000, 6000, 15_000), 0.45),
}


@dataclasses.dataclass(frozen=True, order=True)
class DialPlace:
    """One place of the dial: the data set, the hidden layers, the side of a window and the groups
    along an axis that share weights.

    >>> [DialPlace("cifar10", 1, *place).name for place in ((32, 8), (6, 8), (6, 1), (12, 2))]
    ['FCN', 'LCN', 'CNN', '']
    """

    source: str
    depth: int
    field: int
    groups: int

    @property
    def side(self) -> int:
        """The side of an image."""
        return SHAPES[self.source][0]

    @property
    def windows(self) -> int:
        """The windows along an axis."""
        return GEOMETRIES[self.source].windows(self.side)

    @property
    def name(self) -> str:
        """The corner that this is; empty elsewhere."""
        local = self.field == GEOMETRIES[self.source].fields[0]
        if self.groups == self.windows:
            return "FCN" if self.field == self.side else "LCN" if local else ""
        if self.groups > 1:
            return ""
        return "CNN" if local else "shared, whole field" if self.field == self.side else ""


CORNERS = ("FCN", "LCN", "CNN")


class DialSettings(Settings, of="dial"):
    """What the study varies.

    `sources` are data sets, or "auto": CIFAR-10 and MNIST where they are in the data folder, else
    the embedded digits. Every network has `filters` units at every window, in each of its hidden
    layers. With `whole_map` every field and number of groups is run with one hidden layer,
    otherwise the corners only; deeper networks are run at the corners FCN, LCN, CNN. `target` is
    the accuracy at which labels are counted (0: the data set's own). `margin` is the difference in
    accuracy that counts as none.

    >>> [place.name for place in DialSettings(sources=("mnist",), depths=(2,)).places()]
    ['CNN', 'LCN', 'FCN']
    """

    sources: tuple[str, ...] = ("auto",)
    depths: tuple[int, ...] = setting(default=(1, 2), low=1, high=6)
    whole_map: bool = False
    filters: int = setting(default=8, low=1)
    rates: tuple[float, ...] = setting(default=(0.003, 0.01, 0.03), low=0, open_low=True)
    tune_seeds: int = setting(default=3, low=1)
    seeds: int = setting(default=6, low=2)
    corner_seeds: int = setting(default=0, low=0)
    steps: int = setting(default=400, low=1)
    batch: int = setting(default=64, low=1)
    test: int = setting(default=500, low=1)
    times: int = setting(default=5, low=1)
    target: float = setting(default=0.0, low=0, high=1)
    precision: str = setting(default="float32", among=("float32", "tf32"))
    seed: int = 0

    def check(self) -> None:
        names = [name for name in self.sources if name != "auto"]
        for name in names:
            check_source(self.owner, name)
        mixed = "auto" in self.sources and len(self.sources) > 1
        if not self.sources or mixed or len(set(names)) < len(names):
            raise ParameterError(
                self.owner, "sources", "auto, or different names of data sets", self.sources
            )
        if not self.rates:
            raise ParameterError(self.owner, "rates", "at least one rate", self.rates)

    def chosen_sources(self) -> list[str]:
        """The data sets that are used.

        >>> DialSettings(sources=("embedded-digits",)).chosen_sources()
        ['embedded-digits']
        """
        if "auto" not in self.sources:
            return [name.partition("@")[0] for name in self.sources]
        return [name for name in ("cifar10", "mnist") if name in available()] or ["embedded-digits"]

    def places(self) -> list[DialPlace]:
        """Every place of the dial that is run.

        >>> s = DialSettings(sources=("embedded-digits",))
        >>> len(s.places()), len(s.replace(whole_map=True).places())
        (7, 12)
        """
        out = []
        for source in self.chosen_sources():
            geometry, side = GEOMETRIES[source], SHAPES[source][0]
            assert geometry.fields[-1] == side  # the last field is the image
            for depth in sorted(set(self.depths)):
                for field in geometry.fields:
                    for groups in geometry.groups:
                        place = DialPlace(source, depth, field, groups)
                        corner = bool(place.name) if depth == 1 else place.name in CORNERS
                        if corner or (depth == 1 and self.whole_map):
                            out.append(place)
        return out

    def labels(self, source: str) -> list[int]:
        """The rungs of the ladder of labels, the last being all.

        >>> DialSettings().labels("embedded-digits")
        [30, 80, 200, 500, 972]
        """
        most = self.all_labels(source)
        return [*(m for m in GEOMETRIES[source].labels if m < most), most]

    def all_labels(self, source: str) -> int:
        """All labels there are: those of the training images that are not held out."""
        return pool_size(training_images(source))

    def held_out(self, source: str) -> int:
        """The training images that are held out for tuning.

        >>> DialSettings().held_out("embedded-digits")
        325
        """
        return training_images(source) - self.all_labels(source)

    def classes(self, source: str) -> int:
        """How many classes a data set has."""
        return CLASSES.get(source, 10)

    def accuracy_target(self, source: str) -> float:
        """The accuracy whose price in labels is asked for."""
        return self.target or GEOMETRIES[source].target


SCALES = at_scales(
    DialSettings(),
    quick={
        "sources": ("embedded-digits",),
        "depths": (1,),
        "rates": (0.003, 0.01),
        "tune_seeds": 2,
    },
    laptop={
        "sources": ("embedded-digits", "embedded-photographs"),
        "whole_map": True,
        "rates": (0.001, 0.003, 0.01),
        "steps": 1000,
        "test": 1000,
        "times": 8,
    },
    # 6 seeds on plain and 6 on permuted pixels are as many trials as 3 rates with 2 seeds on both,
    # and as two rungs of labels: one batch size, so one program per place.
    full={
        "depths": (1, 2, 3),
        "whole_map": True,
        "filters": 32,
        "tune_seeds": 2,
        "rates": (0.0003, 0.001, 0.003),
        "steps": 7000,
        "batch": 128,
        "test": 4000,
        "times": 10,
        "corner_seeds": 24,
        "precision": "tf32",
    },
)
