"""Arrays in .npy, .npz and idx files.

Nothing is unpickled or unpacked to disk, and sizes are checked before memory is allocated.
"""

import math
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import IO

import numpy as np

from separatrix.data.catalogue import IDX_FILES
from separatrix.data.readers import decoders
from separatrix.data.readers.limits import check_size, decoding, printable, read_whole
from separatrix.data.rows import RawData
from separatrix.errors import SeparatrixError, UnknownNameError

INPUT_NAMES = ("x", "data", "images", "inputs", "features")
LABEL_NAMES = ("y", "labels", "label", "targets", "target", "classes")
# The compressions that NumPy writes; others cannot be decompressed with a limit.
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
PIECE = 1 << 20  # bytes that are decompressed at a time
IDX_NAME = re.compile(r"idx\d-ubyte(\.gz)?$|\.idx\d?(\.gz)?$", re.IGNORECASE)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and type of an .npy stream; afterwards it is at the first value."""
    version = np.lib.format.read_magic(stream)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(
            f"its version {version[0]}.{version[1]} is that of arrays with named fields"
        )
    shape, fortran, dtype = readers[version](stream)
    if dtype.hasobject:
        raise ValueError(
            "it holds Python objects, which are not unpickled; save plain arrays of numbers or text"
        )
    if dtype.names or dtype.subdtype or not dtype.itemsize or dtype.kind not in "buifcSU":
        raise ValueError(f"its type {printable(str(dtype))} is neither numbers nor text")
    if any(n < 0 for n in shape):
        raise ValueError(f"its shape {printable(str(shape))} is negative")
    return shape, fortran, dtype


def _check_length(shape: tuple[int, ...], dtype: np.dtype, length: int) -> None:
    if math.prod(shape) * dtype.itemsize > length:
        raise ValueError(
            f"it should hold {' x '.join(map(str, shape))} values of {dtype.itemsize} bytes and "
            f"ends after {length} bytes"
        )


def read_npy(path: Path, limit: int, mapped: bool = True) -> np.ndarray:
    """The array of an .npy file, memory-mapped unless `mapped` is False.

    >>> read_npy(Path("no-such-file.npy"), 1000)
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: no-such-file.npy cannot be read as an .npy file (No such file
        or directory)
    """
    with decoding(path, "an .npy file"), path.open("rb") as file:
        shape, fortran, dtype = _header(file)
        offset = file.tell()
        _check_length(shape, dtype, path.stat().st_size - offset)
        order = "F" if fortran else "C"
        count = math.prod(shape)
        if mapped and count:
            return np.memmap(path, dtype, "r", offset, shape, order)
        check_size(path, count * dtype.itemsize, limit)
        return (
            np.fromfile(file, dtype, count).reshape(shape, order=order)
            if dtype.kind not in "SU"
            else _text(file, dtype, shape, order)
        )


def _text(file: IO[bytes], dtype: np.dtype, shape: tuple[int, ...], order) -> np.ndarray:
    out = np.frombuffer(file.read(math.prod(shape) * dtype.itemsize), dtype).reshape(
        shape, order=order
    )
    if dtype.kind == "U":
        _valid_text(out)
    return out


def _valid_text(array: np.ndarray) -> None:
    """Raise an error for numbers that are no characters."""
    points = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="))).view(np.uint32)
    if points.size and ((points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))).any():
        raise ValueError("its text is not Unicode")


def read_npz(path: Path, limit: int, label: str | None = None) -> RawData:
    """Inputs and labels of an .npz file under the usual names, of one or several splits; `label`
    names the array of labels.

    >>> read_npz(Path("no-such-file.npz"), 1000)
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: no-such-file.npz cannot be read as an .npz file (No such file
        or directory)
    """
    with decoding(path, "an .npz file"), zipfile.ZipFile(path) as archive:
        members = _members(path, archive)
        pairs = _pairs(path, list(members), label)
        arrays = _read_members(
            path, archive, {n: members[n] for pair in pairs for n in pair}, limit
        )
    xs, ys = [arrays[x] for x, _ in pairs], [arrays[y] for _, y in pairs]
    return RawData(
        joined(path, xs), joined(path, ys), tested=tested_parts([x for x, _ in pairs], xs)
    )


def read_stacks(path: Path, limit: int) -> dict[str, np.ndarray]:
    """All arrays of an .npz file by name.

    >>> read_stacks(Path("no-such-file.npz"), 1000)
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: no-such-file.npz cannot be read as an .npz file (No such file
        or directory)
    """
    with decoding(path, "an .npz file"), zipfile.ZipFile(path) as archive:
        return _read_members(path, archive, _members(path, archive), limit)


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The arrays of an archive by name, which must differ."""
    listed = [member for member in archive.infolist() if member.filename.endswith(".npy")]
    counts = Counter(member.filename.removesuffix(".npy") for member in listed)
    if len(counts) < len(listed):
        twice = printable(counts.most_common(1)[0][0])
        raise SeparatrixError(f"{printable(path)} holds two arrays called `{twice}`")
    return dict(zip(counts, listed))


