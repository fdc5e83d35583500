"""Study `dial`: locality and weight sharing on real images, one turned at a time."""

from separatrix.studies.dial.settings import DialSettings
from separatrix.studies.dial.study import DialStudy

__all__ = ["DialSettings", "DialStudy"]
