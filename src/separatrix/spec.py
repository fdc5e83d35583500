"""Specs: the plain values that say what a trial is.

A `Spec` is a frozen collection of plain values — a task, a network, a learner. It can be hashed,
written as JSON, compared, and read by a compiled program. Its fields are of three kinds, and the
kind decides what the compiler sees:

- a **size** (`size()`): an integer that shapes arrays. A program may be compiled for a larger
  *frame* and told the true size as a traced number, so that one program serves many sizes (padding
  and masking).
- a **value** (`value()`): a number that enters the arithmetic. Traced: trials that differ only in
  values share a program.
- everything else (`static()`, `choice()`): structure. Trials that differ in structure need
  different programs.
"""

import dataclasses
import hashlib
import importlib
import json
import math
import numbers
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Self

import equinox as eqx
import numpy as np

from separatrix.errors import (
    ParameterError,
    SeparatrixError,
    check_choice,
    check_integer,
    check_number,
)


def _canonical(kind: type, number: type) -> Callable[[Any], Any]:
    """A converter that makes 1 and 1.0, or NumPy's scalars, the same value; what is no number is
    left for the check.
    """

    def convert(given: Any) -> Any:
        if isinstance(given, number) and not isinstance(given, bool):
            try:
                return kind(given)
            except OverflowError:  # an integer beyond every float
                return given
        return given

    return convert


as_integer = _canonical(int, numbers.Integral)
as_float = _canonical(float, numbers.Real)


def size(low: int = 1, high: int | None = None, default: Any = dataclasses.MISSING) -> Any:
    """A field for an integer that shapes arrays and that programs may pad.

    >>> class Line(Spec):
    ...     length: int = size(low=1)
    >>> Line(0)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `length` of Line must be an integer >= 1, got 0
    """
    return eqx.field(
        converter=as_integer, default=default, metadata={"kind": "size", "low": low, "high": high}
    )


def value(
    low: float | None = None,
    high: float | None = None,
    default: Any = dataclasses.MISSING,
    open_low: bool = False,
    integer: bool = False,
) -> Any:
    """A field for a number that enters the arithmetic; trials that differ only here share a
    program.

    >>> class Noise(Spec):
    ...     scale: float = value(low=0, open_low=True)
    >>> Noise(0.5).scale
    0.5
    """
    kind, convert = ("integer", as_integer) if integer else ("value", as_float)
    metadata = {"kind": kind, "low": low, "high": high, "open_low": open_low}
    return eqx.field(converter=convert, default=default, metadata=metadata)


def static(
    low: int | None = None, high: int | None = None, default: Any = dataclasses.MISSING
) -> Any:
    """A field for structure: an integer (checked when bounds are given), a flag, a tuple of plain
    values.

    >>> class Grid(Spec):
    ...     stride: int = static(low=1, default=1)
    >>> Grid().stride
    1
    """
    return eqx.field(
        static=True,
        converter=as_integer,
        default=default,
        metadata={"kind": "static", "low": low, "high": high},
    )


def choice(*options: str, default: Any = dataclasses.MISSING) -> Any:
    """A field for one of a few named alternatives.

    >>> class Paint(Spec):
    ...     colour: str = choice("red", "blue", default="red")
    >>> Paint("green")
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `colour` of Paint must be one of 'red', 'blue', got 'green'
    """
    return eqx.field(static=True, default=default, metadata={"kind": "choice", "options": options})


