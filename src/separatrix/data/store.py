"""The store of downloaded data sets: plain .npy files with a small JSON file, checked when read."""

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.catalogue import CATALOGUE, PARTS, Entry, digest_of, find_entry
from separatrix.data.embedded import EMBEDDED, embedded_digits, embedded_photographs
from separatrix.errors import SeparatrixError, UnknownNameError
from separatrix.files import data_folder, explain_os_errors, write_synced


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DataSet:
    """Images and class numbers for training and for testing, as arrays of bytes; `digest` is their
    identity.

    >>> load("embedded-digits")
    DataSet(name='embedded-digits', train=(1297, 8, 8), test=(500, 8, 8))
    """

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    name: str
    digest: str

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.train_y.max()) + 1

    def __repr__(self) -> str:
        return f"DataSet(name={self.name!r}, train={self.train_x.shape}, test={self.test_x.shape})"


def checksum(array: np.ndarray) -> str:
    """The SHA-256 of an array's bytes in C order.

    >>> checksum(np.zeros(0, np.uint8))[:8]
    'e3b0c442'
    """
    plain: Any = np.ascontiguousarray(array)  # its buffer is read without a copy
    return hashlib.sha256(memoryview(plain).cast("B") if array.size else b"").hexdigest()


def check_arrays(entry: Entry, arrays: dict[str, np.ndarray], where: str) -> None:
    """Raise an error unless the arrays are those of the data set.

    >>> check_arrays(CATALOGUE["mnist"], {part: np.zeros(3, np.uint8) for part in PARTS}, "here")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: here does not hold mnist: its train_x has shape (3,) and not
        (60000, 28, 28); nothing was kept
    """
    for part in PARTS:
        array = arrays[part]
        if array.dtype != np.uint8 or array.shape != entry.shapes[part]:
            kind = "" if array.dtype == np.uint8 else f" of {array.dtype}"
            wanted = entry.shapes[part]
            raise SeparatrixError(
                f"{where} does not hold {entry.name}: its {part} has shape {array.shape}{kind} and "
                f"not {wanted}; nothing was kept"
            )
        digest = checksum(array)
        if digest != entry.sums[part]:
            other = next((e.name for e in CATALOGUE.values() if digest in e.sums.values()), None)
            why = (
                f"its {part} is that of {other}"
                if other
                else f"the SHA-256 of its {part} is {digest[:12]}… and not {entry.sums[part][:12]}…"
            )
            raise SeparatrixError(f"{where} does not hold {entry.name}: {why}; nothing was kept")


def save(entry: Entry, arrays: dict[str, np.ndarray], origin: str) -> Path:
    """Check four arrays and add them to the store, all or none of them."""
    check_arrays(entry, arrays, origin)
    folder = data_folder()
    target, fresh = folder / entry.name, folder / f".{entry.name}-{os.getpid()}"
    about = {
        "name": entry.name,
        "origin": origin,
        "credit": entry.credit,
        "digest": entry.digest,
        "sha256": entry.sums,
    }
    fix = "set SEPARATRIX_DATA to a folder that can be written"
    try:
        with explain_os_errors(f"write to the data folder {folder}", fix):
            folder.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            for part in PARTS:
                write_synced(
                    fresh / f"{part}.npy",
                    lambda path, part=part: np.save(path, arrays[part], allow_pickle=False),
                )
            text = json.dumps(about, indent=1) + "\n"
            write_synced(fresh / "about.json", lambda path: path.write_text(text, "utf-8"))
            if target.exists():  # it is damaged: a valid copy is not downloaded again
                old = folder / f".{entry.name}-old-{os.getpid()}"
                target.rename(old)
                fresh.rename(target)
                shutil.rmtree(old, ignore_errors=True)
            else:
                fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target


def open_stored(entry: Entry) -> DataSet | None:
    """The data set in the store, memory-mapped and checked; None if it is absent.

    >>> open_stored(dataclasses.replace(CATALOGUE["mnist"], name="no-such-data")) is None
    True
    """
    folder = data_folder() / entry.name
    return _opened(entry.name, entry.digest, str(folder)) if folder.is_dir() else None


