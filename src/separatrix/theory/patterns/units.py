"""The activations of one hidden unit as plain functions, with what exact computations need to know
about them.
"""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import check_choice, check_number


@dataclasses.dataclass(frozen=True)
class UnitActivation:
    """ReLU, clipped ReLU min(max(z, 0), ceiling) or tanh, with its derivative.

    At a kink the derivative is `at_kink` (0, as automatic differentiation of ReLU has it; 1/2 is
    the Fourier convention). It matters only where inputs hit a kink exactly, as with weights ±1/√n,
    even n and no bias.

    >>> clipped = UnitActivation("clipped", ceiling=1.0)
    >>> clipped.value([-1.0, 0.5, 3.0]).tolist(), clipped.derivative([-1.0, 0.5, 3.0]).tolist()
    ([0.0, 0.5, 1.0], [0.0, 1.0, 0.0])
    >>> UnitActivation("gelu")
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `name` of UnitActivation must be one of 'relu', 'clipped',
        'tanh', got 'gelu'
    """

    name: str
    ceiling: float = 1.0
    at_kink: float = 0.0

    def __post_init__(self):
        check_choice("UnitActivation", "name", self.name, ["relu", "clipped", "tanh"])
        check_number("UnitActivation", "ceiling", self.ceiling, 0, open_low=True)
        check_number("UnitActivation", "at_kink", self.at_kink, 0, 1)

    @property
    def kinks(self) -> tuple[tuple[float, float], ...]:
        """(change of slope, place) of every kink; none for tanh.

        >>> UnitActivation("clipped", ceiling=2.0).kinks
        ((1.0, 0.0), (-1.0, 2.0))
        """
        return {"relu": ((1.0, 0.0),), "clipped": ((1.0, 0.0), (-1.0, self.ceiling)), "tanh": ()}[
            self.name
        ]

    @property
    def bound(self) -> float:
        """The paper's c, the least upper bound of |σ|; inf for ReLU.

        >>> UnitActivation("relu").bound
        inf
        """
        return {"relu": np.inf, "clipped": self.ceiling, "tanh": 1.0}[self.name]

    def value(self, z: ArrayLike) -> np.ndarray:
        """σ(z).

        >>> UnitActivation("relu").value([-2.0, 2.0]).tolist()
        [0.0, 2.0]
        """
        z = np.asarray(z, np.float64)
        if self.name == "tanh":
            return np.tanh(z)
        return np.clip(z, 0.0, self.ceiling if self.name == "clipped" else None)

    def derivative(self, z: ArrayLike) -> np.ndarray:
        """σ'(z).

        >>> UnitActivation("relu").derivative([-2.0, 0.0, 2.0]).tolist()
        [0.0, 0.0, 1.0]
        """
        z = np.asarray(z, np.float64)
        if self.name == "tanh":
            return 1.0 - np.tanh(z) ** 2
        # A sum of n weights is exact to a few ulps of the largest; anything nearer to a kink than
        # that is on it.
        near = 64 * np.finfo(np.float64).eps * float(np.abs(z).max(initial=0.0))
        slope = np.zeros_like(z)
        for change, place in self.kinks:
            slope += change * (z > place + near)
        for _, place in self.kinks:
            slope = np.where(np.abs(z - place) <= near, self.at_kink, slope)
        return slope

    def vanishes(self, degree: int, bias: float, *, derivative: bool, ties: bool = False) -> bool:
        """Whether symmetry makes every Fourier coefficient of this degree exactly 0, as it can at
        one bias.

        Without bias σ'(<w,x>) of ReLU is 1/2 plus an odd function, so even degrees from 2 vanish;
        tanh' is even, so odd ones do; ReLU itself is linear plus even, tanh is odd. Clipped ReLU
        less half its ceiling is odd about the bias ceiling/2. `ties` says that <w,x> can be exactly
        0.

        >>> relu = UnitActivation("relu")
        >>> relu.vanishes(4, 0.0, derivative=True), relu.vanishes(3, 0.0, derivative=True)
        (True, False)
        """
        if self.name == "clipped":
            even = degree % 2 == 0
            return bias == self.ceiling / 2 and (not even if derivative else even and degree >= 2)
        if bias != 0.0:
            return False
        if self.name == "tanh":
            return degree % 2 == (1 if derivative else 0)
        if derivative:
            return degree % 2 == 0 and degree >= 2 and (not ties or self.at_kink == 0.5)
        return degree % 2 == 1 and degree >= 3
