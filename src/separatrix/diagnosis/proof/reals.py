"""Real data about which everyone agrees, and the same pixels in another order."""

import dataclasses
from collections.abc import Callable

import numpy as np

from separatrix.data import Labelled, as_labelled, available, read_labelled
from separatrix.diagnosis.verdict import UNSETTLED

PAYS = ("convolution pays", "locality pays, sharing does not", UNSETTLED)
# Of the digits too: nearest neighbours are level with every network there.
PAYS_NOT = ("neither pays", "cannot tell")


@dataclasses.dataclass(frozen=True)
class Real:
    """How a data set is made, and which verdicts are right of it."""

    make: Callable[[int], Labelled]
    right: tuple[str, ...]


def shuffled(data: Labelled, seed: int) -> Labelled:
    """The same rows with their pixels (all channels of one together) in another order.

    >>> shuffled(read_labelled("digits"), 0)
    Labelled(name='digits, permuted', kind='image', rows=1797, shape=(8, 8, 1), classes=10)
    """
    rows, *pixels, channels = data.inputs.shape
    order = np.random.default_rng([seed, 23]).permutation(int(np.prod(pixels)))
    flat = np.asarray(data.inputs).reshape(rows, -1, channels)
    labels = np.asarray(data.classes)[data.labels] if data.classes else data.labels
    return as_labelled(
        flat[:, order].reshape(data.inputs.shape),
        labels,
        name=f"{data.name}, permuted",
        kind=data.kind,
        task=data.task,
    )


IMAGES = ("digits", "mnist", "fashion-mnist", "cifar10")
TABLES = ("breast-cancer", "wine")
_HERE = {*available(), "digits"}
REALS: dict[str, Real] = {
    **{
        name: Real(
            lambda seed, name=name: read_labelled(name), PAYS_NOT if name == "digits" else PAYS
        )
        for name in IMAGES
        if name in _HERE
    },
    **{
        f"{name}, permuted": Real(
            lambda seed, name=name: shuffled(read_labelled(name), seed), PAYS_NOT
        )
        for name in IMAGES
        if name in _HERE
    },
    **{name: Real(lambda seed, name=name: read_labelled(name), PAYS_NOT) for name in TABLES},
}
