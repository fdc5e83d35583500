"""Regression on images: different images, labelled through windows."""

import jax
import numpy as np
import pytest

import separatrix as sx
from separatrix.streams import named


def test_image_regression_labels_different_images_by_windows():
    task = sx.ImageRegressionTask(side=8, noise=0.0, units=3)

    @jax.jit
    def make(key):
        truth = task.bind(task.truth(named(key, "truth")), task.arrays())
        train, test = (
            task.draw(named(key, "train"), 40, truth),
            task.draw_test(named(key, "test"), 30, truth),
        )
        return truth.teacher, train, test

    teacher, train, test = jax.device_get(make(jax.random.key(3)))
    x = train.x.astype(np.float64)
    assert x.shape == (40, 8, 8, 3)
    expected = []
    for image in x[:10]:
        windows = [image[r : r + 3, c : c + 3].ravel() for r in range(6) for c in range(6)]
        hidden = np.maximum(np.array(windows) @ teacher.weights.T - teacher.bias, 0).mean(0)
        expected.append(hidden @ teacher.readout + teacher.offset)
    assert np.allclose(train.y[:10], expected, atol=1e-5)
    stored = task.arrays()
    # Training rows are different images of the training split, test rows images of the test split.
    places = [int(np.argmin(np.abs(stored["train_x"] - image).max((1, 2, 3)))) for image in train.x]
    assert len(set(places)) == 40
    assert np.allclose(stored["train_x"][places], train.x, atol=1e-6)
    assert all(np.abs(stored["test_x"] - image).max((1, 2, 3)).min() < 1e-6 for image in test.x)
    # Pixels of the whole collection have unit variance; `scale` multiplies them.
    assert (stored["train_x"] ** 2).mean() == pytest.approx(1.0, abs=1e-3)
    twice = task.replace(scale=2.0)
    doubled = twice.draw(named(jax.random.key(3), "train"), 40, twice.bind(teacher, twice.arrays()))
    assert np.allclose(doubled.x, 2 * train.x, atol=1e-6)
