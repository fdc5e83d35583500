"""Labels: what makes classes, what makes a regression."""

import numpy as np
import pytest
from labelled_files import codes, draws

from separatrix.data import as_labelled

# Labels.


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (["b", "a"] * 20, ("a", "b")),
        ([True, False] * 20, ("False", "True")),
        ([-1.0, 1.0] * 20, ("-1", "1")),
        ([0.25, 0.5] * 20, ("0.25", "0.5")),
        ([b"x", b"\xff"] * 20, ("\\xff", "x")),
        (np.array([9, 10, 100, 8] * 10), ("8", "9", "10", "100")),
        (np.array(["9", "10", "100", "8"] * 10), ("8", "9", "10", "100")),
        (np.array([9, 10] * 20)[:, None], ("9", "10")),
        (np.array(["π", "ß"] * 20, object), ("ß", "π")),
        (np.eye(4)[np.arange(40) % 4], ("0", "1", "2", "3")),
    ],
)
def test_classes(y, classes):
    data = as_labelled(draws(40, 3), y)
    assert data.classes == classes
    assert data.labels.dtype == np.int32
    flat = [str(each) for each in (np.argmax(y, 1) if np.shape(y)[1:] == (4,) else np.ravel(y))]
    assert (
        len({*zip(data.labels.tolist(), flat)}) == len({*flat}) == len(classes)
    )  # one class for each different label


def test_what_makes_a_regression():
    many = np.arange(40)
    for y, task in (
        (many / 7, "auto"),
        (many, "auto"),
        (many % 2, "regression"),
        (np.array(["1.5", "2"] * 20), "regression"),
    ):
        data = as_labelled(draws(40, 3), y, task=task)
        assert data.task == "regression"
        assert data.classes == ()
        assert data.labels.dtype == np.float32
        assert np.allclose(data.labels, np.asarray(y, np.float32))
    assert "task-guessed" in codes(as_labelled(draws(40, 3), many))
    assert as_labelled(draws(40, 3), many % 5 / 2, task="classification").classes == (
        "0",
        "0.5",
        "1",
        "1.5",
        "2",
    )


def test_few_whole_floats_are_classes_and_many_are_not():
    x = draws(400, 3)
    assert len(as_labelled(x, np.arange(400) % 20 * 1.0).classes) == 20
    assert as_labelled(x, np.arange(400) % 21 * 1.0).classes == ()
    assert "task-guessed" in codes(as_labelled(x, np.arange(400) % 21))


def test_notes_on_classes():
    y = np.array(["much"] * 95 + ["some"] * 4 + ["one"])
    notes = {note.code: note.message for note in as_labelled(draws(100, 3), y).notes}
    assert "95.0%" in notes["imbalanced"]
    assert "2 of 3 classes" in notes["rare-class"]
    assert "one row is never both" in notes["rare-class"]
    assert not {"imbalanced", "rare-class"} & set(
        codes(as_labelled(draws(300, 3), np.arange(300) % 2))
    )