class Spec(eqx.Module):
    """A frozen, hashable, JSON-able collection of plain values (see the module's text).

    >>> class Coin(Spec):
    ...     bias: float = value(low=0, high=1, default=0.5)
    >>> Coin(0.25).describe()
    {'type': 'Coin', 'bias': 0.25}
    >>> Coin(0.25).replace(bias=0.75)
    Coin(bias=0.75)
    """

    def __check_init__(self):
        owner = type(self).__name__
        for field in dataclasses.fields(self):
            meta, given = field.metadata, getattr(self, field.name)
            if given is None and field.default is None:
                continue
            match meta.get("kind"):
                case "size":
                    _check_below(31, owner, field.name, given, meta["low"], meta["high"])
                case "integer":
                    _check_below(63, owner, field.name, given, meta["low"], meta["high"])
                case "value":
                    check_number(
                        owner, field.name, given, meta["low"], meta["high"], meta["open_low"]
                    )
                case "choice":
                    check_choice(owner, field.name, given, meta["options"])
                case "static":
                    if meta["low"] is not None:
                        _check_below(31, owner, field.name, given, meta["low"], meta["high"])
                    elif isinstance(field.default, bool) and not isinstance(given, bool):
                        raise ParameterError(owner, field.name, "True or False", given)
                    elif isinstance(field.default, tuple) and not isinstance(given, tuple):
                        raise ParameterError(owner, field.name, "a tuple", given)
                    _check_plain(owner, field.name, given)
                case _:
                    _check_part(owner, field.name, given, field.type)
        self.check()

    def check(self) -> None:
        """Rules that tie fields together: raise `ParameterError` here.

        Each field has been checked on its own before.
        """

    def describe(self) -> dict[str, Any]:
        """The spec as a dictionary of plain values, with its type's name first."""
        out: dict[str, Any] = {"type": type(self).__name__}
        for field in dataclasses.fields(self):
            out[field.name] = _plain(getattr(self, field.name))
        return out

    def canonical(self) -> str:
        """The spec as canonical JSON (sorted names, no spaces): what its identity is the hash of.

        Fields at their default are left out, so that a new option changes no identity and no random
        stream of what was there before.
        """

        return kept(self, "canonical", lambda: _object(self.said()))

    def said(self) -> dict[str, str]:
        """The canonical JSON of the type and of every field that is not at its default."""

        def text(item: Any) -> str:
            return item.canonical() if isinstance(item, Spec) else _json(_plain(item))

        parts = {"type": _json(type(self).__name__)}
        for field in dataclasses.fields(self):
            given = text(getattr(self, field.name))
            if field.default is dataclasses.MISSING or given != text(field.default):
                parts[field.name] = given
        return parts

    def columns(self, prefix: str = "") -> dict[str, Any]:
        """The spec as one level of dotted names, for the columns of a table (do not change it: it
        is shared).
        """

        def make() -> dict[str, Any]:
            out: dict[str, Any] = {f"{prefix}type": type(self).__name__}
            for field in dataclasses.fields(self):
                item = getattr(self, field.name)
                if isinstance(item, Spec):
                    out |= item.columns(f"{prefix}{field.name}.")
                else:
                    plain = _plain(item)
                    out[prefix + field.name] = (
                        json.dumps(plain) if isinstance(plain, list) else plain
                    )
            return out

        return kept(self, f"columns {prefix}", make)

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed (and checked again)."""
        known = {field.name for field in dataclasses.fields(self)}
        for name in changes:
            if name not in known:
                raise SeparatrixError(
                    f"{type(self).__name__} has no parameter `{name}`; it has {', '.join(f'`{n}`' for n in sorted(known))}"
                )
        return dataclasses.replace(self, **changes)

    def varied(self, name: str, values: Iterable[Any]) -> list[Self]:
        """Copies that differ in one integer field, made without checking the others again: a sweep
        has thousands of them.

        >>> import separatrix as sx
        >>> [stop.patience for stop in sx.Stop(target=0.1).varied("patience", [2, 3])]
        [2, 3]
        """
        field = next(each for each in dataclasses.fields(self) if each.name == name)
        shared = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        parts = self.said()
        parts.pop(name, None)
        cls, out = type(self), []
        for value in values:
            made = object.__new__(cls)
            for key, item in shared.items():
                object.__setattr__(made, key, item)
            object.__setattr__(made, name, int(value))
            mine = parts if value == field.default else parts | {name: _json(int(value))}
            kept(made, "canonical", lambda mine=mine: _object(mine))
            out.append(made)
        return out

    def sizes(self) -> dict[str, int]:
        """The size fields and their values."""
        return {
            f.name: getattr(self, f.name)
            for f in dataclasses.fields(self)
            if f.metadata.get("kind") == "size"
        }


def digest(plain: Any) -> str:
    """The identity of plain values: the first 32 hexadecimal digits of the SHA-256 of their
    canonical JSON.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    True
    """
    return digest_text(_json(plain))


def digest_text(text: str) -> str:
    """The first 32 hexadecimal digits of the SHA-256 of a text.

    >>> digest_text('{"a":2,"b":1}') == digest({"b": 1, "a": 2})
    True
    """
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _object(parts: dict[str, str]) -> str:
    """A JSON object from its members' texts, sorted by name."""
    return "{" + ",".join(f"{_json(name)}:{parts[name]}" for name in sorted(parts)) + "}"


def _json(plain: Any) -> str:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)


