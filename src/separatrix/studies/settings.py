"""Settings of a study: plain values that are checked, may be nested, and differ by scale.

A study declares its settings as a class. Each field has a type, a default and, where it needs them,
bounds; `--set` reads text as the field's type. A field may itself hold settings: `--set
flat.steps=100` changes the `steps` of the part `flat`.

>>> class Flat(Settings, of="demo.flat"):
...     steps: int = setting(default=100, low=1)
>>> class Demo(Settings, of="demo"):
...     seeds: int = setting(default=4, low=2)
...     rates: tuple[float, ...] = setting(default=(0.1, 0.3), low=0, open_low=True)
...     flat: Flat = Flat()
>>> scales = at_scales(Demo(), laptop={"seeds": 8}, full={"seeds": 24, "flat": {"steps": 9}})
>>> scales["full"]
Demo(seeds=24, rates=(0.1, 0.3), flat=Flat(steps=9))
>>> Demo(rates=(0.1, -1.0))
Traceback (most recent call last):
separatrix.errors.ParameterError: the `rates` of demo must be a number > 0, got -1.0
"""

import ast
import dataclasses
import functools
import math
import types
import typing
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, TypeVar

from separatrix.errors import (
    ParameterError,
    SeparatrixError,
    UnknownNameError,
    check_choice,
    check_integer,
    check_number,
    shown,
)

SCALES = ("quick", "laptop", "full")
KINDS = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    tuple: "a list such as 1,2,3",
}


def setting(
    *,
    default: Any,
    low: float | None = None,
    high: float | None = None,
    open_low: bool = False,
    among: Iterable[str] | None = None,
) -> Any:
    """A field of settings with bounds; the bounds of a tuple hold for each of its elements.

    Args:
        default: the value where nothing else is said.
        low: the smallest value.
        high: the largest value.
        open_low: whether `low` itself is refused.
        among: the texts that are allowed.

    >>> class Crop(Settings, of="demo"):
    ...     side: int = setting(default=8, low=1, high=32)
    >>> Crop(side=64)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `side` of demo must be an integer in [1, 32], got 64
    """
    choices = None if among is None else tuple(among)
    metadata = {"low": low, "high": high, "open_low": open_low, "among": choices}
    return dataclasses.field(default=default, metadata=metadata)


