"""Separatrix: where neural architectures part."""
__version__ = "0.1.0"
from separatrix.spec import size, value, static, choice, Spec
from separatrix.tasks import *
from separatrix.networks import *
from separatrix.learners import *
from separatrix.probes import *
from separatrix.engine.trial import *
