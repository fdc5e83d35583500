"""What the axes of an array mean, and the types in which inputs are stored."""

import numpy as np
import pytest
from labelled_files import codes, draws, images, pair

from separatrix.data import as_labelled

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
