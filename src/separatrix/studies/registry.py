"""The list of all studies."""

import collections
import functools
import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from separatrix.errors import UnknownNameError
from separatrix.studies.claims import Claim, check_unique
from separatrix.studies.study import Study

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

    def __getitem__(self, name: str) -> Study[Any]:
        if name not in self._loaded:
            module, _, kind = PLACES[name].partition(":")
            self._loaded[name] = getattr(
                importlib.import_module(f"separatrix.studies.{module}"), kind
            )()
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


STUDIES = Studies()


def find_study(name: str) -> Study[Any]:
    """The study called `name`.

    Raises:
        UnknownNameError: there is no such study; the sentence suggests the nearest names.

    >>> find_study("signal").title
    'How many samples does each network need?'
    """
    if name not in PLACES:
        raise UnknownNameError("study", name, PLACES)
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
