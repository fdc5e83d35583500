"""Tasks: distributions with known structure."""

from separatrix.tasks.base import Sample, Task
from separatrix.tasks.patterns import PatternTask, PatternTruth
from separatrix.tasks.signal import SignalTask

__all__ = ["PatternTask", "PatternTruth", "Sample", "SignalTask", "Task"]
