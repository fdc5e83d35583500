"""Sequences of digits: what a row is made of, and how programs get stored arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import separatrix as sx
from separatrix.data import DataSet, load
from separatrix.engine import Programs
from separatrix.engine.frames import structure
from separatrix.engine.programs import _compile
from separatrix.errors import SeparatrixError
from separatrix.spec import from_message, importable, to_message
from separatrix.tasks import digits as module
from separatrix.tasks.data_source import indices
from separatrix.tasks.digits import averaging, digit_arrays, resized

SMALL = {"height": 2, "width": 2}


def marked(count, first):
    """Digits that can be told apart: all pixels of number i are first + i, its value is i % 10."""
    x = np.broadcast_to((first + np.arange(count, dtype=np.uint8))[:, None, None], (count, 2, 2))
    return np.ascontiguousarray(x), np.arange(count, dtype=np.uint8) % 10


def bound(task, train=30, test=20):
    """The task's truth with marked digits: training ones 0 to 29, test ones 100 to 119."""
    (a, b), (c, d) = marked(train, 0), marked(test, 100)
    arrays = {
        "train_x": a,
        "train_y": b,
        "test_x": c,
        "test_y": d,
        "mean": np.float32(0),
        "spread": np.float32(1),
    }
    return task.bind(None, {name: jnp.asarray(array) for name, array in arrays.items()})


