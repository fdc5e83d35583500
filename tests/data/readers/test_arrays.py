"""Arrays in files: what is read is what was written, and what is wrong is one sentence."""

import gzip
import io
import os
import zipfile

import numpy as np
import pytest
from data_files import write_idx
from labelled_files import ROWS, idx, images, refused, write

from separatrix.data import read_labelled

X, Y = images()


@pytest.mark.parametrize("form", ["npz", "packed.npz", "npy", "idx", "idx.gz"])
def test_arrays_are_read_as_they_were_written(form, tmp_path):
    path, _ = write(form, tmp_path)
    data = read_labelled(path)
    assert (data.name, data.kind, data.shape) == (path.name, "image", (6, 5, 1))
    assert np.array_equal(data.inputs[..., 0], X)
    assert np.array_equal(data.labels, Y)
    assert data.classes == (("u", "v", "w") if form == "packed.npz" else ("0", "1", "2"))
    assert isinstance(data.inputs, np.memmap) == (form == "npy")


# .npz and .npy


@pytest.mark.parametrize(
    "names",
    [
        ("X", "y"),
        ("data", "target"),
        ("images", "labels"),
        ("inputs", "Y"),
        ("features", "classes"),
        ("x_train", "y_train"),
    ],
)
def test_usual_names_of_arrays(names, tmp_path):
    np.savez(tmp_path / "a.npz", **dict(zip(names, (X, Y))), other=np.zeros(3))
    assert np.array_equal(read_labelled(tmp_path / "a.npz").labels, Y)


def test_splits_are_joined(tmp_path):
    np.savez(tmp_path / "a.npz", x_train=X[:20], y_train=Y[:20], x_test=X[20:], y_test=Y[20:])
    data = read_labelled(tmp_path / "a.npz")
    assert np.array_equal(data.inputs[..., 0], X)
    assert np.array_equal(data.labels, Y)
    assert np.flatnonzero(data.tested).tolist() == list(range(20, len(X)))
    np.savez(tmp_path / "a.npz", x_train=X[:20], y_train=Y[:20], x_test=X[20:, 1:], y_test=Y[20:])
    assert "the splits of a.npz have different shapes" in refused(tmp_path / "a.npz")


def test_arrays_of_other_names(tmp_path):
    np.savez(tmp_path / "a.npz", pictures=X, kinds=Y)
    assert "which arrays of a.npz are inputs and labels (`kinds`, `pictures`)" in refused(
        tmp_path / "a.npz"
    )
    assert np.array_equal(read_labelled(tmp_path / "a.npz", label="kinds").labels, Y)
    assert "did you mean `kinds`" in refused(tmp_path / "a.npz", label="kind")


def test_objects_are_never_unpickled(tmp_path):
    class Mine:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    evil = np.array([Mine()] * ROWS, object)
    np.savez(tmp_path / "a.npz", x=X, y=evil)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", evil)
    for name in ("a.npz", "x.npy"):
        assert "Python objects, which are not unpickled" in refused(tmp_path / name)
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04.")
    assert "pickles, which can run code" in refused(tmp_path / "a.pkl")
    assert not (tmp_path / "ran").exists()


