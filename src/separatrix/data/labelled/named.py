"""Data sets that are called by name: the package's own, and small tables that ship inside
scikit-learn.
"""

import numpy as np

from separatrix.data.catalogue import CATALOGUE
from separatrix.data.labelled.build import Raw
from separatrix.data.labelled.limits import said
from separatrix.data.store import load
from separatrix.errors import UnknownNameError

_TEN = tuple(map(str, range(10)))
_CLOTHES = (
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)
_THINGS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_IMAGES = {
    "digits": ("embedded-digits", _TEN),
    "embedded-digits": ("embedded-digits", _TEN),
    "mnist": ("mnist", _TEN),
    "fashion-mnist": ("fashion-mnist", _CLOTHES),
    "cifar10": ("cifar10", _THINGS),
}
_TABLES = {
    "breast-cancer": "load_breast_cancer",
    "wine": "load_wine",
    "iris": "load_iris",
    "diabetes": "load_diabetes",
}

NAMED = (*_IMAGES, *_TABLES)


def read_named(name: str) -> Raw:
    """A data set by its name, training and test rows together; those of the catalogue must have
    been fetched.

    >>> read_named("digits").inputs.shape, read_named("wine").inputs.shape
    ((1797, 8, 8), (178, 13))
    >>> read_named("irsi")
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no file, folder or data set `irsi`; did you mean `iris`?
    """
    if name in _IMAGES:
        source, classes = _IMAGES[name]
        data = load(source)
        inputs, labels = (
            np.concatenate([data.train_x, data.test_x]),
            np.concatenate([data.train_y, data.test_y]),
        )
        return Raw(inputs, labels, "image", classes=classes)
    if name in _TABLES:
        from sklearn import datasets  # slow to import

        table = getattr(datasets, _TABLES[name])()
        classes = tuple(map(str, getattr(table, "target_names", ())))
        return Raw(
            table.data,
            table.target,
            "tabular",
            columns=tuple(map(str, table.feature_names)),
            classes=classes,
        )
    raise UnknownNameError("file, folder or data set", said(name), NAMED)


assert set(CATALOGUE) <= set(NAMED)
