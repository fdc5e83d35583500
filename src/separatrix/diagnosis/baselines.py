"""Models that are blind to the arrangement of the input, and compete with every network: a linear
model, nearest neighbours and boosted trees, on the same splits.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

MODELS = ("linear", "nearest neighbours", "boosted trees")
LARGE = 1e6  # values from which a linear model gets one strength of its penalty
BOOSTING = 4e7  # values x classes x rounds that boosting may take; beyond, forests of random trees


def fit_baseline(
    model: str,
    x: np.ndarray,
    y: np.ndarray,
    parts: Sequence[np.ndarray],
    classes: int,
    balanced: bool,
) -> dict[str, list[float]]:
    """Fit one of `MODELS`, choose its one knob on check rows, and answer for check and test rows.

    Args:
        model: which one.
        x: all inputs, one row each, scaled.
        y: ±1, class numbers, or the numbers of a regression.
        parts: the numbers of the rows to learn from, to choose on and to test on.
        classes: how many classes; 0 for a regression.
        balanced: whether classes count alike, however rare.

    Returns:
        the answers as networks give them: scores, or margins of the right class.
    """
    from threadpoolctl import threadpool_limits

    learn, check, test = parts
    best: tuple[float, Any] | None = None
    # On small matrices threads cost more than they bring.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # a fit that did not fully converge is still a baseline
        if len(np.unique(y[learn])) < 2:
            return {"check": [0.0] * len(check), "test": [0.0] * len(test)}
        for knob in _knobs(model, x[learn]):
            fitted = _made(model, knob, x[learn], classes, balanced).fit(x[learn], y[learn])
            answers = _answers(fitted, x[check], y[check], classes)
            loss = _loss(answers, y[check], classes, balanced)
            if best is None or loss < best[0]:
                best = loss, fitted
        assert best is not None
        return {
            "check": _answers(best[1], x[check], y[check], classes).tolist(),
            "test": _answers(best[1], x[test], y[test], classes).tolist(),
        }


def _knobs(model: str, x: np.ndarray) -> tuple[float, ...]:
    return {
        "linear": (0.003, 0.03, 0.3) if x.size < LARGE else (0.003,),
        "nearest neighbours": tuple(k for k in (1, 5, 25) if k <= len(x)),
        "boosted trees": (0.1,),
    }[model]


def _made(model: str, knob: float, x: np.ndarray, classes: int, balanced: bool) -> Any:
    from sklearn import ensemble, linear_model, neighbors

    kind: Any
    weight: dict[str, Any] = {"class_weight": "balanced"} if balanced and classes else {}
    if model == "linear":
        if classes:
            return linear_model.LogisticRegression(
                C=knob, max_iter=100 if x.size < LARGE else 30, **weight
            )
        return linear_model.Ridge(alpha=1.0 / knob)
    if model == "nearest neighbours":
        kind = neighbors.KNeighborsClassifier if classes else neighbors.KNeighborsRegressor
        return kind(int(knob))
    rounds = 100 if classes <= 2 else 40
    if x.size * max(1, classes if classes > 2 else 1) * rounds > BOOSTING:
        kind = ensemble.ExtraTreesClassifier if classes else ensemble.ExtraTreesRegressor
        return kind(100, min_samples_leaf=2, random_state=0, **weight)
    options: dict[str, Any] = {"learning_rate": knob, "max_iter": rounds, "max_leaf_nodes": 15}
    options |= {"early_stopping": False, "random_state": 0, "max_bins": 63}
    kind = (
        ensemble.HistGradientBoostingClassifier
        if classes
        else ensemble.HistGradientBoostingRegressor
    )
    return kind(**options, **weight)


def _answers(fitted: Any, x: np.ndarray, y: np.ndarray, classes: int) -> np.ndarray:
    """Scores of two classes (log odds) or a regression, or margins of the right one of several."""
    if not classes:
        return np.asarray(fitted.predict(x), float)
    logs = np.log(np.clip(fitted.predict_proba(x), 1e-6, 1.0))
    if classes == 2:
        return logs[:, 1] - logs[:, 0]
    scores = np.full((len(x), classes), np.log(1e-6))
    scores[:, fitted.classes_.astype(int)] = logs
    rows, right = np.arange(len(x)), y.astype(int)
    own = scores[rows, right].copy()
    scores[rows, right] = -np.inf
    return own - scores.max(1)


def _loss(answers: np.ndarray, y: np.ndarray, classes: int, balanced: bool) -> float:
    if not classes:
        return float(np.square(answers - y).mean())
    losses = np.logaddexp(0.0, -(answers * y if classes == 2 else answers))
    if not balanced:
        return float(losses.mean())
    return float(np.mean([losses[y == each].mean() for each in np.unique(y)]))
