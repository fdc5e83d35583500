"""The settings of the study `patterns` at its three scales."""

import dataclasses

from separatrix.errors import ParameterError, check_choice, check_integer, check_number

OPTIMIZERS = ("adam", "sgd")
VARIANTS = ("random", "hidden", "spread", "biased", "readout")


@dataclasses.dataclass(frozen=True)
class PatternsSettings:
    """What the study varies; tuples that belong together have equal lengths.

    Certificates are runs of Theorem 4's recipe, one for each entry of the `certificate_` tuples.
    `sizes` are the n of the learning experiments (k = ⌈log2 n⌉), `full_steps` and `window_steps`
    the most steps that a fully connected network and one that sees windows may take there.
    `variants` are run at `variant_sizes`, finite training sets of `finite_samples` rows at
    `finite_size`. `equal_seeds` (where it is more than `seeds`) is for the FCN on ordered and
    permuted bits: to show that two numbers are equal takes more seeds than to show that they
    differ.

    >>> PatternsSettings().sizes
    (8, 16, 32)
    >>> PatternsSettings(variant_sizes=(64,))
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `variant_sizes` of patterns must be among the sizes (8, 16, 32), got (64,)
    """

    certificate_bits: tuple[int, ...] = (4, 6, 8)
    certificate_windows: tuple[int, ...] = (2, 2, 3)
    certificate_filters: tuple[int, ...] = (8192, 16384, 1024)
    certificate_steps: tuple[int, ...] = (5000, 5000, 2000)
    certificate_seeds: int = 3
    certificate_records: int = 40
    ceiling: float = 1.0
    delta: float = 0.05
    work_limit: float = 1e15  # operations: about a day of one processor core
    gradient_sizes: tuple[int, ...] = (8, 16, 32, 64, 128, 256, 512)
    gradient_window: int = 3
    gradient_draws: int = 4
    sizes: tuple[int, ...] = (8, 16, 32)
    full_steps: tuple[int, ...] = (600, 1500, 4000)
    window_steps: tuple[int, ...] = (300, 300, 450)
    optimizers: tuple[str, ...] = ("adam",)
    seeds: int = 14
    equal_seeds: int = 0
    tuning_seeds: int = 2
    filters: int = 64
    batch: int = 128
    target: float = 0.05
    test: int = 1024
    times: int = 40
    adam_rates: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3)
    sgd_rates: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)
    variants: tuple[str, ...] = ("hidden", "biased")
    variant_sizes: tuple[int, ...] = (16,)
    probability: float = 0.7
    finite_size: int = 16
    finite_samples: tuple[int, ...] = ()
    search_sizes: tuple[int, ...] = (8, 16, 32, 48)
    search_samples: int = 4096
    search_repeats: int = 3
    seed: int = 0

    def __post_init__(self):
        together = (
            (
                "certificate_bits",
                ("certificate_windows", "certificate_filters", "certificate_steps"),
            ),
            ("sizes", ("full_steps", "window_steps")),
        )
        for first, others in together:
            for name in others:
                if len(getattr(self, name)) != len(getattr(self, first)):
                    raise ParameterError(
                        "patterns", name, f"as many numbers as `{first}` has", getattr(self, name)
                    )
        for bits, window in zip(self.certificate_bits, self.certificate_windows):
            check_integer("patterns", "certificate_bits", bits, 2, 12)
            check_integer("patterns", "certificate_windows", window, 1, bits)
        for name in ("sizes", "gradient_sizes", "search_sizes"):
            for size in getattr(self, name):
                check_integer("patterns", name, size, 4, 4096)
        for name in ("certificate_seeds", "seeds", "search_repeats"):
            check_integer("patterns", name, getattr(self, name), 2)
        check_integer("patterns", "tuning_seeds", self.tuning_seeds, 1)
        check_integer("patterns", "gradient_draws", self.gradient_draws, 2)
        check_number("patterns", "target", self.target, 0, 0.5, open_low=True)
        for optimizer in self.optimizers:
            check_choice("patterns", "optimizers", optimizer, OPTIMIZERS)
        for variant in self.variants:
            if variant not in VARIANTS:
                raise ParameterError(
                    "patterns", "variants", f"among {', '.join(VARIANTS)}", variant
                )
        for name, given in (
            ("variant_sizes", self.variant_sizes),
            ("finite_size", (self.finite_size,) if self.finite_samples else ()),
        ):
            if not set(given) <= set(self.sizes):
                raise ParameterError("patterns", name, f"among the sizes {self.sizes}", given)


SCALES = {
    "quick": PatternsSettings(),
    "laptop": PatternsSettings(
        certificate_bits=(4, 5, 6, 8, 8),
        certificate_windows=(2, 2, 2, 2, 3),
        certificate_filters=(8192, 16384, 16384, 16384, 2048),
        certificate_steps=(5000, 5000, 10000, 10000, 5000),
        certificate_seeds=5,
        gradient_sizes=(8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096),
        gradient_draws=16,
        sizes=(8, 16, 32, 48),
        full_steps=(2000, 4000, 10000, 20000),
        window_steps=(1000, 1000, 1500, 1500),
        seeds=10,
        tuning_seeds=3,
        optimizers=("adam", "sgd"),
        adam_rates=(0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
        sgd_rates=(0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        times=60,
        test=2048,
        variants=VARIANTS,
        variant_sizes=(16, 32),
        finite_samples=(64, 128, 256, 512, 1024, 2048),
        search_sizes=(8, 16, 32, 48, 64),
        search_repeats=5,
    ),
    "full": PatternsSettings(
        certificate_bits=(4, 5, 6, 7, 8, 8),
        certificate_windows=(2, 2, 2, 2, 2, 3),
        certificate_filters=(8192, 16384, 16384, 16384, 16384, 8192),
        certificate_steps=(10000, 10000, 10000, 10000, 10000, 10000),
        certificate_seeds=10,
        gradient_sizes=(8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096),
        gradient_draws=16,
        sizes=(8, 16, 32, 64, 128),
        full_steps=(2000, 6000, 20000, 120000, 120000),
        window_steps=(1000, 1000, 2000, 4000, 6000),
        seeds=24,
        equal_seeds=120,
        tuning_seeds=3,
        optimizers=("adam", "sgd"),
        adam_rates=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
        sgd_rates=(0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        times=60,
        test=2048,
        variants=VARIANTS,
        variant_sizes=(32,),
        finite_samples=(64, 128, 256, 512, 1024, 2048, 4096),
        search_sizes=(8, 16, 32, 64, 96),
        search_repeats=5,
    ),
}
