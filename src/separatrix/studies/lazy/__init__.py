"""How much of each separation is already in the kernel of the untrained network?"""

from separatrix.studies.lazy.settings import LazySettings
from separatrix.studies.lazy.study import Lazy

__all__ = ["Lazy", "LazySettings"]
