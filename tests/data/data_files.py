"""Tiny data sets in place of the real ones: the same names and file forms, a few images each; and
encoders of these forms.
"""

import dataclasses
import gzip
import os
import struct

import numpy as np
import pytest

from separatrix.data import catalogue, store
from separatrix.data.catalogue import IDX_FILES, PARTS
from separatrix.data.readers import decoders

ROWS = 4  # of a CIFAR batch


def idx(array):
    """An array of bytes as an idx file."""
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def small_arrays(seed, shape, train, test):
    rng = np.random.default_rng(seed)
    return {
        "train_x": rng.integers(0, 256, (train, *shape), np.uint8),
        "train_y": rng.integers(0, 10, train, np.uint8),
        "test_x": rng.integers(0, 256, (test, *shape), np.uint8),
        "test_y": rng.integers(0, 10, test, np.uint8),
    }


def write_idx(folder, arrays, packed=True):
    """The four idx files of a data set."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, stem in IDX_FILES.items():
        if packed:
            (folder / f"{stem}.gz").write_bytes(gzip.compress(idx(arrays[part])))
        else:
            (folder / stem).write_bytes(idx(arrays[part]))


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Arrays of tiny data sets that stand in the catalogue under the real names; the cache is empty
    and no home is reachable.
    """
    monkeypatch.setenv("SEPARATRIX_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(decoders, "CIFAR_ROWS", ROWS)
    arrays = {
        "mnist": small_arrays(0, (28, 28), 6, 3),
        "fashion-mnist": small_arrays(1, (28, 28), 6, 3),
        "cifar10": small_arrays(2, (32, 32, 3), 5 * ROWS, ROWS),
    }
    for name, parts in arrays.items():
        sums = {part: store.checksum(array) for part, array in parts.items()}
        shapes = {part: array.shape for part, array in parts.items()}
        entry = dataclasses.replace(
            catalogue.CATALOGUE[name], sums=sums, shapes=shapes, homes=(), package="", folders=()
        )
        monkeypatch.setitem(catalogue.CATALOGUE, name, entry)
    return arrays


def cifar_bins(x, y):
    """A batch of the binary version: label, then three planes, row by row."""
    return np.concatenate([y[:, None], x.transpose(0, 3, 1, 2).reshape(len(x), -1)], 1).tobytes()


def cifar_planes(x, y):
    """A batch as labels, then R-G, G, B-G of all images, as sign-folded differences along both
    axes.
    """
    planes = x.transpose(3, 0, 1, 2).copy()
    planes[[0, 2]] -= planes[1]
    planes = np.diff(planes, axis=2, prepend=np.zeros_like(planes[:, :, :1]))
    planes = np.diff(planes, axis=3, prepend=np.zeros_like(planes[:, :, :, :1]))
    signed = planes.astype(np.int16)
    signed[signed >= 128] -= 256
    folded = np.where(signed >= 0, 2 * signed, -2 * signed - 1).astype(np.uint8)
    return y.tobytes() + folded.tobytes()


def cached():
    """What lies in the cache folder."""
    return sorted(os.listdir(store.data_folder())) if store.data_folder().exists() else []


def same(found, arrays):
    for part in PARTS:
        np.testing.assert_array_equal(getattr(found, part), arrays[part])
