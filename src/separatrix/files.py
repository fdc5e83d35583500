"""Files: atomic writes, locks, one sentence per operating-system error, and the user's folders.

Every other module may use this one; it imports nothing of the package but its errors. A file that
`write_atomic` writes is complete or absent, whatever ends the process. Caches and data sets are in
the folders that the platform has for them, unless `SEPARATRIX_CACHE` or `SEPARATRIX_DATA` names
another one.
"""

import contextlib
import errno
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import platformdirs

from separatrix.errors import SeparatrixError

MOST_BYTES = 2**28  # of a JSON file of a run; the largest that we have written had a hundredth

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None


@contextlib.contextmanager
def explain_os_errors(action: str, fix: str = "") -> Iterator[None]:
    """Turn an operating-system error into one sentence.

    Args:
      action: what the block does, after the word "cannot".
      fix: what the user can do about it, appended to the sentence.

    Raises:
      SeparatrixError: in place of the OSError that the block raised.

    >>> with explain_os_errors("write the report", fix="choose another folder"):
    ...     open("/no/such/folder/file", "w")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: cannot write the report: No such file or directory
    (/no/such/folder/file); choose another folder
    """
    try:
        yield
    except OSError as error:
        file = f" ({error.filename})" if error.filename else ""
        reason = f"cannot {action}: {error.strerror or error}{file}"
        raise SeparatrixError(f"{reason}; {fix}" if fix else reason) from error


def write_synced(path: Path, write: Callable[[Path], Any]) -> None:
    """Have `write` make the file `path`, and return once it is on the disk.

    Raises:
      OSError: where the file cannot be written.
    """
    write(path)
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def write_atomic(path: Path, write: Callable[[Path], Any], sync: bool = True) -> None:
    """Replace a file in one step, so that readers see the old file or the new one, complete.

    The file is written under a temporary name in the same folder, synced to the disk and renamed.

    Args:
      path: the file.
      write: makes a file at the path that it is given, which is the temporary one.
      sync: whether to wait for the disk; without, a power failure may lose the file, which is right
        for files that can be made again.

    Raises:
      SeparatrixError: where the file cannot be written; the old file is unchanged.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_atomic(folder / "note.txt", lambda path: path.write_text("hello"))
    >>> [file.name for file in folder.iterdir()]
    ['note.txt']
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with explain_os_errors(f"write {path.name}"):
            if not sync:
                write(temporary)
                os.replace(temporary, path)
                return
            write_synced(temporary, write)
            os.replace(temporary, path)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_bytes(path: Path, data: bytes | str, sync: bool = True) -> None:
    """Write bytes, or text as UTF-8, with `write_atomic`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "note.txt"
    >>> write_bytes(file, "hello")
    >>> file.read_text()
    'hello'
    """
    content = data.encode() if isinstance(data, str) else data
    write_atomic(path, lambda target: target.write_bytes(content), sync)


def write_json(path: Path, value: Any) -> None:
    """Write plain values as JSON with `write_atomic`.

    Raises:
      ValueError: for numbers that JSON cannot express (NaN, infinity).

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "value.json"
    >>> write_json(file, {"a": 1})
    >>> json.loads(file.read_text())
    {'a': 1}
    """
    write_bytes(path, json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


class UnusableFile(OSError):
    """A file that is not a regular one, or too large to be what it should be."""


def is_regular(path: Path) -> bool:
    """Whether a path is a regular file, or a link to one; False where nothing can be seen.

    >>> is_regular(Path("/dev/null")), is_regular(Path("no-such-file"))
    (False, False)
    """
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def read_regular(path: Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a regular file.

    A pipe, a device or a socket is never opened: it could block for ever, or never end.

    Args:
      path: the file.
      most: the number of bytes that it may have.

    Raises:
      UnusableFile: if it is not a regular file, or larger.
      OSError: if it cannot be read.

    >>> read_regular(Path("/dev/zero"))
    Traceback (most recent call last):
    separatrix.files.UnusableFile: [Errno 22] it is not a regular file: '/dev/zero'
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise UnusableFile(errno.EINVAL, "it is not a regular file", str(path))
    # Without O_NONBLOCK, a pipe that takes the file's place meanwhile would block here.
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise UnusableFile(errno.EINVAL, "it is not a regular file", str(path))
        data = file.read(most + 1) if about.st_size <= most else b""
        if about.st_size > most or len(data) > most:
            words = f"it is larger than the {most} bytes that such a file may have"
            raise UnusableFile(errno.EFBIG, words, str(path))
        return data


def read_json(path: Path) -> Any:
    """The value in a JSON file; None where the file is absent, unreadable or not JSON.

    >>> read_json(Path("no-such-file")) is None
    True
    """
    try:
        return json.loads(read_regular(path).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


@contextlib.contextmanager
def lock(file: Path, wait: bool = False) -> Iterator[bool]:
    """Lock `file`, which is made if needed; yields whether the lock is held.

    The lock ends with the process, however that ends. Where the system has no locks, or the file
    cannot be written, the lock is not held: what is done under a lock must be safe without it, and
    the lock only saves work.

    Args:
      file: the file that stands for the lock.
      wait: whether to wait for a process that holds the lock.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / ".lock"
    >>> with lock(file) as first, lock(file) as second:
    ...     first, second
    (True, False)
    """
    try:
        nonblocking = getattr(os, "O_NONBLOCK", 0)  # somebody may have put a pipe in its place
        handle = os.open(file, os.O_RDWR | os.O_CREAT | nonblocking, 0o666)
    except OSError:
        yield False
        return
    try:
        held = fcntl is not None
        if fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except OSError:
                held = False
        yield held
    finally:
        os.close(handle)


def cache_folder() -> Path:
    """The folder for what can be made again: compiled programs, drawings, the calibration.

    It is `SEPARATRIX_CACHE` where that is set, else the platform's cache folder for Separatrix
    (`~/.cache/separatrix` on Linux).

    >>> "separatrix" in str(cache_folder()) or "SEPARATRIX_CACHE" in os.environ
    True
    """
    if named := os.environ.get("SEPARATRIX_CACHE"):
        return Path(named).expanduser()
    return Path(platformdirs.user_cache_dir("separatrix", appauthor=False))


def data_folder() -> Path:
    """The folder of data sets.

    It is `SEPARATRIX_DATA` where that is set, else a folder among the user's data
    (`~/.local/share/separatrix/data` on Linux).

    >>> "separatrix" in str(data_folder()) or "SEPARATRIX_DATA" in os.environ
    True
    """
    if named := os.environ.get("SEPARATRIX_DATA"):
        return Path(named).expanduser()
    return Path(platformdirs.user_data_dir("separatrix", appauthor=False)) / "data"
