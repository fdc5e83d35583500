"""The procedure: a first full answer on a few splits, then more splits for the comparisons that the
verdict still waits for.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from separatrix.diagnosis.bench import (
    FULL,
    LOCAL,
    LOCAL_PIXELS,
    SHARED,
    SHARED_PATCHES,
    SHARED_PIXELS,
    SHUFFLED,
    Arm,
    Bench,
    Result,
    Unit,
)
from separatrix.diagnosis.gains import Paired, decide, gain_interval, overlaps
from separatrix.diagnosis.sights import fields_of, is_deep
from separatrix.diagnosis.verdict import OPEN, Gain, Verdict, answers, judge
from separatrix.inference.intervals import Interval, mean_over_seeds

ARMS = (FULL, SHARED, LOCAL, SHARED_PIXELS, LOCAL_PIXELS, SHARED_PATCHES)
# Name, the two arms, and whether the second one sees a random arrangement of pixels.
CONTRASTS: dict[str, tuple[Arm, Arm, bool]] = {
    "locality": (LOCAL, LOCAL_PIXELS, True),
    "convolution": (SHARED, SHARED_PIXELS, True),
    "sharing": (SHARED, LOCAL, False),
    "patches": (SHARED, SHARED_PATCHES, False),
    "local less full": (LOCAL, FULL, False),
    "shared less full": (SHARED, FULL, False),
}
NEIGHBOURS, NEIGHBOURS_SHARE = (FULL, SHARED, SHARED_PIXELS), 0.65  # of the budget, with the pilot
PILOT = (0, 1)  # the splits on whose validation rows the receptive field is chosen
SMALL_PILOT = (
    0,
    1,
    2,
    3,
    4,
    5,
)  # of small images, whose trainings are short and whose windows of 2 and 3 pixels differ


def choose_field(bench: Bench) -> int:
    """The receptive field at which the local or the shared network does best on validation rows;
    nothing is tried where it was given.

    >>> from separatrix.data.labelled import as_labelled
    >>> from separatrix.engine import Lab
    >>> from separatrix.diagnosis.settings import Settings
    >>> data = as_labelled(np.random.default_rng(0).normal(size=(60, 8)), np.arange(60) % 2)
    >>> choose_field(Bench(data, Settings(field=3), Lab()))
    3
    """
    if bench.settings.field is not None:
        return bench.settings.field
    fields = fields_of(bench.data.shape)
    middle = fields[len(fields) // 2]
    top = bench.sizes.ladder[-1]
    # The middling field first: with no time for others it stands. Then the others, and further
    # splits of all of them.
    order = sorted(fields, key=lambda field: field != middle)
    splits = SMALL_PILOT if len(bench.data.shape) == 3 and not is_deep(bench.data.shape) else PILOT
    pilot = [
        (arm, field, top, split) for field in order for split in splits for arm in (SHARED, LOCAL)
    ]
    bench.run(
        (Unit(*each) for each in sorted(pilot, key=lambda each: each[-1] not in PILOT)),
        share=bench.pilot_share,
    )
    have = [
        split
        for split in splits
        if all(
            Unit(arm, field, top, split) in bench.results
            for field in order
            for arm in (SHARED, LOCAL)
        )
    ]

    def merit(field: int) -> float:
        means = []
        for arm in (SHARED, LOCAL):
            used = have if len(have) > len(PILOT) else PILOT
            found = [
                bench.results[unit].check
                for split in used
                if (unit := Unit(arm, field, top, split)) in bench.results
            ]
            means.append(float(np.mean(found)) if len(found) == len(used) else -np.inf)
        return max(means)

    return max(order, key=merit)  # the first of equals: the middling one


def investigate(bench: Bench, field: int) -> tuple[Verdict, tuple[str, ...], dict[str, Gain]]:
    """Run rounds until the verdict is sure, the time is up or the splits are used up; the verdict,
    its reasons and all gains.

    >>> from separatrix.data.labelled import as_labelled
    >>> from separatrix.engine import Lab
    >>> from separatrix.diagnosis.settings import Settings
    >>> data = as_labelled(np.random.default_rng(0).normal(size=(80, 6)), np.arange(80) % 2)
    >>> quick = Settings(first=2, splits=2, recipe=Settings().recipe._replace(steps=8, looks=2))
    >>> investigate(Bench(data, quick, Lab()), 3)[0] in ("cannot tell", "neither pays")
    True
    """
    s, ladder = bench.settings, bench.sizes.ladder
    if is_deep(bench.data.shape):
        settle_neighbours(bench, field)
    wanted, arms = s.first, ARMS
    while True:
        bench.run(
            Unit(arm, field, size, split)
            for split in range(wanted)
            for arm in arms
            for size in reversed(ladder)
        )
        gains = {name: measured(bench, field, name) for name in CONTRASTS}
        verdict, reasons = judge(gains, learned(bench, field))
        arms = waiting(gains)
        if verdict not in OPEN or bench.ended or not arms or wanted >= s.splits:
            break
        wanted += s.more
    # Nothing can be learnt from shuffled labels; where something is, rows or labels leak.
    bench.run(Unit(SHUFFLED, field, ladder[-1], split) for split in PILOT)
    return verdict, reasons, gains


def settle_neighbours(bench: Bench, field: int) -> None:
    """The first question first, where trainings are long: splits of the shared network, scrambled
    and beside the full one, until they answer it.

    The other arms come after it, with what is left of the budget.
    """
    s = bench.settings
    for wanted in range(s.first, s.splits + 1, s.more):
        before = len(bench.results)
        units = (
            Unit(arm, field, size, split)
            for split in range(wanted)
            for arm in NEIGHBOURS
            for size in reversed(bench.sizes.ladder)
        )
        bench.run(units, share=NEIGHBOURS_SHARE)
        if (
            len(bench.results) == before
            or measured(bench, field, "convolution").decision != "cannot tell"
        ):
            return


def waiting(gains: dict[str, Gain]) -> tuple[Arm, ...]:
    """The arms of the comparisons that the verdict waits for.

    >>> def gain(name, decision):
    ...     return Gain(name, "a", "b", None, (), decision)
    >>> decisions = {"locality": "pays", "convolution": "cannot tell", "sharing": "cannot tell", "patches": "pays"}
    >>> decisions |= {"local less full": "pays", "shared less full": "pays"}
    >>> [str(arm) for arm in waiting({name: gain(name, decision) for name, decision in decisions.items()})]
    ['shared', 'local']
    """
    local, shares = answers(gains)
    open_: list[str] = []
    if local == "cannot tell":
        open_ += [
            name for name in ("locality", "convolution") if gains[name].decision == "cannot tell"
        ]
        open_ += ["local less full", "shared less full"]
    # Once locality is known not to pay, the verdict no longer depends on sharing.
    if local == "pays" and shares == "cannot tell":
        open_ += [name for name in ("sharing", "patches") if gains[name].decision == "cannot tell"]
    needed = {arm for name in open_ for arm in CONTRASTS[name][:2]}
    return tuple(arm for arm in ARMS if arm in needed)


def learned(bench: Bench, field: int) -> bool:
    """Whether some network's mean accuracy at the largest size is above the best constant answer's
    by the margin.
    """
    means = [
        np.mean([r.accuracy for r in found])
        for arm in (SHARED, LOCAL, FULL)
        if (found := results(bench, arm, field, bench.sizes.ladder[-1]))
    ]
    return bool(means and max(means) >= constant(bench) + bench.settings.margin)


def constant(bench: Bench) -> float:
    """The accuracy of the best constant answer: the largest class's share, or 0 of the variance."""
    if not bench.data.classes:
        return 0.0
    return float(np.bincount(bench.data.labels.astype(int)).max() / len(bench.data))


