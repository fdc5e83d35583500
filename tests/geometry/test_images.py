"""What is wrong with images, schemes or sizes is one sentence."""

import logging
import os

import numpy as np
import pytest

from separatrix.errors import SeparatrixError
from separatrix.geometry import (
    cut_patches,
    places,
    projected_depth,
    read_images,
    survey,
)


@pytest.mark.parametrize(
    "make, words",
    [
        (
            lambda p: read_images(str(p / "none")),
            "is no folder, no .npy or .npz file and no data set",
        ),
        (lambda p: read_images(str(p / "text.npy")), "text.npy cannot be read as an .npy file"),
        (
            lambda p: read_images(str(p / "flat.npy")),
            r"images must be numbers of shape .* got \(5,\)",
        ),
        (lambda p: read_images(str(p / "two.npz")), "two.npz must hold one array of images"),
        (
            lambda p: read_images(str(p / "objects.npy")),
            r"objects.npy cannot be read as an .npy file \(it holds Python objects",
        ),
        (lambda p: read_images(str(p)), "holds no pictures"),
        (
            lambda p: places("cnov", 8, 8, 4, np.random.default_rng(0)),
            "there is no patch scheme `cnov`; did you mean `conv`",
        ),
        (
            lambda p: cut_patches(np.zeros((2, 6, 6, 1)), "conv"),
            r"the `side` of a patch scheme must be at most half .* \(6\), got 4",
        ),
        (lambda p: survey(np.zeros((3, 8, 8, 1))), "needs at least 4 images, got 3"),
        (
            lambda p: projected_depth(np.zeros((1, 3))),
            r"the `points` of projected_depth must be at least two points, as rows, got \(1, 3\)",
        ),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, make, words):
    (tmp_path / "text.npy").write_text("hello")
    np.save(tmp_path / "flat.npy", np.zeros(5))
    np.savez(tmp_path / "two.npz", a=np.zeros((2, 3, 3)), b=np.zeros((2, 3, 3)))
    np.save(tmp_path / "objects.npy", np.array([{}, {}], dtype=object), allow_pickle=True)
    with pytest.raises(SeparatrixError, match=words):
        make(tmp_path)


@pytest.fixture
def pictures(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    for i in range(3):
        pixels = rng.integers(0, 255, (8, 6, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
    return tmp_path


def test_pictures_that_are_no_regular_files_are_not_opened(pictures):
    os.mkfifo(pictures / "pipe.png")
    os.symlink("/dev/zero", pictures / "zero.png")
    assert read_images(str(pictures), 4)[0].shape == (3, 4, 4, 3)


def test_formats_that_call_other_programs_are_not_read(pictures):
    (pictures / "3.png").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    with pytest.raises(SeparatrixError, match=r"3.png cannot be read as a picture"):
        read_images(str(pictures), 4)


def test_what_pillow_logs_is_not_printed(pictures, capfd, monkeypatch):
    from PIL import TiffImagePlugin

    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as in a program without logging
    TiffImagePlugin.logger.error("More samples per pixel than can be decoded: 7")
    assert capfd.readouterr().err == ""


def test_a_picture_is_not_decoded_beyond_the_memory_limit(pictures, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_MAX_BYTES", str(8 * 8 * 6))
    assert read_images(str(pictures), 2)[0].shape == (3, 2, 2, 3)
    monkeypatch.setenv("SEPARATRIX_MAX_BYTES", str(8 * 8 * 6 - 1))
    with pytest.raises(SeparatrixError, match=r"0.png would take 384 bytes in memory"):
        read_images(str(pictures), 2)


def test_images_keep_to_the_memory_limit(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros((10, 100, 100), np.uint8))
    np.save(tmp_path / "a.npy", np.zeros((10, 100, 100), np.uint8))
    for name in ("a.npz", "a.npy"):
        assert read_images(str(tmp_path / name))[0].shape == (10, 100, 100, 1)
        monkeypatch.setenv("SEPARATRIX_MAX_BYTES", "399999")  # less than 4 bytes per pixel
        with pytest.raises(SeparatrixError, match="would take 400000 bytes in memory"):
            read_images(str(tmp_path / name))
        monkeypatch.delenv("SEPARATRIX_MAX_BYTES")