def _read_members(
    path: Path, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], limit: int
) -> dict[str, np.ndarray]:
    check_size(path, sum(member.file_size for member in members.values()), limit)
    return {name: _member(archive, member) for name, member in members.items()}


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    if member.compress_type not in COMPRESSIONS:
        raise ValueError("it is packed in a way that NumPy does not write")
    with archive.open(member) as stream:
        shape, fortran, dtype = _header(stream)
        _check_length(shape, dtype, member.file_size - stream.tell())
        # Straight into the array, so that its bytes are in memory once.
        flat = np.empty(math.prod(shape), dtype)
        view, at = flat.view(np.uint8), 0
        while at < len(view):
            piece = stream.read(min(PIECE, len(view) - at))
            if not piece:
                raise EOFError(f"it ends after {at} of {len(view)} bytes")
            view[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)
    if dtype.kind == "U":
        _valid_text(flat)
    return flat.reshape(shape, order="F" if fortran else "C")


def joined(path: Path, parts: list[np.ndarray]) -> np.ndarray:
    """The splits of a data set as one array.

    >>> joined(Path("a"), [np.zeros((2, 3)), np.zeros((1, 3))]).shape
    (3, 3)
    """
    if len(parts) == 1:
        return parts[0]
    if any(
        part.shape[1:] != parts[0].shape[1:] or part.dtype != parts[0].dtype or not part.ndim
        for part in parts
    ):
        raise SeparatrixError(
            f"the splits of {printable(path)} have different shapes or types: "
            f"{', '.join(str(part.shape) for part in parts)}"
        )
    return np.concatenate(parts)


def tested_parts(names: list[str], parts: list[np.ndarray]) -> np.ndarray | None:
    """Which rows of joined arrays are for testing, by the names of the arrays; None if the names
    do not say.

    >>> tested_parts(["x_train", "x_test"], [np.zeros(2), np.zeros(1)]).tolist()
    [False, False, True]
    >>> tested_parts(["x"], [np.zeros(2)])
    """
    tests = [bool(re.search(r"test|t10k", name.lower())) for name in names]
    if len(set(tests)) < 2:
        return None
    return np.repeat(tests, [len(part) for part in parts])


def _pairs(path: Path, names: list[str], label: str | None) -> list[tuple[str, str]]:
    """Which arrays are inputs and which are their labels."""
    if not names:
        raise SeparatrixError(f"{printable(path)} holds no arrays")
    if label is not None:
        if label not in names:
            raise UnknownNameError(
                f"array in {printable(path)} called",
                printable(label),
                [printable(name) for name in names],
            )
        others = [name for name in names if name != label]
        inputs = [name for name in others if name.lower() in INPUT_NAMES] or others
        if len(inputs) == 1:
            return [(inputs[0], label)]
    else:
        matches = [(name, other) for name in names for other in partners(name) if other in names]
        firsts = dict(reversed(matches))  # the first of several names of labels
        if len(firsts) == 1 or (
            firsts and all(re.search(r"train|test|val", x.lower()) for x in firsts)
        ):
            return [(x, firsts[x]) for x in names if x in firsts]
    listed = ", ".join(f"`{printable(name)}`" for name in sorted(names)[:8])
    raise SeparatrixError(
        f"it is not clear which arrays of {printable(path)} are inputs and labels ({listed}); "
        "call them x and y"
    )


