"""Diagnose: would locality and weight sharing pay on these data, and what should one do?"""

from separatrix.diagnosis.api import diagnose
from separatrix.diagnosis.result import Comparison, Diagnosis
from separatrix.diagnosis.settings import Settings
from separatrix.diagnosis.verdict import VERDICTS

__all__ = ["VERDICTS", "Comparison", "Diagnosis", "Settings", "diagnose"]
