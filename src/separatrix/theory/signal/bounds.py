"""The four sample-size bounds of Lahoti et al., up to constants, with their conditions.

The bounds are quoted from the abstract and summary of the paper, without constants. So a value is a
scale and not a guarantee: only ratios and growth can be compared with measurements.
"""

import dataclasses
import math
from collections.abc import Callable

from separatrix.errors import check_integer, check_number
from separatrix.theory.common import Condition


@dataclasses.dataclass(frozen=True)
class SampleBound:
    """A bound on the number of samples, as a function of k patches, d dimensions and noise σ.

    >>> [bound.value(10, 20, 0.1) for bound in BOUNDS if bound.name == "FCN lower"]
    [20.0]
    """

    name: str
    network: str
    side: str
    formula: str
    function: Callable[[int, int, float], float]

    def value(self, patches: int, dimension: int, noise: float) -> float:
        """The bound with its constant taken as 1."""
        check_integer("a sample bound", "patches", patches, low=1)
        check_integer("a sample bound", "dimension", dimension, low=1)
        check_number("a sample bound", "noise", noise, low=0, open_low=True)
        return round(self.function(patches, dimension, noise), 12)

    def conditions(
        self,
        patches: int,
        dimension: int,
        noise: float,
        bias: float,
        equivariant: bool | None = None,
    ) -> tuple[Condition, ...]:
        """The conditions of the bound at the sizes of an experiment."""
        root = 1 / math.sqrt(patches)
        shared = Condition(
            f"σ at most about 1/√k (here {noise:.3g} against {root:.3g})",
            noise <= root * (1 + 1e-9),
        )
        if self.network != "FCN":
            return (shared,)
        return (
            shared,
            Condition("the algorithm is equivariant under O(kd)", equivariant),
            Condition(f"the final bias is at least 0.01 (here {bias:g})", bias >= 0.01),
            Condition("k is at most exponential in d", patches <= math.exp(min(dimension, 700))),
        )


def _log(patches: int, dimension: int) -> float:
    return math.log(max(patches * dimension, 2))


BOUNDS = (
    SampleBound(
        "CNN upper", "CNN", "upper", "σ²(k+d) ln(kd)", lambda k, d, s: s * s * (k + d) * _log(k, d)
    ),
    SampleBound(
        "LCN upper",
        "LCN",
        "upper",
        "σ²k(k+d) ln(kd)",
        lambda k, d, s: s * s * k * (k + d) * _log(k, d),
    ),
    SampleBound("LCN lower", "LCN", "lower", "σ²kd", lambda k, d, s: s * s * k * d),
    SampleBound("FCN lower", "FCN", "lower", "σ²k²d", lambda k, d, s: s * s * k * k * d),
)


def bounds_for(network: str) -> tuple[SampleBound, ...]:
    """The bounds for a network, `CNN`, `LCN` or `FCN`.

    >>> [bound.name for bound in bounds_for("LCN")]
    ['LCN upper', 'LCN lower']
    """
    return tuple(bound for bound in BOUNDS if bound.network == network)
