"""Diagnose: would locality and weight sharing pay on these data?"""

from separatrix.diagnosis.api import diagnose
from separatrix.diagnosis.explain import Explanations, Geometry, Matched, Shifted
from separatrix.diagnosis.settings import Settings
from separatrix.diagnosis.verdict import VERDICTS, Diagnosis, Gain, Saved

__all__ = [
    "VERDICTS",
    "Diagnosis",
    "Explanations",
    "Gain",
    "Geometry",
    "Matched",
    "Saved",
    "Settings",
    "Shifted",
    "diagnose",
]
