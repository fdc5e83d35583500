"""Checks of labelled data, from raw arrays to `Labelled`; all readers and `as_labelled` end here.

One pass over the inputs finds values that are not finite, constant features and identical rows, and
computes the identity of the data.
"""

import dataclasses
import hashlib
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Int32, Num, UInt64

from separatrix.data.axes import as_stored_numbers, interpret_axes
from separatrix.data.readers.limits import encodable, printable
from separatrix.data.rows import KindOption, Labelled, RawData, TaskOption, chunk_rows
from separatrix.data.targets import interpret_labels
from separatrix.errors import SeparatrixError
from separatrix.notes import Note

LEAST_ROWS = 20
COMFORTABLE_ROWS = 200


def build(
    name: str,
    raw: RawData,
    task: TaskOption = "auto",
    kind: KindOption = "auto",
    shape: tuple[int, ...] | None = None,
) -> Labelled:
    """Check inputs and labels, and convert them to one form.

    >>> build("a", RawData(np.zeros((20, 3)), np.zeros(19)))
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: a has 20 rows of inputs but 19 labels
    """
    name = encodable(name)
    inputs = raw.inputs
    asked = kind != "auto" or shape is not None  # what the user says is no guess
    kind = kind if asked else raw.kind
    remarked = (note for note in raw.notes if not (asked and note.code == "numbered-columns"))
    if inputs.dtype.kind not in "buif":
        as_stored_numbers(name, inputs)  # raises an error that explains the type
    x, kind, notes = interpret_axes(name, inputs, kind, shape)
    count = len(raw.labels) if raw.labels.ndim else 0
    if count != len(x):
        raise SeparatrixError(f"{printable(name)} has {len(x)} rows of inputs but {count} labels")
    few = check_rows(name, len(x))
    if x[0].size < 2:
        raise SeparatrixError(
            f"{printable(name)} has one feature only, so that there are no neighbours and nothing "
            "to share"
        )
    labels, classes, label_notes = interpret_labels(
        name, raw.labels, "classification" if raw.classes and task == "auto" else task
    )
    if (
        raw.classes
        and classes
        and all(number.isdigit() and int(number) < len(raw.classes) for number in classes)
    ):
        classes = tuple(raw.classes[int(number)] for number in classes)
    columns = tuple(encodable(column) for column in raw.columns) if kind == "tabular" else ()
    x = as_stored_numbers(name, x)
    summary = scan(name, x, columns)
    notes = (
        *remarked,
        *notes,
        *few,
        *label_notes,
        *remarks(name, summary, labels, columns, bool(classes)),
        *(_perhaps_images(x) if kind == "tabular" or (not asked and x.ndim == 3) else ()),
    )
    return Labelled(
        name,
        x,
        labels,
        classes,
        kind,
        notes,
        summary.groups,
        identity(summary, x.shape, labels, classes),
        columns,
        groups_of(name, raw.groups, len(x)),
        tested_of(name, raw.tested, len(x)),
        encodable(raw.label),
        tuple(encodable(each) for each in raw.dropped),
        encodable(raw.group),
    )


def groups_of(name: str, groups: np.ndarray | None, rows: int) -> np.ndarray | None:
    """The number of each row's group.

    >>> groups_of("a", np.array(["ann", "bob", "ann", "eve"]), 4).tolist()
    [0, 1, 0, 2]
    """
    if groups is None:
        return None
    if groups.ndim != 1 or len(groups) != rows:
        raise SeparatrixError(
            f"the groups of {printable(name)} must be one per row, {rows} of them, "
            f"but have the shape {groups.shape}"
        )
    _, numbers = np.unique(groups.astype(str), return_inverse=True)
    if numbers.max() < 2:
        raise SeparatrixError(
            f"the groups of {printable(name)} are only {numbers.max() + 1}, but a split into rows "
            "to learn from, to choose on and to test on needs at least 3"
        )
    return numbers.astype(np.int32)


TESTS = {"test", "testing", "eval", "evaluation", "holdout", "held-out", "true", "1", "1.0"}
TRAINS = {"train", "training", "learn", "val", "valid", "validation", "dev", "false", "0", "0.0"}