def partners(stem: str) -> list[str]:
    """The possible names of the labels that belong to inputs called `stem`.

    >>> partners("x_train")[:2], partners("weights")
    (['y_train', 'Y_train'], [])
    >>> "t10k-labels-idx1-ubyte" in partners("t10k-images-idx3-ubyte")
    True
    """
    words = re.split(r"([^A-Za-z]+)", stem)
    out = []
    for at, word in enumerate(words):
        if word.lower() in INPUT_NAMES:
            for other in LABEL_NAMES if word.lower() == "x" else (*LABEL_NAMES[1:], LABEL_NAMES[0]):
                for variant in (other, other.upper() if len(other) == 1 else other.capitalize()):
                    name = "".join((*words[:at], variant, *words[at + 1 :]))
                    out += [re.sub(r"idx\d", "idx1", name), name] if "idx" in name else [name]
    return out


def partner_file(path: Path, label: str | None = None) -> Path:
    """The file of labels in the folder of a file of inputs.

    >>> partner_file(Path("nowhere/x.npy"))
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: there are no labels beside x.npy; put them into y.npy in the
        same folder
    """
    ending = path.suffix if path.suffix in (".npy", ".gz") else ""
    if label is not None:
        for name in (label, f"{label}{ending}"):
            if (path.parent / name).is_file():
                return path.parent / name
        raise SeparatrixError(f"there is no file `{printable(label)}` beside {printable(path)}")
    stem = path.name.removesuffix(ending)
    names = partners(stem)
    for name in names:
        for last in dict.fromkeys(
            (ending, "" if ending == ".gz" else ending, ".gz" if ending == "" else ending)
        ):
            if (path.parent / f"{name}{last}").is_file():
                return path.parent / f"{name}{last}"
    if not names:
        raise SeparatrixError(
            f"there are no labels for {printable(path)}; call the files x{path.suffix} and "
            f"y{path.suffix}, or name the labels' file"
        )
    raise SeparatrixError(
        f"there are no labels beside {printable(path)}; put them into "
        f"{printable(names[0] + ending)} in the same folder"
    )


def read_npy_pair(path: Path, limit: int, label: str | None = None) -> RawData:
    """A memory-mapped .npy file of inputs, and the labels beside it.

    >>> read_npy_pair(Path("nowhere/x.npy"), 1000)
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: there are no labels beside x.npy; put them into y.npy in the
        same folder
    """
    beside = partner_file(path, label)
    return RawData(read_npy(path, limit), read_npy(beside, limit, mapped=False))


def read_idx_pair(path: Path, limit: int, label: str | None = None) -> RawData:
    """An idx file of inputs (plain or packed), and the labels beside it.

    >>> read_idx_pair(Path("nowhere/train-images-idx3-ubyte"), 1000)
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: there are no labels beside train-images-idx3-ubyte; put them
        into train-labels-idx1-ubyte in the same folder
    """
    beside = partner_file(path, label)
    return RawData(
        _idx(path, limit), _idx(beside, limit), kind="image" if "images" in path.name else "auto"
    )


def _idx(path: Path, limit: int) -> np.ndarray:
    raw = read_whole(path, limit)
    with decoding(path, "an idx file"):
        return decoders.read_idx(decoders.inflate(raw, limit))


def find_arrays(folder: Path, limit: int, label: str | None = None) -> RawData | None:
    """The arrays of a folder, in .npy or idx files of the usual names; None if there are none."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    inputs = [file for file in files if file.suffix == ".npy" and partners(file.stem)]
    if inputs:
        if len(inputs) > 1:
            names = ", ".join(printable(file) for file in inputs[:4])
            raise SeparatrixError(
                f"{printable(folder)} holds several files of inputs ({names}); name the one to read"
            )
        return read_npy_pair(inputs[0], limit, label)
    stems = (IDX_FILES["train_x"], IDX_FILES["test_x"])
    images = [
        file for file in files if file.name.removesuffix(".gz").replace(".idx", "-idx") in stems
    ]
    if not images:
        return None
    parts = [read_idx_pair(file, limit, label) for file in images]
    return RawData(
        joined(folder, [part.inputs for part in parts]),
        joined(folder, [part.labels for part in parts]),
        kind="image",
        tested=tested_parts([file.name for file in images], [part.labels for part in parts]),
    )
