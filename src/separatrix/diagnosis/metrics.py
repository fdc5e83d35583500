"""Metrics, each as a mean over test rows: what every row adds says how sure the mean is.

For a metric that is no plain mean (the area under the ROC curve, average precision, balanced
accuracy) a row adds the metric plus its influence on it; differences of two networks are then
paired row by row (for the area under the curve this is DeLong's variance).
"""

import numpy as np
from jaxtyping import Float
from scipy import stats

SKEWED = 0.5  # of its fair share: below it, the smallest class needs a metric that notices it
WORDS = {
    "accuracy": "accuracy",
    "balanced-accuracy": "balanced accuracy",
    "auc": "area under the ROC curve",
    "average-precision": "average precision",
    "r2": "share of the variance explained",
}


def metric_for(labels: np.ndarray, classes: int) -> str:
    """The metric that suits the labels: accuracy, unless a class is rare; R² for a regression.

    >>> metric_for(np.array([0, 1] * 50), 2), metric_for(np.array([0] * 97 + [1] * 3), 2)
    ('accuracy', 'auc')
    """
    if not classes:
        return "r2"
    counts = np.bincount(labels.astype(int), minlength=classes)
    if counts.min() >= SKEWED * len(labels) / classes:
        return "accuracy"
    return "auc" if classes == 2 else "balanced-accuracy"


def suits(metric: str, classes: int) -> bool:
    """Whether a metric can score labels of so many classes; 0 stands for a regression.

    >>> suits("auc", 2), suits("auc", 3), suits("r2", 2), suits("accuracy", 3)
    (True, False, False, True)
    """
    if metric == "r2" or not classes:
        return metric == "r2" and not classes
    return classes == 2 or metric not in ("auc", "average-precision")


def constant_score(metric: str, labels: np.ndarray, classes: int) -> float:
    """What the best constant answer scores.

    >>> constant_score("accuracy", np.array([0, 0, 0, 1]), 2), constant_score("auc", np.ones(4), 2)
    (0.75, 0.5)
    """
    if metric == "accuracy":
        return float(np.bincount(labels.astype(int)).max() / len(labels))
    if metric == "average-precision":
        return float(np.mean(labels > 0))
    return {"auc": 0.5, "r2": 0.0}.get(metric, 1.0 / max(classes, 1))


def row_scores(
    metric: str, answers: Float[np.ndarray, " rows"], y: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, " rows"]:
    """What every row adds to a metric, which is their mean.

    Args:
        metric: which one.
        answers: scores of two classes or of a regression; of several classes, by how much the
            right class's score exceeds all others.
        y: ±1 for two classes, class numbers for several, or the numbers of a regression.

    >>> row_scores("accuracy", np.array([0.3, -0.2]), np.array([1.0, 1.0])).tolist()
    [1.0, 0.0]
    >>> float(row_scores("auc", np.array([3.0, 1.0, 2.0]), np.array([1.0, -1.0, -1.0])).mean())
    1.0
    """
    if metric == "r2":
        return 1.0 - np.square(answers - y) / max(float(y.var()), 1e-12)
    if metric == "auc":
        return _areas(answers, y > 0)
    if metric == "average-precision":
        return _precisions(answers, y > 0)
    two = set(np.unique(y)) <= {-1.0, 1.0}
    margin = answers * y if two else answers
    right = np.where(margin > 0, 1.0, np.where(margin == 0, 0.5, 0.0))
    if metric == "accuracy":
        return right
    groups = [np.flatnonzero(y == each) for each in np.unique(y)]
    means = [right[group].mean() for group in groups]
    out = np.full(len(y), float(np.mean(means)))
    for group, mean in zip(groups, means):
        out[group] += (right[group] - mean) * len(y) / (len(groups) * len(group))
    return out


def _areas(scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    high, low = scores[positive], scores[~positive]
    if not len(high) or not len(low):
        return np.full(len(scores), 0.5)
    ranks = stats.rankdata(scores)
    above = (ranks[positive] - stats.rankdata(high)) / len(low)
    below = 1.0 - (ranks[~positive] - stats.rankdata(low)) / len(high)
    area = float(above.mean())
    out = np.full(len(scores), area)
    out[positive] += (above - area) * len(scores) / len(high)
    out[~positive] += (below - area) * len(scores) / len(low)
    return out


def _precisions(scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """What every row adds to the average precision, Σ over positives of the precision at their
    score, divided by their number: its value, and its derivative by the weight of the row."""
    total = float(positive.sum())
    if not total:
        return np.zeros(len(scores))
    _, place = np.unique(-scores, return_inverse=True)  # 0 has the largest score; ties share one
    hits = np.bincount(place, weights=positive)
    named, found = np.cumsum(np.bincount(place)), np.cumsum(hits)
    precision = found / named
    average = float(hits @ precision) / total
    # A row changes the precision at its own score and at all lower ones.
    gained = np.cumsum((hits / named)[::-1])[::-1]
    lost = np.cumsum((hits * precision / named)[::-1])[::-1]
    change = positive * (precision[place] - average + gained[place]) - lost[place]
    return average + change * len(scores) / total
