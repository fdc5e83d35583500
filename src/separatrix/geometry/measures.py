"""Measures of patch geometry: the PCA elbow, and depths, for every scheme.

The elbow is the number of principal directions that hold most of the variance. Tukey's half-space
depth of a point is the smallest share of all points in any half-space that contains it. Over
finitely many random directions it becomes the *projected depth*, which is never below the true
depth and biased upwards, more so in many dimensions and with few directions: 1000 points of N(0, I)
in 48 dimensions have a projected depth area of about .0025 with 500 directions, where the true one
is 3e-9. Tukey's depth does not change with the axes' scales, the projected depth does: points with
few strong axes look deep. `whitened_depth` measures what is left when all axes are equally strong.
Compare depths only at equal numbers of points and directions. In one and two dimensions
`exact_depth` has no bias.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np
from jaxtyping import Float

from separatrix.errors import ParameterError, SeparatrixError, check_integer, check_number
from separatrix.geometry.schemes import SCHEMES, cut_patches, one_span


def explained(points: Float[np.ndarray, "count span"]) -> Float[np.ndarray, " rank"]:
    """The share of the variance along each principal direction, largest first.

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
        return 0  # all points are equal
    return int(min(np.searchsorted(np.cumsum(shares), share - 1e-12) + 1, len(shares)))


def projected_depth(
    points: Float[np.ndarray, "count span"], directions: int = 1000, seed: int = 0, refine: int = 0
) -> Float[np.ndarray, " count"]:
    """The depth of every point over random directions, an upper bound of its half-space depth.

    Args:
        points: The points, one per row.
        directions: The number of random directions.
        seed: The seed of the directions.
        refine: Rounds of local search that perturb the best direction of each point by smaller and
            smaller steps and keep what lowers its depth; useful in small dimensions.

    >>> square = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> projected_depth(square, directions=200).tolist()
    [0.6, 0.2, 0.2, 0.2, 0.2]
    """
    if points.ndim != 2 or len(points) < 2:
        raise ParameterError(
            "projected_depth", "points", "at least two points, as rows", points.shape
        )
    check_integer("projected_depth", "directions", directions, 1)
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


def whiten(points: Float[np.ndarray, "count span"]) -> Float[np.ndarray, "count rank"]:
    """Points in their principal axes, centred, with variance 1 along each; axes without variance
    are left out.

    >>> points = [[3.0, 0.0, 1.0], [-3.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, -1.0, 1.0]]
    >>> whiten(np.array(points)).shape
    (4, 2)
    """
    if points.ndim != 2 or len(points) < 2:
        raise ParameterError("whiten", "points", "at least two points, as rows", points.shape)
    centred = (points - points.mean(0)).astype(np.float64)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    kept = sizes > 1e-6 * max(float(sizes[0]), 1e-300)
    return left[:, kept] * np.sqrt(len(points))


def whitened_depth(
    points: Float[np.ndarray, "count span"], directions: int = 1000, seed: int = 0
) -> Float[np.ndarray, " count"]:
    """The projected depth of the whitened points, which the scales of the axes do not change.

    Args:
        points: The points, one per row.
        directions: The number of random directions.
        seed: The seed of the directions.

    >>> square = np.array([[0.0, 0.0], [1.0, 9.0], [1.0, -9.0], [-1.0, 9.0], [-1.0, -9.0]])
    >>> whitened_depth(square, directions=200).tolist()
    [0.6, 0.2, 0.2, 0.2, 0.2]
    """
    white = whiten(points)
    if not white.shape[1]:
        return np.ones(len(points))  # all points are equal
    return projected_depth(white, directions, seed)


