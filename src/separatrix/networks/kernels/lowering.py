"""Which implementation networks are traced with: a context that the engine opens around tracing."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import NamedTuple


class Lowering(NamedTuple):
    """The implementations that networks use while they are traced; made by `lowering`."""

    kernels: bool = False  # kernels compute hidden units, where they suit the sizes
    full_kernels: bool = False  # also those of full networks
    single: bool = False  # one trial per call, and the compiler times the library's convolutions
    used: tuple[str, ...] | list[str] = ()  # the kernels that were traced


DEFAULT = Lowering()
_CURRENT: contextvars.ContextVar[Lowering] = contextvars.ContextVar("lowering", default=DEFAULT)


@contextlib.contextmanager
def lowering(
    kernels: bool = False, full_kernels: bool = False, single: bool = False
) -> Iterator[Lowering]:
    """Choose the implementations of all networks that are traced inside the context.

    A compiled program keeps the implementations that it was traced with.

    Args:
        kernels: use GPU kernels for hidden units, where they suit the sizes (`suits`).
        full_kernels: use them for full networks, too; needs `kernels`.
        single: the program runs one trial rather than several under `vmap`, and its compiler times
            the library's convolutions before it chooses one.

    Yields:
        The choice. Its `used` lists the kernels that have been traced so far.

    >>> with lowering(kernels=True) as chosen:
    ...     current().kernels
    True
    >>> current().kernels, chosen.used
    (False, [])
    """
    chosen = Lowering(kernels, kernels and full_kernels, single, used=[])
    token = _CURRENT.set(chosen)
    try:
        yield chosen
    finally:
        _CURRENT.reset(token)


def current() -> Lowering:
    """The innermost choice; outside of any `lowering`, one without kernels.

    >>> current().kernels
    False
    """
    return _CURRENT.get()


def note_kernel(name: str) -> None:
    """Record that the program that is being traced has a kernel."""
    used = current().used
    if isinstance(used, list):
        used.append(name)
