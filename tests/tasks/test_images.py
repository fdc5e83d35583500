"""Classes of stored images."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.data import load
from separatrix.engine import Programs
from separatrix.tasks import images as module

DIGITS = load("embedded-digits")


def bound(task, key=0):
    arrays = {name: jnp.asarray(array) for name, array in task.arrays().items()}
    return task.bind(task.truth(jax.random.key(key)), arrays)


def raw(task, x):
    """Rows back as grey levels."""
    arrays = task.arrays()
    return np.rint((np.asarray(x, np.float64) * arrays["spread"] + arrays["mean"]) * 255).astype(
        int
    )


def test_training_rows_are_training_images_with_their_classes():
    task = sx.ImageTask("embedded-digits")
    x, y, _ = task.draw(jax.random.key(1), 300, bound(task))
    known = {image.tobytes(): int(label) for image, label in zip(DIGITS.train_x, DIGITS.train_y)}
    for image, label in zip(raw(task, x)[..., 0].astype(np.uint8), np.asarray(y)):
        assert known[image.tobytes()] == label


def test_test_rows_are_the_test_images_each_once():
    task = sx.ImageTask("embedded-digits")
    x, y, _ = task.draw_test(jax.random.key(1), 500, bound(task))
    np.testing.assert_array_equal(raw(task, x)[..., 0], DIGITS.test_x)
    np.testing.assert_array_equal(y, DIGITS.test_y)
    some = task.draw_test(jax.random.key(1), 100, bound(task))
    np.testing.assert_array_equal(some.y, DIGITS.test_y[::5])
    # The pieces of photographs stand class by class: evenly chosen ones hold both.
    photos = sx.ImageTask("embedded-photographs", classes=2)
    assert np.bincount(
        np.asarray(photos.draw_test(jax.random.key(0), 42, bound(photos)).y, int)
    ).tolist() == [21, 21]


def test_channels_have_mean_0_and_variance_1_over_the_training_images():
    task = sx.ImageTask("embedded-photographs", classes=2)
    arrays = task.arrays()
    level = (arrays["train_x"] / 255 - arrays["mean"]) / arrays["spread"]
    np.testing.assert_allclose(level.mean((0, 1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(level.std((0, 1, 2)), 1, atol=1e-5)


def test_fewer_classes_keep_their_images_only():
    task = sx.ImageTask("embedded-digits", classes=3)
    assert set(np.unique(task.arrays()["train_y"])) == {0, 1, 2}
    assert len(task.arrays()["test_x"]) == (DIGITS.test_y < 3).sum()
    shares = np.bincount(DIGITS.test_y[DIGITS.test_y < 3]) / (DIGITS.test_y < 3).sum()
    assert task.baselines()["constant"] == pytest.approx(1 - shares.max())


def test_permuted_pixels_are_one_order_for_all_rows_and_channels():
    plain, mixed = (sx.ImageTask("embedded-photographs", 2, permuted) for permuted in (False, True))
    truth = bound(mixed, key=3)
    order = np.asarray(truth.order)
    assert sorted(order) == list(range(1024))
    assert not np.array_equal(order, np.asarray(bound(mixed, key=4).order))
    a, b = plain.draw(jax.random.key(2), 5, bound(plain)), mixed.draw(jax.random.key(2), 5, truth)
    np.testing.assert_array_equal(
        np.asarray(a.x).reshape(5, 1024, 3)[:, order], np.asarray(b.x).reshape(5, 1024, 3)
    )
    c, d = (
        plain.draw_test(jax.random.key(2), 5, bound(plain)),
        mixed.draw_test(jax.random.key(2), 5, truth),
    )
    np.testing.assert_array_equal(
        np.asarray(c.x).reshape(5, 1024, 3)[:, order], np.asarray(d.x).reshape(5, 1024, 3)
    )


def test_shapes_are_those_of_the_data():
    for name in ("embedded-digits", "embedded-photographs"):
        classes = load(name).classes
        assert sx.ImageTask(name, classes).arrays()["train_x"].shape[1:] == module.SHAPES[name]
        with pytest.raises(
            sx.ParameterError,
            match=rf"the `classes` of ImageTask must be at most those of {name} \({classes}\)",
        ):
            sx.ImageTask(name, classes + 1)


def test_a_trial_learns_classes_of_digits(programs: Programs):
    learner = sx.Learner(0.003, 150, oracle="online", batch=64, optimizer="rmsprop")
    trial = sx.Trial(
        sx.ImageTask(classes=4),
        sx.FCN(16, outputs=4, offset=True),
        learner,
        0,
        0,
        sx.Measure(test=200),
    )
    (row,) = programs.run([trial], trial)
    assert row["trace.risk"][0] > 0.5
    assert row["risk"] < 0.1  # chance is about .75; four of the digits are told apart nearly always
