"""What is wrong with images, schemes or sizes is one sentence."""

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
        (lambda p: read_images(str(p / "text.npy")), "cannot read images from text.npy"),
        (
            lambda p: read_images(str(p / "flat.npy")),
            r"images must be numbers of shape .* got \(5,\)",
        ),
        (lambda p: read_images(str(p / "two.npz")), "two.npz must hold one array of images"),
        (
            lambda p: read_images(str(p / "objects.npy")),
            "cannot read images from objects.npy: it holds Python objects",
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
