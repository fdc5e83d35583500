"""Splits into rows to learn from, to choose on and to test on; identical rows stay on one side."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from separatrix.diagnosis.settings import Settings
from separatrix.errors import SeparatrixError


class Sizes(NamedTuple):
    """How many rows every split learns from (at most), chooses on and tests on, and the ladder of
    sample sizes.

    >>> Sizes(100, 20, 30, (25, 100)).ladder
    (25, 100)
    """

    learn: int
    check: int
    test: int
    ladder: tuple[int, ...]


class Split(NamedTuple):
    """The numbers of the rows of one split.

    >>> Split(np.arange(2), np.arange(2, 3), np.arange(3, 5)).test.tolist()
    [3, 4]
    """

    learn: Int[np.ndarray, " learn"]
    check: Int[np.ndarray, " check"]
    test: Int[np.ndarray, " test"]


def sizes_of(rows: int, settings: Settings) -> Sizes:
    """How rows are shared out: a quarter to test on and a sixth to choose on, where that is not
    more than enough.

    >>> sizes_of(1797, Settings()), sizes_of(60_000, Settings()).ladder
    (Sizes(learn=1048, check=299, test=449, ladder=(65, 262, 1048)), (100, 400, 1600))
    """
    test, check = min(settings.test, rows // 4), min(settings.check, rows // 6)
    left = rows - test - check - 1
    if left < 8:
        raise SeparatrixError(f"a diagnosis needs at least 16 rows, got {rows}")
    ladder = settings.ladder(left)
    return Sizes(ladder[-1], check, test, ladder)


def split_rows(groups: Int[np.ndarray, " rows"], sizes: Sizes, seed: int, number: int) -> Split:
    """The split of a number. Splits take blocks of one random order as long as it lasts, so that on
    large data they share no row.

    >>> splits = [split_rows(np.arange(100), Sizes(20, 5, 10, (20,)), seed=0, number=n) for n in (0, 1)]
    >>> len(set(np.concatenate(splits[0])) & set(np.concatenate(splits[1])))
    0
    """
    need = sum(sizes[:3])
    blocks = max(1, len(groups) // need)
    turn, block = divmod(number, blocks)
    order = np.random.default_rng([seed, turn, 11]).permutation(len(groups))
    if (
        counted := np.bincount(groups)
    ).max() > 1:  # identical rows side by side, so that a cut parts few of them
        first = np.full(len(counted), len(groups))
        np.minimum.at(first, groups[order], np.arange(len(groups)))
        order = order[np.argsort(first[groups[order]], kind="stable")]
    rows = order[block * need : (block + 1) * need]
    test, check, learn = np.split(rows, [sizes.test, sizes.test + sizes.check])
    if counted.max() > 1:  # and those that a cut did part are dropped from the later side
        check = check[~np.isin(groups[check], groups[test])]
        learn = learn[~np.isin(groups[learn], groups[np.concatenate([test, check])])]
        learn = np.random.default_rng([seed, number, 12]).permutation(
            learn
        )  # the first rows of the ladder are no clusters
    return Split(learn, check, test)
