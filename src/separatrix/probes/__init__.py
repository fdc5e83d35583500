"""Probes: what is measured on a trial, on a schedule, inside the compiled loop."""

from separatrix.probes.activation import path_norms, unit_rates
from separatrix.probes.alignment import along, unit_mean
from separatrix.probes.base import PROBES, Moment, Probe, find_probe, probe, require_direction
from separatrix.probes.certificate import certificate_at
from separatrix.probes.coupling import patch_moment
from separatrix.probes.lanczos import (
    Eigenpairs,
    block_eigenvalues,
    lanczos,
    largest_eigenvalue,
    top_eigenvalues,
)
from separatrix.probes.norms import norm
from separatrix.probes.regression import clean_risk, constant_risk, noise_energy
from separatrix.probes.risk import class_risk, network_risk, sign_risk
from separatrix.probes.sharpness import warm_start
from separatrix.probes.spectrum import (
    SpectralDensity,
    TraceEstimate,
    critical_sharpness,
    gauss_newton_eigenvalue,
    hessian_trace,
    spectral_density,
)

__all__ = [
    "PROBES",
    "Eigenpairs",
    "Moment",
    "Probe",
    "SpectralDensity",
    "TraceEstimate",
    "along",
    "block_eigenvalues",
    "certificate_at",
    "class_risk",
    "clean_risk",
    "constant_risk",
    "critical_sharpness",
    "find_probe",
    "gauss_newton_eigenvalue",
    "hessian_trace",
    "lanczos",
    "largest_eigenvalue",
    "network_risk",
    "noise_energy",
    "norm",
    "patch_moment",
    "path_norms",
    "probe",
    "require_direction",
    "sign_risk",
    "spectral_density",
    "top_eigenvalues",
    "unit_mean",
    "unit_rates",
    "warm_start",
]
