"""Labelled rows: batches, moments, memory maps."""

import tracemalloc

import numpy as np
import pytest
from labelled_files import codes, draws, images, pair

from separatrix.data import as_labelled, batches, moments, rows
from separatrix.errors import ParameterError


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
