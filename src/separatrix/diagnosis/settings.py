"""The choices of a diagnosis, in one place: they can be stated, hashed and changed."""

import dataclasses
import math

from separatrix.errors import ParameterError, check_choice, check_integer, check_number

METRICS = ("auto", "accuracy", "balanced-accuracy", "auc", "average-precision", "r2")
MINUTE_LABELS = 1600  # what a minute on two cores affords
MINUTE_STEPS = 480
MOST_GROWTH = 3  # factors of four by which a longer budget raises the number of labels


@dataclasses.dataclass(frozen=True)
class Settings:
    """The choices of a diagnosis.

    Args:
        seed: another seed gives other splits and other initial networks.
        budget: seconds after which no further round begins. Eight times 60 seconds also quadruple
            the largest number of labels that is tried.
        margin: the smallest gain that counts, as a share of the metric (0.01 is one point).
        metric: "accuracy", "balanced-accuracy", "auc", "average-precision", "r2", or "auto".
        field: the side of the windows; None tries several.
        level: the level of the intervals that are shown.
        sure: the level at which a windowed network beats its scrambled self, and at which a gain
            is said to be below the margin.
        beats: the level at which it must beat every competitor that is blind to the arrangement
            of the input (docs/diagnose.md says how the levels were chosen).
        first: how many splits the first look takes; every further look takes twice as many, up
            to `splits`, until the answer is sure.
        steps: training steps; None takes as many as suit the number of labels.
    """

    seed: int = 0
    budget: float = 55.0
    margin: float = 0.01
    metric: str = "auto"
    field: int | None = None
    level: float = 0.95
    sure: float = 0.95
    beats: float = 0.98
    first: int = 4
    splits: int = 16
    batch: int = 64
    steps: int | None = None
    test: int = 1500
    check: int = 400

    def __post_init__(self):
        check_number("diagnose", "budget", self.budget, 0, open_low=True)
        check_number("diagnose", "margin", self.margin, 0, 1, open_low=True)
        check_choice("diagnose", "metric", self.metric, METRICS)
        check_integer("diagnose", "seed", self.seed, 0)
        for name in ("first", "splits", "batch", "test", "check"):
            check_integer("diagnose", name, getattr(self, name), 1)
        for name in ("field", "steps"):
            if getattr(self, name) is not None:
                check_integer("diagnose", name, getattr(self, name), 1)
        for name in ("level", "sure", "beats"):
            check_number("diagnose", name, getattr(self, name), 0.5, 1)
            if getattr(self, name) == 1:
                raise ParameterError("diagnose", name, "below 1", 1.0)

    @property
    def looks(self) -> int:
        """How often the verdict is asked for at most.

        >>> Settings(first=4, splits=16).looks, Settings(first=2, splits=2).looks
        (3, 1)
        """
        return 1 + max(0, math.ceil(math.log2(self.splits / self.first)))

    @property
    def growth(self) -> int:
        """By how many factors of four the largest number of labels grows with the budget."""
        growth = 0
        while self.budget >= 60.0 * 8 ** (growth + 1) and growth < MOST_GROWTH:
            growth += 1
        return growth

    @property
    def next_budget(self) -> int:
        """The seconds from which on four times as many labels are tried.

        >>> Settings(budget=55.0).next_budget, Settings(budget=600.0).next_budget
        (480, 3840)
        """
        return 60 * 8 ** (self.growth + 1)

    @property
    def most_labels(self) -> int:
        """The largest number of labels that is tried."""
        return MINUTE_LABELS * 4**self.growth

    @property
    def training_steps(self) -> int:
        """The steps of every training, a multiple of 8."""
        return self.steps or MINUTE_STEPS * 2**self.growth
