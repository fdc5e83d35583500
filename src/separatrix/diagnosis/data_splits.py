"""Splits into rows to learn from, to choose on and to test on.

Rows are stratified by class, or kept together by group, or ordered in time, or split as the user
says. Identical rows always stay on one side.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Int

from separatrix.data.labelled import Labelled, moments
from separatrix.data.readers.limits import printable
from separatrix.diagnosis.settings import Settings
from separatrix.errors import SeparatrixError
from separatrix.tasks.arrays import ArrayData, SplitRows

LEAST = 8  # rows to learn from
POOL_BYTES = 400e6  # of inputs that are held at once


@dataclasses.dataclass(frozen=True)
class Splitting:
    """How rows may be split.

    Args:
        groups: the number of each row's group; rows of a group stay on one side.
        by_group: whether the user named the groups (else they are identical rows only).
        tested: which rows are for testing, where the user says so; None leaves it to chance.
    """

    groups: Int[np.ndarray, " rows"]
    by_group: bool = False
    tested: Bool[np.ndarray, " rows"] | None = None


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How many rows a split learns from (ascending sample sizes), chooses on and tests on."""

    labels: tuple[int, ...]
    check: int
    test: int

    @property
    def top(self) -> int:
        """The largest number of labels."""
        return self.labels[-1]


