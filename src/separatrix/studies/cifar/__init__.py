"""Study `cifar`: accuracy against the number of parameters (Malach & Shalev-Shwartz, Figure 1)."""

from separatrix.studies.cifar.settings import CifarSettings
from separatrix.studies.cifar.study import CifarStudy

__all__ = ["CifarSettings", "CifarStudy"]
