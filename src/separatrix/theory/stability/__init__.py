"""Flat minima and generalization: rates and the weighted path norm (Liang et al.

and the two papers it builds on).
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