def results(bench: Bench, arm: Arm, field: int, size: int) -> list[Result]:
    """The results of an arm at a size, split by split."""
    found = (
        bench.results.get(Unit(arm, field, size, split)) for split in range(bench.settings.splits)
    )
    return [each for each in found if each is not None]


def measured(bench: Bench, field: int, name: str) -> Gain:
    """The gain of a name from what has been run so far."""
    first, second, random = CONTRASTS[name]
    s, ladder = bench.settings, bench.sizes.ladder
    whole = pairs_of(bench, field, first, second, ladder)
    alone = {size: pairs_of(bench, field, first, second, (size,)) for size in ladder}
    overlap = overlap_of(
        bench, list(whole), {size: list(found.values()) for size, found in alone.items()}
    )
    pairs = list(whole.values())
    decision = decide(pairs, overlap, s.margin, s.sure, random)
    sizes = tuple(
        (
            size,
            gain_interval(
                list(found.values()),
                overlap_of(bench, list(found), {size: list(found.values())}),
                s.level,
            ),
        )
        for size, found in alone.items()
        if len(found) > 1
    )
    shown, sure = (
        gain_interval(pairs, overlap, level) if len(pairs) > 1 else None
        for level in (s.level, s.sure)
    )
    return Gain(name, str(first), str(second), shown, sizes, decision, sure, s.margin)


def pairs_of(
    bench: Bench, field: int, first: Arm, second: Arm, sizes: Sequence[int]
) -> dict[int, Paired]:
    """The paired differences of every split in which both arms were run at all of the sizes."""
    out = {}
    for split in range(bench.settings.splits):
        a, b = (
            [bench.results.get(Unit(arm, field, size, split)) for size in sizes]
            for arm in (first, second)
        )
        left, right = (
            [each for each in a if each is not None],
            [each for each in b if each is not None],
        )
        if len(left) == len(sizes) == len(right):
            rows = np.mean([x.rows - y.rows for x, y in zip(left, right)], axis=0)
            out[split] = Paired(
                rows,
                float(np.mean([x.accuracy for x in left])),
                float(np.mean([y.accuracy for y in right])),
            )
    return out


def overlap_of(
    bench: Bench, splits: Sequence[int], sizes: Mapping[int, Sequence[Paired]]
) -> tuple[float, float]:
    """The mean shares of test rows and of training rows that two of the splits have in common.

    Small samples overlap little and vary much, large ones the reverse: sizes count by what their
    trainings add to the variance.
    """
    parts = [bench.split(split) for split in splits]
    shares = [overlaps([part.learn[:size] for part in parts]) for size in sizes]
    weights = [training_variance(pairs) for pairs in sizes.values()]
    trains = (
        float(np.average(shares, weights=weights)) if sum(weights) > 0 else float(np.mean(shares))
    )
    return overlaps([part.test for part in parts]), trains


def training_variance(pairs: Sequence[Paired]) -> float:
    """The variance between splits that test rows do not explain.

    >>> round(training_variance([Paired(np.array([d, d]), d, 0.0) for d in (0.1, 0.2, 0.3)]), 6)
    0.01
    """
    if len(pairs) < 2:
        return 0.0
    return max(
        0.0,
        float(
            np.var([pair.mean for pair in pairs], ddof=1) - np.mean([pair.noise for pair in pairs])
        ),
    )


def curve(bench: Bench, arm: Arm, field: int) -> tuple[tuple[int, Interval], ...]:
    """The mean accuracy of an arm at every size at which it was run in several splits."""
    found = ((size, results(bench, arm, field, size)) for size in bench.sizes.ladder)
    return tuple(
        (size, mean_over_seeds(np.array([r.accuracy for r in some]), bench.settings.level))
        for size, some in found
        if len(some) > 1
    )
