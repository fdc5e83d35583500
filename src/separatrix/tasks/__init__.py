"""Tasks: distributions with known structure."""

from separatrix.tasks.base import Sample, Task
from separatrix.tasks.digits import DigitSequenceTask
from separatrix.tasks.image_regression import ImageRegressionTask
from separatrix.tasks.images import ImageTask
from separatrix.tasks.patterns import PatternTask, PatternTruth
from separatrix.tasks.regression import RegressionTask, Teacher
from separatrix.tasks.signal import SignalTask
from separatrix.tasks.sphere import (
    ConeTask,
    PatchSphereTask,
    RepeatedPointTask,
    SphereTask,
    VocabularyTask,
)

__all__ = [
    "ConeTask",
    "DigitSequenceTask",
    "ImageRegressionTask",
    "ImageTask",
    "PatchSphereTask",
    "PatternTask",
    "PatternTruth",
    "RegressionTask",
    "RepeatedPointTask",
    "Sample",
    "SignalTask",
    "SphereTask",
    "Task",
    "Teacher",
    "VocabularyTask",
]
