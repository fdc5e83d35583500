"""Made-up rows of the study `stability`, from truths that are known."""

import numpy as np

from separatrix.studies.stability.settings import StabilitySettings
from separatrix.studies.stability.trials import StabilityCell

S = StabilitySettings().replace(
    sphere={
        "dimensions": (40, 80, 160),
        "patches": (5, 10, 20),
        "samples": (64, 256, 1024, 4096),
        "unshared": (10,),
        "unit_norm": (10,),
    },
    mixing={"views": (0, 20, 40)},
)


def row(seed=0, **changes):
    """One run, at the edge unless changed."""
    base = {
        "status": "exhausted",
        "seed": seed,
        "sharpness": 10.0,
        "steps": 1000,
        "regression.gap": 1.0,
        "regression.mse": 0.5,
        "regression.noise": 1.0,
        "regression.fitted": 0.9,
        "regression.excess": 0.5,
        "regression.constant": 0.2,
        "activation.weighted": 0.3,
        "trace.loss": [1.0, 0.5, 0.3, 0.2, 0.1],
        "trace.risk": [1.0, 0.3, 0.5],
        "trace.sharpness": [8.0, 10.0],
        "trace.weighted_path_norm": [1.0, 2.0],
        "trace.weighted_path_norm.allowance": [0.5, 0.4],
    }
    return base | changes


def spread(mean, seeds=6, seed=0, wide=0.05):
    """Positive numbers about a mean, one per seed."""
    return (mean * np.exp(wide * np.random.default_rng(seed).standard_normal(seeds))).tolist()


def several(values, name="regression.gap", **changes):
    """One run per value."""
    return [row(seed, **{name: value}, **changes) for seed, value in enumerate(values)]


def sphere(gap, network="CNN", variant="", wide=0.05, seeds=4, mse=None, **changes):
    """Rows of the sphere from functions of (d, m, n); a full network has m = 0."""
    out = {}
    for d in S.sphere.dimensions:
        for m in (0,) if network == "FCN" else S.sphere.patches_of(d):
            for n in S.sphere.samples_of(d):
                values = spread(gap(d, m, n), seeds, seed=1000 * d + 100 * m + n, wide=wide)
                more = {} if mse is None else {"regression.mse": mse(d, m, n)}
                cell = StabilityCell("sphere", network, d, n, m, variant)
                out[cell] = several(values, **more, **changes)
    return out
