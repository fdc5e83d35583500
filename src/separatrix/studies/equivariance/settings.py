"""Sizes of the equivariance audit, at each scale."""

from separatrix.studies.settings import Settings, at_scales, setting


class EquivarianceSettings(Settings, of="equivariance"):
    """The task, the training and the number of draws from each group."""

    patches: int = setting(default=6, low=1)
    dimension: int = setting(default=5, low=1)
    noise: float = setting(default=0.3, low=0, open_low=True)
    bias: float = setting(default=0.3, low=0)
    samples: int = setting(default=200, low=1)
    steps: int = setting(default=60, low=1)
    draws: int = setting(default=8, low=2)
    seed: int = 0


SCALES = at_scales(
    EquivarianceSettings(),
    quick={"draws": 4, "steps": 30},
    laptop={"patches": 10, "dimension": 10, "samples": 1000, "steps": 200, "draws": 16},
    full={"patches": 20, "dimension": 20, "samples": 4000, "steps": 200, "draws": 12},
)
