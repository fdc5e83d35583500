"""Study `stability`: implicit regularization below the edge of stability (Liang et al.)."""

from separatrix.studies.stability.study import StabilityStudy

__all__ = ["StabilityStudy"]