def tested_of(name: str, tested: np.ndarray | None, rows: int) -> np.ndarray | None:
    """Which rows are for testing, from flags or from words such as train and test.

    >>> int(tested_of("a", np.array(["train"] * 16 + ["test"] * 4), 20).sum())
    4
    """
    if tested is None:
        return None
    words = np.char.lower(np.char.strip(np.asarray(tested).astype(str)))
    if words.ndim != 1 or len(words) != rows:
        raise SeparatrixError(f"the split of {printable(name)} must say one thing per row, {rows}")
    other = sorted(set(words.tolist()) - TESTS - TRAINS)
    if other:
        raise SeparatrixError(
            f"the split of {printable(name)} must say train or test of every row, "
            f"not `{printable(other[0])}`"
        )
    out = np.isin(words, list(TESTS))
    if out.sum() < 4 or (~out).sum() < 16:
        raise SeparatrixError(
            f"the split of {printable(name)} has {int((~out).sum())} rows to learn from and "
            f"{int(out.sum())} to test on; at least 16 and 4 are needed"
        )
    return out


def _perhaps_images(x: np.ndarray) -> tuple[Note, ...]:
    side = round(x.shape[1] ** 0.5)
    if x.dtype != np.uint8 or side < 8 or side * side != x[0].size:
        return ()
    words = (
        f"rows of {x.shape[1]} whole numbers from 0 to 255 may be images; if so, say "
        f"shape={side},{side}"
    )
    return (Note("perhaps-images", "info", words),)


@dataclasses.dataclass(frozen=True)
class Scan:
    """The result of one pass over the inputs: constant features, groups of identical rows, digest.

    >>> scan("a", np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]], np.float32)).groups.tolist()
    [0, 1, 0]
    """

    constant: Bool[np.ndarray, "..."]
    groups: Int32[np.ndarray, " rows"]
    digest: str


def _chunks(x: Num[np.ndarray, "rows ..."]) -> Iterator[tuple[int, np.ndarray]]:
    """Pieces of the rows as plain bytes or float32, in which equal numbers have equal bits."""
    step = chunk_rows(x)
    for start in range(0, len(x), step):
        yield start, _canonical(x[start : start + step])


