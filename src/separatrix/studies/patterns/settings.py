"""The settings of the study `patterns`, part by part, at its three scales."""

from separatrix.errors import ParameterError, check_integer
from separatrix.studies.settings import Settings, at_scales, setting

OPTIMIZERS = ("adam", "sgd")
VARIANTS = ("random", "hidden", "spread", "biased", "readout", "signs")


def _equally_many(settings: Settings, first: str, others: tuple[str, ...]) -> None:
    for name in others:
        numbers = getattr(settings, name)
        if len(numbers) != len(getattr(settings, first)):
            allowed = f"as many numbers as `{first}` has"
            raise ParameterError(settings.owner, name, allowed, numbers)


class CertificateSettings(Settings, of="patterns.certificate"):
    """Runs of Theorem 4's recipe, one for each entry of the tuples; the first `local` of them with
    a locally connected network as well.
    """

    bits: tuple[int, ...] = setting(default=(4, 6, 8), low=2, high=12)
    windows: tuple[int, ...] = setting(default=(2, 2, 3), low=1)
    filters: tuple[int, ...] = setting(default=(8192, 16384, 1024), low=1)
    steps: tuple[int, ...] = setting(default=(5000, 5000, 2000), low=1)
    seeds: int = setting(default=2, low=2)
    records: int = setting(default=40, low=1)
    local: int = setting(default=1, low=0)

    def check(self) -> None:
        _equally_many(self, "bits", ("windows", "filters", "steps"))
        for bits, window in zip(self.bits, self.windows):
            check_integer(self.owner, "windows", window, 1, bits)


class GradientSettings(Settings, of="patterns.gradient"):
    """Exact gradients at the start: `window` is the fixed k beside k = ⌈log2 n⌉."""

    sizes: tuple[int, ...] = setting(default=(8, 16, 32, 64, 128, 256, 512), low=4, high=4096)
    window: int = setting(default=3, low=1)
    draws: int = setting(default=4, low=2)


class LearningSettings(Settings, of="patterns.learning", written=""):
    """Trained networks: `sizes` are the n, with k = ⌈log2 n⌉.

    `full_steps` and `window_steps` are the most steps that a fully connected network and one that
    sees windows may take at each size. `variants` are run at `variant_sizes`, finite training sets
    of `finite_samples` rows at `finite_size`.
    """

    sizes: tuple[int, ...] = setting(default=(8, 16, 32), low=4, high=4096)
    full_steps: tuple[int, ...] = setting(default=(600, 1500, 4000), low=1)
    window_steps: tuple[int, ...] = setting(default=(300, 300, 450), low=1)
    optimizers: tuple[str, ...] = setting(default=("adam",), among=OPTIMIZERS)
    seeds: int = setting(default=14, low=2)
    tuning_seeds: int = setting(default=2, low=1)
    filters: int = setting(default=64, low=1)
    batch: int = setting(default=128, low=1)
    target: float = setting(default=0.05, low=0, high=0.5, open_low=True)
    test: int = setting(default=1024, low=1)
    times: int = setting(default=40, low=1)
    adam_rates: tuple[float, ...] = setting(default=(0.01, 0.03, 0.1, 0.3), low=0, open_low=True)
    sgd_rates: tuple[float, ...] = setting(default=(0.1, 0.3, 1.0, 3.0), low=0, open_low=True)
    variants: tuple[str, ...] = ("hidden", "biased", "signs")
    variant_sizes: tuple[int, ...] = (16,)
    probability: float = setting(default=0.7, low=0, high=1, open_low=True)
    finite_size: int = 16
    finite_samples: tuple[int, ...] = setting(default=(), low=1)

    def check(self) -> None:
        _equally_many(self, "sizes", ("full_steps", "window_steps"))
        for variant in self.variants:
            if variant not in VARIANTS:
                allowed = f"among {', '.join(VARIANTS)}"
                raise ParameterError(self.owner, "variants", allowed, variant)
        used = {
            "variant_sizes": self.variant_sizes,
            "finite_size": (self.finite_size,) if self.finite_samples else (),
        }
        for name, sizes in used.items():
            if not set(sizes) <= set(self.sizes):
                raise ParameterError(self.owner, name, f"among the sizes {self.sizes}", sizes)


class PatternsSettings(Settings, of="patterns"):
    """What the study varies: one group for each of its three parts.

    `ceiling` is the paper's c, `delta` its δ. `work_limit` is the number of operations within which
    Theorem 4's bound is asked to say something.
    """

    certificate: CertificateSettings = CertificateSettings()
    ceiling: float = setting(default=1.0, low=0, open_low=True)
    delta: float = setting(default=0.05, low=0, high=1, open_low=True)
    # Operations: about a day of one processor core
    work_limit: float = setting(default=1e15, low=0, open_low=True)
    gradient: GradientSettings = GradientSettings()
    learning: LearningSettings = LearningSettings()
    seed: int = 0


SCALES = at_scales(
    PatternsSettings(),
    quick={
        "learning": {
            "sizes": (8, 12, 32),
            "adam_rates": (0.01, 0.03),
            "variants": ("hidden", "signs"),
            "variant_sizes": (32,),
        },
    },
    laptop={
        "certificate": {
            "bits": (4, 5, 6, 8, 8),
            "windows": (2, 2, 2, 2, 3),
            "filters": (8192, 16384, 16384, 16384, 2048),
            "steps": (5000, 5000, 10000, 10000, 5000),
            "seeds": 5,
            "local": 2,
        },
        "gradient": {"sizes": (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096), "draws": 16},
        "learning": {
            "sizes": (8, 16, 32, 48),
            "full_steps": (2000, 4000, 10000, 20000),
            "window_steps": (1000, 1000, 1500, 1500),
            "seeds": 10,
            "tuning_seeds": 3,
            "optimizers": ("adam", "sgd"),
            "adam_rates": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
            "sgd_rates": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
            "times": 60,
            "test": 2048,
            "variants": VARIANTS,
            "variant_sizes": (16, 32),
            "finite_samples": (64, 128, 256, 512, 1024, 2048),
        },
    },
    full={
        "certificate": {
            "bits": (4, 5, 6, 7, 8, 8),
            "windows": (2, 2, 2, 2, 2, 3),
            "filters": (8192, 16384, 16384, 16384, 16384, 8192),
            "steps": (10000, 10000, 10000, 10000, 10000, 10000),
            "seeds": 10,
            "local": 4,
        },
        "gradient": {"sizes": (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096), "draws": 16},
        "learning": {
            "sizes": (8, 16, 32, 64, 128),
            "full_steps": (2000, 6000, 20000, 120000, 120000),
            "window_steps": (1000, 1000, 2000, 4000, 6000),
            "seeds": 24,
            "tuning_seeds": 3,
            "optimizers": ("adam", "sgd"),
            "adam_rates": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
            "sgd_rates": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
            "times": 60,
            "test": 2048,
            "variants": VARIANTS,
            "variant_sizes": (32,),
            "finite_samples": (64, 128, 256, 512, 1024, 2048, 4096),
        },
    },
)
