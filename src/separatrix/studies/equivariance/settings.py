"""Sizes of the equivariance audit, at each scale."""

from separatrix.studies.settings import Settings, at_scales


class EquivarianceSettings(Settings, of="equivariance"):
    """The task, the training and the number of draws from each group."""

    patches: int = 6
    dimension: int = 5
    noise: float = 0.3
    bias: float = 0.3
    samples: int = 200
    steps: int = 60
    draws: int = 8
    seed: int = 0


SCALES = at_scales(
    EquivarianceSettings(),
    quick={"draws": 6},
    laptop={"patches": 10, "dimension": 10, "samples": 1000, "steps": 200, "draws": 16},
    full={"patches": 20, "dimension": 20, "samples": 4000, "steps": 200, "draws": 12},
)
