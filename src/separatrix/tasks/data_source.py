"""What tasks on stored data share: the field that names the data, and places drawn in it."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from separatrix.data import pinned
from separatrix.errors import ParameterError, UnknownNameError
from separatrix.streams import draw


def source_field(default: str) -> Any:
    """A field for the name of a data set; the digest of the data becomes part of it, and so of a
    task's identity.

    >>> import separatrix as sx
    >>> sx.DigitSequenceTask(digits=3).source[:16]
    'embedded-digits@'
    """

    def convert(given: Any) -> Any:
        try:
            return pinned(given)
        except (
            AttributeError,
            UnknownNameError,
        ):  # not a name at all: left for the task's check to refuse
            return given

    return eqx.field(
        static=True,
        converter=convert,
        default=default,
        metadata={"kind": "static", "low": None, "high": None},
    )


def indices(key: Key[Array, ""], shape: tuple[int, ...], count: int) -> Int[Array, "..."]:
    """Independent places in [0, count), uniform up to count/2^32.

    >>> import jax
    >>> bool((indices(jax.random.key(0), (50, 2), 7) < 7).all())
    True
    """
    return draw(lambda bits: (bits % jnp.uint32(count)).astype(jnp.int32), key, shape)


def check_source(owner: str, source: Any) -> None:
    """Refuse the name of a data set that there is not.

    >>> check_source("DigitSequenceTask", "minst")
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no data set `minst`; did you mean `mnist`?
    """
    if not isinstance(source, str):
        raise ParameterError(owner, "source", "the name of a data set", source)
    pinned(source)
