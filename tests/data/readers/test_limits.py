"""Readers keep to their memory limit for what is unpacked, and drop nothing in silence."""

import os
import subprocess
import sys
import textwrap
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from separatrix.data import read_labelled
from separatrix.data.readers.arrays import read_npz
from separatrix.errors import SeparatrixError

LIMIT = 2 * 10**8


def peak(path, limit=LIMIT):
    """How much memory a process took to read a file, beyond what it has without, and the error."""
    code = f"""
        import resource
        from separatrix.data import read_labelled
        from separatrix.errors import SeparatrixError
        import pyarrow.parquet, pyarrow.csv
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        said = ""
        try:
            read_labelled({str(path)!r}, max_bytes={limit})
        except SeparatrixError as error:
            said = str(error)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, said)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    used, _, said = done.stdout.strip().partition(" ")
    return int(used) * 1024, said


def test_a_parquet_file_of_long_equal_texts_is_not_unpacked(tmp_path):
    rows = 20_000
    words = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(rows) % 2, pa.int32()), ["a" * 40_000, "b" * 40_000]
    )
    table = pa.table({"x": np.arange(rows) % 7, "z": np.arange(rows) % 5, "label": words})
    # Without the schema, pyarrow does not know that it should leave the words encoded.
    pq.write_table(table, tmp_path / "bomb.parquet", store_schema=False)
    assert (tmp_path / "bomb.parquet").stat().st_size < 10**6  # and 800 MB unpacked
    used, said = peak(tmp_path / "bomb.parquet")
    assert used < LIMIT
    assert "more than the 200000000 allowed" in said  # as an array, the labels would be


def test_a_parquet_file_of_many_values_per_row_is_refused(tmp_path):
    lists = pa.array([np.zeros(10**6, np.int8)] * 40)
    table = pa.table({"x": lists, "label": ["a", "b"] * 20})
    pq.write_table(table, tmp_path / "bomb.parquet")
    with pytest.raises(SeparatrixError, match=r"column `x` of bomb.parquet holds lists"):
        read_labelled(tmp_path / "bomb.parquet", max_bytes=LIMIT)


def test_a_header_of_a_million_columns_is_refused(tmp_path):
    (tmp_path / "wide.csv").write_text(",".join(f"c{i}" for i in range(10**6)) + "\n1\n")
    used, said = peak(tmp_path / "wide.csv")
    assert "more than the 200000000 allowed" in said
    assert used < LIMIT


def test_an_npz_array_is_in_memory_once(tmp_path):
    x = np.zeros((20, 10**6), np.uint8)  # 20 MB
    np.savez_compressed(tmp_path / "a.npz", x=x, y=np.arange(20) % 2)
    tracemalloc.start()
    try:
        assert read_npz(tmp_path / "a.npz", 10**9).inputs.shape == x.shape
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert x.nbytes < used < 1.3 * x.nbytes


def test_two_members_of_one_name_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros((30, 4)), y=np.arange(30) % 2)
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive, pytest.warns(match="Duplicate"):
        archive.writestr("y.npy", archive.read("y.npy"))
    with pytest.raises(SeparatrixError, match="holds two arrays called `y`"):
        read_labelled(tmp_path / "a.npz")


def table(path, header, columns, rows=40):
    rng = np.random.default_rng(0)
    lines = [",".join(str(rng.integers(0, 3)) for _ in range(columns)) for _ in range(rows)]
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def codes(data):
    return [note.code for note in data.notes]


def test_two_columns_of_labels_are_refused_or_noted(tmp_path):
    file = table(tmp_path / "a.csv", "a,b,label,target", 4)
    with pytest.raises(SeparatrixError, match="`label` and `target`: say which"):
        read_labelled(file)
    assert "perhaps-label" in codes(read_labelled(file, label="label"))
    assert "perhaps-label" not in codes(read_labelled(file, label="label", drop=("target",)))
    points = read_labelled(table(tmp_path / "b.csv", "x,y,label", 3))
    assert points.columns == ("x", "y")


def test_a_numeric_header_is_noted(tmp_path):
    assert "numeric-header" in codes(read_labelled(table(tmp_path / "a.csv", "0,1,2,3", 4)))
    assert "numeric-header" not in codes(read_labelled(table(tmp_path / "b.csv", "0,1,2,2", 4)))


@pytest.fixture
def pictures(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        (tmp_path / "set" / name).mkdir(parents=True)
        for i in range(15):
            pixels = rng.integers(0, 255, (6, 6, 3)).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "set" / name / f"{i}.png")
    return tmp_path / "set"


def test_links_out_of_a_picture_folder_are_left_out_and_noted(pictures):
    outside = pictures.parent / "secret.png"
    outside.write_bytes((pictures / "cat" / "0.png").read_bytes())
    os.symlink(outside, pictures / "cat" / "leak.png")
    os.symlink(pictures / "cat" / "1.png", pictures / "cat" / "twin.png")
    data = read_labelled(pictures)
    assert len(data) == 31  # the link within the folder is followed
    assert "links-left-out" in codes(data)


def test_a_picture_is_not_decoded_beyond_the_memory_limit(pictures):
    from PIL import Image

    Image.new("L", (6000, 6000)).save(pictures / "cat" / "0.png")  # 35 kB
    with pytest.raises(SeparatrixError, match=r"0.png would take 288000000 bytes in memory"):
        read_labelled(pictures, max_bytes=LIMIT)


def test_rotation_and_transparency_are_noted(pictures):
    from PIL import Image

    assert not {"rotation", "transparency"} & set(codes(read_labelled(pictures)))
    picture = Image.open(pictures / "cat" / "0.png")
    exif = picture.getexif()
    exif[0x0112] = 6
    picture.save(pictures / "cat" / "0.png", exif=exif)
    palette = Image.open(pictures / "dog" / "0.png").convert("P")
    palette.save(pictures / "dog" / "0.png", transparency=0)
    assert {"rotation", "transparency"} <= set(codes(read_labelled(pictures)))


def test_a_class_that_cannot_be_read_is_an_error(pictures, monkeypatch):
    real = os.scandir

    def scandir(place="."):
        if str(place).endswith("dog"):
            raise PermissionError(13, "Permission denied", str(place))
        return real(place)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(SeparatrixError, match="Permission denied"):
        read_labelled(pictures)
