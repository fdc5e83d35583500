"""Security of Dask clusters: encrypted and authenticated connections, and no pickles in the driver.

Whoever may talk to a Dask scheduler may run code on its workers, so a scheduler must know who
talks to it. An embedded cluster has a certificate of its own, made for the run and kept in memory;
only processes that have it can connect. A remote scheduler needs `tls://`, or a user who says that
the network is trusted.

Dask's protocol may contain pickles, which run code when they are read. The driver needs none:
workers answer with bytes. While a driver is connected, pickles that Dask reads give plain values,
exceptions of Python and inert `Refused` objects, and nothing in them is called.
"""

import contextlib
import io
import os
import pickle
import threading
from collections.abc import Iterator
from typing import Any

from separatrix.errors import SeparatrixError

PLAIN = frozenset(
    ("bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "set")
) | {"str", "tuple"}
_LOCK = threading.Lock()
_GUARDS = [0]  # how many drivers of this process are connected


class Refused(Exception):
    """Stands for whatever a pickle asked for; it does nothing."""

    def __init__(self, *_: Any, **__: Any):
        super().__init__("a pickled object, which was not made")

    def __setstate__(self, _: Any) -> None:
        pass


def _exception(kind: Any, arguments: Any, *_: Any) -> Any:
    """An exception of a class that `find_class` has let through."""
    if isinstance(arguments, dict):  # newer versions pickle the attributes
        arguments = arguments.get("args", ())
    if isinstance(kind, type) and issubclass(kind, BaseException):
        return kind(*arguments)
    return Refused()


def _nothing(*_: Any) -> None:
    """In place of a traceback."""


class PlainUnpickler(pickle.Unpickler):
    """Reads plain values and Python's exceptions; every other class or function is `Refused`.

    >>> import datetime
    >>> data = pickle.dumps([1, ValueError("no"), datetime.date(2026, 1, 1)])
    >>> PlainUnpickler(io.BytesIO(data)).load()
    [1, ValueError('no'), Refused('a pickled object, which was not made')]
    """

    def find_class(self, module: str, name: str) -> Any:
        """The class of this name if it is harmless, else `Refused`."""
        import builtins

        if module == "builtins":
            known = getattr(builtins, name, None)
            error = isinstance(known, type) and issubclass(known, BaseException)
            return known if name in PLAIN or error else Refused
        if (module, name) == ("distributed.scheduler", "KilledWorker"):
            from distributed import KilledWorker

            return KilledWorker
        # With Dask, exceptions are pickled as calls of functions of tblib.
        if module == "tblib.pickling_support" and name.startswith("unpickle_exception"):
            return _exception
        if module == "tblib.pickling_support" and name == "unpickle_traceback":
            return _nothing
        return Refused

    def persistent_load(self, pid: Any) -> Any:
        """Nothing has a persistent identity."""
        del pid
        return Refused()


class PlainPickle:
    """Python's module `pickle` with a `loads` that calls nothing."""

    def __init__(self, real: Any):
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def loads(self, data: Any, *, buffers: Any = (), **_: Any) -> Any:
        """Read with `PlainUnpickler`."""
        return PlainUnpickler(io.BytesIO(bytes(data)), buffers=buffers or None).load()

    def load(self, file: Any, **_: Any) -> Any:
        """Read with `PlainUnpickler`."""
        return self.loads(file.read())


@contextlib.contextmanager
def no_pickles() -> Iterator[None]:
    """Have Dask read pickles with `PlainUnpickler` in this process.

    Raises:
      SeparatrixError: where this version of Dask reads pickles in another way.
    """
    import distributed.client
    import distributed.protocol.pickle as protocol

    modules: tuple[Any, ...] = (protocol, distributed.client)
    with _LOCK:
        _GUARDS[0] += 1
        if _GUARDS[0] == 1:
            for module in modules:
                module.pickle = PlainPickle(pickle)
    try:
        # A function of the standard library that does no harm if it is called after all.
        if protocol.loads(protocol.dumps(os.getcwd)) is not Refused:
            raise SeparatrixError(
                "this version of `distributed` reads pickles in a way that cannot be refused; "
                "install the version in constraints.txt"
            )
        yield
    finally:
        with _LOCK:
            _GUARDS[0] -= 1
            if not _GUARDS[0]:
                for module in modules:
                    module.pickle = pickle


def temporary_certificate() -> tuple[str, str]:
    """A new private key and its certificate, as PEM text, for one embedded cluster.

    Raises:
      SeparatrixError: without the package `cryptography`.
    """
    from distributed.security import Security

    try:
        made = Security.temporary()
    except ImportError as error:
        raise SeparatrixError(
            "the Dask cluster of this machine needs the package `cryptography`; "
            "install it with: pip install 'separatrix[dask]'"
        ) from error
    return str(made.tls_client_key), str(made.tls_client_cert)


def security_of(key: str, certificate: str) -> Any:
    """Dask's security for a cluster in which everybody has the same certificate, and nobody else
    may connect.
    """
    from distributed.security import Security

    roles = {
        f"tls_{role}_{part}": text
        for role in ("client", "scheduler", "worker")
        for part, text in (("key", key), ("cert", certificate))
    }
    return Security(require_encryption=True, tls_ca_file=certificate, **roles)
