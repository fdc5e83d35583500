"""The settings of the study `pattern-width` at its three scales."""

from separatrix.errors import ParameterError
from separatrix.studies.settings import Settings, at_scales, setting

LARGEST_WIDTH = 65536  # random arrays have at most 2^16 entries along an axis


class PatternWidthSettings(Settings, of="pattern-width"):
    """What the study varies: the bits n (with k = ⌈log2 n⌉), the width q, and the gradient.

    All networks have the `widths`; the fully connected one, whose boundary the others pass long
    before, also has the `full_widths`.

    A run leaves chance when its risk falls to `left` within `steps` steps. Every network has the
    same `rates`; the rate of a cell is chosen on `tuning_seeds` seeds of its own. `noises` are the
    standard deviations of noise on every entry of the gradient, tried with `bfloat16` gradients
    beside them at the width `noisy_width`.

    >>> PatternWidthSettings(widths=(64, 8))
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `widths` of pattern-width must be ascending, got (64, 8)
    """

    sizes: tuple[int, ...] = setting(default=(16,), low=4, high=4096)
    widths: tuple[int, ...] = setting(default=(4, 32), low=1, high=LARGEST_WIDTH)
    full_widths: tuple[int, ...] = setting(default=(), low=1, high=LARGEST_WIDTH)
    steps: int = setting(default=100, low=1)
    left: float = setting(default=0.4, low=0, high=0.5, open_low=True)
    rates: tuple[float, ...] = setting(default=(0.03,), low=0, open_low=True)
    seeds: int = setting(default=4, low=2)
    tuning_seeds: int = setting(default=1, low=1)
    batch: int = setting(default=64, low=1)
    test: int = setting(default=512, low=1)
    times: int = setting(default=12, low=1)
    noises: tuple[float, ...] = setting(default=(), low=0, open_low=True)
    noisy_width: int = setting(default=32, low=1, high=LARGEST_WIDTH)
    noisy_sizes: tuple[int, ...] = setting(default=(16,), low=4, high=4096)
    draws: int = setting(default=4, low=2)
    seed: int = 0

    def check(self) -> None:
        for name in ("sizes", "widths", "noisy_sizes"):
            numbers = getattr(self, name)
            if list(numbers) != sorted(set(numbers)):
                raise ParameterError(self.owner, name, "ascending", numbers)
        if self.full_widths and list(self.every_full_width) != sorted(set(self.every_full_width)):
            allowed = f"ascending and above the widths of all networks ({self.widths[-1]})"
            raise ParameterError(self.owner, "full_widths", allowed, self.full_widths)
        if not self.rates:
            raise ParameterError(self.owner, "rates", "at least one rate", self.rates)

    @property
    def every_full_width(self) -> tuple[int, ...]:
        """The widths of the fully connected network.

        >>> PatternWidthSettings(widths=(4, 16), full_widths=(64,)).every_full_width
        (4, 16, 64)
        """
        return (*self.widths, *self.full_widths)


SCALES = at_scales(
    PatternWidthSettings(),
    laptop={
        "sizes": (8, 16, 24, 32, 48),
        "widths": (1, 4, 16, 64, 256, 1024),
        "steps": 1000,
        "rates": (0.003, 0.01, 0.03),
        "seeds": 8,
        "tuning_seeds": 2,
        "batch": 128,
        "noises": (0.01, 0.1),
        "noisy_width": 64,
        "noisy_sizes": (16, 32),
        "times": 20,
    },
    full={
        "sizes": (16, 24, 32, 48, 64, 96),
        "widths": (1, 4, 16, 64, 256, 1024),
        "full_widths": (4096,),
        "steps": 2000,
        # A GPU runs 64 trials of a program together: three rates with 21 seeds fill them.
        "rates": (0.003, 0.01, 0.03),
        "seeds": 16,
        "tuning_seeds": 5,
        "batch": 128,
        "test": 512,  # of wide local networks, activations on all test rows are held at once
        "noises": (0.003, 0.01, 0.03, 0.1),
        "noisy_width": 256,
        "noisy_sizes": (16, 32, 64),
        "times": 24,
        "draws": 16,
    },
)
