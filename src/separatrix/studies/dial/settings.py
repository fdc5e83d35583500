"""The settings of the study `dial` at its three scales, and the places of the dial on each data
set.
"""

import dataclasses

from separatrix.data import available, load
from separatrix.errors import ParameterError, check_choice, check_integer, check_number
from separatrix.studies.dial.task import CLASSES, pool_size
from separatrix.tasks.data_source import check_source
from separatrix.tasks.images import SHAPES


@dataclasses.dataclass(frozen=True)
class Geometry:
    """How the dial lies over the images of a data set: a window every `stride` pixels around the
    edge, its sides, and the groups along an axis.

    `labels` are the rungs below all labels; `target` is the accuracy whose price in labels is asked
    for.

    >>> GEOMETRIES["cifar10"].windows(32)
    8
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
    "embedded-digits": Geometry(2, (3, 5, 8), (1, 2, 4), (30, 80, 200, 500), 0.85),
    "embedded-photographs": Geometry(4, (6, 12, 32), (1, 2, 8), (60, 250, 1000, 2500), 0.85),
    "mnist": Geometry(4, (6, 28), (1, 7), (200, 800, 3000, 12_000), 0.95),
    "fashion-mnist": Geometry(4, (6, 28), (1, 7), (200, 800, 3000, 12_000), 0.85),
    "cifar10": Geometry(4, (6, 12, 32), (1, 2, 8), (500, 2000, 6000, 15_000), 0.45),
}


@dataclasses.dataclass(frozen=True, order=True)
class Place:
    """One place of the dial: the data set, the hidden layers, the side of a window and the groups
    along an axis that share weights.

    >>> Place("cifar10", 1, 32, 8).name, Place("cifar10", 1, 6, 8).name, Place("cifar10", 1, 6, 1).name, Place("cifar10", 1, 12, 2).name
    ('FCN', 'LCN', 'CNN', '')
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


@dataclasses.dataclass(frozen=True)
class DialSettings:
    """What the study varies.

    `sources` are data sets, or "auto": CIFAR-10 and MNIST where they are in the data folder, else
    the embedded digits. Every network has `filters` units at every window, in each of its hidden
    layers. With `whole_map` every field and number of groups is run with one hidden layer,
    otherwise the corners only; deeper networks are run at the corners FCN, LCN, CNN. `target` is
    the accuracy at which labels are counted (0: the data set's own). `margin` is the difference in
    accuracy that counts as none.

    >>> DialSettings(depths=(0,))
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `depths` of dial must be an integer in [1, 6], got 0
    """

    sources: tuple[str, ...] = ("auto",)
    depths: tuple[int, ...] = (1, 2)
    whole_map: bool = False
    filters: int = 8
    rates: tuple[float, ...] = (0.003, 0.01, 0.03)
    tune_seeds: int = 3
    seeds: int = 6
    steps: int = 400
    batch: int = 64
    test: int = 500
    times: int = 5
    target: float = 0.0
    margin: float = 0.02
    precision: str = "float32"
    seed: int = 0

    def __post_init__(self):
        for name in self.sources:
            if name != "auto":
                check_source("dial", name)
        if (
            not self.sources
            or (len(self.sources) > 1 and "auto" in self.sources)
            or len(set(self.sources)) < len(self.sources)
        ):
            raise ParameterError(
                "dial", "sources", "auto, or different names of data sets", self.sources
            )
        for depth in self.depths:
            check_integer("dial", "depths", depth, 1, 6)
        for rate in self.rates:
            check_number("dial", "rates", rate, 0, open_low=True)
        if not self.rates:
            raise ParameterError("dial", "rates", "at least one rate", self.rates)
        check_integer("dial", "seeds", self.seeds, 2)
        for name in ("filters", "tune_seeds", "steps", "batch", "test", "times"):
            check_integer("dial", name, getattr(self, name), 1)
        check_number("dial", "target", self.target, 0, 1)
        check_number("dial", "margin", self.margin, 0, open_low=True)
        check_choice("dial", "precision", self.precision, ("float32", "tf32"))

    def chosen_sources(self) -> list[str]:
        """The data sets that are used.

        >>> DialSettings(sources=("embedded-digits",)).chosen_sources()
        ['embedded-digits']
        """
        if "auto" not in self.sources:
            return [name.partition("@")[0] for name in self.sources]
        return [name for name in ("cifar10", "mnist") if name in available()] or ["embedded-digits"]

    def places(self) -> list[Place]:
        """Every place of the dial that is run.

        >>> [len(DialSettings(sources=("embedded-digits",), whole_map=whole).places()) for whole in (False, True)]
        [7, 12]
        """
        out = []
        for source in self.chosen_sources():
            geometry, side = GEOMETRIES[source], SHAPES[source][0]
            for depth in sorted(set(self.depths)):
                whole = [
                    Place(source, depth, field, groups)
                    for field in geometry.fields
                    for groups in geometry.groups
                ]
                for place in whole:
                    wanted = bool(place.name) if depth == 1 else place.name in CORNERS
                    if wanted or (depth == 1 and self.whole_map):
                        out.append(place)
            assert geometry.fields[-1] == side  # the last field is the image
        return out

    def labels(self, source: str) -> list[int]:
        """The rungs of the ladder of labels, the last being all.

        >>> DialSettings().labels("embedded-digits")
        [30, 80, 200, 500, 972]
        """
        most = self.all_labels(source)
        return [*(m for m in GEOMETRIES[source].labels if m < most), most]

    def all_labels(self, source: str) -> int:
        """All labels there are: those of the training images that are not kept apart."""
        return pool_size(len(load(source).train_y))

    def apart(self, source: str) -> int:
        """The training images that are kept apart for tuning.

        >>> DialSettings().apart("embedded-digits")
        325
        """
        return len(load(source).train_y) - self.all_labels(source)

    def classes(self, source: str) -> int:
        """How many classes a data set has."""
        return CLASSES.get(source, 10)

    def accuracy_target(self, source: str) -> float:
        """The accuracy whose price in labels is asked for."""
        return self.target or GEOMETRIES[source].target


SCALES = {
    "quick": DialSettings(sources=("embedded-digits",)),
    "laptop": DialSettings(
        sources=("embedded-digits", "embedded-photographs"),
        whole_map=True,
        rates=(0.001, 0.003, 0.01),
        steps=1000,
        test=1000,
        times=8,
        margin=0.01,
    ),
    # 6 seeds on plain and 6 on permuted pixels are as many trials as 3 rates with 2 seeds on both,
    # and as two rungs of labels: one batch size, so one program a place.
    "full": DialSettings(
        depths=(1, 2, 3),
        whole_map=True,
        filters=32,
        tune_seeds=2,
        rates=(0.0003, 0.001, 0.003),
        steps=7000,
        batch=128,
        test=4000,
        times=10,
        margin=0.01,
        precision="tf32",
    ),
}
