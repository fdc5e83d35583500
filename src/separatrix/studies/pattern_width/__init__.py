"""How wide must a network be to leave chance on k-patterns, and through how much noise?"""

from separatrix.studies.pattern_width.settings import PatternWidthSettings
from separatrix.studies.pattern_width.study import PatternWidth

__all__ = ["PatternWidth", "PatternWidthSettings"]
