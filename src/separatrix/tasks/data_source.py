"""Shared by tasks on stored data: the field that names the data set, and random row indices."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from separatrix.data import pinned
from separatrix.errors import ParameterError, UnknownNameError
from separatrix.streams import draw


def source_field(default: str) -> Any:
    """A field for the name of a data set. The digest of the data becomes part of the name, and
    through it of the identity of the task.

    >>> import separatrix as sx
    >>> sx.DigitSequenceTask(digits=3).source[:16]
    'embedded-digits@'
    """

    def convert(source: Any) -> Any:
        try:
            return pinned(source)
        except (AttributeError, UnknownNameError):  # not a name: the check of the task reports it
            return source

    return eqx.field(
        static=True,
        converter=convert,
        default=default,
        metadata={"kind": "static", "low": None, "high": None},
    )


def indices(key: Key[Array, ""], shape: tuple[int, ...], count: int) -> Int[Array, "..."]:
    """Independent indices in [0, count), uniform up to count/2^32.

    >>> import jax
    >>> bool((indices(jax.random.key(0), (50, 2), 7) < 7).all())
    True
    """
    return draw(lambda bits: (bits % jnp.uint32(count)).astype(jnp.int32), key, shape)


def check_source(owner: str, source: Any) -> None:
    """Raise an error unless `source` is the name of a data set.

    >>> check_source("DigitSequenceTask", "minst")
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no data set `minst`; did you mean `mnist`?
    """
    if not isinstance(source, str):
        raise ParameterError(owner, "source", "the name of a data set", source)
    pinned(source)
