"""The settings of the study `pattern-readout` at its three scales."""

import dataclasses

from separatrix.errors import check_integer, check_number
from separatrix.theory.patterns.readout import LARGEST_CHECK

LARGEST_WINDOW = 16  # a draw counts filters by their 2^k sign patterns


@dataclasses.dataclass(frozen=True)
class PatternReadoutSettings:
    """Which windows, draws and rules the study checks.

    `windows` are the paper's k. Equality is checked on all inputs for `exact_draws` draws of the
    filters with `rules` random rules each. `draws` more draws count how often the lemma's condition
    fails, which it should with a probability of at most `delta`.
    """

    bits: int = 10
    windows: tuple[int, ...] = (2, 3, 4, 5)
    draws: int = 10_000
    exact_draws: int = 5
    rules: int = 5
    delta: float = 0.05
    seed: int = 0

    def __post_init__(self):
        check_integer("pattern-readout", "bits", self.bits, 1, LARGEST_CHECK)
        for window in self.windows:
            check_integer("pattern-readout", "windows", window, 1, min(self.bits, LARGEST_WINDOW))
        for name in ("draws", "exact_draws", "rules"):
            check_integer("pattern-readout", name, getattr(self, name), 1)
        check_number("pattern-readout", "delta", self.delta, 0, 1, open_low=True)
        check_integer("pattern-readout", "seed", self.seed, 0)


SCALES = {
    "quick": PatternReadoutSettings(),
    "laptop": PatternReadoutSettings(
        bits=14, windows=(2, 3, 4, 5, 6, 7), draws=100_000, exact_draws=20, rules=10
    ),
    "full": PatternReadoutSettings(
        bits=16, windows=(2, 3, 4, 5, 6, 7, 8), draws=1_000_000, exact_draws=20, rules=20
    ),
}
