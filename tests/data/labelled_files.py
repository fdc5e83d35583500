"""Small sound files of every form, for the tests of labelled data."""

import gzip
import struct

import numpy as np
import pytest

from separatrix.data import read_labelled
from separatrix.errors import SeparatrixError

ROWS = 24


FORMS = ("npz", "packed.npz", "npy", "csv", "tsv", "parquet", "idx", "idx.gz", "pictures")


def images(rows=ROWS, shape=(6, 5), seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (rows, *shape), np.uint8), np.arange(rows) % 3


def idx(array):
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.astype(np.uint8).tobytes()
    )


def png(path, array):
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array).save(path)


def table(x, y):
    import pyarrow

    flat = x.reshape(len(x), -1)
    return pyarrow.table(
        {f"f{i}": flat[:, i] / 2 for i in range(4)} | {"label": [f"class {each}" for each in y]}
    )


def write(form, folder):
    """Write a sound file of this form; gives the path to read and the files that can be damaged."""
    folder.mkdir(parents=True, exist_ok=True)
    x, y = images()
    if form == "npz":
        np.savez(folder / "a.npz", x=x, y=y)
        return folder / "a.npz", [folder / "a.npz"]
    if form == "packed.npz":
        np.savez_compressed(
            folder / "a.npz", X=x.astype(np.float64), labels=np.array(["u", "v", "w"])[y]
        )
        return folder / "a.npz", [folder / "a.npz"]
    if form == "npy":
        np.save(folder / "x.npy", x.astype(np.float32))
        np.save(folder / "y.npy", y)
        return folder / "x.npy", [folder / "x.npy", folder / "y.npy"]
    if form in ("csv", "tsv"):
        from pyarrow import csv

        mark = "," if form == "csv" else "\t"
        csv.write_csv(table(x, y), folder / f"a.{form}", csv.WriteOptions(delimiter=mark))
        return folder / f"a.{form}", [folder / f"a.{form}"]
    if form == "parquet":
        from pyarrow import parquet

        parquet.write_table(table(x, y), folder / "a.parquet")
        return folder / "a.parquet", [folder / "a.parquet"]
    if form.startswith("idx"):
        packed = gzip.compress if form.endswith("gz") else bytes
        ending = ".gz" if form.endswith("gz") else ""
        files = [folder / f"a-images-idx3-ubyte{ending}", folder / f"a-labels-idx1-ubyte{ending}"]
        for file, array in zip(files, (x, y)):
            file.write_bytes(packed(idx(array)))
        return files[0], files
    for i, each in enumerate(x):
        png(folder / f"class {y[i]}" / f"{i}.{'png' if i % 2 else 'jpg'}", each)
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    return folder, files


def codes(data):
    """The codes of a data set's notes."""
    return [note.code for note in data.notes]


def refused(path, **words):
    """The one sentence with which a file is refused."""
    with pytest.raises(SeparatrixError) as caught:
        read_labelled(path, **words)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def draws(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def pair(count=40):
    return np.arange(count) % 2