def settled(number: float) -> float:
    """A computed constant to twelve digits: machines whose logarithms differ in the last digit then
    agree on what a trial is.

    >>> settled(1 / 3)
    0.333333333333
    """
    return float(f"{number:.12g}")


_KEPT: dict[int, dict[str, Any]] = {}


def kept(spec: Spec, name: str, make: Callable[[], Any]) -> Any:
    """What `make` gives, computed once: specs never change, and the parts of a sweep are shared by
    thousands of trials.

    >>> import separatrix as sx
    >>> spec = sx.Stop(target=0.1)
    >>> kept(spec, "demo", lambda: 1), kept(spec, "demo", lambda: 2)
    (1, 1)
    """
    # Beside the specs and not in them: an attribute would be part of the pytree that a program is
    # compiled for.
    key = id(spec)
    if key not in _KEPT:
        _KEPT[key] = {"": weakref.ref(spec, lambda _: _KEPT.pop(key, None))}
    store = _KEPT[key]
    if name not in store:
        store[name] = make()
    return store[name]


def importable(spec: Spec) -> bool:
    """Whether another process can find this spec's class (and those of its parts) by name.

    >>> importable(__import__("separatrix").SignalTask(patches=2, dimension=2, noise=1.0))
    True
    """
    cls = type(spec)
    if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__:
        return False
    try:
        found = getattr(importlib.import_module(cls.__module__), cls.__qualname__, None)
    except ImportError:
        return False
    parts = [getattr(spec, field.name) for field in dataclasses.fields(spec)]
    return found is cls and all(importable(part) for part in parts if isinstance(part, Spec))


def to_message(spec: Spec) -> dict[str, Any]:
    """A spec with the addresses of its classes, for a worker process of this very run (never for
    stored files).

    >>> import separatrix as sx
    >>> from_message(to_message(sx.SignalTask(patches=2, dimension=3, noise=0.5))).dimension
    3
    """
    cls = type(spec)
    fields = {}
    for field in dataclasses.fields(spec):
        item = getattr(spec, field.name)
        fields[field.name] = to_message(item) if isinstance(item, Spec) else {"plain": _plain(item)}
    return {"class": f"{cls.__module__}:{cls.__qualname__}", "fields": fields}


def from_message(message: dict[str, Any]) -> Any:
    """The inverse of `to_message`.

    >>> import separatrix as sx
    >>> from_message(to_message(sx.Stop(target=0.1))) == sx.Stop(target=0.1)
    True
    """
    module, name = message["class"].split(":")
    cls = getattr(importlib.import_module(module), name)
    fields = {
        k: from_message(v) if "class" in v else _tupled(v["plain"])
        for k, v in message["fields"].items()
    }
    return cls(**fields)


def _plain(item: Any) -> Any:
    if isinstance(item, Spec):
        return item.describe()
    if isinstance(item, tuple | list):
        return [_plain(part) for part in item]
    if isinstance(item, np.generic):
        return item.item()
    return item


def _tupled(item: Any) -> Any:
    return tuple(_tupled(part) for part in item) if isinstance(item, list) else item


def _check_below(
    bits: int, owner: str, name: str, item: Any, low: int | None, high: int | None
) -> None:
    # Sizes are 32-bit integers in compiled programs, other integers 64-bit ones in the ledger.
    check_integer(owner, name, item, low, high)
    if item >= 2**bits:
        raise ParameterError(owner, name, f"below 2^{bits}", item)


def _check_part(owner: str, name: str, item: Any, annotation: Any) -> None:
    allowed: Any = Spec | None
    if annotation is not Any and isinstance(annotation, type | types.UnionType):
        allowed = annotation
    if not isinstance(item, allowed):
        kinds = allowed.__args__ if isinstance(allowed, types.UnionType) else (allowed,)
        words = " or ".join("None" if kind is types.NoneType else kind.__name__ for kind in kinds)
        raise ParameterError(owner, name, f"of type {words}", item)


def _check_plain(owner: str, name: str, item: Any) -> None:
    if isinstance(item, tuple):
        for part in item:
            _check_plain(owner, name, part)
    elif not (
        item is None or isinstance(item, str | bool | int | float | np.integer | np.floating)
    ):
        raise ParameterError(
            owner, name, "plain values (numbers, strings, flags, or tuples of them)", item
        )
    elif isinstance(item, float | np.floating) and not math.isfinite(item):
        raise ParameterError(owner, name, "finite", item)
    elif isinstance(item, int | np.integer) and abs(int(item)) >= 2**63:
        raise ParameterError(owner, name, "below 2^63", item)
