"""Separatrix: a laboratory that measures where neural architectures part.

>>> import separatrix as sx
>>> task = sx.SignalTask(patches=8, dimension=8, noise=0.3)
>>> networks = [sx.CNN(field=1, readout="sum", bias=False), sx.LCN(field=1, readout="sum", bias=False)]
>>> sweep = sx.Sweep.grid(task, networks, sx.Learner(rate=1.0, steps=20), samples=[32, 64], seeds=2)
>>> table = sx.Lab().run(sweep).to_pandas()
>>> len(table)
8
"""

import importlib
from typing import Any

__version__ = "0.1.0"

# Public names and where they live. They are imported when first used, so that `separatrix --help` need not load JAX.
_HOMES = {
    "separatrix.spec": ["Spec", "choice", "size", "static", "value"],
    "separatrix.errors": ["ParameterError", "SeparatrixError", "UnknownNameError"],
    "separatrix.notes": ["Note"],
    "separatrix.tasks": ["PatternTask", "Sample", "SignalTask", "Task"],
    "separatrix.networks": [
        "CNN", "FCN", "LCN", "LSA", "Activation", "ClippedReLU", "Initial", "Network", "Params", "ReLU", "Tanh", "distance", "embed",
    ],
    "separatrix.learners": ["Constant", "Learner", "Ramp", "Schedule", "Stages", "Status", "Stop", "two_step"],
    "separatrix.probes": ["PROBES", "Moment", "probe"],
    "separatrix.engine": ["Device", "Lab", "Ledger", "Measure", "Plan", "Sweep", "Table", "Trial"],
}  # fmt: skip
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'separatrix' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
