"""Specs: the plain values that say what a trial is.

A `Spec` is a frozen collection of plain values — a task, a network, a learner. It can be hashed,
written as JSON, compared, and read by a compiled program. Its fields are of three kinds, and the
kind decides what the compiler sees:

- a **size** (`size()`): an integer that shapes arrays. A program may be compiled for a larger
  *frame* and receive the true size as a traced number, so that one program serves many sizes
  (padding and masking).
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
    """A converter that gives equal numbers equal types (1 and 1.0, NumPy's scalars).

    It passes on anything that is not a number; the field's check reports it.
    """

    def convert(item: Any) -> Any:
        if isinstance(item, number) and not isinstance(item, bool):
            try:
                return kind(item)
            except OverflowError:  # an integer too large for a float
                return item
        return item

    return convert


as_integer = _canonical(int, numbers.Integral)
as_float = _canonical(float, numbers.Real)


def size(low: int = 1, high: int | None = None, default: Any = dataclasses.MISSING) -> Any:
    """A field for an integer that shapes arrays and that compiled programs may pad.

    Args:
        low: The smallest value allowed.
        high: The largest value allowed; None for no limit (all sizes are below 2^31).
        default: The value of the field if none is passed; without a default it is required.

    Returns:
        A dataclass field, to be assigned in the body of a `Spec` class.

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
    """A field for a number that enters the arithmetic; trials that differ only in values share a
    compiled program.

    Args:
        low: The smallest value allowed; None for no limit.
        high: The largest value allowed; None for no limit.
        default: The value of the field if none is passed; without a default it is required.
        open_low: Whether `low` itself is excluded.
        integer: Whether the number must be an integer (below 2^63).

    Returns:
        A dataclass field, to be assigned in the body of a `Spec` class.

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
    """A field for structure: an integer, a flag, or a tuple of plain values. Trials that differ in
    structure need different compiled programs.

    Args:
        low: The smallest integer allowed; None if the field is not an integer.
        high: The largest integer allowed; None for no limit.
        default: The value of the field if none is passed; without a default it is required. The
            field of a default that is a flag or a tuple accepts only flags or tuples.

    Returns:
        A dataclass field, to be assigned in the body of a `Spec` class.

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

    Args:
        *options: The names allowed.
        default: The name if none is passed; without a default the field is required.

    Returns:
        A dataclass field, to be assigned in the body of a `Spec` class.

    >>> class Paint(Spec):
    ...     colour: str = choice("red", "blue", default="red")
    >>> Paint("green")
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `colour` of Paint must be one of 'red', 'blue', got
        'green'
    """
    return eqx.field(static=True, default=default, metadata={"kind": "choice", "options": options})


class Spec(eqx.Module):
    """A frozen collection of plain values with an identity: a task, a network, a learner.

    Subclasses declare their fields with `size`, `value`, `static` and `choice`; a field may also be
    another spec. Construction checks every field and raises `ParameterError` for a value that is
    not allowed. Rules that tie fields together go into `check`.

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
            meta, item = field.metadata, getattr(self, field.name)
            if item is None and field.default is None:
                continue
            match meta.get("kind"):
                case "size":
                    _check_below(31, owner, field.name, item, meta["low"], meta["high"])
                case "integer":
                    _check_below(63, owner, field.name, item, meta["low"], meta["high"])
                case "value":
                    check_number(
                        owner, field.name, item, meta["low"], meta["high"], meta["open_low"]
                    )
                case "choice":
                    check_choice(owner, field.name, item, meta["options"])
                case "static":
                    if meta["low"] is not None:
                        _check_below(31, owner, field.name, item, meta["low"], meta["high"])
                    elif isinstance(field.default, bool) and not isinstance(item, bool):
                        raise ParameterError(owner, field.name, "True or False", item)
                    elif isinstance(field.default, tuple) and not isinstance(item, tuple):
                        raise ParameterError(owner, field.name, "a tuple", item)
                    _check_plain(owner, field.name, item)
                case _:
                    _check_part(owner, field.name, item, field.type)
        self.check()

    def check(self) -> None:
        """Raise `ParameterError` if fields do not fit together; all have passed their own check."""

    def describe(self) -> dict[str, Any]:
        """The spec as a dictionary of plain values, with the name of its class first."""
        out: dict[str, Any] = {"type": type(self).__name__}
        for field in dataclasses.fields(self):
            out[field.name] = _plain(getattr(self, field.name))
        return out

    def canonical(self) -> str:
        """The spec as canonical JSON (sorted names, no spaces); its hash is the spec's identity.

        Fields at their default are left out, so that a new option changes neither the identity nor
        the random streams of existing specs.
        """

        return cached(self, "canonical", lambda: _object(self.canonical_fields()))

    def canonical_fields(self) -> dict[str, str]:
        """The canonical JSON of the class's name and of every field that is not at its default."""

        def text(item: Any) -> str:
            return item.canonical() if isinstance(item, Spec) else _json(_plain(item))

        parts = {"type": _json(type(self).__name__)}
        for field in dataclasses.fields(self):
            encoded = text(getattr(self, field.name))
            if field.default is dataclasses.MISSING or encoded != text(field.default):
                parts[field.name] = encoded
        return parts

    def columns(self, prefix: str = "") -> dict[str, Any]:
        """The spec as a flat dictionary with dotted names, for the columns of a table.

        The dictionary is shared by all callers; do not change it.
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

        return cached(self, f"columns {prefix}", make)

    def default_columns(self, prefix: str = "") -> frozenset[str]:
        """The names of the columns whose fields are at their defaults, and so not in the identity.

        A row that was written before a field existed lacks the field's column.

        >>> import separatrix as sx
        >>> sorted(sx.Measure(test=8, times=3, start_counts=False).default_columns())
        ['check_rows', 'outcomes', 'probes', 'spacing']
        """
        shown, out = self.canonical_fields(), set[str]()
        for field in dataclasses.fields(self):
            item, name = getattr(self, field.name), prefix + field.name
            if field.name not in shown:
                out |= item.columns(f"{name}.").keys() if isinstance(item, Spec) else {name}
            elif isinstance(item, Spec):
                out |= item.default_columns(f"{name}.")
        return frozenset(out)

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed and everything checked again."""
        known = {field.name for field in dataclasses.fields(self)}
        for name in changes:
            if name not in known:
                names = ", ".join(f"`{field}`" for field in sorted(known))
                raise SeparatrixError(
                    f"{type(self).__name__} has no parameter `{name}`; it has {names}"
                )
        return dataclasses.replace(self, **changes)

    def varied(self, name: str, values: Iterable[Any]) -> list[Self]:
        """Copies that differ in one integer field. They are not checked again, because a sweep has
        thousands of them.

        >>> import separatrix as sx
        >>> [stop.patience for stop in sx.Stop(target=0.1).varied("patience", [2, 3])]
        [2, 3]
        """
        default = next(field.default for field in dataclasses.fields(self) if field.name == name)
        shared = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        others = self.canonical_fields()
        others.pop(name, None)
        cls, copies = type(self), []
        for value in values:
            copy = object.__new__(cls)
            for key, item in shared.items():
                object.__setattr__(copy, key, item)
            object.__setattr__(copy, name, int(value))
            parts = others if value == default else others | {name: _json(int(value))}
            cached(copy, "canonical", lambda parts=parts: _object(parts))
            copies.append(copy)
        return copies

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


def rounded_constant(number: float) -> float:
    """A computed constant, rounded to twelve digits, so that machines whose logarithms differ in
    the last digit agree on the identity of a trial.

    >>> rounded_constant(1 / 3)
    0.333333333333
    """
    return float(f"{number:.12g}")


# A table beside the specs: an attribute of a spec would be part of the pytree that a program is
# compiled for.
_CACHE: dict[int, dict[str, Any]] = {}


def cached(spec: Spec, name: str, make: Callable[[], Any]) -> Any:
    """The result of `make`, computed once per spec and name. Specs never change, and thousands of
    trials share the parts of a sweep.

    >>> import separatrix as sx
    >>> spec = sx.Stop(target=0.1)
    >>> cached(spec, "demo", lambda: 1), cached(spec, "demo", lambda: 2)
    (1, 1)
    """
    key = id(spec)
    if key not in _CACHE:
        _CACHE[key] = {"": weakref.ref(spec, lambda _: _CACHE.pop(key, None))}
    results = _CACHE[key]
    if name not in results:
        results[name] = make()
    return results[name]


def importable(spec: Spec) -> bool:
    """Whether another process can find this spec's class (and those of its parts) by name.

    >>> importable(__import__("separatrix").SignalTask(patches=2, dimension=2, noise=1.0))
    True
    """
    cls = type(spec)
    if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__:
        return False
    try:
        importable_class = getattr(importlib.import_module(cls.__module__), cls.__qualname__, None)
    except ImportError:
        return False
    parts = [getattr(spec, field.name) for field in dataclasses.fields(spec)]
    return importable_class is cls and all(
        importable(part) for part in parts if isinstance(part, Spec)
    )


def to_message(spec: Spec) -> dict[str, Any]:
    """A spec with the modules of its classes, as a message to a worker process of the same run.

    Stored files never hold such messages, because modules may move.

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
