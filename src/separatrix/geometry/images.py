"""Images from a file, a folder, or a data set of the package."""

from pathlib import Path

import numpy as np
from jaxtyping import Float

from separatrix.data.readers.arrays import read_npy, read_stacks
from separatrix.data.readers.limits import byte_limit, check_size, decoding
from separatrix.data.readers.pictures import decoded_bytes
from separatrix.errors import SeparatrixError
from separatrix.files import is_regular

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm")
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")  # others would call programs
MOST_FILES = 2048  # pictures that are read from a folder


def read_images(
    source: str, size: int = 32
) -> tuple[Float[np.ndarray, "images height width channels"], str]:
    """Read images with values in [0, 1].

    Args:
        source: `embedded` (32x32 pieces of two photographs), the name of a data set, an .npy or
            .npz file, or a folder of pictures.
        size: The side in pixels to which pictures of a folder are resized, after they are cropped
            to their middle square.

    Returns:
        The images and a description of them.

    Raises:
        SeparatrixError: If the source does not exist or does not hold images.

    >>> images, what = read_images("embedded")
    >>> images.shape[1:], what
    ((32, 32, 3), '32x32 pieces of two photographs (embedded)')
    """
    path = Path(source).expanduser()
    if path.is_dir():
        return _folder(path, size), f"the pictures in {path.name}"
    if path.suffix.lower() in (".npy", ".npz"):
        return _scaled(_array(path), source), path.name
    from separatrix.data import CATALOGUE, EMBEDDED, load

    name = "embedded-photographs" if source == "embedded" else source
    if name not in EMBEDDED and name not in CATALOGUE:
        names = ", ".join(["embedded", *CATALOGUE])
        raise SeparatrixError(
            f"{source!r} is no folder, no .npy or .npz file and no data set; data sets: {names}"
        )
    what = "32x32 pieces of two photographs (embedded)" if source == "embedded" else name
    return _scaled(np.asarray(load(name).train_x), source), what


def _array(path: Path) -> np.ndarray:
    limit = byte_limit()
    if path.suffix.lower() == ".npy":
        return read_npy(path, limit)
    stacks = read_stacks(path, limit)
    fit = [name for name, stack in stacks.items() if stack.ndim in (3, 4)]
    if len(fit) != 1:
        raise SeparatrixError(
            f"{path.name} must hold one array of images (3 or 4 axes), it holds {len(fit)} among "
            f"{sorted(stacks)}"
        )
    return stacks[fit[0]]


def _scaled(stack: np.ndarray, source: str) -> Float[np.ndarray, "images height width channels"]:
    if stack.ndim == 3:
        stack = stack[..., None]
    if stack.ndim != 4 or not stack.size or stack.dtype.kind not in "uif":
        raise SeparatrixError(
            "images must be numbers of shape (images, height, width) or (images, height, width, "
            f"channels), got {stack.shape} of {stack.dtype} from {source}"
        )
    check_size(source, 4 * stack.size, byte_limit())
    if stack.dtype.kind == "f":
        if not np.all(np.isfinite(stack)):
            raise SeparatrixError(f"the images of {source} hold values that are not finite")
        return stack.astype(np.float32)
    return stack.astype(np.float32) / np.float32(255)


def _folder(path: Path, size: int) -> Float[np.ndarray, "images height width channels"]:
    pictures = (file for file in path.iterdir() if file.suffix.lower() in ENDINGS)
    files = sorted(file for file in pictures if is_regular(file))[:MOST_FILES]
    if not files:
        raise SeparatrixError(f"the folder {path} holds no pictures ({', '.join(ENDINGS)})")
    check_size(path, 12 * len(files) * size**2, byte_limit())
    return np.stack([_picture(file, size) for file in files])


def _picture(file: Path, size: int) -> Float[np.ndarray, "size size 3"]:
    from PIL import Image

    with decoding(file, "a picture"), Image.open(file, formats=FORMATS) as picture:
        check_size(file, decoded_bytes(picture), byte_limit())
        side = min(picture.size)
        left, top = ((full - side) // 2 for full in picture.size)
        square = picture.convert("RGB").crop((left, top, left + side, top + side))
        return np.asarray(square.resize((size, size)), np.float32) / 255
