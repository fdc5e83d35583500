"""What a diagnosis is made with: every choice in one place, so that it can be said, hashed and
changed.
"""

import dataclasses
import math

from separatrix.diagnosis.training import Recipe
from separatrix.errors import check_integer, check_number

# Raise it whenever the same run would come out differently, so that old ledgers do not answer
REVISION = 1

RECIPE = Recipe()
# Two layers of windows need more steps than one: twice as many at one rate cost what the same steps
# at two rates would.
DEEP_RECIPE = Recipe(steps=480, rates=(2e-3,))


@dataclasses.dataclass(frozen=True)
class Settings:
    """The choices of a diagnosis.

    `width` filters a window; the second layer that images get has `growth` times as many. `margin`
    is the smallest gain that counts as paying, in points of accuracy (0.01 is one) or of explained
    variance; `level` is that of the intervals shown, `sure` that of the intervals that decide,
    which are looked at after every round. `most` ends the ladder of sample sizes. `first` splits
    are run before the first look, then `more` at a time up to `splits`. With `explain` a little of
    the budget is kept for what explains the verdict and decides nothing.

    >>> Settings(margin=0.02).ladder(2000)
    (100, 400, 1600)
    """

    seed: int = 0
    budget: float = 60.0
    margin: float = 0.01
    level: float = 0.95
    sure: float = 0.98
    field: int | None = None
    width: int = 16
    growth: int = 8
    most: int = 1600
    rungs: int = 3
    factor: int = 4
    test: int = 1000
    check: int = 300
    first: int = 4
    more: int = 2
    splits: int = 30
    recipe: Recipe = RECIPE
    explain: bool = True

    def __post_init__(self):
        check_number("diagnose", "budget", self.budget, 0, open_low=True)
        check_number("diagnose", "margin", self.margin, 0, 1, open_low=True)
        check_integer("diagnose", "seed", self.seed, 0)
        if self.field is not None:
            check_integer("diagnose", "field", self.field, 1)
        for name in ("width", "growth", "rungs", "first", "more"):
            check_integer("diagnose", name, getattr(self, name), 1)

    def suited(self, deep: bool) -> "Settings":
        """The settings with the recipe of networks of two layers, if they are deep and no other
        recipe was given.

        >>> Settings().suited(True).recipe.steps, Settings(recipe=Recipe(8, 8, 2)).suited(True).recipe.steps
        (480, 8)
        """
        return (
            dataclasses.replace(self, recipe=DEEP_RECIPE)
            if deep and self.recipe == RECIPE
            else self
        )

    def ladder(self, available: int, least: int = 16) -> tuple[int, ...]:
        """The sample sizes: a geometric ladder that ends at the available training rows or at
        `most`.

        >>> Settings().ladder(1000), Settings().ladder(60)
        ((62, 250, 1000), (60,))
        """
        top = min(available, self.most)
        sizes = [math.floor(top / self.factor**rung) for rung in range(self.rungs)]
        return tuple(sorted({size for size in sizes if size >= least} or {top}))
