"""The one door for labelled data in files: from a path or a name to checked rows."""

import os
from pathlib import Path

from separatrix.data.labelled.arrays import (
    IDX_NAME,
    find_arrays,
    read_idx_pair,
    read_npy_pair,
    read_npz,
)
from separatrix.data.labelled.axes import AskedKind
from separatrix.data.labelled.build import Raw, build, check_asked
from separatrix.data.labelled.limits import byte_limit, said
from separatrix.data.labelled.named import read_named
from separatrix.data.labelled.pictures import read_pictures
from separatrix.data.labelled.rows import Labelled
from separatrix.data.labelled.tables import read_csv, read_parquet
from separatrix.data.labelled.targets import AskedTask
from separatrix.errors import ParameterError, SeparatrixError

READERS = {
    ".npz": read_npz,
    ".npy": read_npy_pair,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".pq": read_parquet,
}
PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".joblib", ".dill")


def read_labelled(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    task: AskedTask = "auto",
    shape: tuple[int, ...] | None = None,
    kind: AskedKind = "auto",
    max_bytes: int | None = None,
) -> Labelled:
    """Labelled data from a file, a folder, or by name.

    Files are .npz (arrays x and y), .npy (x.npy beside y.npy; memory-mapped), .csv, .tsv and
    .parquet (a column of labels, called `label` or as usual, else the last; all others numbers) and
    idx; a folder has a subfolder of PNG or JPEG pictures for each class, or arrays. Names are those
    of `NAMED`; a file or folder that is called like one comes first. `task` says whether labels are
    classes, `shape` and `kind` what one row is. What a file becomes in memory is bounded by
    `max_bytes`, by SEPARATRIX_MAX_BYTES, or by 4 GiB; a memory map is not. Nothing is unpickled.
    All that can be wrong with a file is one sentence, a `SeparatrixError`.

    >>> read_labelled("digits")
    Labelled(name='digits', kind='image', rows=1797, shape=(8, 8, 1), classes=10)
    >>> read_labelled("weights.pt")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: there is no file or folder weights.pt
    """
    check_asked("read_labelled", task, kind)
    limit = byte_limit(max_bytes)
    if label is not None and not isinstance(label, str):
        raise ParameterError("read_labelled", "label", "a name", label)
    try:
        place = Path(path).expanduser()
        there = os.path.lexists(place)
    except (
        TypeError,
        ValueError,
        RuntimeError,
    ):  # not a path, a NUL inside, a home that is not there
        raise ParameterError(
            "read_labelled", "path", "a path or the name of a data set", path
        ) from None
    name = place.name or str(path)
    if not there or not str(path):
        if (
            not isinstance(path, str) or place.suffix or place.name != path
        ):  # which no name of a data set has
            raise SeparatrixError(f"there is no file or folder {said(str(path))}")
        name, raw = path, read_named(path)
    elif place.is_dir():
        name = place.resolve().name or name
        raw = _folder(place, limit, label)
    elif place.is_file():
        raw = _file(place, limit, label)
    else:
        raise SeparatrixError(f"{said(place)} is neither a file nor a folder")
    return build(name, raw, task, kind, shape)


def _folder(place: Path, limit: int, label: str | None) -> Raw:
    try:
        arrays = find_arrays(place, limit, label)
        return read_pictures(place, limit) if arrays is None else arrays
    except OSError as error:
        raise SeparatrixError(f"{said(place)} cannot be read ({error.strerror or error})") from None


def _file(place: Path, limit: int, label: str | None) -> Raw:
    ending = place.suffix.lower()
    if IDX_NAME.search(place.name):
        return read_idx_pair(place, limit, label)
    if ending == ".gz":
        ending = Path(place.stem).suffix.lower()
        if ending in (".csv", ".tsv"):
            return read_csv(place, limit, label)
    elif ending in READERS:
        return READERS[ending](place, limit, label)
    if ending in PICKLES:
        raise SeparatrixError(
            f"{said(place)} is made of pickles, which can run code and are not read; save arrays x and y with numpy.savez"
        )
    known = ", ".join((*READERS, ".csv.gz", "idx"))
    raise SeparatrixError(
        f"{said(place)} is of no form that can be read; known are {known}, and folders of pictures"
    )
