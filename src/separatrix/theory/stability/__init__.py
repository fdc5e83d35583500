"""Liang et al.: flat minima and generalization, with rates and the weighted path norm of this paper
and the two that it builds on.
"""

from separatrix.theory.stability.certificate import (
    Certificate,
    half_tail_weight,
    path_certificate,
    tail_weight,
)
from separatrix.theory.stability.rates import (
    Rate,
    ball_mixture,
    flat_interpolation,
    full_on_ball,
    full_on_sphere,
    radial,
    rates_for,
    shared_on_sphere,
)

__all__ = [
    "Certificate",
    "Rate",
    "ball_mixture",
    "flat_interpolation",
    "full_on_ball",
    "full_on_sphere",
    "half_tail_weight",
    "path_certificate",
    "radial",
    "rates_for",
    "shared_on_sphere",
    "tail_weight",
]