@typing.dataclass_transform(frozen_default=True)
class Settings:
    """Settings of a study, or of a part of it: a frozen dataclass whose fields are checked.

    Fields are numbers, flags, texts, tuples of one of these, or settings of their own. A subclass
    names its study, as in `class SignalSettings(Settings, of="signal")`; errors say that name.
    Outcomes write the `steps` of a part `mixing` as `mixing_steps`, or with another prefix that the
    part gives as `written`.

    Raises:
        ParameterError: a value has the wrong type or is out of bounds.

    >>> class Some(Settings, of="demo"):
    ...     seeds: int = setting(default=4, low=2)
    >>> Some().replace(seeds=8)
    Some(seeds=8)
    """

    owner: ClassVar[str] = "a study"
    written: ClassVar[str | None] = None

    def __init_subclass__(cls, of: str = "", written: str | None = None, **options: Any):
        super().__init_subclass__(**options)
        if of:
            cls.owner = of
        cls.written = written
        dataclasses.dataclass(frozen=True)(cls)

    def __post_init__(self):
        hints = _hints(type(self))
        for field in dataclasses.fields(typing.cast(Any, self)):
            _check(
                self.owner,
                field.name,
                getattr(self, field.name),
                hints[field.name],
                field.metadata,
            )
        self.check()

    def check(self) -> None:
        """Rules that tie fields together: raise `ParameterError` here.

        Each field has been checked on its own before.
        """

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed; a dictionary changes fields of a nested part."""
        known = {field.name for field in dataclasses.fields(typing.cast(Any, self))}
        for name, change in changes.items():
            if name not in known:
                raise UnknownNameError(f"setting of {self.owner}", name, known)
            if isinstance(change, Mapping):
                changes[name] = getattr(self, name).replace(**change)
        return dataclasses.replace(typing.cast(Any, self), **changes)


SettingsT = TypeVar("SettingsT", bound=Settings)


def at_scales(
    defaults: SettingsT,
    quick: Mapping[str, Any] = types.MappingProxyType({}),
    laptop: Mapping[str, Any] = types.MappingProxyType({}),
    full: Mapping[str, Any] = types.MappingProxyType({}),
) -> dict[str, SettingsT]:
    """The settings of every scale; a scale lists only what differs from the defaults.

    >>> class Some(Settings, of="demo"):
    ...     seeds: int = 3
    >>> at_scales(Some(), full={"seeds": 24})["full"]
    Some(seeds=24)
    """
    changes = zip(SCALES, (quick, laptop, full))
    return {scale: defaults.replace(**dict(changed)) for scale, changed in changes}


def plain_settings(settings: Any) -> dict[str, Any]:
    """Settings as one level of plain values: the `steps` of the part `flat` are `flat_steps`.

    >>> plain_settings(Settings())
    {}
    """
    return {_written(settings, path): item for path, item in _leaves(settings).items()}


def change_settings(settings: Any, changes: Mapping[str, str], owner: str) -> Any:
    """Settings with some fields changed from text, which is read as the field's type.

    Args:
        settings: what is changed; it stays as it is.
        changes: texts by name. The name of a nested field is dotted, `flat.steps`, or as outcomes
            write it, `flat_steps`.
        owner: the study's name, for errors.

    Returns:
        A changed and checked copy.

    Raises:
        SeparatrixError: a name is unknown, or a text does not fit.

    >>> class Some(Settings, of="demo"):
    ...     seeds: int = 3
    >>> change_settings(Some(), {"seeds": "5"}, "demo")
    Some(seeds=5)
    >>> change_settings(Some(), {"seeds": "many"}, "demo")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: the setting `seeds` of demo must be an integer, got 'many'
    """
    paths = list(_leaves(settings))
    known = {".".join(path): path for path in paths}
    written = {_written(settings, path): path for path in paths}
    values: dict[tuple[str, ...], Any] = {}
    for name, text in changes.items():
        path = known.get(name) or written.get(name)
        if path is None:
            raise UnknownNameError(f"setting of {owner}", name, known)
        values[path] = _read(text, _hint_at(type(settings), path), name, owner)
    return _changed(settings, values)


def _changed(settings: Any, values: Mapping[tuple[str, ...], Any]) -> Any:
    """Settings with the fields at some paths replaced, all at once: checks see the result only."""
    changes = {path[0]: item for path, item in values.items() if len(path) == 1}
    for part in {path[0] for path in values if len(path) > 1}:
        inner = {path[1:]: item for path, item in values.items() if path[0] == part}
        changes[part] = _changed(getattr(settings, part), inner)
    return dataclasses.replace(settings, **changes)


def _leaves(settings: Any) -> dict[tuple[str, ...], Any]:
    """Every plain value by the names that lead to it."""
    if not dataclasses.is_dataclass(settings):
        return {}
    leaves: dict[tuple[str, ...], Any] = {}
    for field in dataclasses.fields(settings):
        item = getattr(settings, field.name)
        if dataclasses.is_dataclass(item):
            leaves |= {(field.name, *path): inner for path, inner in _leaves(item).items()}
        else:
            leaves[(field.name,)] = item
    return leaves


def _written(settings: Any, path: tuple[str, ...]) -> str:
    """The name under which outcomes write the field at a path."""
    if len(path) == 1:
        return path[0]
    part = getattr(settings, path[0])
    prefix = getattr(part, "written", None)
    prefix = path[0] if prefix is None else prefix
    name = _written(part, path[1:])
    return f"{prefix}_{name}" if prefix else name


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _hint_at(kind: type, path: tuple[str, ...]) -> Any:
    hint = _hints(kind)[path[0]]
    return hint if len(path) == 1 else _hint_at(hint, path[1:])


def _element(hint: Any) -> type | None:
    """The type of a tuple's elements; None for other types."""
    return typing.get_args(hint)[0] if typing.get_origin(hint) is tuple else None


def _check(owner: str, name: str, item: Any, hint: Any, bounds: Mapping[str, Any]) -> None:
    low, high, open_low, among = (bounds.get(key) for key in ("low", "high", "open_low", "among"))
    element = _element(hint)
    if element is not None:
        if not isinstance(item, tuple):
            raise ParameterError(owner, name, "a tuple", item)
        for part in item:
            _check(owner, name, part, element, bounds)
    elif among is not None:
        check_choice(owner, name, item, among)
    elif hint is int:
        check_integer(owner, name, item, low, high)
    elif hint is float:
        check_number(owner, name, item, low, high, bool(open_low))
    elif not isinstance(item, hint):
        words = {bool: "True or False", str: "a text"}
        raise ParameterError(owner, name, words.get(hint, f"of type {hint.__name__}"), item)


def _read(text: str, hint: Any, name: str, owner: str) -> Any:
    """The value that a text stands for."""
    if hint is str:
        return text
    element, bare = _element(hint), text.strip()
    try:
        if element is None:
            flags = {"true": True, "false": False}
            return _fitted(flags.get(bare.lower()) if hint is bool else _literal(bare), hint)
        bare = bare.strip("()[]").rstrip(", ")
        quoted = [part.strip(" '\"") for part in bare.split(",")]
        parts = quoted if element is str else _literal(f"({bare},)")
        return tuple(_fitted(part, element) for part in parts)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, OverflowError):
        words = KINDS[hint if element is None else tuple]
        raise SeparatrixError(
            f"the setting `{name}` of {owner} must be {words}, got {shown(text)}"
        ) from None


def _literal(text: str) -> Any:
    with warnings.catch_warnings():
        # Texts such as 1if warn before they fail; the error says it better.
        warnings.simplefilter("ignore", SyntaxWarning)
        return ast.literal_eval(text)


def _fitted(item: Any, kind: type) -> Any:
    """A value of the setting's type, or a ValueError."""
    if type(item) is int and kind is float:
        item = float(item)
    unfit = isinstance(item, float) and not math.isfinite(item)
    if type(item) is not kind or unfit or item == "":
        raise ValueError(item)
    return item
