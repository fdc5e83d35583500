"""Studies: the sweeps, claims and figures that reproduce one theorem or figure."""

from typing import Any

from separatrix.errors import UnknownNameError
from separatrix.studies.claims import PAPERS, Claim, Evidence, Finding, all_of, decide_above, decide_below
from separatrix.studies.outcome import Axis, Figure, Outcome, Series, TableData, figure_from
from separatrix.studies.signal_first import SignalFirst
from separatrix.studies.study import SCALES, Study, seeds_from

STUDIES: dict[str, Study[Any]] = {study.name: study for study in (SignalFirst(),)}


def find_study(name: str) -> Study[Any]:
    """The study called `name`.

    >>> find_study("signal-frist")
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no study `signal-frist`; did you mean `signal-first`?
    """
    if name not in STUDIES:
        raise UnknownNameError("study", name, STUDIES)
    return STUDIES[name]


__all__ = [
    "PAPERS", "SCALES", "STUDIES", "Axis", "Claim", "Evidence", "Figure", "Finding", "Outcome", "Series", "Study", "TableData",
    "all_of", "decide_above", "decide_below", "figure_from", "find_study", "seeds_from",
]  # fmt: skip
