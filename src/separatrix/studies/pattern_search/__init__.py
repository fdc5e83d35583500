"""When the order of the bits is unknown: searches over windows, sets, orders and queries."""

from separatrix.studies.pattern_search.settings import PatternSearchSettings
from separatrix.studies.pattern_search.study import PatternSearch

__all__ = ["PatternSearch", "PatternSearchSettings"]
