"""Learners: how the parameters move."""

from separatrix.learners.clipping import Clipped, clipping, counted_clip
from separatrix.learners.descent import Rows, Run, descend, empirical_loss, project
from separatrix.learners.learner import Learner, network_at, two_step
from separatrix.learners.losses import LOSSES, correlation, half_squared, hinge, logistic, squared
from separatrix.learners.schedules import Constant, Cosine, Ramp, Schedule, Stages, as_schedule
from separatrix.learners.stopping import Status, Stop, edge_step

__all__ = [
    "LOSSES",
    "Clipped",
    "Constant",
    "Cosine",
    "Learner",
    "Ramp",
    "Rows",
    "Run",
    "Schedule",
    "Stages",
    "Status",
    "Stop",
    "as_schedule",
    "clipping",
    "correlation",
    "counted_clip",
    "descend",
    "edge_step",
    "empirical_loss",
    "half_squared",
    "hinge",
    "logistic",
    "network_at",
    "project",
    "squared",
    "two_step",
]