@functools.lru_cache(maxsize=8)
def _opened(name: str, digest: str, folder: str) -> DataSet:
    arrays = {}
    for part in PARTS:
        try:
            arrays[part] = np.load(Path(folder) / f"{part}.npy", mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            raise _damaged(name, part) from None
    entry = find_entry(name)
    for part in PARTS:
        if (
            arrays[part].dtype != np.uint8
            or arrays[part].shape != entry.shapes[part]
            or checksum(arrays[part]) != entry.sums[part]
        ):
            raise _damaged(name, part)
    return DataSet(**arrays, name=name, digest=digest)


def _damaged(name: str, part: str) -> SeparatrixError:
    return SeparatrixError(
        f"the cached {name} is damaged ({part}.npy); run `separatrix data get {name}` again"
    )


@functools.lru_cache(maxsize=4)
def _embedded(name: str) -> DataSet:
    arrays = {"embedded-digits": embedded_digits, "embedded-photographs": embedded_photographs}[
        name
    ]()
    return DataSet(
        **arrays, name=name, digest=digest_of({part: checksum(arrays[part]) for part in PARTS})
    )


def load(name: str) -> DataSet:
    """Load a data set by name, from the store or from the embedded ones.

    Raises:
        UnknownNameError: If there is no data set of this name.
        SeparatrixError: If the data set has not been downloaded.

    >>> load("embedded-digits").train_y[:3].tolist()
    [0, 1, 2]
    >>> load("minst")
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no data set `minst`; did you mean `mnist`?
    """
    if name in EMBEDDED:
        return _embedded(name)
    if name not in CATALOGUE:
        raise UnknownNameError("data set", name, (*CATALOGUE, *EMBEDDED))
    data = open_stored(CATALOGUE[name])
    if data is None:
        raise SeparatrixError(
            f"{name} is not in the data folder; fetch it with `separatrix data get {name}`"
        )
    return data


def available() -> list[str]:
    """The names of the data sets that can be loaded now (the contents are checked on loading).

    >>> set(EMBEDDED) <= set(available())
    True
    """
    if _ASSUMED:
        return [name for name in (*CATALOGUE, *EMBEDDED) if name in _ASSUMED[-1]]
    return [
        *(name for name in CATALOGUE if (data_folder() / name / "about.json").is_file()),
        *EMBEDDED,
    ]


_ASSUMED: list[frozenset[str]] = []  # what `assume_available` says, the innermost last


@contextlib.contextmanager
def assume_available(names: Iterable[str]) -> Iterator[None]:
    """Within this context `available` gives these data sets, whatever the data folder holds.

    Verdicts are recomputed from kept rows without the images that the rows were made of: which
    trials a study asks for depends on the names of its data sets and on their sizes alone.

    >>> with assume_available(["mnist", "embedded-digits"]):
    ...     available()
    ['mnist', 'embedded-digits']
    """
    _ASSUMED.append(frozenset(names))
    try:
        yield
    finally:
        _ASSUMED.pop()


def training_images(name: str) -> int:
    """How many training images a data set has; a downloaded one need not be in the data folder.

    >>> training_images("mnist"), training_images("embedded-digits")
    (60000, 1297)
    """
    bare = name.partition("@")[0]
    if bare in CATALOGUE:
        return CATALOGUE[bare].shapes["train_y"][0]
    return len(load(bare).train_y)


def pinned(name: str) -> str:
    """The name of a data set with the beginning of its digest, which is part of a task's identity.

    >>> pinned("mnist")
    'mnist@...'
    """
    bare, _, digest = name.partition("@")
    if bare in EMBEDDED:
        known = _embedded(bare).digest
    elif bare in CATALOGUE:
        known = CATALOGUE[bare].digest
    else:
        raise UnknownNameError("data set", bare, (*CATALOGUE, *EMBEDDED))
    if digest and not known.startswith(digest):
        raise SeparatrixError(
            f"the data set {name} is not the one that this version knows, {bare}@{known[:12]}"
        )
    return f"{bare}@{known[:12]}"
