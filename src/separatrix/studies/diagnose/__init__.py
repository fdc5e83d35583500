"""Diagnose: would locality and weight sharing pay on these data?"""

from separatrix.studies.diagnose.api import diagnose
from separatrix.studies.diagnose.explanations import Explanations, Geometry, Matched, Shifted
from separatrix.studies.diagnose.settings import Settings
from separatrix.studies.diagnose.verdict import VERDICTS, Diagnosis, Gain, Saved

__all__ = ["VERDICTS", "Diagnosis", "Explanations", "Gain", "Geometry", "Matched", "Saved", "Settings", "Shifted", "diagnose"]