def _canonical(rows: np.ndarray) -> np.ndarray:
    if rows.dtype == np.uint8:
        return np.ascontiguousarray(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(rows.astype("<f4")) + np.float32(0.0)  # -0 becomes 0


def scan(name: str, x: Num[np.ndarray, "rows ..."], columns: tuple[str, ...] = ()) -> Scan:
    """Look at every value once; values that are not finite float32 are an error.

    >>> scan("a", np.array([[1.0, 2.0], [np.nan, 3.0]], np.float32), ("age", "size"))
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: 1 of 4 values of a are missing, infinite or beyond float32,
        in 1 of 2 rows, the first in row 1, column `age`; remove or fill them
    """
    low = high = None
    hashes = np.empty(len(x), np.uint64)
    digest = hashlib.sha256(b"u1" if x.dtype == np.uint8 else b"f4")
    bad_values, bad_rows, first = 0, 0, None
    for start, rows in _chunks(x):
        if rows.dtype != np.uint8:
            wrong = ~np.isfinite(rows)
            if wrong.any():
                at = np.argwhere(wrong)[0]
                first = (start + int(at[0]), int(at[1])) if first is None else first
                bad_values += int(wrong.sum())
                bad_rows += int(wrong.reshape(len(rows), -1).any(1).sum())
                continue
        least, most = rows.min(0), rows.max(0)
        low = least if low is None else np.minimum(low, least)
        high = most if high is None else np.maximum(high, most)
        hashes[start : start + len(rows)] = _hashed(rows)
        digest.update(rows.data.cast("B"))
    if first is not None:
        where = f", column `{printable(columns[first[1]])}`" if columns else ""
        raise SeparatrixError(
            f"{bad_values} of {x.size} values of {printable(name)} are missing, infinite or "
            f"beyond float32, in {bad_rows} of {len(x)} rows, the first in row {first[0]}{where}; "
            "remove or fill them"
        )
    assert low is not None
    assert high is not None
    return Scan(low == high, _groups(x, hashes), digest.hexdigest())


def _hashed(rows: np.ndarray) -> UInt64[np.ndarray, " rows"]:
    """A quick hash of each row; rows with equal hashes are compared exactly afterwards."""
    plain = rows.reshape(len(rows), -1).view(np.uint8)
    if plain.shape[1] % 8:
        plain = np.pad(plain, ((0, 0), (0, -plain.shape[1] % 8)))
    words = plain.view(np.uint64)
    odd = np.random.default_rng(0).integers(0, 2**63, words.shape[1], np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    return ((words ^ (words >> np.uint64(29))) * odd).sum(1, dtype=np.uint64)


def _groups(x: np.ndarray, hashes: UInt64[np.ndarray, " rows"]) -> Int32[np.ndarray, " rows"]:
    groups = np.arange(len(x), dtype=np.int32)
    order = np.argsort(hashes, kind="stable")
    same = hashes[order][1:] == hashes[order][:-1]
    perhaps = order[np.concatenate([same, [False]]) | np.concatenate([[False], same])]
    first_rows: dict[bytes, int] = {}
    for row in np.sort(perhaps):
        key = hashlib.blake2b(_canonical(x[row : row + 1]).tobytes(), digest_size=16).digest()
        groups[row] = first_rows.setdefault(key, int(row))
    return groups


def check_rows(name: str, count: int) -> tuple[Note, ...]:
    """Raise an error for fewer than 20 rows; return a note for fewer than 200.

    >>> check_rows("a", 19)
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: a has 19 rows, but at least 20 are needed
    >>> [note.code for note in check_rows("a", 100)]
    ['few-rows']
    """
    if count < LEAST_ROWS:
        raise SeparatrixError(
            f"{printable(name)} has {count} rows, but at least {LEAST_ROWS} are needed"
        )
    if count >= COMFORTABLE_ROWS:
        return ()
    words = (
        f"there are {count} rows; with fewer than {COMFORTABLE_ROWS} only large differences can "
        "be seen"
    )
    return (Note("few-rows", "warning", words),)


def remarks(
    name: str,
    summary: Scan,
    labels: Num[np.ndarray, " rows"],
    columns: tuple[str, ...],
    classified: bool = True,
) -> tuple[Note, ...]:
    """Notes on constant features, repeated rows, and identical inputs with different labels.

    >>> x = np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]], np.float32)
    >>> [note.code for note in remarks("a", scan("a", x), np.array([0, 0, 1]), ())]
    ['constant-features', 'duplicate-rows', 'conflicting-labels']
    """
    out = []
    constant = np.flatnonzero(summary.constant)
    if constant.size == summary.constant.size:
        raise SeparatrixError(
            f"all rows of {printable(name)} are the same; there is nothing to learn from"
        )
    if constant.size:
        names = (
            f" (`{printable(columns[constant[0]])}`{' and others' if constant.size > 1 else ''})"
            if columns
            else ""
        )
        out.append(
            Note(
                "constant-features",
                "info",
                f"{constant.size} of {summary.constant.size} features{names} never vary",
            )
        )
    repeats = np.flatnonzero(summary.groups != np.arange(len(labels)))
    if repeats.size:
        words = (
            f"{repeats.size} of {len(labels)} rows repeat an earlier row; identical rows must "
            "stay on one side of a split"
        )
        out.append(Note("duplicate-rows", "warning", words))
        # Groups with more than one label: some row differs from the first of its group.
        conflicts = np.unique(
            summary.groups[repeats][labels[repeats] != labels[summary.groups[repeats]]]
        )
        if conflicts.size:
            kind = "classes" if classified else "targets"
            out.append(
                Note(
                    "conflicting-labels",
                    "warning",
                    f"{conflicts.size} groups of identical rows have different {kind}",
                )
            )
    return tuple(out)


def identity(
    summary: Scan,
    shape: tuple[int, ...],
    labels: Num[np.ndarray, " rows"],
    classes: tuple[str, ...],
) -> str:
    """The identity of inputs and labels, 32 hexadecimal digits.

    >>> summary = scan("a", np.array([[1.0, 2.0], [1.0, 3.0]], np.float32))
    >>> len(identity(summary, (2, 1), np.array([0, 1], np.int32), ("a", "b")))
    32
    """
    whole = hashlib.sha256(repr((summary.digest, tuple(int(n) for n in shape), classes)).encode())
    whole.update(labels.astype("<i4" if classes else "<f4").tobytes())
    return whole.hexdigest()[:32]
