"""Schemes: which pixels patches take."""

import numpy as np
import pytest

from separatrix.geometry import (
    SCHEMES,
    cut_patches,
    places,
)

LOCAL = [name for name in SCHEMES if name not in ("global shuffle", "whole image", "multi-scale")]


@pytest.mark.parametrize("scheme", LOCAL)
def test_patches_are_distinct_pixels_of_the_image(scheme):
    rng = np.random.default_rng(0)
    where = places(scheme, 32, 32, 4, rng)
    assert where.shape[1] == 16
    assert where.min() >= 0
    assert where.max() < 32 * 32
    assert all(len(set(patch)) == 16 for patch in where.tolist())
    extent = [np.ptp(np.stack(np.divmod(patch, 32)), axis=1).max() for patch in where]
    assert max(extent) <= (
        15 if scheme == "cross" else 6 if scheme == "dilated" else 3
    )  # a window's reach: no wrapping around an edge
    images = rng.random((3, 32, 32, 3)).astype(np.float32)
    patches = cut_patches(images, scheme)
    assert patches.shape[1] == 48
    assert set(patches[0].tolist()) <= set(images[0].ravel().tolist())


def test_the_grid_schemes_cut_what_a_loop_cuts():
    images = np.random.default_rng(0).random((2, 10, 8, 3)).astype(np.float32)
    expected = [
        image[r : r + 4, c : c + 4].ravel()
        for image in images
        for r in range(0, 7, 2)
        for c in range(0, 5, 2)
    ]
    assert np.array_equal(cut_patches(images, "conv"), expected)
    assert np.array_equal(cut_patches(images, "whole image"), images.reshape(2, -1))
    shuffled = cut_patches(images, "global shuffle")
    assert shuffled.shape == (24, 48)
    assert np.all(np.isin(shuffled[:12], images[0]))
    assert not np.array_equal(shuffled, cut_patches(images, "global shuffle", seed=1))
    assert np.array_equal(shuffled, cut_patches(images, "global shuffle"))
    even = images.reshape(2, 5, 2, 4, 2, 3).mean((2, 4))
    assert np.allclose(cut_patches(images, "multi-scale")[24], even[0, :4, :4].ravel())
