"""The list of all studies."""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from separatrix.errors import UnknownNameError
from separatrix.studies.study import Study

# Where each study lives. A study is imported when it is asked for: together they take longer to
# import than a small run needs.
PLACES = {
    "signal-first": "signal_first.study:SignalFirst",
    "signal": "signal.study:SignalStudy",
    "signal-map": "signal_map.study:SignalMap",
    "signal-open": "signal_open.study:SignalOpen",
    "equivariance": "equivariance.study:Equivariance",
    "pattern-readout": "pattern_readout.study:PatternReadout",
    "patterns": "patterns.study:Patterns",
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
        self._found: dict[str, Study[Any]] = {}

    def __getitem__(self, name: str) -> Study[Any]:
        if name not in self._found:
            module, _, kind = PLACES[name].partition(":")
            self._found[name] = getattr(
                importlib.import_module(f"separatrix.studies.{module}"), kind
            )()
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


STUDIES = Studies()


def find_study(name: str) -> Study[Any]:
    """The study called `name`.

    >>> find_study("paterns")
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no study `paterns`; did you mean `patterns` or `pattern-readout`?
    """
    if name not in PLACES:
        raise UnknownNameError("study", name, PLACES)
    return STUDIES[name]
