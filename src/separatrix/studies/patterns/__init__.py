"""Study `patterns`: the computational separation on k-patterns of Malach & Shalev-Shwartz."""

from separatrix.studies.patterns.settings import PatternsSettings


__all__ = []
