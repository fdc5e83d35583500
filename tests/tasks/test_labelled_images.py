"""Images with few labels: which rows are drawn, held out and permuted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from separatrix.streams import named, numbered
from separatrix.tasks.labelled_images import LabelledImages, held_out_stride, pool_size

SOURCE = "embedded-digits"


def bound(task, seed=0):
    """What the rows of a trial are drawn from; compiled whole, which is quicker than op by op."""

    def bind(key):
        return task.bind(task.truth(named(key, "truth")), task.arrays())

    return jax.jit(bind)(jax.random.key(seed))


def numbers_of(task, rows):
    """The training images that rows (with their pixels in order) are; -1 for none."""
    arrays = task.arrays()
    known = {image.tobytes(): number for number, image in enumerate(np.asarray(arrays["train_x"]))}
    assert len(known) == len(arrays["train_x"])  # no image is there twice
    pixels = np.rint((np.asarray(rows.x) * arrays["spread"] + arrays["mean"]) * 255).astype(
        np.uint8
    )
    return np.array([known.get(image.tobytes(), -1) for image in pixels])


def test_only_labelled_images_are_drawn_and_none_that_is_held_out():
    task = LabelledImages(SOURCE, labels=20)
    truth = bound(task)
    draw = jax.jit(task.draw, static_argnums=1)
    seen = set()
    for step in range(6):
        rows = draw(numbered(jax.random.key(1), step), 64, truth)
        seen |= set(numbers_of(task, rows).tolist())
    # 384 draws from 20 images: one is missed with probability 20·(19/20)^384 < 1e-7.
    assert len(seen) == 20
    gap = held_out_stride(1297)
    assert all(number >= 0 and number % gap for number in seen)
    other = set(np.asarray(bound(task, seed=5).labelled)[:20].tolist())
    # Another trial labels other images.
    assert seen == set(np.asarray(truth.labelled)[:20].tolist()) != other
    assert len(set(np.asarray(truth.labelled).tolist())) == pool_size(1297) == 972


def test_tuning_is_judged_on_held_out_images_and_results_on_test_images():
    tuning, result = LabelledImages(SOURCE, tuning=1), LabelledImages(SOURCE)
    rows = jax.jit(tuning.draw_test, static_argnums=1)(jax.random.key(0), 325, bound(tuning))
    numbers = numbers_of(tuning, rows)
    assert sorted(numbers.tolist()) == list(range(0, 1297, 4))
    np.testing.assert_array_equal(rows.y, tuning.arrays()["train_y"][numbers])
    tests = jax.jit(result.draw_test, static_argnums=1)(jax.random.key(0), 500, bound(result))
    np.testing.assert_array_equal(tests.y, result.arrays()["test_y"])
    assert result.baselines()["constant"] == pytest.approx(
        1 - np.bincount(result.arrays()["test_y"]).max() / 500
    )


def test_permuted_pixels_are_one_order_for_training_and_test_rows():
    task = LabelledImages(SOURCE, labels=972, permuted=1)
    truth = bound(task)
    order = np.asarray(truth.order)
    assert sorted(order.tolist()) == list(range(64))
    assert (order != np.arange(64)).sum() > 50
    inverse = np.argsort(order)
    straight = truth._replace(order=jnp.arange(64))
    for method in (task.draw, task.draw_test):
        draw = jax.jit(method, static_argnums=1)
        mixed, plain = (
            np.asarray(draw(jax.random.key(3), 40, pool).x) for pool in (truth, straight)
        )
        np.testing.assert_array_equal(mixed.reshape(40, 64)[:, inverse], plain.reshape(40, 64))
    assert (np.asarray(bound(task.replace(permuted=0)).order) == np.arange(64)).all()
