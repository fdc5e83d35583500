"""Rates at which the generalization gap of flat (stable) networks falls with the sample size.

A rate is the exponent e of n^{-e}. Constants and logarithms are not known here, so only slopes can
be compared with measurements. Sources: Neural Shattering (arXiv 2506.20779), Data Geometry (arXiv
2510.18120), and Liang et al. (arXiv 2603.04807). Formulas marked `reconstruction` are rebuilt from
the abstract of the last paper and not quoted from its theorems.
"""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import ParameterError
from separatrix.theory.common import Condition, Values, flags, grid, plain

SHATTERING = "Neural Shattering, arXiv 2506.20779"
GEOMETRY = "Data Geometry, arXiv 2510.18120"
LIANG = "Liang et al., arXiv 2603.04807"


@dataclasses.dataclass(frozen=True)
class Rate:
    """Exponents of n in bounds on the gap of networks below the edge of stability, up to constants
    and logarithms.

    Every flat network has a gap ≲ n^{-upper}, and some flat network has a gap ≳ n^{-lower}; None if
    the papers have no such bound. `reconstruction` marks formulas that are not quoted from a paper.

    >>> full_on_ball(8).value(1e4, "upper")
    0.6309573444801932
    """

    network: str
    inputs: str
    upper: Values | None
    lower: Values | None
    source: str
    conditions: tuple[Condition, ...] = ()
    reconstruction: bool = False

    def value(self, samples: ArrayLike, side: str = "upper") -> Values:
        """n^{-exponent}: the bound with its constant taken as 1."""
        exponent = {"upper": self.upper, "lower": self.lower}.get(side)
        if exponent is None:
            raise ParameterError("Rate", "side", "one that the papers have a bound for", side)
        count = grid("Rate", "samples", samples, low=1)
        return plain(count ** -np.asarray(exponent))

    @property
    def label(self) -> str:
        """The rate in words, marked [reconstruction] if it is one."""
        mark = " [reconstruction]" if self.reconstruction else ""
        return f"{self.network} on {self.inputs}{mark} ({self.source})"


BELOW_EDGE = "the network is below the edge of stability: sharpness at most 2/η"


def full_on_ball(dimension: ArrayLike) -> Rate:
    """Fully connected networks on the uniform ball: upper n^{-1/(2d+4)}, lower n^{-2/(d+1)}.

    >>> rate = full_on_ball([1, 8])
    >>> rate.upper, rate.lower
    (array([0.16666667, 0.05      ]), array([1.        , 0.22222222]))
    """
    d = grid("full_on_ball", "dimension", dimension, low=1, whole=True)
    return Rate(
        "fully connected",
        "the uniform ball",
        plain(1 / (2 * d + 4)),
        plain(2 / (d + 1)),
        SHATTERING,
        (Condition(BELOW_EDGE, None),),
    )


def full_on_sphere() -> Rate:
    """Fully connected networks on the sphere: flatness guarantees nothing, because flat networks
    interpolate (`flat_interpolation`).

    >>> full_on_sphere().upper
    0.0
    """
    return Rate("fully connected", "the sphere", 0.0, 0.0, GEOMETRY, (Condition(BELOW_EDGE, None),))


def flat_interpolation(samples: ArrayLike, reach: ArrayLike) -> Values:
    """The sharpness at which some fully connected network interpolates any n labels on the sphere:
    at most 1 + (D² + 2)/n.

    `reach` is D, the largest label in absolute value. It is below the edge 2/η for every ordinary
    step size.

    >>> flat_interpolation(512, 3.0)
    1.021484375
    """
    n = grid("flat_interpolation", "samples", samples, low=1)
    largest = grid("flat_interpolation", "reach", reach, low=0)
    return plain(1 + (largest**2 + 2) / n)


def ball_mixture(patch: ArrayLike) -> Rate:
    """Mixtures of m-dimensional balls in any ambient space: n^{-1/(2m+4)}, by the intrinsic
    dimension.

    >>> ball_mixture(3).upper
    0.1
    """
    m = grid("ball_mixture", "patch", patch, low=1, whole=True)
    return Rate(
        "fully connected",
        "a mixture of m-dimensional balls",
        plain(1 / (2 * m + 4)),
        None,
        GEOMETRY,
        (Condition(BELOW_EDGE, None),),
    )


def radial(dimension: ArrayLike, alpha: ArrayLike) -> Rate:
    """Isotropic inputs whose mass near the boundary is of order α: P(|x| > 1 - ε) ~ ε^α (1 is the
    ball, 0 the sphere).

    Upper n^{-α(d+3)/(2(d²+4αd+3α))}, lower n^{-2α/(d-1+2α)}.

    >>> radial(8, 1.0).lower == full_on_ball(8).lower
    True
    >>> radial(8, 0.0).upper
    0.0
    """
    d = grid("radial", "dimension", dimension, low=1, whole=True)
    a = grid("radial", "alpha", alpha, low=0)
    upper = a * (d + 3) / (2 * (d**2 + 4 * a * d + 3 * a))
    with np.errstate(invalid="ignore"):  # 0/0 at d = 1, α = 0, where the sphere is two points
        lower = 2 * a / (d - 1 + 2 * a)
    lower = np.where((d == 1) & (a == 0), 0.0, lower)
    return Rate(
        "fully connected",
        "the radial family",
        plain(upper),
        plain(lower),
        GEOMETRY,
        (Condition(BELOW_EDGE, None),),
    )


def shared_on_sphere(patch: ArrayLike, dimension: ArrayLike) -> Rate:
    """Shared local networks with receptive field m on the sphere of d dimensions: n^{-1/6 +
    O(m/d)}.

    The paper's abstract gives the limit 1/6; the exponent (d-m)/(2(3d-m)), which has that limit, is
    a [reconstruction].

    >>> rate = shared_on_sphere(10, 50)
    >>> round(rate.upper, 4), rate.reconstruction
    (0.1429, True)
    >>> shared_on_sphere(60, 50)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `patch` of shared_on_sphere must be an integer in [1, 50],
        got 60
    """
    d = grid("shared_on_sphere", "dimension", dimension, low=1, whole=True)
    m = grid("shared_on_sphere", "patch", patch, low=1, high=d, whole=True)
    small: Any = flags(m <= d / 4)
    conditions = (
        Condition(BELOW_EDGE, None),
        Condition("m is small against d (here taken as m ≤ d/4)", small),
    )
    return Rate(
        "shared local",
        "the sphere",
        plain((d - m) / (2 * (3 * d - m))),
        None,
        LIANG,
        conditions,
        reconstruction=True,
    )


def rates_for(patch: int, dimension: int) -> tuple[Rate, ...]:
    """The rates of networks on the sphere and the ball of `dimension`, with receptive fields of
    `patch`.

    >>> [rate.reconstruction for rate in rates_for(10, 50)]
    [True, False, False]
    """
    return shared_on_sphere(patch, dimension), full_on_sphere(), full_on_ball(dimension)