def _half_space_counts(points: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """How many points lie in the half-space of each point's direction, computed in blocks to bound
    memory.
    """
    out = np.empty(len(points), int)
    for begin in range(0, len(points), 256):
        part = slice(begin, begin + 256)
        levels = np.einsum("ij,ij->i", points[part], directions[part])
        # Slack for rounding: the point itself and its duplicates must count.
        along = directions[part] @ points.T
        slack = 1e-9 * np.abs(along).max(1)
        out[part] = (along >= (levels - slack)[:, None]).sum(1)
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
    """The fewest points in a closed half-plane through the origin; one direction per arc between
    neighbouring angles is enough.
    """
    away = np.linalg.norm(others, axis=1) > 0
    here = int((~away).sum())
    if not away.any():
        return here
    angles = np.arctan2(others[away, 1], others[away, 0])
    # The count changes where the edge of the half-plane passes a point: try the middle of every
    # arc between two changes.
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


ENOUGH = 20_000  # patches for an elbow
FEW_IMAGES = 2000  # up to so many, one thread is faster than several


@dataclasses.dataclass(frozen=True)
class SchemeGeometry:
    """Elbows and depth areas of one scheme, one number per seed, and how many points and directions
    they come from.

    `projected` are areas of the projected depth, `whitened` of the whitened depth.
    """

    scheme: str
    span: int
    points: int
    directions: int
    elbows: tuple[int, ...]
    projected: tuple[float, ...]
    whitened: tuple[float, ...]


def survey(
    images: Float[np.ndarray, "images height width channels"],
    schemes: Iterable[str] = tuple(SCHEMES),
    side: int = 4,
    points: int = 1000,
    directions: int = 500,
    seeds: Iterable[int] = range(5),
) -> list[SchemeGeometry]:
    """Measure the elbow and the depth areas of every scheme on the same images.

    Every seed draws a new half of the images. All schemes get the same number of points (or as many
    as there are) and directions, because both bias the depth.

    Args:
        images: At least four images.
        schemes: Names of `SCHEMES`.
        side: The side of a patch in pixels.
        points: The number of patches drawn for the depth.
        directions: The number of random directions of the depth.
        seeds: The seeds.

    >>> images = np.random.default_rng(0).random((40, 8, 8, 1)).astype(np.float32)
    >>> rows = survey(images, ["conv", "whole image"], points=20, directions=10, seeds=range(2))
    >>> for row in rows:
    ...     print(row.scheme, row.span)
    conv 16
    whole image 64
    """
    check_integer("survey", "points", points, 2)
    check_integer("survey", "directions", directions, 1)
    if len(images) < 4:
        raise SeparatrixError(f"the geometry of patches needs at least 4 images, got {len(images)}")
    from threadpoolctl import threadpool_limits

    seeds = list(seeds)
    # On small matrices threads wait for each other: beside two busy workers they took seven times
    # the processor time.
    with threadpool_limits(1 if len(images) <= FEW_IMAGES else None):
        return [_measured(images, scheme, side, points, directions, seeds) for scheme in schemes]


def _measured(
    images: Float[np.ndarray, "images height width channels"],
    scheme: str,
    side: int,
    points: int,
    directions: int,
    seeds: list[int],
) -> SchemeGeometry:
    # A whole image is one patch, so this scheme has few points; the others get no more, because
    # the number of points biases the depth.
    most = min(points, len(images) // 2)
    elbows, projected, whitened, used = [], [], [], most
    for seed in seeds:
        rng = np.random.default_rng([seed, 0])
        half = rng.choice(len(images), size=len(images) // 2, replace=False)
        # The elbow of whole images needs all of them; patches of `most` images are enough for
        # the other schemes.
        patches = cut_patches(
            images[half if scheme == "whole image" else half[:most]], scheme, side, seed
        )
        order = rng.permutation(len(patches))
        used = min(most, len(patches))
        elbows.append(elbow(patches[order[:ENOUGH]]))
        some = patches[order[:used]]
        projected.append(depth_area(projected_depth(some, directions, seed)))
        whitened.append(depth_area(whitened_depth(some, directions, seed)))
    return SchemeGeometry(
        scheme,
        one_span(scheme, images.shape, side),
        used,
        directions,
        tuple(elbows),
        tuple(projected),
        tuple(whitened),
    )
