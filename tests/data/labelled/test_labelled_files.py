"""Arrays, tables and names: what is read is what was written, and what is wrong is one sentence."""

import gzip
import io
import os
import zipfile

import numpy as np
import pyarrow
import pytest
from data_files import write_idx
from labelled_files import ROWS, codes, idx, images, refused, table, write
from pyarrow import parquet

import separatrix as sx
from separatrix.data import read_labelled
from separatrix.data.store import keep

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


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet"])
def test_tables_are_read_as_they_were_written(form, tmp_path):
    data = read_labelled(write(form, tmp_path)[0])
    assert (data.kind, data.shape, data.columns) == ("tabular", (4, 1), ("f0", "f1", "f2", "f3"))
    assert np.array_equal(data.inputs[..., 0], X.reshape(ROWS, -1)[:, :4] / 2)
    assert data.classes == ("class 0", "class 1", "class 2")
    assert np.array_equal(data.labels, Y)


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


# Tables.


def csv(tmp_path, text, name="a.csv"):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path / name


def lines(make, count=30):
    return "".join(f"{make(i)}\n" for i in range(count))


def test_the_label_column(tmp_path):
    last = read_labelled(csv(tmp_path, "a,b,c\n" + lines(lambda i: f"{i},{i + 0.5},{'uv'[i % 2]}")))
    assert (last.columns, last.classes) == (("a", "b"), ("u", "v"))
    usual = read_labelled(csv(tmp_path, "Target,b,c\n" + lines(lambda i: f"{i % 3},{i},{i + 0.5}")))
    assert (usual.columns, usual.classes) == (("b", "c"), ("0", "1", "2"))
    path = csv(tmp_path, "a,b,c\n" + lines(lambda i: f"{i},{i % 2},{i + 0.5}"))
    asked = read_labelled(path, label="b")
    assert (asked.columns, len(asked.classes)) == (("a", "c"), 2)
    assert "there is no column in a.csv called `d`" in refused(path, label="d")
    assert "2 columns called `a`" in refused(
        csv(tmp_path, "a,a,c\n" + lines(lambda i: f"{i},{i},{i % 2}")), label="a"
    )


def test_tables_without_names_other_marks_and_packed(tmp_path):
    for mark in ",;\t":
        bare = read_labelled(csv(tmp_path, lines(lambda i, m=mark: f"{i}{m}{i / 2}{m}{i % 2}")))
        assert bare.columns == ("column 1", "column 2")
        assert len(bare) == 30
    packed = csv(
        tmp_path,
        gzip.compress(("\ufeffa,b,y\r\n" + lines(lambda i: f"{i},{i / 2},{i % 2}\r")).encode()),
        "a.csv.gz",
    )
    assert read_labelled(packed).columns == ("a", "b")


def test_a_late_fraction_in_a_long_column_of_whole_numbers(tmp_path):
    """Types are not guessed from the beginning alone."""
    count = 150_000
    text = "a,b,y\n" + lines(lambda i: f"{i},{'0.25' if i == count - 1 else 7},{i % 2}", count)
    assert read_labelled(csv(tmp_path, text)).inputs[-1, 1, 0] == 0.25


def test_pixels_in_a_table(tmp_path):
    x = np.random.default_rng(0).integers(0, 256, (30, 64))
    path = csv(
        tmp_path,
        "label,"
        + ",".join(f"p{i}" for i in range(64))
        + "\n"
        + lines(lambda i: f"{i % 2}," + ",".join(map(str, x[i]))),
    )
    flat = read_labelled(path)
    assert flat.inputs.dtype == np.uint8
    assert "perhaps-images" in codes(flat)
    data = read_labelled(path, shape=(8, 8))
    assert (data.kind, data.shape, data.columns) == ("image", (8, 8, 1), ())
    assert np.array_equal(data.inputs.reshape(30, 64), x)


def test_a_column_that_counts_rows_is_left_out(tmp_path):
    for name in ("", "Unnamed: 0", "id"):
        data = read_labelled(
            csv(tmp_path, f"{name},a,b,y\n" + lines(lambda i: f"{i},{i * 0.5},{-i},{i % 2}"))
        )
        assert data.columns == ("a", "b")
        assert "index-column" in codes(data)
    assert "index-column" not in codes(
        read_labelled(csv(tmp_path, "id,a,y\n" + lines(lambda i: f"{i * 2},{i * 0.5},{i % 2}")))
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "a.csv is empty"),
        ("\n\n", "cannot be read as a CSV file"),
        ("a,b,y\n", "has no rows"),
        ("a,b,y\n1,2\n", "Expected 3 columns, got 2"),
        (
            "a,b,y\n" + lines(lambda i: f"{i},word,{i % 2}"),
            "column `b` of a.csv holds text such as `word`",
        ),
        (
            "a,b,y\n" + lines(lambda i: f"{i},{'' if i in (3, 5) else i},{i % 2}"),
            "column `b` of a.csv has 2 missing values",
        ),
        ("a,b,y\n" + lines(lambda i: f"{i},,{i % 2}"), "column `b` of a.csv is empty"),
        (
            "a,b,y\n" + lines(lambda i: f"{i},{'inf' if i == 4 else i},{i % 2}"),
            "the first in row 4, column `b`",
        ),
        (
            "a,b,y\n" + lines(lambda i: f"{i},{i},{'' if i == 4 else i % 2}"),
            "column `y` of a.csv has 1 missing values",
        ),
        (
            "a,b,y\n" + lines(lambda i: f"{i},2020-01-{i + 1:02},{i % 2}"),
            "holds values of type date32",
        ),
        ("a,b,y\n" + lines(lambda i: f"{i},{i},2020-01-{i + 1:02}"), "are of type date32"),
        ("y\n" + lines(lambda i: f"{i % 2}"), "no columns beside the labels `y`"),
        ("a,y\n" + lines(lambda i: f"{i},{i % 2}"), "one feature only"),
        ("a,b,y\n" + lines(lambda i: f"{i},{i},{i % 2}", 5), "5 rows, but at least 20"),
        (b"a,b,y\n1,2,caf\xe9\n", "not UTF-8 text (line 2)"),
        (b"\xff\xfea\x00", "not UTF-8 text (line 1)"),
    ],
)
def test_wrong_tables(text, sentence, tmp_path):
    assert sentence in refused(csv(tmp_path, text))


