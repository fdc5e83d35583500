"""The PCA elbow: how many directions hold most of the variance."""

import numpy as np
from jaxtyping import Float

from separatrix.errors import ParameterError, check_number


def explained(points: Float[np.ndarray, "count span"]) -> Float[np.ndarray, " rank"]:
    """The share of the variance along each principal direction, the largest first.

    >>> explained(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -0.5]])).tolist()
    [0.8, 0.2]
    """
    if points.ndim != 2 or len(points) < 2:
        raise ParameterError("explained", "points", "at least two points, as rows", points.shape)
    centred = points - points.mean(0)
    if len(points) >= points.shape[1]:
        spread = np.linalg.eigvalsh(centred.T @ centred)[::-1]
    else:
        spread = np.linalg.eigvalsh(centred @ centred.T)[::-1]
    spread = np.maximum(spread, 0.0)
    total = spread.sum()
    return spread / total if total > 0 else spread


def elbow(points: Float[np.ndarray, "count span"], share: float = 0.9) -> int:
    """The smallest number of principal directions that hold at least `share` of the variance.

    >>> elbow(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.5], [0.0, -0.5]]), share=0.75)
    1
    """
    check_number("elbow", "share", share, 0, 1, open_low=True)
    shares = explained(points)
    if not shares.any():
        return 0  # all points are one
    return int(min(np.searchsorted(np.cumsum(shares), share - 1e-12) + 1, len(shares)))
