"""Metrics as means over rows, against scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics as reference

from separatrix.diagnosis.metrics import constant_score, metric_for, row_scores

RNG = np.random.default_rng(0)


def test_the_area_under_the_curve_and_its_spread():
    y = np.where(RNG.random(400) < 0.2, 1.0, -1.0)
    scores = np.round(RNG.normal(size=400) + y, 1)  # with ties
    rows = row_scores("auc", scores, y)
    assert rows.mean() == pytest.approx(reference.roc_auc_score(y > 0, scores))
    areas = []
    for _ in range(400):
        again = RNG.integers(0, 400, 400)
        areas.append(reference.roc_auc_score(y[again] > 0, scores[again]))
    assert rows.std() / 20 == pytest.approx(np.std(areas), rel=0.2)


def test_average_precision_and_its_spread():
    y = np.where(RNG.random(400) < 0.2, 1.0, -1.0)
    scores = np.round(RNG.normal(size=400) + y, 1)  # with ties
    rows = row_scores("average-precision", scores, y)
    assert rows.mean() == pytest.approx(reference.average_precision_score(y > 0, scores))
    # The derivative by the weight of a row, against a small weight.
    for row in (0, int(np.argmax(scores)), int(np.argmax(y)), int(np.argmin(scores))):
        weights = np.ones(400)
        weights[row] += 1e-5
        moved = reference.average_precision_score(y > 0, scores, sample_weight=weights)
        assert (moved - rows.mean()) / 1e-5 * 400 == pytest.approx(
            rows[row] - rows.mean(), abs=1e-3
        )
    assert constant_score("average-precision", np.array([0, 0, 0, 1]), 2) == 0.25
    assert row_scores("average-precision", scores, -np.ones(400)).max() == 0.0


def test_balanced_accuracy_of_several_classes():
    y = RNG.choice(3, 300, p=[0.8, 0.15, 0.05]).astype(float)
    right = RNG.random(300) < 0.5 + 0.2 * (y == 0)
    rows = row_scores("balanced-accuracy", np.where(right, 1.0, -1.0), y)
    expected = np.mean([right[y == each].mean() for each in range(3)])
    assert rows.mean() == pytest.approx(expected)


def test_explained_variance_and_accuracy():
    y, guess = RNG.normal(size=50), RNG.normal(size=50)
    assert row_scores("r2", guess, y).mean() == pytest.approx(reference.r2_score(y, guess))
    assert row_scores("accuracy", np.array([1.0, -1.0, 0.0]), np.array([1.0, 1, 1])).tolist() == [
        1.0,
        0.0,
        0.5,
    ]


def test_rare_classes_get_a_metric_that_notices_them():
    assert metric_for(np.repeat([0, 1], [76, 24]), 2) == "auc"
    assert metric_for(np.repeat([0, 1], [74, 26]), 2) == "accuracy"
    assert metric_for(np.repeat([0, 1, 2], [90, 90, 20]), 3) == "balanced-accuracy"
    assert metric_for(RNG.normal(size=9), 0) == "r2"
    assert constant_score("balanced-accuracy", np.zeros(3), 4) == 0.25
