"""A higher ladder of sample sizes where the budget and the data afford one: what windows are worth
may show only with more labels.

Only for images with two layers and more than a minute: all else stays as it was proved. The pilot
measures what a training costs; the ladder's top is then doubled as long as enough splits of the
first question (`rounds.settle_neighbours`) fit into the time it has. A raised ladder has two rungs,
the lower ones being too few labels to tell networks apart, and tests on more rows, which cost
little and are half of the noise.
"""

import dataclasses
import math

from separatrix.diagnosis.bench import LOCAL, SHARED, Bench, Unit
from separatrix.diagnosis.data_splits import sizes_of
from separatrix.diagnosis.rounds import NEIGHBOURS_SHARE
from separatrix.diagnosis.settings import Settings
from separatrix.diagnosis.shifts import NoTime
from separatrix.diagnosis.sights import is_deep

USUAL = 60.0  # seconds; up to here the ladder is the same for everyone
SHARE = 0.9  # of the time of the first question may be planned
# Of the first question must fit: fewer leave intervals of several points, whatever the number of
# labels
SPLITS = 10
RUNGS, TEST = 2, 3000  # of a raised ladder
TRAININGS = {"full": 1, "shared": 2}  # of a split, at every size: the arms of the first question


def raised(settings: Settings, times: int) -> Settings:
    """Settings whose ladder goes `times` as high; a size keeps its number of steps, so that those
    of the top grow as the root.

    >>> raised(Settings(), 4).most, raised(Settings(), 4).recipe.steps
    (6400, 480)
    """
    looks = settings.recipe.looks
    steps = looks * round(settings.recipe.steps / looks * math.sqrt(times))
    return dataclasses.replace(
        settings,
        most=times * settings.most,
        rungs=min(RUNGS, settings.rungs),
        test=max(TEST, settings.test),
        recipe=settings.recipe._replace(steps=steps),
    )


def planned(
    paces: dict[str, float], settings: Settings, ladder: tuple[int, ...], threads: int
) -> float:
    """Seconds that ten splits of the first question take, where `paces` are the seconds of a step
    between every two looks, network by network.

    >>> planned({"full": 0.01, "shared": 0.01}, Settings(), (100, 400, 1600), 1)  # 10 splits of 3 arms, 30 + 15 + 8 steps
    15.9
    """
    every = [
        max(1, round(settings.recipe.steps / settings.recipe.looks * math.sqrt(size / ladder[-1])))
        for size in ladder
    ]
    split = sum(count * paces[network] for network, count in TRAININGS.items()) * sum(every)
    return round(SPLITS * split / threads, 6)


def highest(
    settings: Settings, rows: int, paces: dict[str, float], threads: int, seconds: float
) -> int:
    """How many times as high the ladder may go, a power of two, so that the data have the rows and
    ten splits fit into some seconds.

    >>> paces = {"full": 0.01, "shared": 0.01}
    >>> [highest(Settings(), 60_000, paces, 1, seconds) for seconds in (12, 25, 50)], highest(Settings(), 4000, paces, 1, 60)
    ([1, 2, 8], 1)
    """
    times = 1
    while True:
        wanted = raised(settings, 2 * times)
        sizes = sizes_of(rows, wanted)
        if sizes.learn < wanted.most or planned(paces, wanted, sizes.ladder, threads) > seconds:
            return times
        times *= 2


def raise_ladder(bench: Bench, field: int) -> None:
    """After the pilot, let the ladder of a bench go as high as its budget affords.

    What the pilot measured is kept in the lab, so that the same budget finds the same ladder again.

    >>> import numpy as np
    >>> from separatrix.data.labelled import as_labelled
    >>> from separatrix.engine import Lab
    >>> bench = Bench(as_labelled(np.random.default_rng(0).normal(size=(60, 8)), np.arange(60) % 2), Settings(budget=300), Lab())
    >>> raise_ladder(bench, 3)
    >>> bench.sizes.ladder
    (34,)
    """
    s = bench.settings
    if not is_deep(bench.data.shape) or bench.sizes.learn < s.most:
        return
    name = {
        "data": bench.data.digest,
        "seed": s.seed,
        "field": field,
        "width": s.width,
        "growth": s.growth,
        "recipe": [*s.recipe[:3]],
    }
    try:
        paces = bench.lab.remember("diagnose-pace", name, lambda: paces_of(bench, field))
    except NoTime:
        return
    if s.budget <= USUAL:
        return
    paces = paces | {
        "full": max(paces.values())
    }  # it was not trained yet; it costs as many products
    # From the whole budget and not from what is left of it, which the clock of a resumed diagnosis
    # would change.
    seconds = SHARE * (NEIGHBOURS_SHARE - bench.pilot_share) * s.budget
    times = highest(s, len(bench.data), paces, bench.threads, seconds)
    if times > 1:
        bench.restart(raised(s, times))


def paces_of(bench: Bench, field: int) -> dict[str, float]:
    """What the pilot's trainings cost; they are run again where only their results are known, as
    after a diagnosis that was broken off.
    """
    out = {}
    for arm in (SHARED, LOCAL):
        if bench.pace(arm, field) is None:
            bench.weights(Unit(arm, field, bench.sizes.learn, 0))
        if (pace := bench.pace(arm, field)) is None:
            raise NoTime
        out[arm.network] = round(pace, 6)
    return out
