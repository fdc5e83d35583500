"""The settings of the study `pattern-readout` at its three scales."""

from separatrix.errors import check_integer
from separatrix.studies.settings import Settings, at_scales, setting
from separatrix.theory.patterns.readout import LARGEST_CHECK

LARGEST_WINDOW = 16  # a draw counts filters by their 2^k sign patterns


class PatternReadoutSettings(Settings, of="pattern-readout"):
    """Which windows, draws and rules the study checks.

    `windows` are the paper's k. Equality is checked on all inputs for `exact_draws` draws of the
    filters with `rules` random rules each. `draws` more draws count how often the lemma's condition
    fails, which it should with a probability of at most `delta`.
    """

    bits: int = setting(default=10, low=1, high=LARGEST_CHECK)
    windows: tuple[int, ...] = (2, 3, 4, 5)
    draws: int = setting(default=10_000, low=1)
    exact_draws: int = setting(default=5, low=1)
    rules: int = setting(default=5, low=1)
    delta: float = setting(default=0.05, low=0, high=1, open_low=True)
    seed: int = setting(default=0, low=0)

    def check(self) -> None:
        for window in self.windows:
            check_integer(self.owner, "windows", window, 1, min(self.bits, LARGEST_WINDOW))


SCALES = at_scales(
    PatternReadoutSettings(),
    laptop={
        "bits": 14,
        "windows": (2, 3, 4, 5, 6, 7),
        "draws": 100_000,
        "exact_draws": 20,
        "rules": 10,
    },
    full={
        "bits": 16,
        "windows": (2, 3, 4, 5, 6, 7, 8),
        "draws": 1_000_000,
        "exact_draws": 20,
        "rules": 20,
    },
)
