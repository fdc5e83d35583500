"""Pictures in folders: PNG or JPEG, one subfolder per class.

Sizes are read before pixels, and links out of the folder are not followed.
"""

import dataclasses
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from separatrix.data.readers.limits import check_size, decoding, encodable, printable
from separatrix.data.rows import RawData
from separatrix.errors import SeparatrixError
from separatrix.notes import Note

ENDINGS = (".png", ".jpg", ".jpeg")
TESTS = ("test", "testing")
SPLITS = ("train", "training", *TESTS, "val", "valid", "validation")
MOST_PIXELS = 1 << 26  # of one picture: more is a mistake or an attack
ORIENTATION = 0x0112  # the EXIF tag of how a camera was held
CLEAR, TURNED = " transparent", " turned"  # after a picture's mode
GREY = ("1", "L", "LA", "I;16", "I;16L", "I;16B", "I;16N", "I", "F")


@dataclasses.dataclass(frozen=True)
class PictureFolder:
    """The pictures of a folder by class, the names of other files, and the number of links."""

    pictures: dict[str, tuple[Path, ...]]
    others: tuple[str, ...]
    links: int
    split: bool = False  # whether classes are in folders called train and test


def find_pictures(folder: Path) -> PictureFolder:
    """The pictures in the subfolders of a folder, by the name of the subfolder.

    Subfolders called train and test are searched for such subfolders. Links to folders are not
    followed, and files that begin with a dot are ignored.
    """
    classes: dict[str, list[Path]] = {}
    others: list[str] = []
    links = 0
    places = _visible(folder)
    inner = [place for place in places if place.is_dir(follow_symlinks=False)]
    split = bool(inner) and all(place.name.lower() in SPLITS for place in inner)
    if split:
        places = [place for split in inner for place in _visible(split.path)]
    for place in places:
        if not place.is_dir(follow_symlinks=False):
            links += place.is_symlink()
            others += [] if place.is_symlink() else [place.name]
            continue
        for parent, folders, files in os.walk(place.path, onerror=_unreadable):
            links += sum(os.path.islink(os.path.join(parent, name)) for name in folders)
            folders.sort()
            for name in sorted(files):
                if name.startswith("."):
                    continue
                file = Path(parent, name)
                if file.is_symlink() and not _is_inside(file, folder):
                    links += 1
                elif file.suffix.lower() in ENDINGS and file.is_file():
                    classes.setdefault(encodable(place.name), []).append(file)
                else:
                    others.append(name)
    return PictureFolder(
        {name: tuple(files) for name, files in classes.items()}, tuple(others), links, split
    )


def _unreadable(error: OSError) -> None:
    raise error


def _is_inside(file: Path, folder: Path) -> bool:
    """Whether a link leads to a file of the same folder."""
    return Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folder))


