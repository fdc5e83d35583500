"""Diagnose: would locality and weight sharing pay on these data?"""

from separatrix.diagnose.api import diagnose
from separatrix.diagnose.explain import Explanations, Geometry, Matched, Shifted
from separatrix.diagnose.settings import Settings
from separatrix.diagnose.verdict import VERDICTS, Diagnosis, Gain, Saved

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
