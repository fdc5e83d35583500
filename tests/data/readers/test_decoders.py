"""Decoders against encoders written here, and against bytes that are not what they should be."""

import gzip
import io
import lzma
import tarfile
import zipfile

import numpy as np
import pytest
from data_files import cifar_bins, cifar_planes
from PIL import Image

from separatrix.data.readers import decoders

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(decoders, "CIFAR_ROWS", 5)


def test_idx_files_of_one_and_three_axes():
    for shape in ((7,), (3, 4, 5)):
        array = RNG.integers(0, 256, shape, np.uint8)
        header = bytes([0, 0, 8, len(shape)]) + b"".join(n.to_bytes(4, "big") for n in shape)
        np.testing.assert_array_equal(decoders.read_idx(header + array.tobytes()), array)
        for wrong in (
            header + array.tobytes()[:-1],
            header + array.tobytes() + b"x",
            b"\x00\x00\x0d" + header[3:],
            b"",
            header[:6],
        ):
            with pytest.raises(decoders.DAMAGE):
                decoders.read_idx(wrong)


def test_wrapped_bytes_are_unwrapped_up_to_a_limit():
    raw = bytes(1000)
    for packed in (raw, gzip.compress(raw), lzma.compress(raw)):
        assert decoders.inflate(packed, 1000) == raw
        with pytest.raises(ValueError, match="more than 999 bytes"):
            decoders.inflate(packed, 999)
    for packed in (gzip.compress(RNG.bytes(1000)), lzma.compress(RNG.bytes(1000))):
        with pytest.raises(decoders.DAMAGE):
            decoders.inflate(packed[:500], 2000)


def test_the_three_forms_of_a_cifar_batch_agree():
    x, y = RNG.integers(0, 256, (5, 32, 32, 3), np.uint8), RNG.integers(0, 10, 5, np.uint8)
    for read, raw in (
        (decoders.read_cifar_batch, cifar_bins(x, y)),
        (decoders.read_cifar_planes, cifar_planes(x, y)),
    ):
        pixels, labels = read(raw)
        np.testing.assert_array_equal(pixels, x)
        np.testing.assert_array_equal(labels, y)
        with pytest.raises(ValueError, match="it should hold 15365 bytes and holds 15364"):
            read(raw[:-1])
    file = io.BytesIO()
    Image.fromarray(x.reshape(5, 1024, 3)).save(file, "PNG")
    np.testing.assert_array_equal(decoders.read_png_rows(file.getvalue()), x)
    with pytest.raises(decoders.DAMAGE):
        decoders.read_png_rows(file.getvalue()[:1000])
    for picture in (Image.new("RGB", (1024, 4)), Image.new("L", (1024, 5))):
        file = io.BytesIO()
        picture.save(file, "PNG")
        with pytest.raises(ValueError, match="no PNG of 1024"):
            decoders.read_png_rows(file.getvalue())


def test_npz_files_are_read_but_their_objects_are_not():
    good = {
        "x_train": np.zeros((2, 3), np.uint8),
        "y_train": np.zeros(2, np.uint8),
        "x_test": np.ones(1),
        "y_test": np.ones(1),
    }

    def packed(arrays):
        file = io.BytesIO()
        np.savez(file, **arrays)
        return file.getvalue()

    assert decoders.read_npz(packed(good), 10**4)["train_x"].shape == (2, 3)
    with pytest.raises(ValueError, match="allow_pickle"):
        decoders.read_npz(packed(good | {"x_test": np.array([print], object)}), 10**4)
    with pytest.raises(KeyError):
        decoders.read_npz(packed({"x_train": good["x_train"]}), 10**4)
    with pytest.raises(ValueError, match="more than 100 bytes"):
        decoders.read_npz(packed(good), 100)
    with pytest.raises(zipfile.BadZipFile):
        decoders.read_npz(b"nothing", 100)


def test_members_of_archives_are_read_without_unpacking(tmp_path):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as made:
        for name, size in (("a/one", 3), ("../two", 5)):
            member = tarfile.TarInfo(name)
            member.size = size
            made.addfile(member, io.BytesIO(bytes(size)))
        link = tarfile.TarInfo("a/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        made.addfile(link)
    raw = file.getvalue()
    assert decoders.tar_members(io.BytesIO(raw), ("a/one",), 10) == {"a/one": bytes(3)}
    for names, words in (
        (("a/three",), "it lacks a/three"),
        (("a/link",), "it lacks a/link"),
        (("../two",), "more than 4 bytes"),
    ):
        with pytest.raises(ValueError, match=words):
            decoders.tar_members(io.BytesIO(raw), names, 4)
    with pytest.raises(decoders.DAMAGE):
        decoders.tar_members(io.BytesIO(raw[: len(raw) // 2]), ("../two",), 10)


def test_a_header_of_an_archive_is_not_believed(monkeypatch):
    monkeypatch.setattr(decoders, "TAR_SLACK", 1000)
    size = 10**7
    header = tarfile.TarInfo("a")
    header.type, header.size = tarfile.XHDTYPE, size  # a header that says that it has 10 MB
    raw = gzip.compress(header.tobuf() + bytes(size))
    assert len(raw) < 20_000
    with pytest.raises(ValueError, match="more than 1200 bytes"):
        decoders.tar_members(io.BytesIO(raw), ("a",), 100)