def test_parquet_types(tmp_path):
    made = table(X, Y)
    labels = pyarrow.chunked_array([made["label"].combine_chunks().dictionary_encode()])
    parquet.write_table(made.set_column(4, "label", labels), tmp_path / "a.pq")
    assert read_labelled(tmp_path / "a.pq").classes == ("class 0", "class 1", "class 2")
    nested = made.set_column(0, "f0", pyarrow.array([[1.0]] * ROWS))
    parquet.write_table(nested, tmp_path / "a.pq")
    assert "column `f0` of a.pq holds values of type list" in refused(tmp_path / "a.pq")
    null = made.set_column(1, "f1", pyarrow.array([None] + [1.0] * (ROWS - 1)))
    parquet.write_table(null, tmp_path / "a.pq")
    assert "column `f1` of a.pq has 1 missing values" in refused(tmp_path / "a.pq")
    parquet.write_table(
        pyarrow.table({"a": np.zeros(10**6), "b": np.zeros(10**6), "y": np.zeros(10**6)}),
        tmp_path / "a.pq",
    )
    assert (tmp_path / "a.pq").stat().st_size < 10**6  # it unpacks to 24 times as much
    assert "more than the 1000000 allowed" in refused(tmp_path / "a.pq", max_bytes=10**6)


# Names, and paths that lead nowhere.


@pytest.mark.parametrize(
    ("name", "kind", "shape", "rows", "classes"),
    [
        ("digits", "image", (8, 8, 1), 1797, 10),
        ("breast-cancer", "tabular", (30, 1), 569, 2),
        ("wine", "tabular", (13, 1), 178, 3),
        ("iris", "tabular", (4, 1), 150, 3),
        ("diabetes", "tabular", (10, 1), 442, 0),
    ],
)
def test_data_sets_by_name(name, kind, shape, rows, classes):
    data = sx.read_labelled(name)
    assert (data.name, data.kind, data.shape, len(data), len(data.classes)) == (
        name,
        kind,
        shape,
        rows,
        classes,
    )
    if name == "breast-cancer":
        assert data.classes == ("malignant", "benign")
        assert data.columns[0] == "mean radius"
        assert np.bincount(data.labels).tolist() == [212, 357]


def test_fetched_data_sets(small):
    from separatrix.data.catalogue import CATALOGUE

    assert "separatrix data get cifar10" in refused("cifar10")
    keep(CATALOGUE["cifar10"], small["cifar10"], "here")
    data = read_labelled("cifar10")
    assert np.array_equal(
        data.inputs, np.concatenate([small["cifar10"]["train_x"], small["cifar10"]["test_x"]])
    )
    assert set(data.classes) <= {
        "airplane",
        "automobile",
        "bird",
        "cat",
        "deer",
        "dog",
        "frog",
        "horse",
        "ship",
        "truck",
    }
    truth = np.concatenate([small["cifar10"]["train_y"], small["cifar10"]["test_y"]])
    assert [data.classes[i] == "cat" for i in data.labels] == (truth == 3).tolist()


def test_paths_that_lead_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "did you mean `mnist`" in refused("mnits")
    assert "there is no file or folder no/such/x.npz" in refused("no/such/x.npz")
    assert "there is no file or folder" in refused(tmp_path / "mnist")
    for wrong in (3, None, "a\0b", ""):
        assert refused(wrong)
    (tmp_path / "loop").symlink_to("loop")
    assert "neither a file nor a folder" in refused("loop")
    os.mkfifo(tmp_path / "pipe.npz")
    assert "neither a file nor a folder" in refused(tmp_path / "pipe.npz")
    (tmp_path / "a.txt").write_text("words")
    assert "of no form that can be read" in refused("a.txt")
    (tmp_path / "x.npz").mkdir()
    assert "holds neither arrays" in refused("x.npz")
    assert "the `label` of read_labelled must be a name" in refused("digits", label=3)
    # What lies there comes before a name.
    write("npz", tmp_path / "wine")
    (tmp_path / "wine" / "a.npz").rename(tmp_path / "iris.npz")
    assert "holds neither arrays" in refused("wine")


def test_names_with_any_characters(tmp_path):
    path, _ = write("npz", tmp_path)
    odd = tmp_path / "two\nlines \udcff.npz"
    path.rename(odd)
    data = read_labelled(odd)
    assert data.name == "two\nlines \\udcff.npz"
    odd.write_bytes(b"")
    assert refused(odd).startswith("two\\nlines")


def test_wrong_beginnings(tmp_path):
    for form in ("npz", "npy", "parquet", "idx", "idx.gz"):
        path, files = write(form, tmp_path / form)
        raw = files[0].read_bytes()
        for wrong in (b"", b"XX" + raw[2:], raw[: len(raw) // 2], raw[:3], b"\0" * 100):
            files[0].write_bytes(wrong)
            assert path.name in refused(path)
