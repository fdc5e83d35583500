"""Inputs on spheres: where they lie, and what is refused."""

import numpy as np
import pytest
from sphere_tasks import TASKS, drawn

import separatrix as sx


def test_inputs_lie_where_they_should():
    _, sphere, _ = drawn(TASKS[1])
    x = np.asarray(sphere.x)[:, :, 0]
    assert np.allclose(np.linalg.norm(x, axis=1), 2.0, atol=1e-5)
    # Uniform on the sphere of radius 2: mean 0, covariance 4/12·I (5 standard errors; a
    # coordinate's fourth moment is below 3·(1/3)²).
    assert np.abs(x.mean(0)).max() < 5 * np.sqrt(1 / 3 / 3000)
    assert np.abs(x.T @ x / 3000 - np.eye(12) / 3).max() < 5 * np.sqrt(2) / 3 / np.sqrt(3000)
    _, patches, _ = drawn(TASKS[2])
    assert np.allclose(
        np.linalg.norm(np.asarray(patches.x).reshape(-1, 4, 3), axis=-1), 1.0, atol=1e-5
    )
    p = np.asarray(patches.x).reshape(-1, 4, 3)
    assert np.abs(np.einsum("nij,nkj->ik", p, p) / 3000 - np.eye(4)).max() < 5 / np.sqrt(
        3 * 3000
    )  # patches are independent
    _, repeated, _ = drawn(TASKS[3])
    copies = np.asarray(repeated.x).reshape(-1, 4, 3)
    assert np.all(copies == copies[:, :1])
    truth, cones, _ = drawn(TASKS[5])
    nearest = (np.asarray(cones.x).reshape(-1, 3) @ np.asarray(truth.axes).T).max(1)
    assert nearest.min() > np.cos(0.25)  # spread .05 and five standard deviations


def test_the_vocabulary_label_counts_words():
    task = sx.VocabularyTask(views=9, patch=4)
    truth, sample, clean = drawn(task, 400)
    patches = np.asarray(sample.x).reshape(400, 9, 4)
    second = np.abs(patches - np.asarray(truth.axes)[1]).max(-1) < 1e-6
    first = np.abs(patches - np.asarray(truth.axes)[0]).max(-1) < 1e-6
    assert np.all(first ^ second)
    assert np.allclose(clean, (2 * second.sum(1) - 9) / 3, atol=1e-6)
    assert abs(second.mean() - 0.5) < 5 * 0.5 / 60


@pytest.mark.parametrize(
    "make, words",
    [
        (
            lambda: sx.SphereTask(4, 5),
            r"the `patch` of SphereTask must be an integer in \[1, 4\], got 5",
        ),
        (
            lambda: sx.SphereTask(8, 4, noise=-1.0),
            "the `noise` of SphereTask must be a number >= 0, got -1.0",
        ),
        (
            lambda: sx.SphereTask(8, 4, teacher="remote"),
            "the `teacher` of SphereTask must be one of 'local', 'dense', 'none', got 'remote'",
        ),
        (
            lambda: sx.PatchSphereTask(0, 4),
            "the `views` of PatchSphereTask must be an integer >= 1, got 0",
        ),
        (
            lambda: sx.Trial(sx.SphereTask(8, 4), sx.FCN(2), sx.Learner(0.1, 1), 0),
            "the `samples` of Trial must be at least 1 .* got 0",
        ),
        (
            lambda: sx.Trial(sx.SphereTask(8, 4), sx.CNN(9), sx.Learner(0.1, 1), 4),
            r"the `field` of Network must be at most .* got \(9,\)",
        ),
        (
            lambda: sx.Trial(
                sx.PatternTask(8, 3),
                sx.CNN(3),
                sx.Learner(0.1, 1),
                4,
                measure=sx.Measure(("regression",)),
            ),
            "the `probes` of Measure must be without regression probes unless the task has "
            "noiseless labels, got 'regression'",
        ),
    ],
)
def test_bad_values_are_one_sentence(make, words):
    with pytest.raises(sx.ParameterError, match=words):
        make()
