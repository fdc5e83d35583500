"""From arrays to `Labelled`: every reader ends here, so that all data pass the same checks."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from separatrix.data.labelled.axes import AskedKind, as_numbers, laid_out
from separatrix.data.labelled.checks import check_rows, identity, remarks, scan
from separatrix.data.labelled.limits import byte_limit, check_size, encodable, said
from separatrix.data.labelled.rows import Labelled
from separatrix.data.labelled.targets import AskedTask, understood
from separatrix.errors import ParameterError, SeparatrixError, check_choice
from separatrix.notes import Note


@dataclasses.dataclass(frozen=True, eq=False)
class Raw:
    """What a reader found, before anything is checked: inputs, labels, and what it has to say about
    them.

    >>> Raw(np.zeros((2, 3)), np.zeros(2)).kind
    'auto'
    """

    inputs: np.ndarray
    labels: np.ndarray
    kind: AskedKind = "auto"
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()  # names of the labels 0, 1, … where the labels are numbers
    notes: tuple[Note, ...] = ()


def check_asked(owner: str, task: str, kind: str) -> None:
    """Refuse a task or kind that there is not.

    >>> check_asked("as_labelled", "ranking", "auto")
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `task` of as_labelled must be one of 'auto', 'classification', 'regression', got 'ranking'
    """
    check_choice(owner, "task", task, ("auto", "classification", "regression"))
    check_choice(owner, "kind", kind, ("auto", "image", "signal", "tabular"))


def build(
    name: str,
    raw: Raw,
    task: AskedTask = "auto",
    kind: AskedKind = "auto",
    shape: tuple[int, ...] | None = None,
) -> Labelled:
    """Check what a reader found and put it into one form.

    >>> build("a", Raw(np.zeros((20, 3)), np.zeros(19)))
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: a has 20 rows of inputs but 19 labels
    """
    name = encodable(name)
    inputs = raw.inputs
    if kind == "auto" and shape is None:
        kind = raw.kind
    if inputs.dtype.kind not in "buif":
        as_numbers(name, inputs)  # which says what is wrong
    x, found, notes = laid_out(name, inputs, kind, shape)
    count = len(raw.labels) if raw.labels.ndim else 0
    if count != len(x):
        raise SeparatrixError(f"{said(name)} has {len(x)} rows of inputs but {count} labels")
    few = check_rows(name, len(x))
    if x[0].size < 2:
        raise SeparatrixError(
            f"{said(name)} has one feature only, so that there are no neighbours and nothing to share"
        )
    labels, classes, told = understood(
        name, raw.labels, "classification" if raw.classes and task == "auto" else task
    )
    if (
        raw.classes
        and classes
        and all(each.isdigit() and int(each) < len(raw.classes) for each in classes)
    ):
        classes = tuple(raw.classes[int(each)] for each in classes)
    columns = tuple(encodable(each) for each in raw.columns) if found == "tabular" else ()
    x = as_numbers(name, x)
    seen = scan(name, x, columns)
    notes = (
        *raw.notes,
        *notes,
        *few,
        *told,
        *remarks(name, seen, labels, columns, bool(classes)),
        *_perhaps_images(x, found),
    )
    return Labelled(
        name,
        x,
        labels,
        classes,
        found,
        notes,
        seen.groups,
        identity(seen, x.shape, labels, classes),
        columns,
    )


def _perhaps_images(x: np.ndarray, kind: str) -> tuple[Note, ...]:
    side = round(x.shape[1] ** 0.5)
    if kind != "tabular" or x.dtype != np.uint8 or side < 8 or side * side != x.shape[1]:
        return ()
    words = f"rows of {x.shape[1]} whole numbers from 0 to 255 may be images; if so, say shape={side},{side}"
    return (Note("perhaps-images", "info", words),)


def as_labelled(
    x: Any,
    y: Any = None,
    *,
    name: str = "arrays",
    task: AskedTask = "auto",
    kind: AskedKind = "auto",
    shape: tuple[int, ...] | None = None,
    max_bytes: int | None = None,
) -> Labelled:
    """Arrays, or any iterable of (x, y) pairs, as checked data.

    `x` is (rows, features), (rows, length, channels), (rows, height, width) or (rows, height,
    width, channels); `kind` and `shape` say what its axes mean where that is not clear, `task` what
    the labels are. Pairs may hold at most `max_bytes` (as `read_labelled`).

    >>> as_labelled(np.random.default_rng(0).random((40, 8, 8)), ["a", "b"] * 20)
    Labelled(name='arrays', kind='image', rows=40, shape=(8, 8, 1), classes=2)
    >>> as_labelled((([i, i + 1, 3], 0.5 * i) for i in range(30)), name="pairs")
    Labelled(name='pairs', kind='tabular', rows=30, shape=(3, 1), regression)
    >>> as_labelled(np.zeros((30, 4)), np.arange(29))
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: arrays has 30 rows of inputs but 29 labels
    """
    check_asked("as_labelled", task, kind)
    if not isinstance(name, str):
        raise ParameterError("as_labelled", "name", "text", name)
    columns: tuple[str, ...] = ()
    if y is None:
        inputs, labels = _stacked(x, name, byte_limit(max_bytes))
    else:
        found = getattr(x, "columns", None)  # of a data frame
        columns = tuple(map(str, found)) if found is not None else ()
        inputs, labels = _array(x, name, "inputs"), _array(y, name, "labels")
    return build(name, Raw(inputs, labels, columns=columns), task, kind, shape)


def _array(values: Any, name: str, what: str) -> np.ndarray:
    if isinstance(values, np.ndarray):
        return values
    try:
        return np.asarray(values)
    except Exception:  # rows of different lengths, or a class of the user that is no array
        raise SeparatrixError(
            f"the {what} of {said(name)} do not make an array; all rows need the same shape"
        ) from None


def _stacked(pairs: Iterable[Any], name: str, limit: int) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(pairs, (str, bytes, np.ndarray)) or not isinstance(pairs, Iterable):
        raise SeparatrixError(f"{said(name)} needs labels: give y, or an iterable of (x, y) pairs")
    xs, ys, total = [], [], 0
    for row, pair in enumerate(pairs):
        try:
            x, y = pair
        except (TypeError, ValueError):
            raise SeparatrixError(f"row {row} of {said(name)} is no (x, y) pair") from None
        x = _array(x, name, "inputs")
        if xs and x.shape != xs[0].shape:
            raise SeparatrixError(
                f"row {row} of {said(name)} has the shape {x.shape} and not {xs[0].shape}, that of the first"
            )
        total += x.nbytes
        check_size(name, total, limit)
        xs.append(x)
        ys.append(y)
    if not xs:
        raise SeparatrixError(f"{said(name)} has no rows")
    return np.stack(xs), _array(ys, name, "labels")
