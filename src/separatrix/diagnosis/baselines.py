"""Baselines beside every network: the best constant answer, a linear model and nearest neighbours,
on the same splits.
"""

import warnings
from typing import Any

import numpy as np

from separatrix.diagnosis.bench import Bench
from separatrix.inference.intervals import Interval, mean_over_seeds

SPLITS, ROWS, NUMBERS = 3, 1000, 2_000_000  # a baseline must not eat the budget


def baselines(bench: Bench) -> dict[str, Interval]:
    """Accuracies of the simple models at the largest sample size, over the first splits.

    >>> from separatrix.data.labelled import as_labelled
    >>> from separatrix.engine import Lab
    >>> from separatrix.diagnosis.settings import Settings
    >>> data = as_labelled(np.random.default_rng(0).normal(size=(80, 6)), np.arange(80) % 2)
    >>> sorted(baselines(Bench(data, Settings(), Lab())))
    ['constant', 'linear', 'nearest neighbours']
    """
    found: dict[str, list[float]] = {"constant": [], "linear": [], "nearest neighbours": []}
    for split in range(SPLITS):
        plain = bench.lab.remember(
            "diagnose-baselines",
            _parameters(bench, split),
            lambda split=split: _fitted(bench, split),
        )
        for name, value in plain.items():
            found[name].append(value)
    return {
        name: mean_over_seeds(np.array(values), bench.settings.level)
        for name, values in found.items()
    }


def _parameters(bench: Bench, split: int) -> dict[str, Any]:
    return {
        "data": bench.data.digest,
        "split": split,
        "seed": bench.settings.seed,
        "rows": [*bench.sizes[:3]],
    }


def _fitted(bench: Bench, split: int) -> dict[str, float]:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from threadpoolctl import threadpool_limits

    learn, _, test = bench.rows(split)
    most = max(50, min(ROWS, NUMBERS // max(1, learn.x[0].size)))
    count, tested = min(int(learn.count), most), min(int(test.count), most)
    x, y = learn.x[:count].reshape(count, -1), learn.y[:count]
    tx, ty = test.x[:tested].reshape(tested, -1), test.y[:tested]
    if bench.data.classes:
        values, counts = np.unique(y, return_counts=True)
        out = {"constant": float((ty == values[counts.argmax()]).mean())}
        models: dict[str, Any] = {
            "linear": LogisticRegression(C=0.1, max_iter=50),
            "nearest neighbours": KNeighborsClassifier(min(5, count)),
        }
        if len(values) < 2:
            return out | dict.fromkeys(models, out["constant"])
    else:
        out = {
            "constant": 1.0 - float(np.square(ty - y.mean()).mean() / max(float(ty.var()), 1e-12))
        }
        models = {
            "linear": Ridge(alpha=1.0 * x.shape[1] ** 0.5),
            "nearest neighbours": KNeighborsRegressor(min(5, count)),
        }
    for name, model in models.items():
        # On small matrices threads cost more than they bring, and on a busy machine many times
        # more.
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter(
                "ignore"
            )  # a linear fit that did not fully converge is still a baseline
            out[name] = float(model.fit(x, y).score(tx, ty))
    return out
