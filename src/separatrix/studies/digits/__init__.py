"""Study `digits`: sequences of digits (Figures 3 and 4 of Malach & Shalev-Shwartz)."""

from separatrix.studies.digits.settings import DigitsSettings
from separatrix.studies.digits.study import DigitsStudy

__all__ = ["DigitsSettings", "DigitsStudy"]