def sizes_of(data: Labelled, how: Splitting, s: Settings) -> Sizes:
    """How rows are shared out: a quarter for testing, a sixth for choosing, the rest for learning.

    The largest sample has at most as many labels as the budget affords, the other one a quarter of
    them.
    """
    rows = len(data)
    if how.tested is None:
        test, rest = min(s.test, rows // 4), rows - min(s.test, rows // 4)
    else:
        test, rest = min(s.test, int(how.tested.sum())), int((~how.tested).sum())
    check = min(s.check * 2**s.growth, rows // 6, rest // 3)
    # Groups do not divide evenly: their splits keep a reserve.
    room = int((rest - check) * (0.8 if how.by_group else 1.0)) - 1
    top = min(s.most_labels, room)
    if top < LEAST or test < 4 or check < 2:
        raise SeparatrixError(f"a diagnosis needs at least 20 rows to split, got {rows}")
    return Sizes(tuple(sorted({max(LEAST, top // 4), top})), check, test)


def stratified(
    rows: Int[np.ndarray, " rows"], labels: np.ndarray, rng: np.random.Generator
) -> Int[np.ndarray, " rows"]:
    """Rows in a random order in which every stretch has the classes in their proportions.

    >>> rng = np.random.default_rng(0)
    >>> order = stratified(np.arange(8), np.array([0, 0, 0, 0, 1, 1, 1, 1]), rng)
    >>> sorted((order[:2] // 4).tolist()), sorted((order[2:4] // 4).tolist())
    ([0, 1], [0, 1])
    """
    rows = rng.permutation(rows)
    place = np.empty(len(rows))
    for each in np.unique(labels[rows]):
        mine = np.flatnonzero(labels[rows] == each)
        place[mine] = (np.arange(len(mine)) + rng.random()) / len(mine)
    return rows[np.argsort(place, kind="stable")]


class Split:
    """The rows of one split."""

    def __init__(self, learn: np.ndarray, check: np.ndarray, test: np.ndarray):
        self.learn, self.check, self.test = learn, check, test


def split_rows(labels: np.ndarray, how: Splitting, sizes: Sizes, seed: int, number: int) -> Split:
    """The split of a number. Splits take stretches of one random order as long as it lasts, so that
    on large data they share no row.

    Args:
        labels: class numbers, or zeros for a regression.
        how: how rows may be split.
        sizes: how many rows each side has.
        seed: of the diagnosis.
        number: which split.
    """
    rng = np.random.default_rng([seed, number, 12])
    everyone = np.arange(len(labels))
    if how.tested is not None:
        test = stratified(everyone[how.tested], labels, rng)[: sizes.test]
        rest = stratified(everyone[~how.tested], labels, rng)
    elif how.by_group:
        return _by_groups(labels, how.groups, sizes, rng)
    else:
        need = sizes.test + sizes.check + sizes.top
        turn, block = divmod(number, max(1, len(labels) // need))
        order = stratified(everyone, labels, np.random.default_rng([seed, turn, 11]))
        order = np.roll(order, -block * need)
        test, rest = order[: sizes.test], order[sizes.test :]
    rest = rest[~np.isin(how.groups[rest], how.groups[test])]
    if how.by_group:  # and the user's test rows
        names = rng.permutation(np.unique(how.groups[rest]))
        checked = np.isin(how.groups[rest], names[: max(1, len(names) // 6)])
        return Split(rest[~checked][: sizes.top], rest[checked][: sizes.check], test)
    check, rest = rest[: sizes.check], rest[sizes.check :]
    learn = rest[~np.isin(how.groups[rest], how.groups[check])][: sizes.top]
    return Split(learn, check, test)


def _by_groups(
    labels: np.ndarray, groups: np.ndarray, sizes: Sizes, rng: np.random.Generator
) -> Split:
    names = rng.permutation(np.unique(groups))
    test, check = max(1, len(names) // 4), max(1, len(names) // 6)
    parts = np.split(names, [test, test + check])
    test, check, learn = (
        stratified(np.flatnonzero(np.isin(groups, part)), labels, rng) for part in parts
    )
    return Split(learn[: sizes.top], check[: sizes.check], test[: sizes.test])


def chosen_rows(data: Labelled, how: Splitting, sizes: Sizes, s: Settings) -> np.ndarray:
    """The rows that splits are made of: all of them, or of large data as many as are of use."""
    most = max(1000, int(POOL_BYTES // max(1, data.inputs[:1].nbytes)))
    if not how.by_group:
        most = min(most, s.splits * (sizes.top + sizes.check + sizes.test))
    if len(data) <= most:
        return np.arange(len(data))
    return np.sort(np.random.default_rng([s.seed, 13]).permutation(len(data))[:most])


def array_data(data: Labelled, how: Splitting, sizes: Sizes, s: Settings, skewed: bool):
    """The splits of a data set as the arrays of a task, and the sizes that all of them have."""
    pool = chosen_rows(data, how, sizes, s)
    held = dataclasses.replace(
        data, inputs=np.ascontiguousarray(data.inputs[pool]), labels=data.labels[pool]
    )
    how = Splitting(
        how.groups[pool], how.by_group, None if how.tested is None else how.tested[pool]
    )
    classes = held.labels if data.classes else np.zeros(len(pool), int)
    splits = [split_rows(classes, how, sizes, s.seed, number) for number in range(s.splits)]
    learn, check, test = (
        min(len(getattr(each, part)) for each in splits) for part in ("learn", "check", "test")
    )
    if how.tested is not None and (learn < LEAST or check < 2):
        raise SeparatrixError(
            f"{printable(data.name)} has {learn} rows to learn from and {check} to choose on "
            "beside the rows for testing; rows of which the group or a copy is for testing are "
            "left out, so give the rows for testing groups of their own"
        )
    if learn < LEAST or check < 2 or test < 4:
        raise SeparatrixError(
            f"{printable(data.name)} has too few groups or rows for a split into three parts: "
            f"{learn} rows to learn from, {check} to choose on, {test} to test on"
        )
    top = min(learn, sizes.top)
    sizes = Sizes(
        tuple(sorted({min(size, top) for size in (*sizes.labels[:-1], top)})), check, test
    )
    y = held.labels.astype(np.float32)
    if len(data.classes) == 2:
        y = 2 * y - 1
    elif not data.classes:
        y = (y - y.mean()) / max(float(y.std()), 1e-12)
    parts = {
        part: np.stack([getattr(each, part)[:count] for each in splits]).astype(np.int32)
        for part, count in (("learn", top), ("check", check), ("test", test))
    }
    scaled = [moments(held, each.learn[:top]) for each in splits]
    rows = SplitRows(
        x=held.inputs if held.inputs.dtype == np.uint8 else held.inputs.astype(np.float32),
        y=y.astype(np.float32),
        **parts,
        mean=np.stack([mean for mean, _ in scaled]).astype(np.float32),
        scale=np.stack([scale for _, scale in scaled]).astype(np.float32),
        weight=_weights(y[parts["learn"]], skewed),
        check_weight=_weights(y[parts["check"]], skewed),
    )
    return ArrayData(rows), sizes


def _weights(y: np.ndarray, balanced: bool) -> np.ndarray:
    """Weights of rows, split by split, that sum to 1: all alike, or every class alike."""
    out = np.ones(y.shape)
    if balanced:
        for row, labels in zip(out, y):
            for each in np.unique(labels):
                row[labels == each] = 1.0 / (labels == each).sum()
    return (out / out.sum(1, keepdims=True)).astype(np.float32)
