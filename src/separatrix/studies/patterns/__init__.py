"""Study `patterns`: the computational separation on k-patterns of Malach & Shalev-Shwartz."""

from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.studies.patterns.study import Patterns

__all__ = ["Patterns", "PatternsSettings"]
