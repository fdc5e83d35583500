"""The settings of the study `lazy` at its three scales."""

from separatrix.errors import ParameterError
from separatrix.studies.settings import Settings, at_scales, setting

LARGEST_KERNEL = 16384  # rows; an eigendecomposition takes time in proportion to their cube


class LazySettings(Settings, of="lazy"):
    """What the study varies: the size of each task, and the training sets.

    The cube task is the parity of `window` neighbouring bits among `bits`; the signal task has
    `patches` patches of `dimension` numbers with noise `noise`; the sphere task is a regression on
    a sphere of `sphere` dimensions with a teacher over windows of `patch`. `samples` are the
    training sets. A learner has learnt the cube and the signal when its risk is at most
    `risk_target`, the sphere when its error is at most `error_target` of the best constant's.
    On `check_rows` further rows a kernel chooses its ridge and a trained network its best moment.
    `networks` trains finite networks beside the kernels, on the cube and the signal, with `filters`
    filters and `steps` steps on the cube.
    """

    window: int = setting(default=3, low=1, high=8)
    bits: tuple[int, ...] = setting(default=(8,), low=2, high=256)
    patches: tuple[int, ...] = setting(default=(4,), low=2, high=256)
    dimension: int = setting(default=8, low=1, high=256)
    noise: float = setting(default=0.3, low=0, open_low=True)
    sphere: tuple[int, ...] = setting(default=(16,), low=4, high=256)
    patch: int = setting(default=4, low=1, high=64)
    samples: tuple[int, ...] = setting(default=(16, 64), low=8, high=LARGEST_KERNEL)
    risk_target: float = setting(default=0.15, low=0, high=0.5, open_low=True)
    error_target: float = setting(default=0.2, low=0, high=1, open_low=True)
    seeds: int = setting(default=3, low=2)
    test: int = setting(default=128, low=1)
    check_rows: int = setting(default=64, low=1)
    networks: bool = False
    filters: int = setting(default=64, low=1)
    steps: int = setting(default=600, low=1)
    rate: float = setting(default=0.01, low=0, open_low=True)
    seed: int = 0

    def check(self) -> None:
        if list(self.samples) != sorted(set(self.samples)) or len(self.samples) < 2:
            allowed = "two or more ascending sizes"
            raise ParameterError(self.owner, "samples", allowed, self.samples)
        if self.bits and min(self.bits) < self.window:
            allowed = f"at least the window ({self.window})"
            raise ParameterError(self.owner, "bits", allowed, min(self.bits))
        for dimension in self.sphere:
            if dimension % self.patch:
                allowed = f"multiples of the patch ({self.patch})"
                raise ParameterError(self.owner, "sphere", allowed, dimension)


# What a seed needs lies between two training sets, so a coarse ladder hides ratios from any number
# of seeds. Where seeds scatter by a factor of 1.3, powers of √2 with 16 seeds show a ratio of 3 in
# 39 of 40 simulated runs; powers of 2 with 32 seeds in 5 of 40.
LADDER = (16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512, 724, 1024, 1448, 2048)
LARGE = {
    "bits": (8, 12, 16),
    "patches": (8, 16),
    "sphere": (16, 32),
    "samples": LADDER,
    "networks": True,
    "test": 2048,
    "check_rows": 256,
}
SCALES = at_scales(
    LazySettings(),
    # The kernel of the shared network on the signal takes patches² integrals per entry: minutes of
    # a core at 8 patches and 1024 samples, a second of a GPU.
    laptop={**LARGE, "patches": (8,), "samples": LADDER[:-2], "seeds": 6},
    full={**LARGE, "seeds": 16, "steps": 1000},
)
