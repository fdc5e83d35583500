"""Ways to cut patches out of images: the grid of a convolution, other grids, other shapes, and
controls without locality.
"""

import numpy as np
from jaxtyping import Float, Int

from separatrix.errors import ParameterError, UnknownNameError, check_integer

SCHEMES = {
    "conv": "windows on a grid of half a window's side, as a convolution's",
    "non-overlapping": "windows that tile the image",
    "random placement": "windows at random places",
    "jittered": "windows that tile the image, each moved a little",
    "radial": "windows on circles about the centre",
    "cross": "two crossing bars of as many pixels as a window",
    "hexagonal": "windows on a hexagonal grid",
    "dilated": "windows that take every second pixel",
    "multi-scale": "windows, and windows twice as large averaged down",
    "global shuffle": "the convolution's windows after the image's numbers were shuffled, anew for "
    "each image (a control without locality)",
    "whole image": "the image as one patch (a control without locality)",
}


def _check(height: int, width: int, side: int) -> None:
    # Dilated and averaged windows are twice as large as the others.
    if 2 * side > min(height, width):
        raise ParameterError(
            "a patch scheme",
            "side",
            f"at most half the image's smaller side ({min(height, width)})",
            side,
        )


def _square(side: int, step: int = 1) -> Int[np.ndarray, "area 2"]:
    rows, columns = np.divmod(np.arange(side * side), side)
    return np.stack([rows, columns], 1) * step


