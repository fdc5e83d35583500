"""Tukey's half-space depth: the smallest share of the points in any half-space that holds a point.

The depth over finitely many directions is never below the true depth: it is biased upwards, more so
in many dimensions and with few directions. Compare depths only at equal numbers of points and
directions. In one and two dimensions `exact_depth` has no bias.
"""

import numpy as np
from jaxtyping import Float

from separatrix.errors import ParameterError, check_integer


def tukey_depth(
    points: Float[np.ndarray, "count span"], directions: int = 1000, seed: int = 0, refine: int = 0
) -> Float[np.ndarray, " count"]:
    """The depth of every point among all of them, over random directions: an upper bound of the
    true depth.

    `refine` rounds of search then turn each point's best direction a little, ever less, and keep
    what lowers its depth: worth its cost in small dimensions, where random directions alone already
    come near.

    >>> square = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> tukey_depth(square, directions=200).tolist()  # the middle lies with half of the others on either side
    [0.6, 0.2, 0.2, 0.2, 0.2]
    """
    if points.ndim != 2 or len(points) < 2:
        raise ParameterError("tukey_depth", "points", "at least two points, as rows", points.shape)
    check_integer("tukey_depth", "directions", directions, 1)
    count, span = points.shape
    rng = np.random.default_rng([seed, 3])
    best, which = np.full(count, count), np.zeros((count, span), points.dtype)
    for begin in range(0, directions, 64):
        turned = rng.standard_normal((min(64, directions - begin), span)).astype(points.dtype)
        for direction, along in zip(turned, (points @ turned.T).T):
            order = np.sort(along)
            above = count - np.searchsorted(order, along, "left")  # including the point itself
            below = np.searchsorted(order, along, "right")
            fewer = np.minimum(above, below)
            better = fewer < best
            best[better] = fewer[better]
            which[better] = np.where((above <= below)[better, None], direction, -direction)
    for round_ in range(refine):
        size = (
            np.linalg.norm(which, axis=1, keepdims=True)
            / np.sqrt(span)
            * 0.5 ** (round_ / max(refine, 1) * 6)
        )
        tried = which + size * rng.standard_normal(which.shape)
        counts = _half_space_counts(points, tried)
        better = counts < best
        best[better], which[better] = counts[better], tried[better]
    return best / count


def _half_space_counts(points: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """How many points lie in the half-space of each point's own direction; in blocks, to bound
    memory.
    """
    out = np.empty(len(points), int)
    for begin in range(0, len(points), 256):
        part = slice(begin, begin + 256)
        own = np.einsum("ij,ij->i", points[part], directions[part])
        # A little slack, so that the point itself and its twins count whatever the rounding.
        along = directions[part] @ points.T
        slack = 1e-9 * np.abs(along).max(1)
        out[part] = (along >= (own - slack)[:, None]).sum(1)
    return out


def exact_depth(points: Float[np.ndarray, "count span"]) -> Float[np.ndarray, " count"]:
    """The exact depth of every point among all of them, in one or two dimensions.

    >>> exact_depth(np.array([[1.0], [2.0], [4.0]])).round(3).tolist()
    [0.333, 0.667, 0.333]
    """
    count, span = points.shape
    if span == 1:
        order = np.sort(points[:, 0])
        above = count - np.searchsorted(order, points[:, 0], "left")
        return np.minimum(above, np.searchsorted(order, points[:, 0], "right")) / count
    if span != 2:
        raise ParameterError("exact_depth", "points", "of one or two dimensions", points.shape)
    return np.array([_exact_in_the_plane(points - point) for point in points]) / count


def _exact_in_the_plane(others: np.ndarray) -> int:
    """The fewest points in a closed half-plane through the origin: only directions between
    neighbouring angles matter.
    """
    away = np.linalg.norm(others, axis=1) > 0
    here = int((~away).sum())
    if not away.any():
        return here
    angles = np.arctan2(others[away, 1], others[away, 0])
    # The count changes where a half-plane's edge passes a point: try the middle of every arc
    # between two changes.
    changes = np.sort(np.concatenate([angles + np.pi / 2, angles - np.pi / 2]) % (2 * np.pi))
    gaps = np.diff(np.concatenate([changes, changes[:1] + 2 * np.pi]))
    middles = (changes + gaps / 2)[gaps > 1e-12]
    inside = np.cos(angles[None, :] - middles[:, None]) > 0
    return here + int(inside.sum(1).min())


def depth_area(depths: Float[np.ndarray, " count"]) -> float:
    """∫₀^½ P(depth ≥ t) dt, which is the mean of min(depth, ½).

    >>> depth_area(np.array([0.1, 0.3, 0.6]))
    0.3
    """
    return float(np.minimum(depths, 0.5).mean())
