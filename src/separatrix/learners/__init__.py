"""Learners: how the parameters move."""

from separatrix.learners.descent import (
    Learner,
    Rows,
    Run,
    descend,
    empirical_loss,
    network_at,
    project,
    two_step,
)
from separatrix.learners.edge import Clipped, clipping, counted_clip, edge_step
from separatrix.learners.losses import LOSSES, correlation, half_squared, hinge, logistic, squared
from separatrix.learners.schedules import Constant, Cosine, Ramp, Schedule, Stages, as_schedule
from separatrix.learners.stopping import Status, Stop

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
