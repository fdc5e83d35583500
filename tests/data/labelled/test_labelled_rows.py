"""Arrays in Python: axes, labels, checks, identical rows, batches and moments."""

import tracemalloc

import numpy as np
import pytest
from labelled_files import images

from separatrix.data import as_labelled, batches, moments
from separatrix.data.labelled import checks, rows
from separatrix.errors import ParameterError, SeparatrixError


def codes(data):
    return [note.code for note in data.notes]


def draws(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def pair(count=40):
    return np.arange(count) % 2


# Axes and types.


@pytest.mark.parametrize(
    ("shape", "words", "kind", "made"),
    [
        ((40, 7), {}, "tabular", (7, 1)),
        ((40, 7), {"kind": "signal"}, "signal", (7, 1)),
        ((40, 12), {"shape": (3, 4)}, "image", (3, 4, 1)),
        ((40, 12), {"shape": (12,)}, "signal", (12, 1)),
        ((40, 12), {"shape": (6, 2), "kind": "signal"}, "signal", (6, 2)),
        ((40, 12), {"shape": (2, 2, 3)}, "image", (2, 2, 3)),
        ((40, 64, 3), {}, "signal", (64, 3)),
        ((40, 64, 3), {"kind": "image"}, "image", (64, 3, 1)),
        ((40, 8, 8), {}, "image", (8, 8, 1)),
        ((40, 8, 8), {"kind": "signal"}, "signal", (8, 8)),
        ((40, 6, 6, 3), {}, "image", (6, 6, 3)),
        ((40, 3, 6, 7), {}, "image", (6, 7, 3)),
        ((40, 1, 6, 7), {}, "image", (6, 7, 1)),
    ],
)
def test_axes(shape, words, kind, made):
    data = as_labelled(draws(*shape), pair(), **words)
    assert (data.kind, data.shape) == (kind, made)
    # A guess is told, what was said or is plain is not.
    two_axes = len(words.get("shape", shape[1:])) == 2
    assert ("axes-guessed" in codes(data)) == (two_axes and "kind" not in words)


def test_channels_first_are_moved_and_not_mixed():
    x = draws(40, 3, 6, 7)
    data = as_labelled(x, pair())
    assert np.array_equal(data.inputs[5, 2, 4], x[5, :, 2, 4])
    assert "channels-first" in codes(data)


@pytest.mark.parametrize(
    ("made", "dtype"),
    [
        (np.uint8, np.uint8),
        (np.int64, np.uint8),
        (np.bool_, np.uint8),
        (np.float64, np.float32),
        (np.float32, np.float32),
        (">f4", np.float32),
    ],
)
def test_types(made, dtype):
    x = np.random.default_rng(1).integers(0, 2, (40, 9)).astype(made)
    data = as_labelled(x, pair())
    assert data.inputs.dtype == dtype
    assert np.array_equal(data.inputs[..., 0], x.astype(np.float32))


def test_large_whole_numbers_become_floats():
    x = np.random.default_rng(1).integers(-300, 300, (40, 9))
    assert as_labelled(x, pair()).inputs.dtype == np.float32


def test_bytes_and_floats_are_not_copied():
    for x in (images(40)[0], draws(40, 5)):
        assert np.shares_memory(as_labelled(x, pair()).inputs, x)


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


# What is refused.


@pytest.mark.parametrize(
    ("x", "y", "words", "sentence"),
    [
        (draws(40), pair(), {}, "have 1 axes"),
        (draws(40, 0), pair(), {}, "are empty: their shape is 40 × 0"),
        (draws(40, 2, 2, 2, 2), pair(), {}, "have 4 axes"),
        (draws(40, 6), pair(), {"kind": "image"}, "give the `shape`"),
        (draws(40, 6), pair(), {"shape": (2, 2)}, "6 values, which do not fill the shape 2 × 2"),
        (draws(40, 6), pair(), {"shape": (2, -3)}, "the `shape` of read_labelled"),
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


def test_a_memory_map_is_neither_copied_nor_read_at_once(tmp_path):
    x = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.uint8, (20_000, 2_000))
    x[:] = np.random.default_rng(0).integers(0, 256, 2_000, np.uint8)
    x[:, :4] = np.arange(20_000, dtype="<u4").view(np.uint8).reshape(-1, 4)
    x.flush()
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    tracemalloc.start()
    data = as_labelled(mapped, np.arange(20_000) % 2)
    mean, _ = moments(data, np.arange(0, 20_000, 4))
    next(batches(data, np.arange(100), 64))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(data.inputs, np.memmap)
    assert mean.shape == (2_000, 1)
    assert peak < x.nbytes  # as floats they would take four times as much
    assert not {"duplicate-rows"} & set(codes(data))


# Taking rows out.


@pytest.mark.parametrize("shape", [(7,), (9, 2), (4, 5, 3)])
@pytest.mark.parametrize("chunk", [100, 1 << 22])
def test_moments_are_those_of_numpy(shape, chunk, monkeypatch):
    monkeypatch.setattr(rows, "CHUNK", chunk)
    x = 1e4 + 3 * draws(60, *shape)
    kind = {1: "tabular", 2: "signal", 3: "image"}[len(shape)]
    data = as_labelled(x, np.arange(60) % 2, kind=kind)
    chosen = np.random.default_rng(1).permutation(60)[:31]
    part = data.inputs[chosen].astype(np.float64)
    axes = 0 if kind == "tabular" else tuple(range(part.ndim - 1))
    mean, scale = moments(data, chosen)
    assert np.allclose(mean, part.mean(axes), rtol=1e-6)
    assert np.allclose(
        scale, part.std(axes), rtol=1e-5
    )  # float32 of numbers near 1e4 are 1e-3 apart, but both see the same ones


def test_what_does_not_vary_has_scale_one():
    x = draws(40, 3)
    x[:, 1] = 0.1
    mean, scale = moments(as_labelled(x, pair()))
    assert scale[1] == 1
    assert mean[1, 0] == np.float32(0.1)


def test_batches_keep_the_order_and_standardise():
    x, y = images(50, (4, 4))
    data = as_labelled(x, y)
    chosen = np.array([49, 3, 3, 17, 0, 22, 1])
    standard = moments(data, chosen)
    got = list(batches(data, chosen, 3))
    assert [len(each) for each, _ in got] == [3, 3, 1]
    assert all(each.dtype == np.float32 for each, _ in got)
    assert np.array_equal(np.concatenate([each for each, _ in got])[..., 0], x[chosen])
    assert np.array_equal(np.concatenate([each for _, each in got]), y[chosen])
    scaled = np.concatenate([each for each, _ in batches(data, chosen, 3, standard)])
    assert np.allclose([scaled.mean(), scaled.std()], [0, 1], atol=1e-5)
    assert sum(len(each) for each, _ in batches(data, None, 16)) == 50
    assert list(batches(data, np.array([], int), 4)) == []


@pytest.mark.parametrize(
    ("chosen", "size"), [([50], 1), ([-1], 1), ([0.5], 1), ([[0]], 1), ([0], 0)]
)
def test_wrong_rows_are_refused_at_the_call(chosen, size):
    data = as_labelled(*images(50, (4, 4)))
    with pytest.raises(ParameterError):
        batches(data, np.array(chosen), size)
    if size:
        with pytest.raises(ParameterError):
            moments(data, np.array(chosen))
    with pytest.raises(ParameterError, match="at least one row"):
        moments(data, np.array([], int))
