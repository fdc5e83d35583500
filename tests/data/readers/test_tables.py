"""Tables in files: what is read is what was written, and what is wrong is one sentence."""

import gzip

import numpy as np
import pyarrow
import pytest
from labelled_files import ROWS, codes, images, refused, table, write
from pyarrow import parquet

from separatrix.data import read_labelled

X, Y = images()


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet"])
def test_tables_are_read_as_they_were_written(form, tmp_path):
    data = read_labelled(write(form, tmp_path)[0])
    assert (data.kind, data.shape, data.columns) == ("tabular", (4, 1), ("f0", "f1", "f2", "f3"))
    assert np.array_equal(data.inputs[..., 0], X.reshape(ROWS, -1)[:, :4] / 2)
    assert data.classes == ("class 0", "class 1", "class 2")
    assert np.array_equal(data.labels, Y)


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


def test_numbered_columns_are_a_signal(tmp_path):
    def read(names, **more):
        rows = lines(lambda i: ",".join(map(str, [*np.arange(len(names)) * 0.5 + i, i % 2])))
        return read_labelled(csv(tmp_path, ",".join([*names, "label"]) + "\n" + rows), **more)

    for names in ([f"t{i}" for i in range(12)], [f"acc_{i:03d}" for i in range(0, 120, 10)]):
        data = read(names)
        assert (data.kind, data.shape) == ("signal", (12, 1))
        (note,) = (note for note in data.notes if note.code == "numbered-columns")
        assert f"`{names[0]}` to `{names[-1]}`" in note.message
        table = read(names, kind="tabular")
        assert table.kind == "tabular"
        assert "numbered-columns" not in {note.code for note in table.notes}
    numbers = list(range(12))
    for names in (
        [f"t{i}" for i in numbers[::-1]],  # not in order
        [f"t{i}" for i in [*numbers[:-1], 99]],  # with a gap
        [f"{'ab'[i % 2]}{i}" for i in numbers],  # two names
        [f"feature_{i}" for i in numbers],  # no more than "column"
        [f"t{i}" for i in numbers[:5]],  # few
    ):
        assert read(names).kind == "tabular"


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
    assert "column `f0` of a.pq holds lists" in refused(tmp_path / "a.pq")
    null = made.set_column(1, "f1", pyarrow.array([None] + [1.0] * (ROWS - 1)))
    parquet.write_table(null, tmp_path / "a.pq")
    assert "column `f1` of a.pq has 1 missing values" in refused(tmp_path / "a.pq")
    parquet.write_table(
        pyarrow.table({"a": np.zeros(10**6), "b": np.zeros(10**6), "y": np.zeros(10**6)}),
        tmp_path / "a.pq",
    )
    assert (tmp_path / "a.pq").stat().st_size < 10**6  # it unpacks to 24 times as much
    assert "more than the 1000000 allowed" in refused(tmp_path / "a.pq", max_bytes=10**6)
