"""Rows against what they say they are: a row must have the columns of the trial whose identity it
carries, and parts must agree about a trial that several of them hold.
"""

import json
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int

from separatrix.learners.stopping import Status

if TYPE_CHECKING:
    from separatrix.engine.trial import Trial

RESULTS = ("status", "steps", "loss", "risk")  # columns that every row has
ENDS = tuple(status.label for status in Status if status is not Status.RUNNING)
TIMES = ("run.seconds",)  # columns in which two runs of one trial may differ


def contradicting(
    table: pa.Table, trials: "Sequence[Trial]"
) -> dict[str, Bool[np.ndarray, " rows"]]:
    """Which rows contradict the trials that they are said to be.

    Args:
      table: rows in the order of `trials`.
      trials: one trial per row.

    Returns:
      For each column in which a row differs from its trial, lacks a result, or has one that no
      trial can have, which rows do.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8, seeds=2)
    >>> table = sx.Lab().run(sweep).arrow
    >>> contradicting(table, list(sweep)), sorted(contradicting(table, list(sweep)[::-1]))
    ({}, ['seed', 'trial'])
    """
    if not trials:
        return {}
    kinds, which = _kinds(trials)
    heads = [trial.columns() for trial in kinds]
    unsaid = [trial.default_columns() for trial in kinds]
    wrong: dict[str, Bool[np.ndarray, " rows"]] = {}
    expected = {name: [head.get(name) for head in heads] for name in _names(heads)}
    columns = [
        (name, values, [name in each for each in unsaid], which)
        for name, values in expected.items()
        if name != "seed"
    ]
    rows, said = np.arange(len(trials)), [False] * len(trials)
    columns += [
        ("seed", [trial.seed for trial in trials], said, rows),
        ("trial", [trial.identity for trial in trials], said, rows),
    ]
    for name, values, optional, place in columns:
        differs = _differs(_column(table, name), values, optional, place)
        if differs.any():
            wrong[name] = differs
    for name in RESULTS:
        column = _column(table, name)
        empty = np.ones(len(trials), bool) if column is None else np.asarray(column.is_null())
        if empty.any():
            wrong[name] = empty
    return wrong or _impossible(table)


def _impossible(table: pa.Table) -> dict[str, Bool[np.ndarray, " rows"]]:
    """Which rows have an unknown status, or a loss that is no number although they say nothing of
    it; a trial ends as `non-finite` at its first such loss.
    """
    status = np.array([str(word) for word in table["status"].to_pylist()])
    loss = table["loss"].to_numpy()
    wrong = {
        "status": ~np.isin(status, ENDS),
        "loss": ~_finite(loss) & (status != Status.NON_FINITE.label),
    }
    return {name: rows for name, rows in wrong.items() if rows.any()}


def _finite(values: np.ndarray) -> Bool[np.ndarray, " rows"]:
    if values.dtype.kind not in "iuf":
        return np.zeros(len(values), bool)
    return np.isfinite(values)


def _kinds(trials: "Sequence[Trial]") -> tuple[list["Trial"], Int[np.ndarray, " rows"]]:
    """One trial of each kind, alike up to the seed, and which kind each trial is of.

    The trials of a sweep share the objects of which they are made.
    """
    kinds: list[Trial] = []
    known: dict[Any, int] = {}
    which = np.empty(len(trials), np.int64)
    for row, trial in enumerate(trials):
        parts = (trial.task, trial.network, trial.learner, trial.measure)
        key = (type(trial), *map(id, parts), trial.samples, trial.precision)
        if key not in known:
            known[key] = len(kinds)
            kinds.append(trial)
        which[row] = known[key]
    return kinds, which


def _names(heads: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for head in heads for name in head))


def _column(table: pa.Table, name: str) -> pa.ChunkedArray | None:
    places = table.schema.get_all_field_indices(name)
    return table.column(places[0]) if len(places) == 1 else None


def _differs(
    column: pa.ChunkedArray | None,
    values: list[Any],
    optional: list[bool],
    which: Int[np.ndarray, " rows"],
) -> Bool[np.ndarray, " rows"]:
    """Where a column differs from `values[which]`; a missing column holds nothing.

    Nothing is as good as a value that is `optional`: a default, which rows from before its field
    existed do not have. Every pair of a stored and an expected value is compared once.
    """
    if column is None or pa.types.is_nested(column.type):
        needed = [v is not None and not free for v, free in zip(values, optional)]
        return np.array(needed, bool)[which]
    coded = pa.chunked_array([column.combine_chunks()]).combine_chunks().dictionary_encode()
    stored = [*coded.dictionary.to_pylist(), None]
    codes = np.asarray(coded.indices.fill_null(len(stored) - 1)).astype(np.int64)
    pairs, inverse = np.unique(codes * len(values) + which, return_inverse=True)
    equal = []
    for pair in pairs:
        found, place = stored[pair // len(values)], pair % len(values)
        equal.append((found is None and optional[place]) or same(found, values[place]))
    return ~np.array(equal, bool)[inverse]


def same(stored: Any, expected: Any) -> bool:
    """Whether a stored value is the expected one.

    A column that is text in some rows is text in all, so that numbers may be stored as text.

    >>> same("3", 3), same(3.0, 3), same("0.5", 0.25), same(True, 1), same(None, None)
    (True, True, False, False, True)
    """
    if isinstance(stored, str) and expected is not None and not isinstance(expected, str):
        try:
            stored = json.loads(stored)
        except ValueError:
            return False
    if isinstance(stored, bool) or isinstance(expected, bool):
        return stored is expected
    return stored == expected


def equal_rows(a: pa.Table, b: pa.Table) -> bool:
    """Whether two tables hold the same rows, apart from how long they took.

    >>> equal_rows(pa.table({"x": [1.0], "run.seconds": [1.0]}), pa.table({"x": [1.0]}))
    True
    """
    names = {*a.column_names, *b.column_names} - set(TIMES)
    nothing = pa.nulls(a.num_rows)
    for name in names:
        one, other = (table[name] if name in table.column_names else nothing for table in (a, b))
        if one.type == other.type and one.equals(other):
            continue
        # NaN differs from itself, and whole numbers may be stored as others.
        if not all(map(_equal, one.to_pylist(), other.to_pylist())):
            return False
    return True


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    return a == b