@pytest.mark.parametrize("label", ["centre", "ends"])
@pytest.mark.parametrize("count", [3, 5, 11])
def test_rows_are_sequences_and_labels_their_parity(label, count):
    task = sx.DigitSequenceTask.labelled(count, label, **SMALL)
    places = {
        "centre": [count // 2 - 1, count // 2, count // 2 + 1],
        "ends": [0, count // 2, count - 1],
    }[label]
    for draw, low, high in ((task.draw, 0, 30), (task.draw_test, 100, 120)):
        x, y, _ = jax.jit(lambda key, draw=draw: draw(key, 400, bound(task)))(jax.random.key(3))
        assert x.shape == (400, 2, 2 * count, 1)
        pixels = np.rint(np.asarray(x)[:, :, :, 0] * 255).astype(int).reshape(400, 2, count, 2)
        assert (pixels == pixels[:, :1, :, :1]).all()  # each digit stands whole in its own columns
        seen = pixels[:, 0, :, 0]
        assert seen.min() >= low
        assert (
            seen.max() < high
        )  # training rows hold training digits only, test rows test digits only
        values = (seen - low) % 10
        np.testing.assert_array_equal(y, np.where(values[:, places].sum(1) % 2 == 0, 1.0, -1.0))


def test_digits_are_drawn_independently_and_uniformly():
    chosen = np.asarray(jax.jit(lambda key: indices(key, (20_000, 3), 7))(jax.random.key(0)))
    counts = np.stack([np.bincount(chosen[:, i], minlength=7) for i in range(3)])
    assert np.abs(counts / 20_000 - 1 / 7).max() < 4.5 * np.sqrt(1 / 7 * 6 / 7 / 20_000)
    pairs = np.bincount(chosen[:, 0] * 7 + chosen[:, 1], minlength=49) / 20_000
    assert np.abs(pairs - 1 / 49).max() < 4.5 * np.sqrt(1 / 49 * 48 / 49 / 20_000)
    assert indices(jax.random.key(1), (5,), 60_000).dtype == jnp.int32


@pytest.mark.parametrize("wide, narrow", [(20, 8), (28, 24), (8, 24), (8, 8), (7, 3)])
def test_resizing_averages_over_areas(wide, narrow):
    # On a grid of wide·narrow cells old and new pixels both are whole: spread each old pixel over
    # it, then average.
    fine = np.repeat(np.eye(wide), narrow, axis=1)
    np.testing.assert_allclose(
        averaging(wide, narrow), fine.reshape(wide, narrow, wide).mean(2).T, atol=1e-12
    )
    np.testing.assert_allclose(averaging(wide, narrow).sum(1), 1.0)


def test_resized_images_against_pillow():
    from PIL import Image

    images = np.random.default_rng(0).integers(0, 256, (3, 24, 20), np.uint8)
    out = resized(
        images, 12, 5
    )  # whole ratios: elsewhere Pillow takes the nearest pixels instead of parts of them
    for image, mine in zip(images, out):
        theirs = np.asarray(Image.fromarray(image).resize((5, 12), Image.Resampling.BOX))
        assert np.abs(mine.astype(int) - theirs).max() <= 1  # both round


def test_crops_of_large_digits(monkeypatch):
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 256, (5, 28, 28), np.uint8), np.arange(5, dtype=np.uint8)
    monkeypatch.setattr(module, "load", lambda name: DataSet(x, y, x[:2], y[:2], name, "0" * 32))
    tight = digit_arrays.__wrapped__("mnist", "tight", 24, 20)
    np.testing.assert_array_equal(tight["train_x"], x[:, 2:26, 4:24])
    np.testing.assert_array_equal(tight["test_x"], x[:2, 2:26, 4:24])
    np.testing.assert_array_equal(digit_arrays.__wrapped__("mnist", "whole", 28, 28)["train_x"], x)
    level = x[:, 2:26, 4:24] / 255
    assert tight["mean"] == pytest.approx(level.mean(), rel=1e-6)
    assert tight["spread"] == pytest.approx(level.std(), rel=1e-6)


def test_standard_scaling_has_mean_0_and_variance_1_over_the_training_digits():
    task = sx.DigitSequenceTask(3, height=8, scaling="standard")
    x = np.asarray(task.sample(jax.random.key(0), 4000).x, np.float64)
    # 12,000 digits of 1,297: their mean level varies by about .3 between digits, so 4.5 standard
    # errors are .015.
    assert abs(x.mean()) < 0.015
    assert abs(x.var() - 1) < 0.03


def test_the_constant_answer_is_the_best_one_on_the_test_digits():
    task = sx.DigitSequenceTask(3, height=8)
    even = (load("embedded-digits").test_y % 2 == 0).mean()
    chance = even**3 + 3 * even * (1 - even) ** 2  # an even sum: no odd digit or two
    assert task.baselines()["constant"] == pytest.approx(min(chance, 1 - chance), abs=1e-12)


def test_the_data_are_part_of_a_tasks_identity(monkeypatch):
    task = sx.DigitSequenceTask(3, height=8)
    digest = load("embedded-digits").digest[:12]
    assert task.source == f"embedded-digits@{digest}"
    assert digest in task.canonical()
    assert from_message(to_message(task)) == task
    assert importable(task)
    assert task.replace(source="mnist").source.startswith("mnist@")
    with pytest.raises(SeparatrixError, match="is not the one that this version knows"):
        sx.DigitSequenceTask(3, source="embedded-digits@0123")
    for wrong in ("minst", 3, ("mnist",)):
        with pytest.raises(SeparatrixError):
            sx.DigitSequenceTask(3, source=wrong)
    with pytest.raises(
        SeparatrixError,
        match=r"the `apart` of DigitSequenceTask must be an integer in \[1, 2\], got 3",
    ):
        sx.DigitSequenceTask(5, apart=3)


def trial(label="centre", seed=0):
    task = sx.DigitSequenceTask.labelled(5, label, height=4, width=4)
    learner = sx.Learner(rate=1.0, steps=3, oracle="online", batch=8, optimizer="adadelta")
    return sx.Trial(
        task, sx.LCN((4, 12), 2, stride=(4, 4), offset=True), learner, 0, seed, sx.Measure(test=32)
    )


def test_stored_arrays_are_an_argument_of_the_program_and_shared_by_a_batch():
    text = _compile(trial(), trial(), 3).call.as_text()
    entry = text[text.index("ENTRY") :]
    shape = "u8[1297,4,4]"
    assert sum("parameter(" in line and shape in line for line in entry.splitlines()) == 1
    assert not any("constant(" in line and shape in line for line in text.splitlines())
    assert "u8[3,1297,4,4]" not in text  # not copied for each trial of the batch


def test_both_labels_share_a_program_and_batches_change_nothing():
    trials = [trial("centre"), trial("ends"), trial("ends", seed=1)]
    assert len({structure(each) for each in trials}) == 1
    programs = Programs()
    alone = programs.run(trials, trials[0])
    assert programs.tally.programs == 1
    together = programs.run(trials, trials[0], batch=3)
    for one, other in zip(alone, together):
        assert one["trial"] == other["trial"]
        np.testing.assert_allclose(one["trace.loss"], other["trace.loss"], rtol=1e-5)
        assert one["trace.risk"] == pytest.approx(other["trace.risk"], abs=1.5 / 32)
    assert alone[0]["trace.loss"] != alone[1]["trace.loss"]
    assert len(programs._placed) == len(trials[0].task.arrays())


def test_risks_are_measured_on_test_digits(monkeypatch):
    task = sx.DigitSequenceTask(3, height=4, width=4)
    arrays = {name: np.array(array) for name, array in task.arrays().items()}
    arrays["test_x"][:], arrays["test_y"][:] = (
        255,
        2,
    )  # every test sequence is white, and its label +1
    monkeypatch.setattr(module, "digit_arrays", lambda *_: arrays)
    learner = sx.Learner(rate=1e-9, steps=1, oracle="online", batch=4)
    network = sx.FCN(
        64, readout="sum", bias=False
    )  # a sum of rectified units: positive where one of them is
    one = sx.Trial(task, network, learner, 0, 0, sx.Measure(test=64))
    (row,) = Programs().run([one], one)
    assert row["risk"] == 0.0
