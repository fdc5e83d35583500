"""Shared by all readers: the memory limit, printable names, and one-sentence errors of decoders."""

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

from separatrix.errors import ParameterError, SeparatrixError

DEFAULT_BYTES = 4 * 2**30  # the memory that a file may take unless a limit is set
VARIABLE = "SEPARATRIX_MAX_BYTES"
# Pillow also logs what is wrong with a picture, and without a handler Python would print that.
logging.getLogger("PIL").addHandler(logging.NullHandler())


def byte_limit(max_bytes: int | None = None) -> int:
    """The most memory in bytes that a file may take: `max_bytes`, SEPARATRIX_MAX_BYTES, or 4 GiB.

    >>> byte_limit(1000)
    1000
    >>> byte_limit(0)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `max_bytes` of read_labelled must be an integer >= 1, got
        0
    """
    if max_bytes is not None:
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 1:
            raise ParameterError("read_labelled", "max_bytes", "an integer >= 1", max_bytes)
        return max_bytes
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return DEFAULT_BYTES
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) >= 1):
        raise SeparatrixError(
            f"the variable {VARIABLE} must be a whole number of bytes >= 1, got {printable(text)}"
        )
    return int(text)


def printable(name: str | os.PathLike[str], limit: int = 80) -> str:
    """A name for a sentence: on one line, printable and not too long; of a path the last part.

    >>> printable("two\\nlines"), printable(Path("folder/x.npz"))
    ('two\\\\nlines', 'x.npz')
    """
    text = (name.name or str(name)) if isinstance(name, Path) else str(name)
    text = "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode("ascii")
        for c in text
    )
    return text if len(text) <= limit else text[: limit - 1] + "…"


def encodable(name: str) -> str:
    """A name that UTF-8 can encode; names of files may contain other bytes.

    >>> encodable("caf\\udce9")
    'caf\\\\udce9'
    """
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def damaged(path: str | os.PathLike[str], what: str, error: Exception) -> SeparatrixError:
    """The error for a file that a decoder cannot read.

    >>> str(damaged("a.npz", "an .npz file", EOFError("it ends\\nearly.")))
    'a.npz cannot be read as an .npz file (it ends)'
    """
    lines = str(getattr(error, "strerror", None) or error).strip().splitlines()
    words = printable(lines[0].strip().rstrip(".:"), 160) if lines else type(error).__name__
    return SeparatrixError(f"{printable(path)} cannot be read as {what} ({words})")


@contextlib.contextmanager
def decoding(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Turn every exception of a decoder into one sentence; use it around decoders only.

    Decoders of other packages may raise anything on malformed bytes, so all exceptions are caught.
    Their warnings are ignored, because a user cannot act on them.

    >>> with decoding("a.npz", "an .npz file"):
    ...     raise EOFError("it ends too early")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: a.npz cannot be read as an .npz file (it ends too early)
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except SeparatrixError:
        raise
    except Exception as error:
        raise damaged(path, what, error) from None


def check_size(path: str | os.PathLike[str], count: int, limit: int) -> None:
    """Raise an error if something would take more memory than allowed.

    >>> check_size("a.npz", 2000, 1000)
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: a.npz would take 2000 bytes in memory, more than the 1000
        allowed; set SEPARATRIX_MAX_BYTES to allow more
    """
    if count > limit:
        raise SeparatrixError(
            f"{printable(path)} would take {count} bytes in memory, more than the {limit} "
            f"allowed; set {VARIABLE} to allow more"
        )


def read_whole(path: Path, limit: int) -> bytes:
    """The bytes of a file that may hold at most `limit`.

    >>> read_whole(Path("no-such-file"), 10)
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: no-such-file cannot be opened (No such file or directory)
    """
    try:
        with path.open("rb") as file:
            check_size(path, os.fstat(file.fileno()).st_size, limit)
            raw = file.read(limit + 1)
    except OSError as error:
        raise SeparatrixError(
            f"{printable(path)} cannot be opened ({error.strerror or error})"
        ) from None
    check_size(path, len(raw), limit)
    if not raw:
        raise SeparatrixError(f"{printable(path)} is empty")
    return raw