def _cross(side: int) -> Int[np.ndarray, "area 2"]:
    """Two bars of side²/2 pixels each that cross near their middles, without counting a pixel
    twice.
    """
    area = side * side
    down = np.stack([np.arange((area + 1) // 2), np.full((area + 1) // 2, area // 4)], 1)
    along = np.arange(-(area // 4), area // 2 + 1)
    across = np.stack([np.full(len(along), area // 4), along + area // 4], 1)
    taken = {tuple(pixel) for pixel in down.tolist()}
    free = [pixel for pixel in across.tolist() if tuple(pixel) not in taken]
    free.sort(key=lambda pixel: abs(pixel[1] - area // 4))
    out = np.concatenate([down, np.array(free[: area - len(down)], int).reshape(-1, 2)])
    return out - out.min(0)


def _grid(
    height: int, width: int, reach: Int[np.ndarray, " 2"], step: int
) -> Int[np.ndarray, "count 2"]:
    rows, columns = (
        np.arange(0, height - reach[0] + 1, step),
        np.arange(0, width - reach[1] + 1, step),
    )
    return np.stack(np.meshgrid(rows, columns, indexing="ij"), -1).reshape(-1, 2)


def _corners(
    scheme: str,
    height: int,
    width: int,
    reach: Int[np.ndarray, " 2"],
    side: int,
    rng: np.random.Generator,
) -> np.ndarray:
    room = np.array([height, width]) - reach
    if scheme == "random placement":
        count = len(_grid(height, width, reach, max(1, side // 2)))
        return np.floor(rng.random((count, 2)) * (room + 1)).astype(int)
    if scheme == "non-overlapping":
        return _grid(height, width, reach, side)
    if scheme == "jittered":
        grid = _grid(height, width, reach, side)
        return np.clip(
            grid + np.floor(rng.random(grid.shape) * (side + 1)).astype(int) - side // 2, 0, room
        )
    if scheme == "hexagonal":
        grid = _grid(height, width, reach, side)
        grid[:, 1] += (grid[:, 0] // side % 2) * (side // 2)
        return grid[grid[:, 1] <= room[1]]
    if scheme == "radial":
        rings = np.arange(0, room.min() / 2 + 1e-9, side)
        out = []
        for radius in rings:
            count = max(1, round(2 * np.pi * radius / side))
            angle = 2 * np.pi * np.arange(count) / count
            out.append(
                np.stack(
                    [room[0] / 2 + radius * np.sin(angle), room[1] / 2 + radius * np.cos(angle)], 1
                )
            )
        return np.unique(np.clip(np.rint(np.concatenate(out)), 0, room).astype(int), axis=0)
    return _grid(height, width, reach, max(1, side // 2))


def places(
    scheme: str, height: int, width: int, side: int, rng: np.random.Generator
) -> Int[np.ndarray, "count area"]:
    """The flat pixel numbers of every patch of an image, for the schemes that take pixels as they
    are.

    >>> places("non-overlapping", 8, 8, 4, np.random.default_rng(0)).shape
    (4, 16)
    """
    if scheme not in SCHEMES:
        raise UnknownNameError("patch scheme", scheme, SCHEMES)
    check_integer("a patch scheme", "side", side, 1)
    if scheme == "whole image":
        return np.arange(height * width)[None]
    shape = {"cross": _cross(side), "dilated": _square(side, 2)}.get(scheme, _square(side))
    reach = shape.max(0) + 1
    if np.any(reach > (height, width)):
        raise ParameterError(
            "a patch scheme",
            "side",
            f"small enough for '{scheme}' to fit into {height} x {width} pixels",
            side,
        )
    corners = _corners(scheme, height, width, reach, side, rng)
    pixels = corners[:, None, :] + shape
    return pixels[..., 0] * width + pixels[..., 1]


def cut_patches(
    images: Float[np.ndarray, "images height width channels"],
    scheme: str,
    side: int = 4,
    seed: int = 0,
) -> Float[np.ndarray, "patches span"]:
    """All patches of all images, image by image.

    Args:
        images: The images.
        scheme: A name of `SCHEMES`; random schemes draw new places for each image.
        side: The side of a patch in pixels.
        seed: The seed of random schemes.

    >>> images = np.random.default_rng(0).random((2, 8, 8, 3))
    >>> cut_patches(images, "conv").shape, cut_patches(images, "whole image").shape
    ((18, 48), (2, 192))
    """
    count, height, width, channels = images.shape
    _check(height, width, side)
    rng, span = np.random.default_rng([seed, 1]), one_span(scheme, images.shape, side)
    pixels = images.reshape(count, -1, channels)
    if scheme in ("random placement", "jittered"):
        return np.concatenate(
            [image[places(scheme, height, width, side, rng)].reshape(-1, span) for image in pixels]
        )
    where = places(
        "conv" if scheme in ("global shuffle", "multi-scale") else scheme, height, width, side, rng
    )
    if scheme == "global shuffle":
        pixels = rng.permuted(pixels.reshape(count, -1), axis=1).reshape(pixels.shape)
    patches = pixels[:, where].reshape(-1, span)
    if scheme != "multi-scale":
        return patches
    even = images[:, : height // 2 * 2, : width // 2 * 2]
    small = (
        even.reshape(count, height // 2, 2, width // 2, 2, channels)
        .mean((2, 4))
        .reshape(count, -1, channels)
    )
    return np.concatenate(
        [patches, small[:, places("conv", height // 2, width // 2, side, rng)].reshape(-1, span)]
    )


def one_span(scheme: str, shape: tuple[int, ...], side: int) -> int:
    """How many numbers a patch holds.

    >>> one_span("conv", (1, 32, 32, 3), 4)
    48
    """
    return shape[1] * shape[2] * shape[3] if scheme == "whole image" else side * side * shape[3]


def mosaic(
    image: Float[np.ndarray, "height width channels"],
    scheme: str,
    side: int = 4,
    count: int = 24,
    seed: int = 0,
) -> np.ndarray:
    """A picture of the pixels that a scheme's patches take: `count` patches of an image, side by
    side, in their square arrangement.

    >>> mosaic(np.random.default_rng(0).random((8, 8, 3)), "conv", count=4).shape
    (4, 19, 3)
    """
    patches = cut_patches(image[None], scheme, side, seed)
    if scheme == "whole image":
        return image
    chosen = np.random.default_rng([seed, 2]).choice(
        len(patches), size=min(count, len(patches)), replace=False
    )
    tiles = patches[np.sort(chosen)].reshape(len(chosen), side, side, -1)
    gap = np.ones((side, 1, tiles.shape[-1]))
    strip = [part for tile in tiles for part in (tile, gap)][:-1]
    return np.concatenate(strip, axis=1)
