"""Real data about which everyone agrees: what a diagnosis must say of them, and of the same pixels
in another order.
"""

from collections.abc import Callable

import numpy as np

from separatrix.data import available, read_labelled
from separatrix.data.labelled import Labelled, as_labelled
from separatrix.diagnosis.verdict import UNSETTLED

PAYS = ("convolution pays", "locality pays, sharing does not", UNSETTLED)
PAYS_NOT = ("neither pays", "cannot tell")


def shuffled(data: Labelled, seed: int) -> Labelled:
    """The same rows with their pixels (all channels of one together) in another order, the same for
    every row.

    >>> shuffled(read_labelled("digits"), 0)
    Labelled(name='digits, permuted', kind='image', rows=1797, shape=(8, 8, 1), classes=10)
    """
    rows, *pixels, channels = data.inputs.shape
    order = np.random.default_rng([seed, 23]).permutation(int(np.prod(pixels)))
    inputs = (
        np.asarray(data.inputs).reshape(rows, -1, channels)[:, order].reshape(data.inputs.shape)
    )
    labels = np.asarray(data.classes)[data.labels] if data.classes else data.labels
    return as_labelled(
        inputs, labels, name=f"{data.name}, permuted", kind=data.kind, task=data.task
    )


IMAGES = ("digits", "mnist", "fashion-mnist", "cifar10")
TABLES = ("breast-cancer", "wine")
REALS: dict[str, tuple[tuple[str, ...], Callable[[int], Labelled]]] = {
    **{name: (PAYS, lambda seed, name=name: read_labelled(name)) for name in IMAGES},
    **{
        f"{name}, permuted": (PAYS_NOT, lambda seed, name=name: shuffled(read_labelled(name), seed))
        for name in IMAGES
    },
    **{name: (PAYS_NOT, lambda seed, name=name: read_labelled(name)) for name in TABLES},
}


def absent() -> list[str]:
    """The data sets of the table that have to be fetched first (`separatrix data get NAME`).

    >>> "digits" in absent()
    False
    """
    here = {*available(), "digits"}
    return [name for name in IMAGES if name not in here]
