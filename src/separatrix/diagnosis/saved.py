"""Labels saved: the ratio of the sample sizes at which two networks reach the same accuracy."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from separatrix.diagnosis.verdict import Saved


def size_reaching(sizes: Sequence[int], curve: Float[np.ndarray, " sizes"], target: float) -> float:
    """The sample size at which a learning curve, straight between its points on a log axis, first
    reaches a target.

    0 where the smallest size already does, infinite where none does.

    >>> round(size_reaching((100, 400), np.array([0.7, 0.9]), 0.8), 6), size_reaching((100, 400), np.array([0.7, 0.9]), 0.95)
    (200.0, inf)
    """
    if curve[0] >= target:
        return 0.0
    for i in range(1, len(sizes)):
        if curve[i] >= target:
            share = (target - curve[i - 1]) / (curve[i] - curve[i - 1])
            return math.exp(math.log(sizes[i - 1]) + share * math.log(sizes[i] / sizes[i - 1]))
    return math.inf


def labels_saved(
    sizes: Sequence[int],
    network: Float[np.ndarray, "splits sizes"],
    against: Float[np.ndarray, "splits sizes"],
    names: tuple[str, str],
    level: float = 0.95,
    draws: int = 500,
) -> Saved | None:
    """How many times fewer labels the first network needs to reach what the second one reaches at
    the largest size.

    Splits are redrawn with replacement, the same for both networks, for the interval. A network
    that is there at the smallest size saves at least the whole ladder; one that never gets there
    saves nothing that could be said.

    >>> rng = np.random.default_rng(0)
    >>> noise = 0.001 * rng.normal(size=(8, 3))
    >>> fast, slow = np.array([0.7, 0.9, 0.95]) + noise, np.array([0.6, 0.7, 0.9]) + noise
    >>> str(labels_saved((100, 400, 1600), fast, slow, ("shared", "full")))
    '4.0 [3.9, 4.0]'
    """
    if len(network) < 2 or len(sizes) < 2:
        return None
    top = sizes[-1]

    def ratio(chosen: np.ndarray) -> float:
        reached = size_reaching(sizes, network[chosen].mean(0), float(against[chosen, -1].mean()))
        return math.inf if reached == 0.0 else top / reached if math.isfinite(reached) else 0.0

    everyone = np.arange(len(network))
    rng = np.random.default_rng(0)  # resampling is deterministic
    found = sorted(ratio(rng.integers(0, len(network), len(network))) for _ in range(draws))
    low, high = (
        found[int((0.5 - level / 2) * draws)],
        found[min(draws - 1, int((0.5 + level / 2) * draws))],
    )
    estimate, target = ratio(everyone), float(against[:, -1].mean())
    most = top / sizes[0]
    if estimate == math.inf:
        return Saved(*names, target, math.nan, most if low == math.inf else low, math.inf, "right")
    if estimate == 0.0:
        return Saved(*names, target, math.nan, 0.0, 1.0 if high == 0.0 else high, "left")
    return Saved(*names, target, estimate, low, high, "none")
