"""What bounds share: checked grids of parameters, conditions, and logarithms of large numbers."""

import dataclasses
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import check_integer, check_number

Values: TypeAlias = np.ndarray | float
"""One number, or an array of them where a parameter was an array."""


@dataclasses.dataclass(frozen=True)
class Condition:
    """A condition of a bound, and whether the parameters meet it.

    `met` is True or False (an array of them for grids of parameters). It is None or `by the caller`
    if the parameters do not tell.
    """

    text: str
    met: Any


def grid(
    owner: str,
    name: str,
    values: ArrayLike,
    low: float | None = None,
    high: ArrayLike | None = None,
    *,
    whole: bool = False,
    open_low: bool = False,
) -> np.ndarray:
    """Values as a float64 array, each checked to be a number (an integer if `whole`) in [low,
    high]; `high` may be a grid.

    >>> grid("theorem4", "bits", [4, 8], low=1, whole=True)
    array([4., 8.])
    >>> grid("theorem4", "window", 9, low=1, high=8, whole=True)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `window` of theorem4 must be an integer in [1, 8], got 9
    """
    entries = np.asarray(values)
    if high is None:
        pairs = ((entry, None) for entry in entries.ravel().tolist())
    else:
        both = np.broadcast_arrays(entries, np.asarray(high))
        pairs = zip(both[0].ravel().tolist(), both[1].ravel().tolist())
    for entry, top in pairs:
        if whole:
            # Users write large counts as floats, such as 1e6 steps.
            entry = int(entry) if isinstance(entry, float) and entry.is_integer() else entry
            check_integer(
                owner,
                name,
                entry,
                None if low is None else int(low),
                None if top is None else int(top),
            )
        else:
            check_number(owner, name, entry, low, top, open_low)
    return entries.astype(np.float64)


def plain(values: np.ndarray) -> Values:
    """A zero-dimensional array as a number, anything else unchanged.

    >>> plain(np.asarray(2.0))
    2.0
    """
    return values.item() if np.ndim(values) == 0 else values


def flags(values: np.ndarray) -> bool | np.ndarray:
    """Truth values: one bool, or an array of them.

    >>> flags(np.asarray(2.0) > 1)
    True
    """
    return bool(values) if np.ndim(values) == 0 else values


def exponential(logs: ArrayLike) -> np.ndarray:
    """exp of the logarithms; inf where float64 overflows, without a warning.

    >>> exponential([0.0, 1e4])
    array([ 1., inf])
    """
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(np.asarray(logs, dtype=np.float64))


def log_binomial(total: ArrayLike, chosen: ArrayLike) -> np.ndarray:
    """ln C(total, chosen), -inf where chosen lies outside [0, total].

    >>> round(float(np.exp(log_binomial(64, 4))))
    635376
    >>> float(log_binomial(3, 4))
    -inf
    """
    from scipy.special import gammaln  # here: worker processes import this module without using it

    total, chosen = np.broadcast_arrays(
        np.asarray(total, np.float64), np.asarray(chosen, np.float64)
    )
    inside = (chosen >= 0) & (chosen <= total)
    safe = np.where(inside, chosen, 0.0)
    return np.where(
        inside, gammaln(total + 1) - gammaln(safe + 1) - gammaln(total - safe + 1), -np.inf
    )
