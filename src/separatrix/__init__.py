"""Separatrix measures when convolution beats local or full connectivity, and by how much.

>>> import separatrix as sx
>>> task = sx.SignalTask(patches=8, dimension=8, noise=0.3)
>>> options = {"field": 1, "readout": "sum", "bias": False}
>>> networks = [sx.CNN(**options), sx.LCN(**options)]
>>> sweep = sx.Sweep.grid(task, networks, sx.Learner(rate=1.0, steps=20), samples=[32, 64], seeds=2)
>>> table = sx.Lab().run(sweep).to_pandas()
>>> len(table)
8
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "1.0.0"

if TYPE_CHECKING:
    from separatrix.data import Labelled, as_labelled, read_labelled
    from separatrix.diagnosis import Diagnosis, diagnose
    from separatrix.engine import Device, Lab, Ledger, Measure, Plan, Sweep, Table, Trial
    from separatrix.errors import ParameterError, SeparatrixError, UnknownNameError
    from separatrix.learners import (
        Constant,
        Learner,
        Ramp,
        Schedule,
        Stages,
        Status,
        Stop,
        two_step,
    )
    from separatrix.networks import (
        CNN,
        FCN,
        LCN,
        LSA,
        Activation,
        ClippedReLU,
        Initial,
        Network,
        Params,
        ReLU,
        Tanh,
        Views,
        distance,
        embed,
    )
    from separatrix.notes import Note
    from separatrix.probes import (
        PROBES,
        Moment,
        block_eigenvalues,
        critical_sharpness,
        gauss_newton_eigenvalue,
        hessian_trace,
        largest_eigenvalue,
        probe,
        spectral_density,
        top_eigenvalues,
    )
    from separatrix.report import Explanation, NetworkComparison, explain
    from separatrix.report.own_claim import compare
    from separatrix.spec import Spec, choice, size, static, value
    from separatrix.tasks import (
        ConeTask,
        DigitSequenceTask,
        ImageRegressionTask,
        ImageTask,
        PatchSphereTask,
        PatternTask,
        RepeatedPointTask,
        Sample,
        SignalTask,
        SphereTask,
        Task,
        VocabularyTask,
    )

# Names are imported when first used, so that `separatrix --help` need not load JAX. A test keeps
# this list and the one above equal.
_HOMES = {
    "data": ["Labelled", "as_labelled", "read_labelled"],
    "engine": ["Device", "Lab", "Ledger", "Measure", "Plan", "Sweep", "Table", "Trial"],
    "errors": ["ParameterError", "SeparatrixError", "UnknownNameError"],
    "learners": ["Constant", "Learner", "Ramp", "Schedule", "Stages", "Status", "Stop", "two_step"],
    "networks": [
        "CNN",
        "FCN",
        "LCN",
        "LSA",
        "Activation",
        "ClippedReLU",
        "Initial",
        "Network",
        "Params",
        "ReLU",
        "Tanh",
        "Views",
        "distance",
        "embed",
    ],
    "notes": ["Note"],
    "report": ["Explanation", "NetworkComparison", "explain"],
    "report.own_claim": ["compare"],
    "probes": [
        "PROBES",
        "Moment",
        "block_eigenvalues",
        "critical_sharpness",
        "gauss_newton_eigenvalue",
        "hessian_trace",
        "largest_eigenvalue",
        "probe",
        "spectral_density",
        "top_eigenvalues",
    ],
    "spec": ["Spec", "choice", "size", "static", "value"],
    "diagnosis": ["Diagnosis", "diagnose"],
    "tasks": [
        "ConeTask",
        "DigitSequenceTask",
        "ImageRegressionTask",
        "ImageTask",
        "PatchSphereTask",
        "PatternTask",
        "RepeatedPointTask",
        "Sample",
        "SignalTask",
        "SphereTask",
        "Task",
        "VocabularyTask",
    ],
}

__all__ = [
    "CNN",
    "FCN",
    "LCN",
    "LSA",
    "PROBES",
    "Activation",
    "ClippedReLU",
    "ConeTask",
    "Constant",
    "Device",
    "Diagnosis",
    "DigitSequenceTask",
    "Explanation",
    "ImageRegressionTask",
    "ImageTask",
    "Initial",
    "Lab",
    "Labelled",
    "Learner",
    "Ledger",
    "Measure",
    "Moment",
    "Network",
    "NetworkComparison",
    "Note",
    "ParameterError",
    "Params",
    "PatchSphereTask",
    "PatternTask",
    "Plan",
    "Ramp",
    "ReLU",
    "RepeatedPointTask",
    "Sample",
    "Schedule",
    "SeparatrixError",
    "SignalTask",
    "Spec",
    "SphereTask",
    "Stages",
    "Status",
    "Stop",
    "Sweep",
    "Table",
    "Tanh",
    "Task",
    "Trial",
    "UnknownNameError",
    "Views",
    "VocabularyTask",
    "__version__",
    "as_labelled",
    "block_eigenvalues",
    "choice",
    "compare",
    "critical_sharpness",
    "diagnose",
    "distance",
    "embed",
    "explain",
    "gauss_newton_eigenvalue",
    "hessian_trace",
    "largest_eigenvalue",
    "probe",
    "read_labelled",
    "size",
    "spectral_density",
    "static",
    "top_eigenvalues",
    "two_step",
    "value",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"separatrix.{home}"), name)
    raise AttributeError(f"module 'separatrix' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
