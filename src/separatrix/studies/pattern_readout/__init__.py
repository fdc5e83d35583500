"""Study `pattern-readout`: Lemma 6 of Malach & Shalev-Shwartz, checked exactly."""

from separatrix.studies.pattern_readout.settings import PatternReadoutSettings
from separatrix.studies.pattern_readout.study import PatternReadout

__all__ = ["PatternReadout", "PatternReadoutSettings"]
