"""Blind models answer as networks do: scores, or margins of the right class."""

import numpy as np
import pytest

from separatrix.diagnosis.baselines import MODELS, fit_baseline
from separatrix.diagnosis.metrics import row_scores

RNG = np.random.default_rng(0)
PARTS = (np.arange(120), np.arange(120, 160), np.arange(160, 200))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_they_learn(model, classes):
    x = RNG.normal(size=(200, 4)).astype(np.float32)
    y = {
        0: x[:, 0],
        2: np.where(x[:, 0] > 0, 1.0, -1.0),
        3: np.digitize(x[:, 0], [-0.5, 0.5]).astype(np.float32),
    }[classes]
    said = fit_baseline(model, x, y, PARTS, classes, balanced=classes == 2)
    metric = "r2" if classes == 0 else "accuracy"
    assert row_scores(metric, np.array(said["test"]), y[PARTS[2]]).mean() > 0.5
    assert len(said["check"]) == 40


def test_one_class_in_the_sample_answers_nothing():
    said = fit_baseline("linear", RNG.normal(size=(200, 4)), np.ones(200), PARTS, 2, False)
    assert set(said["test"]) == {0.0}
