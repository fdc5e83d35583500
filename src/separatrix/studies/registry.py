"""The list of all studies."""

from typing import Any

from separatrix.errors import UnknownNameError
from separatrix.studies.cifar import CifarStudy
from separatrix.studies.dial import DialStudy
from separatrix.studies.digits import DigitsStudy
from separatrix.studies.equivariance import Equivariance
from separatrix.studies.pattern_readout import PatternReadout
from separatrix.studies.patterns import Patterns
from separatrix.studies.signal.study import SignalStudy
from separatrix.studies.signal_first import SignalFirst
from separatrix.studies.signal_map.study import SignalMap
from separatrix.studies.signal_open.study import SignalOpen
from separatrix.studies.stability.study import StabilityStudy
from separatrix.studies.study import Study

STUDIES: dict[str, Study[Any]] = {
    study.name: study
    for study in (
        SignalFirst(),
        SignalStudy(),
        SignalMap(),
        SignalOpen(),
        Equivariance(),
        PatternReadout(),
        Patterns(),
        DigitsStudy(),
        CifarStudy(),
        DialStudy(),
        StabilityStudy(),
    )
}


def find_study(name: str) -> Study[Any]:
    """The study called `name`.

    >>> find_study("paterns")
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no study `paterns`; did you mean `patterns` or `pattern-readout`?
    """
    if name not in STUDIES:
        raise UnknownNameError("study", name, STUDIES)
    return STUDIES[name]
