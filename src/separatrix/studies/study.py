"""Studies: the unit that a user runs."""

import abc
import ast
import dataclasses
import math
import warnings
from typing import Any, ClassVar, Generic, TypeVar

from separatrix.engine import Lab, Sweep
from separatrix.errors import SeparatrixError, UnknownNameError, check_choice, check_integer, shown
from separatrix.studies.claims import Claim
from separatrix.studies.outcome import Outcome

SCALES = ("quick", "laptop", "full")
SEED_STRIDE = 1_000_000  # the seeds of two runs with different --seed never meet

SettingsT = TypeVar("SettingsT")


class Study(abc.ABC, Generic[SettingsT]):
    """The sweeps, claims and figures that reproduce one theorem or figure.

    A study has a `name`, a `title`, a one-sentence `summary`, its `claims`, and for each scale its
    settings: a frozen dataclass of plain values that `--set` can change.

    >>> from separatrix.studies import find_study
    >>> find_study("signal-first").settings("quick", seed=0).patches
    10
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    claims: ClassVar[tuple[Claim, ...]]
    scales: ClassVar[dict[str, Any]]

    def settings(
        self, scale: str, seed: int = 0, changes: dict[str, str] | None = None
    ) -> SettingsT:
        """The settings of a scale, with changes given as text (as `--set` does)."""
        check_choice("a study", "scale", scale, SCALES)
        if "seed" in (changes or {}):
            raise SeparatrixError("the seed of a run is set with --seed, not with --set")
        return change_settings(
            dataclasses.replace(self.scales[scale], seed=seed), changes or {}, self.name
        )

    def sweeps(self, settings: SettingsT) -> dict[str, Sweep]:
        """The sweeps that the study will run, by name; for an adaptive study, the most that it may
        run.
        """
        del settings
        return {}

    @abc.abstractmethod
    def conclude(self, lab: Lab, settings: SettingsT) -> Outcome:
        """Run what has to be run in the laboratory and say what it shows."""


def seeds_from(seed: int, count: int, purpose: int = 0) -> range:
    """`count` seeds of the run with this `--seed`; seeds of different purposes (0 results, 1
    tuning) never meet.

    >>> seeds_from(2, 3)
    range(2000000, 2000003)
    """
    check_integer("a study", "seeds", count, 1, SEED_STRIDE // 2)
    start = seed * SEED_STRIDE + purpose * SEED_STRIDE // 2
    return range(start, start + count)


def change_settings(settings: Any, changes: dict[str, str], owner: str) -> Any:
    """Settings with some fields changed from text; the text is read as the type that the field has.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Some:
    ...     seeds: int = 3
    >>> change_settings(Some(), {"seeds": "5"}, "demo")
    Some(seeds=5)
    >>> change_settings(Some(), {"seeds": "many"}, "demo")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: the setting `seeds` of demo must be an integer, got 'many'
    """
    known = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
    read: dict[str, Any] = {}
    for name, text in changes.items():
        if name not in known:
            raise UnknownNameError(f"setting of {owner}", name, known)
        read[name] = _read(text, known[name], name, owner)
    try:
        return dataclasses.replace(settings, **read)
    except TypeError as error:  # pragma: no cover - every type is checked above
        raise SeparatrixError(str(error)) from error


def _read(text: str, now: Any, name: str, owner: str) -> Any:
    if isinstance(now, str):
        return text
    words = {
        bool: "true or false",
        int: "an integer",
        float: "a number",
        tuple: "a list such as 1,2,3",
    }
    kinds = {type(each) for each in now} if isinstance(now, tuple) else {type(now)}
    bare = text.strip()
    try:
        if isinstance(now, tuple):
            bare = bare.strip("()[]").rstrip(", ")
            given = (
                [part.strip(" '\"") for part in bare.split(",")]
                if kinds == {str}
                else _literal(f"({bare},)")
            )
            read: Any = tuple(_fitted(each, kinds) for each in given)
        else:
            read = _fitted(
                {"true": True, "false": False}.get(bare.lower())
                if bool in kinds
                else _literal(bare),
                kinds,
            )
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, OverflowError):
        raise SeparatrixError(
            f"the setting `{name}` of {owner} must be {words[type(now)]}, got {shown(text)}"
        ) from None
    return read


def _literal(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", SyntaxWarning
        )  # of texts such as 1if: the error says it better
        return ast.literal_eval(text)


def _fitted(item: Any, kinds: set[type]) -> Any:
    """A value that has one of the types that the setting has, or a ValueError."""
    if type(item) is int and int not in kinds and float in kinds:
        item = float(item)
    if (
        type(item) not in kinds
        or (isinstance(item, float) and not math.isfinite(item))
        or item == ""
    ):
        raise ValueError(item)
    return item
