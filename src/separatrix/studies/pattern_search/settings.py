"""The settings of the study `pattern-search` at its three scales."""

from separatrix.errors import ParameterError
from separatrix.studies.settings import Settings, at_scales, setting


class OrdersSettings(Settings, of="pattern-search.orders", written="orders"):
    """The architecture search: a convolutional network is trained on each of `count` random orders
    of the bits, for at most `steps` steps, and has learnt when its risk is at most `target`.

    `controls` networks are trained on ordered bits, to see that the recipe learns at all.
    """

    sizes: tuple[int, ...] = setting(default=(8,), low=4, high=64)
    count: int = setting(default=640, low=2)
    controls: int = setting(default=8, low=2)
    filters: int = setting(default=32, low=1)
    steps: int = setting(default=200, low=1)
    rate: float = setting(default=0.03, low=0, open_low=True)
    batch: int = setting(default=64, low=1)
    target: float = setting(default=0.05, low=0, high=0.5, open_low=True)
    test: int = setting(default=256, low=1)
    times: int = setting(default=8, low=1)


class PatternSearchSettings(Settings, of="pattern-search"):
    """What the study varies: the bits n (with k = ⌈log2 n⌉) and the learners' rows.

    Window and junta search look at `samples` rows at every one of `sizes`. At `learner_sizes` each
    learner gets 16, 32, 64, … rows, at most `most_samples`, until it names the bits; a learner that
    would do more than `most_work` operations (candidates times rows) at a size is left out there.
    `query_sizes` are those of the table of statistical queries.
    """

    sizes: tuple[int, ...] = setting(default=(8, 16, 32, 48), low=4, high=4096)
    samples: int = setting(default=4096, low=1)
    repeats: int = setting(default=3, low=2)
    learner_sizes: tuple[int, ...] = setting(default=(8, 16, 24, 32), low=4, high=256)
    most_samples: int = setting(default=65536, low=16)
    most_work: float = setting(default=2e10, low=0, open_low=True)
    query_sizes: tuple[int, ...] = setting(default=(16, 32, 64, 128, 256, 512, 1024), low=4)
    orders: OrdersSettings = OrdersSettings()
    seed: int = 0

    def check(self) -> None:
        for name in ("sizes", "learner_sizes", "query_sizes"):
            numbers = getattr(self, name)
            if list(numbers) != sorted(set(numbers)):
                raise ParameterError(self.owner, name, "ascending", numbers)


# Chance puts the bits into one window in 3.3 % of the orders at n = 10 and in .7 % at n = 16. So
# many orders decide that as many are learnt with a probability of .99 at the largest n.
SCALES = at_scales(
    PatternSearchSettings(),
    laptop={
        "sizes": (8, 16, 32, 48, 64),
        "repeats": 5,
        "learner_sizes": (8, 16, 24, 32, 40),
        "orders": {"sizes": (6, 8, 10), "count": 3072, "controls": 16},
    },
    full={
        "sizes": (8, 16, 32, 64, 96),
        "repeats": 5,
        "learner_sizes": (8, 16, 24, 32, 40),
        "most_work": 2e11,
        "orders": {"sizes": (6, 8, 10, 12, 16), "count": 12288, "controls": 64},
    },
)
