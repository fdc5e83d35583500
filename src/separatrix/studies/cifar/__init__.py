"""Study `cifar`: accuracy against the number of parameters (Figure 1 of Malach & Shalev-Shwartz)."""

from separatrix.studies.cifar.settings import CifarSettings
from separatrix.studies.cifar.study import CifarStudy

__all__ = ["CifarSettings", "CifarStudy"]
