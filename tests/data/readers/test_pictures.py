"""Folders of pictures."""

import struct
import zlib

import numpy as np
import pytest
from labelled_files import codes, png, refused
from PIL import Image

from separatrix.data import read_labelled

RNG = np.random.default_rng(5)


def grey(height=6, width=5):
    return RNG.integers(0, 256, (height, width), np.uint8)


def fill(folder, classes=("cat", "dog"), count=12, make=grey):
    made = {}
    for name in classes:
        for i in range(count):
            made[f"{name}/{i:02}.png"] = make()
            png(folder / name / f"{i:02}.png", made[f"{name}/{i:02}.png"])
    return made


def test_a_subfolder_is_a_class(tmp_path):
    made = fill(tmp_path, ("dog", "cat", "10"))
    data = read_labelled(tmp_path)
    assert (data.name, data.kind, data.shape, data.classes) == (
        tmp_path.name,
        "image",
        (6, 5, 1),
        ("10", "cat", "dog"),
    )
    assert data.inputs.dtype == np.uint8
    expected = [(name.split("/")[0], array) for name, array in sorted(made.items())]
    assert [data.classes[i] for i in data.labels] == [name for name, _ in expected]
    assert np.array_equal(data.inputs[..., 0], [array for _, array in expected])
    assert not {"resized", "files-left-out", "links-left-out"} & set(codes(data))


def test_classes_called_by_numbers(tmp_path):
    """Few pictures a class, and numbers for names, are still classes, unless a regression is asked
    for.
    """
    fill(tmp_path, ("7", "0", "12"), 4)
    fill(tmp_path, tuple(map(str, range(20, 26))), 4)
    data = read_labelled(tmp_path)
    assert data.classes == ("0", "7", "12", *map(str, range(20, 26)))
    amounts = read_labelled(tmp_path, task="regression")
    assert amounts.labels.tolist() == [float(data.classes[label]) for label in data.labels]


def test_training_and_test_folders_are_joined_and_split_as_given(tmp_path):
    fill(tmp_path / "train")
    fill(tmp_path / "test", count=3)
    data = read_labelled(tmp_path)
    assert data.classes == ("cat", "dog")
    assert np.bincount(data.labels).tolist() == [15, 15]
    assert np.bincount(data.labels[data.tested]).tolist() == [3, 3]
    (tmp_path / "test").rename(tmp_path / "val")
    assert read_labelled(tmp_path).tested is None


def test_colour_and_other_modes(tmp_path):
    fill(tmp_path)
    png(tmp_path / "cat" / "colour.png", RNG.integers(0, 256, (6, 5, 3), np.uint8))
    png(tmp_path / "cat" / "clear.png", RNG.integers(0, 256, (6, 5, 4), np.uint8))
    Image.fromarray(grey()).convert("P").save(tmp_path / "cat" / "palette.png")
    data = read_labelled(tmp_path)
    assert data.shape == (6, 5, 3)
    assert "transparency" in codes(data)


def test_sixteen_bits_keep_the_upper_eight(tmp_path):
    fill(tmp_path)
    deep = RNG.integers(0, 65536, (6, 5)).astype(np.uint16)
    Image.fromarray(deep).save(tmp_path / "cat" / "00.png")
    assert np.array_equal(read_labelled(tmp_path).inputs[0, ..., 0], deep >> 8)


def test_sizes_are_brought_to_the_smallest(tmp_path):
    fill(tmp_path)
    png(tmp_path / "cat" / "00.png", np.full((18, 20), 77, np.uint8))
    png(tmp_path / "cat" / "01.png", grey(8, 4))
    data = read_labelled(tmp_path)
    assert data.shape == (6, 4, 1)
    assert (data.inputs[0] == 77).all()
    told = next(note.message for note in data.notes if note.code == "resized")
    assert "3 sizes, 4 to 20 wide and 6 to 18 high" in told


def test_other_files_and_links(tmp_path):
    fill(tmp_path)
    (tmp_path / "README.txt").write_text("words")
    (tmp_path / "cat" / "notes.txt").write_text("words")
    (tmp_path / "cat" / ".DS_Store").write_bytes(b"\0")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "cat" / "loop").symlink_to(tmp_path)
    (tmp_path / "cat" / "self.png").symlink_to("self.png")
    data = read_labelled(tmp_path)
    assert len(data) == 24
    told = {note.code: note.message for note in data.notes}
    assert told["files-left-out"].startswith("3 files")
    assert told["links-left-out"].startswith("2 links")


def test_nested_subfolders_belong_to_their_class(tmp_path):
    fill(tmp_path)
    png(tmp_path / "cat" / "more" / "deep.png", grey())
    assert np.bincount(read_labelled(tmp_path).labels).tolist() == [13, 12]


def bomb(width, height):
    """A PNG that says that it is large."""

    def chunk(kind, body):
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("width", "height"), [(10_000, 10_000), (60_000, 60_000), (2**31 - 1, 2**31 - 1)]
)
def test_a_large_picture_is_refused_by_its_header(width, height, tmp_path):
    fill(tmp_path)
    (tmp_path / "cat" / "00.png").write_bytes(bomb(width, height))
    assert "00.png" in refused(tmp_path)


def test_many_pictures_are_refused_by_their_sum(tmp_path):
    fill(tmp_path)
    assert "would take 720 bytes in memory, more than the 719 allowed" in refused(
        tmp_path, max_bytes=719
    )
    assert len(read_labelled(tmp_path, max_bytes=720)) == 24


def test_wrong_folders(tmp_path):
    assert "holds neither arrays" in refused(tmp_path)
    png(tmp_path / "loose.png", grey())
    assert "holds neither arrays" in refused(tmp_path)
    fill(tmp_path, ("cat",), 24)
    assert "all 24 labels" in refused(tmp_path)
    fill(tmp_path, ("dog",), 3)
    for wrong, words in (
        (b"", "does not begin like one"),
        (b"GIF89a" + bytes(50), "does not begin like one"),
        (b"\x89PNG\r\n\x1a\n", "cannot be read"),
    ):
        (tmp_path / "dog" / "01.png").write_bytes(wrong)
        assert words in refused(tmp_path)
        assert "01.png" in refused(tmp_path)
    whole = (tmp_path / "dog" / "00.png").read_bytes()
    (tmp_path / "dog" / "01.png").write_bytes(whole[: len(whole) // 2])
    assert "01.png cannot be read as a PNG or JPEG picture" in refused(tmp_path)
