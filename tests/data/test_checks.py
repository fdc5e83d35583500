"""What is refused, which rows are identical, and the identity of data."""

import numpy as np
import pytest
from labelled_files import codes, draws, pair

from separatrix.data import as_labelled, checks, rows
from separatrix.errors import SeparatrixError

# What is refused.


@pytest.mark.parametrize(
    ("x", "y", "words", "sentence"),
    [
        (draws(40), pair(), {}, "have 1 axes"),
        (draws(40, 0), pair(), {}, "are empty: their shape is 40 × 0"),
        (draws(40, 2, 2, 2, 2), pair(), {}, "have 4 axes"),
        (draws(40, 6), pair(), {"kind": "image"}, "give the `shape`"),
        (draws(40, 6), pair(), {"shape": (2, 2)}, "6 values, which do not fill the shape 2 × 2"),
        (draws(40, 6), pair(), {"shape": (2, -3)}, "the `shape` of one row"),
        (draws(40, 2, 3, 4), pair(), {"kind": "signal"}, "cannot be of the kind signal"),
        (draws(40, 6), pair(), {"kind": "sound"}, "the `kind` of as_labelled must be one of"),
        (draws(40, 1), pair(), {}, "one feature only"),
        (draws(40, 3), pair(39), {}, "40 rows of inputs but 39 labels"),
        (draws(40, 3), 3, {}, "but 0 labels"),
        (draws(19, 3), pair(19), {}, "19 rows, but at least 20 are needed"),
        (np.zeros((40, 3)), pair(), {}, "all rows of arrays are the same"),
        (draws(40, 3) + 0j, pair(), {}, "must be numbers, but are complex"),
        (np.full((40, 3), "a"), pair(), {}, "must be numbers, but are text"),
        (np.full((40, 3), None), pair(), {}, "Python objects"),
        (np.zeros((40, 3), "M8[s]"), pair(), {}, "are dates"),
        ([[1, 2], [1]] * 20, pair(), {}, "all rows need the same shape"),
        (
            np.where(np.arange(120).reshape(40, 3) == 7, np.nan, 1.0),
            pair(),
            {},
            "1 of 120 values of arrays are missing",
        ),
        (draws(40, 3).astype(np.float64) * 1e300, pair(), {}, "beyond float32"),
        (draws(40, 3), np.zeros(40), {}, "all 40 labels of arrays are 0"),
        (
            draws(40, 3),
            np.where(np.arange(40) == 3, np.nan, 1.0),
            {},
            "1 labels of arrays are missing or infinite, the first in row 3",
        ),
        (draws(40, 3), ["a", " "] * 20, {}, "20 labels of arrays are missing"),
        (draws(40, 3), np.array(["a", None] * 20, object), {}, "20 labels of arrays are missing"),
        (
            draws(40, 3),
            np.array(["a", 1] * 20, object),
            {},
            "must be all text or all numbers, but are int and str",
        ),
        (draws(40, 3), np.array([{}] * 40, object), {}, "but are dict"),
        (draws(40, 3), draws(40, 2), {}, "must be one a row, but have the shape 40 × 2"),
        (draws(40, 3), [f"{i}" for i in range(40)], {}, "40 classes in 40 rows"),
        (
            draws(2100, 2),
            np.array([f"c{i % 1001}" for i in range(2100)]),
            {},
            "1001 classes, more than the 1000 allowed",
        ),
        (
            draws(40, 3),
            ["a", "b"] * 20,
            {"task": "regression"},
            "are text, which a regression cannot use",
        ),
        (draws(40, 3), np.arange(40) * 1e300, {}, "beyond what float32 holds"),
        (draws(40, 3), 1e9 + np.arange(40) * 1e-3, {}, "to the precision of float32"),
        (draws(40, 3), pair(), {"task": "both"}, "the `task` of as_labelled must be one of"),
        (draws(40, 3), None, {}, "needs labels"),
        (None, None, {}, "needs labels"),
        ([1, 2, 3], None, {}, "row 0 of arrays is no (x, y) pair"),
        ([([1, 2], 0), ([1], 0)], None, {}, "row 1 of arrays has the shape (1,) and not (2,)"),
        ([], None, {}, "has no rows"),
        (
            (([1.0, 2.0], i) for i in range(10**9)),
            None,
            {"max_bytes": 1000},
            "more than the 1000 allowed",
        ),
    ],
)
def test_what_is_refused_in_one_sentence(x, y, words, sentence):
    with pytest.raises(SeparatrixError) as caught:
        as_labelled(x, y, **words)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bad_value_is_named_by_its_column():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"age": np.arange(40.0), "size": np.where(np.arange(40) > 37, np.inf, 1.0)}
    )
    with pytest.raises(
        SeparatrixError,
        match=r"2 of 80 values .* in 2 of 40 rows, the first in row 38, column `size`",
    ):
        as_labelled(frame, pair())


# One pass over the inputs.


def test_identical_rows_are_grouped_exactly():
    """Against a comparison of all rows; rows are chosen so that the quick hash alone collides (top
    bits of two words).
    """
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, (300, 16)).astype(np.uint8) * 128
    expected = [next(j for j in range(i + 1) if np.array_equal(x[i], x[j])) for i in range(300)]
    assert checks.scan("a", x).groups.tolist() == expected
    two = np.zeros((2, 16), np.uint8)
    two[1, [7, 15]] = 128
    assert checks.scan("a", two).groups.tolist() == [0, 1]


@pytest.mark.parametrize("chunk", [64, 1 << 22])
def test_the_pass_does_not_depend_on_its_pieces(chunk, monkeypatch):
    monkeypatch.setattr(rows, "CHUNK", chunk)
    x = draws(50, 5)
    x[:, 2], x[40], x[7] = 1.5, x[3], 0.0
    x[8] = -x[7]  # -0.0 is 0.0
    x[7:9, 2] = 1.5
    data = as_labelled(x, np.arange(50) % 5)
    groups = np.arange(50)
    groups[40], groups[8] = 3, 7
    assert data.duplicate_groups.tolist() == groups.tolist()
    assert {"constant-features", "duplicate-rows", "conflicting-labels"} <= set(codes(data))
    told = {note.code: note.message for note in data.notes}
    assert told["constant-features"].startswith("1 of 5 features")
    assert told["duplicate-rows"].startswith("2 of 50 rows")
    assert told["conflicting-labels"].startswith(
        "2 groups"
    )  # 3 and 40, 7 and 8 differ in their rest by 5
    assert data.digest == as_labelled(x.copy(), np.arange(50) % 5).digest


def test_the_identity_changes_with_inputs_labels_and_classes():
    x, y = draws(40, 4), pair()
    other = x.copy()
    other[39, 3] += 1
    digests = {
        as_labelled(*each).digest
        for each in ((x, y), (other, y), (x, 1 - y), (x, y + 1), (x.reshape(40, 2, 2), y))
    }
    assert len(digests) == 5
