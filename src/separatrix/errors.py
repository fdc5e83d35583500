"""Errors that a user can cause, each explained by one sentence.

Every error that a user can cause is a `SeparatrixError` whose message is one sentence that names
the offending value and what is allowed; the command line prints that sentence and exits with status
1. Parameter errors all have one form:

    the `noise` of SignalTask must be a number > 0, got -1.0
"""

import difflib
import math
import numbers
from collections.abc import Iterable
from typing import Any


class SeparatrixError(Exception):
    """The base class of all errors that a user can cause; its message is one sentence."""


class ParameterError(SeparatrixError, ValueError):
    """A parameter has a value that is not allowed.

    Args:
        owner: The class or function that has the parameter.
        name: The name of the parameter.
        allowed: What is allowed, after the words "must be".
        value: The offending value.

    >>> raise ParameterError("SignalTask", "noise", "a number > 0", -1)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `noise` of SignalTask must be a number > 0, got -1
    """

    def __init__(self, owner: str, name: str, allowed: str, value: Any):
        super().__init__(f"the `{name}` of {owner} must be {allowed}, got {shown(value)}")
        self.owner, self.name, self.allowed, self.value = owner, name, allowed, value


class UnknownNameError(SeparatrixError, LookupError):
    """A name is not in a list of names; the sentence suggests the nearest ones.

    Args:
        what: The kind of thing that the name should denote.
        name: The unknown name.
        known: The known names.

    >>> str(UnknownNameError("study", "signal-frist", ["signal-first", "pattern-readout"]))
    'there is no study `signal-frist`; did you mean `signal-first`?'
    """

    def __init__(self, what: str, name: str, known: Iterable[str]):
        known, name = sorted(known), str(name)
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        if near:
            hint = f"did you mean {' or '.join(f'`{n}`' for n in near)}?"
        else:
            hint = f"known: {', '.join(f'`{n}`' for n in known)}" if known else "none is known"
        super().__init__(f"there is no {what} `{name}`; {hint}")


def shown(value: Any, limit: int = 60) -> str:
    """A value as it appears in an error sentence, shortened to `limit` characters.

    >>> shown("x" * 100)[-5:]
    'xx...'
    """
    try:
        text = repr(value)
    except Exception:  # an integer with more digits than Python prints, or a class of the user
        text = f"a value of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _bounds(low: float | None, high: float | None, open_low: bool = False) -> str:
    if low is not None and high is not None:
        return f" in {'(' if open_low else '['}{low:g}, {high:g}]"
    if low is not None:
        return f" {'>' if open_low else '>='} {low:g}"
    if high is not None:
        return f" <= {high:g}"
    return ""


def check_integer(
    owner: str, name: str, value: Any, low: int | None = None, high: int | None = None
) -> None:
    """Raise `ParameterError` unless `value` is an integer in [low, high].

    >>> check_integer("PatternTask", "window", 0, low=1, high=8)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `window` of PatternTask must be an integer in [1, 8], got
        0
    """
    good = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if (
        not good
        or (low is not None and int(value) < low)
        or (high is not None and int(value) > high)
    ):
        raise ParameterError(owner, name, f"an integer{_bounds(low, high)}", value)


def check_number(
    owner: str,
    name: str,
    value: Any,
    low: float | None = None,
    high: float | None = None,
    open_low: bool = False,
) -> None:
    """Raise `ParameterError` unless `value` is a finite number in [low, high] (or (low, high] with
    `open_low`).

    >>> check_number("SignalTask", "noise", 0.0, low=0, open_low=True)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `noise` of SignalTask must be a number > 0, got 0.0
    """
    good = isinstance(value, numbers.Real) and not isinstance(value, bool) and _finite(value)
    number = float(value) if good else math.nan
    below = low is not None and (number <= low if open_low else number < low)
    if not good or below or (high is not None and number > high):
        raise ParameterError(owner, name, f"a number{_bounds(low, high, open_low)}", value)


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        return False


def check_choice(owner: str, name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise `ParameterError` unless `value` is one of `choices`.

    >>> check_choice("Network", "readout", "mean", ["pooled", "sum"])
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `readout` of Network must be one of 'pooled', 'sum', got
        'mean'
    """
    choices = list(choices)
    if not (isinstance(value, str) and value in choices):
        raise ParameterError(owner, name, f"one of {', '.join(repr(c) for c in choices)}", value)
