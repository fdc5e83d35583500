"""Probes: what is measured on a trial, on a schedule, inside the compiled loop."""

from separatrix.probes.alignment import along, unit_mean
from separatrix.probes.base import PROBES, Moment, Probe, find_probe, probe, require_direction
from separatrix.probes.norms import norm
from separatrix.probes.risk import network_risk, sign_risk

__all__ = [
    "PROBES", "Moment", "Probe", "along", "find_probe", "network_risk", "norm", "probe", "require_direction", "sign_risk",
    "unit_mean",
]  # fmt: skip