def npy_header(shape, descr="|u1"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize("shape", [(10**12, 3072), (2**63, 2), (2**62, 4), (10**30,), (-1, 4)])
def test_a_declared_shape_takes_no_memory(shape, tmp_path):
    raw = npy_header(shape) + bytes(100)
    np.save(tmp_path / "y.npy", Y)
    (tmp_path / "x.npy").write_bytes(raw)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", raw)
        archive.write(tmp_path / "y.npy", "y.npy")
    for name in ("a.npz", "x.npy"):
        words = refused(tmp_path / name)
        assert "ends after 100 bytes" in words or "is negative" in words


def test_what_would_unpack_beyond_the_limit_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros((1000, 1000), np.uint8), y=np.arange(1000))
    assert "more than the 100000 allowed; set SEPARATRIX_MAX_BYTES" in refused(
        tmp_path / "a.npz", max_bytes=100_000
    )
    monkeypatch.setenv("SEPARATRIX_MAX_BYTES", "100000")
    assert "more than the 100000 allowed" in refused(tmp_path / "a.npz")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 100_000))
    assert "it holds more than 100000 bytes" in refused(tmp_path / "a.csv.gz")
    (tmp_path / "a-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(200_000)))
    (tmp_path / "a-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(Y)))
    assert "it holds more than 100000 bytes" in refused(tmp_path / "a-images-idx3-ubyte.gz")
    for wrong in ("many", "-1", "0", "9" * 30):
        monkeypatch.setenv("SEPARATRIX_MAX_BYTES", wrong)
        assert "must be a whole number of bytes" in refused(tmp_path / "a.npz")


def test_a_zip_that_lies_about_sizes(tmp_path):
    """The directory says that little is packed; more is not unpacked."""
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros((1000, 100), np.uint8), y=np.arange(1000))
    raw = (tmp_path / "a.npz").read_bytes()
    file = io.BytesIO()
    np.save(file, np.zeros((1000, 100), np.uint8))
    size = len(file.getvalue()).to_bytes(4, "little")
    assert raw.count(size) >= 1
    (tmp_path / "a.npz").write_bytes(raw.replace(size, (200).to_bytes(4, "little")))
    assert "a.npz cannot be read as an .npz file" in refused(tmp_path / "a.npz")


def test_names_in_a_zip_lead_nowhere(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    arrays = {}
    for name, array in (("x", X), ("y", Y)):
        file = io.BytesIO()
        np.save(file, array)
        arrays[name] = file.getvalue()
    with zipfile.ZipFile(inside / "a.npz", "w") as archive:
        archive.writestr("../../x.npy", arrays["x"])
        archive.writestr("/y.npy", arrays["y"])
        archive.writestr("x.npy", arrays["x"])
        archive.writestr("y.npy", arrays["y"])
    read_labelled(inside / "a.npz", label="y")
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["a.npz", "inside"]


def test_other_packings_and_passwords_are_refused(tmp_path):
    np.savez(tmp_path / "b.npz", x=X, y=Y)
    with (
        zipfile.ZipFile(tmp_path / "b.npz") as good,
        zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_LZMA) as archive,
    ):
        for name in good.namelist():
            archive.writestr(name, good.read(name))
    assert "packed in a way that NumPy does not write" in refused(tmp_path / "a.npz")


def test_labels_beside_inputs(tmp_path):
    np.save(tmp_path / "train_images.npy", X)
    assert "put them into train_labels.npy" in refused(tmp_path / "train_images.npy")
    np.save(tmp_path / "train_labels.npy", Y)
    assert np.array_equal(read_labelled(tmp_path / "train_images.npy").labels, Y)
    np.save(tmp_path / "mine.npy", 1 - (Y > 0))
    for name in ("mine", "mine.npy"):
        assert len(read_labelled(tmp_path / "train_images.npy", label=name).classes) == 2
    assert "there is no file `yours` beside" in refused(
        tmp_path / "train_images.npy", label="yours"
    )
    assert "call the files x.npy and y.npy" in refused(tmp_path / "mine.npy")


def test_a_folder_of_arrays(tmp_path):
    write("npy", tmp_path)
    assert read_labelled(tmp_path).name == tmp_path.name
    np.save(tmp_path / "x_more.npy", X)
    assert "holds several files of inputs" in refused(tmp_path)


def test_a_folder_of_idx_files_joins_training_and_test(tmp_path):
    arrays = {"train_x": X[:20], "train_y": Y[:20], "test_x": X[20:], "test_y": Y[20:]}
    for packed in (True, False):
        write_idx(
            tmp_path / str(packed),
            {part: array.astype(np.uint8) for part, array in arrays.items()},
            packed,
        )
        data = read_labelled(tmp_path / str(packed))
        assert {tuple(row.ravel()) for row in data.inputs} == {tuple(row.ravel()) for row in X}
        place = {tuple(row.ravel()): label for row, label in zip(X, Y)}
        assert [place[tuple(row.ravel())] for row in data.inputs] == data.labels.tolist()
