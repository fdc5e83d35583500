"""Every scheme on the same images, over several seeds."""

import dataclasses
from collections.abc import Iterable

import numpy as np
from jaxtyping import Float

from separatrix.errors import SeparatrixError, check_integer
from separatrix.geometry.depth import depth_area, tukey_depth
from separatrix.geometry.elbow import elbow
from separatrix.geometry.schemes import SCHEMES, cut_patches, one_span

ENOUGH = 20_000  # patches for an elbow


@dataclasses.dataclass(frozen=True)
class Measured:
    """Elbows and depth areas of one scheme, a number a seed, and from how many points and
    directions.

    >>> Measured("conv", 48, 100, 50, (4,), (0.03,)).elbows
    (4,)
    """

    scheme: str
    span: int
    points: int
    directions: int
    elbows: tuple[int, ...]
    areas: tuple[float, ...]


def survey(
    images: Float[np.ndarray, "images height width channels"],
    schemes: Iterable[str] = tuple(SCHEMES),
    side: int = 4,
    points: int = 1000,
    directions: int = 500,
    seeds: Iterable[int] = range(5),
) -> list[Measured]:
    """For every scheme and seed: patches of a fresh half of the images, `points` of them at random,
    their elbow and depth area.

    Every scheme gets the same number of points (or as many as there are) and directions, since both
    bias the depth.

    >>> images = np.random.default_rng(0).random((40, 8, 8, 1)).astype(np.float32)
    >>> [each.scheme for each in survey(images, ["conv", "whole image"], points=20, directions=10, seeds=range(2))]
    ['conv', 'whole image']
    """
    check_integer("survey", "points", points, 2)
    check_integer("survey", "directions", directions, 1)
    if len(images) < 4:
        raise SeparatrixError(f"the geometry of patches needs at least 4 images, got {len(images)}")
    seeds = list(seeds)
    # A whole image is one patch: few images must not make the controls look different for that
    # reason alone.
    most = min(points, len(images) // 2)
    out = []
    for scheme in schemes:
        elbows, areas, used = [], [], most
        for seed in seeds:
            rng = np.random.default_rng([seed, 0])
            half = rng.choice(len(images), size=len(images) // 2, replace=False)
            # Whole images are few already, and their elbow needs all of them; patches of `most`
            # images are plenty.
            patches = cut_patches(
                images[half if scheme == "whole image" else half[:most]], scheme, side, seed
            )
            order = rng.permutation(len(patches))
            used = min(most, len(patches))
            elbows.append(elbow(patches[order[:ENOUGH]]))
            areas.append(depth_area(tukey_depth(patches[order[:used]], directions, seed)))
        out.append(
            Measured(
                scheme,
                one_span(scheme, images.shape, side),
                used,
                directions,
                tuple(elbows),
                tuple(areas),
            )
        )
    return out