def _visible(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """The entries of a folder that do not begin with a dot, sorted by name."""
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    return [entry for entry in entries if not entry.name.startswith(".")]


def read_pictures(folder: Path, limit: int) -> RawData:
    """The pictures of a folder as one array of bytes, with their classes; all are resized to the
    smallest width and height. Folders called train and test split the rows.

    >>> read_pictures(Path("."), 1000)
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: ...
    """
    contents = find_pictures(folder)
    files = [(name, file) for name, several in contents.pictures.items() for file in several]
    if not files:
        raise SeparatrixError(
            f"{printable(folder)} holds neither arrays (x.npy and y.npy, idx files) nor "
            "subfolders, one a class, with PNG or JPEG pictures"
        )
    about = [_header(file, limit) for _, file in files]
    width, height = min(size[0] for size, _ in about), min(size[1] for size, _ in about)
    colour = any(mode.split(" ")[0] not in GREY for _, mode in about)
    check_size(folder, len(files) * height * width * (3 if colour else 1), limit)
    inputs = np.empty((len(files), height, width, 3 if colour else 1), np.uint8)
    for row, (_, file) in enumerate(files):
        inputs[row] = _pixels(file, (width, height), colour)
    labels = np.array([name for name, _ in files], np.object_)
    notes = tuple(_notes(contents, about, (width, height)))
    tests = [
        contents.split and file.relative_to(folder).parts[0].lower() in TESTS for _, file in files
    ]
    tested = np.array(tests) if len(set(tests)) > 1 else None
    return RawData(inputs, labels, "image", notes=notes, tested=tested)


def _notes(
    contents: PictureFolder, about: list[tuple[tuple[int, int], str]], size: tuple[int, int]
):
    sizes = Counter(shape for shape, _ in about)
    if len(sizes) > 1:
        widths, heights = zip(*sizes)
        words = (
            f"pictures have {len(sizes)} sizes, {min(widths)} to {max(widths)} wide and "
            f"{min(heights)} to {max(heights)} high"
        )
        yield Note(
            "resized",
            "warning",
            f"{words}; all were brought to {size[0]} × {size[1]}, which changes their proportions",
        )
    if contents.others:
        words = (
            f"{len(contents.others)} files are not PNG or JPEG pictures in a class's subfolder "
            "and were left out"
        )
        yield Note(
            "files-left-out",
            "warning",
            f"{words} "
            f"(`{printable(contents.others[0])}`{', …' if len(contents.others) > 1 else ''})",
        )
    if contents.links:
        yield Note(
            "links-left-out",
            "warning",
            f"{contents.links} links to folders, out of the folder or to nothing were not followed",
        )
    if turned := sum(mode.endswith(TURNED) for _, mode in about):
        words = f"{turned} pictures say that they are to be rotated (EXIF)"
        yield Note(
            "rotation", "warning", f"{words}, which was not done; rotate the files if needed"
        )
    if any("A" in mode or CLEAR in mode for _, mode in about):
        yield Note("transparency", "info", "some pictures have transparency, which was ignored")


def _open(file: Path) -> Any:
    from PIL import Image, UnidentifiedImageError

    try:
        picture = Image.open(file, formats=["PNG", "JPEG"])
    except UnidentifiedImageError:
        raise ValueError("it does not begin like one") from None
    if picture.size[0] * picture.size[1] > MOST_PIXELS:
        picture.close()
        raise SeparatrixError(
            f"{printable(file)} says that it has {picture.size[0]} × {picture.size[1]} pixels, "
            f"more than the {MOST_PIXELS} allowed"
        )
    return picture


def decoded_bytes(picture: Any) -> int:
    """The memory that a picture takes while it is decoded and converted to colours.

    >>> from PIL import Image
    >>> decoded_bytes(Image.new("L", (10, 10)))
    800
    """
    # Pillow has four bytes per pixel for all but grey pictures, here before and after.
    return 8 * picture.size[0] * picture.size[1]


def _header(file: Path, limit: int) -> tuple[tuple[int, int], str]:
    with decoding(file, "a PNG or JPEG picture"), _open(file) as picture:
        mode = picture.mode
        check_size(file, decoded_bytes(picture), limit)
        if "transparency" in picture.info:
            mode += CLEAR
        if picture.getexif().get(ORIENTATION, 1) not in (0, 1):
            mode += TURNED
        return picture.size, mode


def _pixels(
    file: Path, size: tuple[int, int], colour: bool
) -> UInt8[np.ndarray, "height width channels"]:
    from PIL import Image

    with decoding(file, "a PNG or JPEG picture"), _open(file) as picture:
        if picture.mode.startswith("I"):  # 16 bits per pixel: use the upper 8
            deep = np.clip(np.asarray(picture).astype(np.int64), 0, 65535)
            picture = Image.fromarray((deep >> 8).astype(np.uint8))
        picture = picture.convert("RGB" if colour else "L")
        if picture.size != size:
            picture = picture.resize(size, Image.Resampling.BOX, reducing_gap=3.0)
        return np.asarray(picture).reshape(size[1], size[0], -1)
