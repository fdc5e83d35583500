"""Files that are whole or absent, and one sentence for whatever the operating system says."""

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from separatrix.errors import SeparatrixError

try:
    import fcntl
except ImportError:  # not on Windows; there nobody is kept out, which costs work and no rows
    fcntl = None


@contextlib.contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turn an operating-system error into one sentence.

    >>> with explained("write the report"):
    ...     open("/no/such/folder/file", "w")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: cannot write the report: No such file or directory (/no/such/folder/file)
    """
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise SeparatrixError(f"cannot {doing}: {error.strerror or error}{where}") from error


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Have `write` make a file under a temporary name, then put it in place: readers see the old
    file or the new one, whole.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_whole(folder / "note.txt", lambda path: path.write_text("hello"))
    >>> [file.name for file in folder.iterdir()]
    ['note.txt']
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with explained(f"write {path.name}"):
            write(temporary)
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_json(path: Path, value: Any) -> None:
    """Write plain values as JSON, whole or not at all.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "value.json"
    >>> write_json(file, {"a": 1})
    >>> json.loads(file.read_text())
    {'a': 1}
    """
    text = json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    write_whole(path, lambda target: target.write_text(text, encoding="utf-8"))


@contextlib.contextmanager
def alone(file: Path, wait: bool = False) -> Iterator[bool]:
    """Hold a lock on `file` if nobody else does (or once nobody does, with `wait`); whether it is
    held.

    The lock ends with the process, however that ends. Where locks or writing are not possible
    nothing is held: what is done under a lock must be safe without it, and the lock only saves
    work.

    >>> import tempfile
    >>> lock = Path(tempfile.mkdtemp()) / ".lock"
    >>> with alone(lock) as mine, alone(lock) as mine_too:
    ...     mine, mine_too
    (True, False)
    """
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
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
