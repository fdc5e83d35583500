"""The list of all studies."""

import collections
import functools
import importlib
import inspect
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from separatrix.errors import SeparatrixError, UnknownNameError, shown
from separatrix.files import is_regular
from separatrix.studies.claims import Claim, check_unique
from separatrix.studies.study import Study

GROUP = "separatrix.studies"  # the entry points under which other packages register studies
# Where each study lives. A study is imported when it is asked for: importing all of them takes
# longer than a small run.
PLACES = {
    "signal-first": "signal_first.study:SignalFirst",
    "signal": "signal.study:SignalStudy",
    "signal-map": "signal_map.study:SignalMap",
    "signal-open": "signal_open.study:SignalOpen",
    "equivariance": "equivariance.study:Equivariance",
    "pattern-readout": "pattern_readout.study:PatternReadout",
    "patterns": "patterns.study:Patterns",
    "pattern-search": "pattern_search.study:PatternSearch",
    "pattern-width": "pattern_width.study:PatternWidth",
    "lazy": "lazy.study:Lazy",
    "digits": "digits.study:DigitsStudy",
    "cifar": "cifar.study:CifarStudy",
    "dial": "dial.study:DialStudy",
    "stability": "stability.study:StabilityStudy",
}


class Studies(Mapping[str, Study[Any]]):
    """All studies by their names, imported one by one.

    >>> list(STUDIES)[:2], STUDIES["signal"].name
    (['signal-first', 'signal'], 'signal')
    """

    def __init__(self):
        self._loaded: dict[str, Study[Any]] = {}
        self._added: dict[str, metadata.EntryPoint | None] = {}  # None: registered as an object
        self._looked = False

    def __getitem__(self, name: str) -> Study[Any]:
        if name in self._loaded:
            return self._loaded[name]
        if name in PLACES:
            module, _, kind = PLACES[name].partition(":")
            found = getattr(importlib.import_module(f"separatrix.studies.{module}"), kind)()
        else:
            point = self.added()[name]
            assert point is not None
            found = loaded_study(point)
        self._loaded[name] = found
        return found

    def __contains__(self, name: object) -> bool:
        return name in PLACES or name in self.added()

    def __iter__(self) -> Iterator[str]:
        return iter((*PLACES, *self.added()))

    def __len__(self) -> int:
        return len(PLACES) + len(self.added())

    def added(self) -> "dict[str, metadata.EntryPoint | None]":
        """The studies of other packages and files, which are not among our own."""
        if not self._looked:
            self._looked = True
            for point in metadata.entry_points(group=GROUP):
                if point.name not in PLACES:  # nobody can replace a study of ours
                    self._added.setdefault(point.name, point)
        return self._added

    def add(self, study: Study[Any]) -> None:
        """Add a study for as long as this process lives.

        Raises:
            SeparatrixError: a study of ours, or another one, has its name.
        """
        name = getattr(study, "name", None)
        if not isinstance(study, Study) or not isinstance(name, str):
            raise SeparatrixError(f"{shown(study)} is not a study with a name")
        if name in PLACES or type(self._loaded.get(name, study)) is not type(study):
            raise SeparatrixError(f"there is a study `{name}` already; give yours another name")
        self.added()[name] = None
        self._loaded[name] = study


def loaded_study(point: metadata.EntryPoint) -> Study[Any]:
    """The study that another package registers.

    Raises:
        SeparatrixError: it cannot be imported, or is not a study.
    """
    try:
        kind = point.load()
        study = kind() if isinstance(kind, type) else kind
    except Exception as error:  # code of others may raise anything
        first_line = next(iter(str(error).splitlines()), "")
        raise SeparatrixError(
            f"the study `{point.name}` of {point.value} cannot be loaded: "
            f"{type(error).__name__}: {first_line}"
        ) from error
    if not isinstance(study, Study):
        raise SeparatrixError(f"the study `{point.name}` of {point.value} is not a `Study`")
    return study


def studies_in(file: str) -> list[str]:
    """Add the studies that a Python file defines; their names.

    The file's folder becomes importable, here and in worker processes, so that these can run
    trials of tasks and networks that the file defines.

    Args:
        file: the path of the file.

    Raises:
        SeparatrixError: there is no such file, it fails, or it defines no study.

    >>> studies_in("no-such-file.py")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: there is no file no-such-file.py
    """
    path = Path(file).expanduser().resolve()
    if not is_regular(path):
        raise SeparatrixError(f"there is no file {file}")
    if not path.stem.isidentifier() or path.stem in sys.modules:
        raise SeparatrixError(
            f"the file {path.name} cannot be imported under its name; give it another one"
        )
    folder = str(path.parent)
    sys.path.insert(0, folder)
    others = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, others)))
    try:
        module = importlib.import_module(path.stem)
    except Exception as error:  # code of others may raise anything
        first_line = next(iter(str(error).splitlines()), "")
        raise SeparatrixError(f"{file} fails with {type(error).__name__}: {first_line}") from error
    kinds = [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, Study)
        and kind.__module__ == path.stem
        and not inspect.isabstract(kind)
        and isinstance(getattr(kind, "name", None), str)
    ]
    if not kinds:
        raise SeparatrixError(f"{file} defines no study, that is no `Study` with a name")
    for kind in kinds:
        STUDIES.add(kind())
    return [kind.name for kind in kinds]


STUDIES = Studies()


def find_study(name: str) -> Study[Any]:
    """The study called `name`.

    Raises:
        UnknownNameError: there is no such study; the sentence suggests the nearest names.

    >>> find_study("signal").title
    'How many samples does each network need?'
    """
    if name not in STUDIES:
        raise UnknownNameError("study", name, STUDIES)
    return STUDIES[name]


def all_claims() -> dict[str, tuple[Study[Any], Claim]]:
    """Every claim by its id, with the study that decides it.

    Raises:
        SeparatrixError: two claims have one id.
    """
    check_unique(claim for study in STUDIES.values() for claim in study.claims)
    return {claim.id: (study, claim) for study in STUDIES.values() for claim in study.claims}


@functools.cache
def claims_by_chance() -> dict[str, int]:
    """How many claims of each owner chance can decide wrongly, in all studies together.

    They share the 5 % chance of any wrong verdict. Certificates and identities do not count, nor
    do claims without a kind.

    >>> claims_by_chance().keys() <= {"malach", "lahoti", "liang", "ours"}
    True
    """
    return dict(
        collections.Counter(
            claim.paper
            for _, claim in all_claims().values()
            if claim.kind is not None and claim.kind.by_chance
        )
    )


def find_claim(name: str) -> tuple[Study[Any], Claim]:
    """The claim with this id, and the study that decides it.

    Raises:
        UnknownNameError: there is no such claim; the sentence suggests the nearest ids.

    >>> find_claim("malach.lemma6.exact")[0].name
    'pattern-readout'
    """
    claims = all_claims()
    if name not in claims:
        raise UnknownNameError("claim", name, claims)
    return claims[name]
