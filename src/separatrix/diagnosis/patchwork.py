"""The geometry of the patches that windows see, beside that of as many pixels from anywhere."""

import numpy as np
from threadpoolctl import threadpool_limits

from separatrix.diagnosis.bench import SHARED, SHARED_PIXELS, Bench
from separatrix.diagnosis.explain import Geometry
from separatrix.geometry import depth_area, elbow, tukey_depth
from separatrix.inference.intervals import mean_over_seeds

SEEDS, ROWS, POINTS, DIRECTIONS = 4, 300, 500, 200
ENOUGH, MOST = (
    500_000,
    5_000_000,
)  # numbers in the patches of an elbow, and in all patches that are cut


def patch_geometry(bench: Bench, field: int) -> tuple[Geometry, ...]:
    """PCA elbow at 90 % and Tukey depth area of windows and of scattered pixels, over splits; empty
    where there is no time for two splits.

    Both kinds get the same number of points and directions, since both bias the depth.

    >>> from separatrix.data.labelled import as_labelled
    >>> from separatrix.engine import Lab
    >>> from separatrix.diagnosis.settings import Settings
    >>> data = as_labelled(np.random.default_rng(0).normal(size=(60, 8)), np.arange(60) % 2)
    >>> [each.patches for each in patch_geometry(Bench(data, Settings(), Lab()), 3)]
    ['windows', 'scattered pixels']
    """
    kinds = {"windows": SHARED, "scattered pixels": SHARED_PIXELS}
    elbows: dict[str, list[int]] = {kind: [] for kind in kinds}
    areas: dict[str, list[float]] = {kind: [] for kind in kinds}
    numbers, points, slowest = 0, 0, 0.0
    for split in range(SEEDS):
        before = bench.left
        if before <= 1.2 * slowest:
            break
        learn = bench.rows(split)[0]
        x = learn.x[
            : min(
                ROWS,
                int(learn.count),
                max(2, MOST // (bench.sight(SHARED, field).places.size * learn.x.shape[-1])),
            )
        ]
        for kind, arm in kinds.items():
            patches = x[:, bench.sight(arm, field, split).places, :]
            numbers = patches.shape[2] * patches.shape[3]
            patches = patches.reshape(-1, numbers)
            order = np.random.default_rng([bench.settings.seed, split, 16]).permutation(
                len(patches)
            )
            points = min(POINTS, len(patches))
            with threadpool_limits(
                1
            ):  # small matrices: on a busy machine threads wait for one another
                elbows[kind].append(elbow(patches[order[: max(points, ENOUGH // numbers)]]))
                areas[kind].append(
                    depth_area(tukey_depth(patches[order[:points]], DIRECTIONS, split))
                )
        slowest = max(slowest, before - bench.left)
    if len(areas["windows"]) < 2:
        return ()
    level = bench.settings.level
    return tuple(
        Geometry(
            kind,
            numbers,
            points,
            DIRECTIONS,
            mean_over_seeds(np.array(elbows[kind], float), level),
            mean_over_seeds(np.array(areas[kind]), level),
        )
        for kind in kinds
    )
