"""Labels: from the values of a column or array to class numbers, or to numbers for a regression."""

import numbers

import numpy as np
from jaxtyping import Float32, Int32

from separatrix.data.readers.limits import encodable, printable
from separatrix.data.rows import TaskOption
from separatrix.errors import SeparatrixError
from separatrix.notes import Note

MOST_CLASSES = 1000
WHOLE_FLOATS = 20  # up to this many different whole floats are taken for classes
ROWS_A_CLASS = 5  # integers with fewer rows per value are taken for numbers, not classes
RARE = 5  # a note names a class with fewer rows
UNEVEN = 5.0  # a note names classes of which the largest is this many times the smallest

Interpreted = tuple[
    Int32[np.ndarray, " rows"] | Float32[np.ndarray, " rows"], tuple[str, ...], tuple[Note, ...]
]


def interpret_labels(name: str, y: np.ndarray, task: TaskOption = "auto") -> Interpreted:
    """Class numbers and the names of the classes, or numbers and no names; and notes.

    Text and truth values are classes. So are numbers with two different values, floats with at most
    20 different whole values, and integers with at least five rows per value. Other numbers make a
    regression. `task` overrides these rules.

    >>> interpret_labels("a", np.array(["b", "a", "b", "a"]))[:2]
    (array([1, 0, 1, 0], dtype=int32), ('a', 'b'))
    >>> interpret_labels("a", np.array([1.5, 2.5, 3.5]))[1]
    ()
    >>> interpret_labels("a", np.array([7, 7, 7]))
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: all 3 labels of a are 7; there is nothing to learn
    """
    y, notes = _flat(name, _plain(name, y), task)
    _refuse_missing(name, y)
    if y.dtype.kind == "U":
        y = _numeric(name, y) if task == "regression" else y
    values, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(values) < 2:
        raise SeparatrixError(
            f"all {len(y)} labels of {printable(name)} are {printable(_called(values[0]))}; there "
            "is nothing to learn"
        )
    if task == "classification" or (task == "auto" and _classes(y, values)):
        note = (
            _guessed(len(values))
            if task == "auto" and len(values) > WHOLE_FLOATS and y.dtype.kind in "iuf"
            else ()
        )
        return _classified(name, values, inverse, counts, (*notes, *note))
    if task == "auto" and y.dtype.kind in "iu":
        words = (
            f"the labels are {len(values)} different whole numbers and are taken for amounts; say "
            "task=classification if they are classes"
        )
        notes = (*notes, Note("task-guessed", "info", words))
    with np.errstate(over="ignore", invalid="ignore"):
        out = y.astype(np.float32)
    if not np.isfinite(out).all():
        raise SeparatrixError(
            f"the labels of {printable(name)} reach {np.abs(y).max():.3g}, beyond what float32 "
            "holds; rescale them"
        )
    if out.min() == out.max():
        raise SeparatrixError(
            f"all labels of {printable(name)} are {out[0]:g} to the precision of float32; "
            "subtract their mean"
        )
    return out, (), notes


def _plain(name: str, y: np.ndarray) -> np.ndarray:
    """Text as str, everything else as plain numbers."""
    if y.dtype.kind == "O":
        flat = y.reshape(-1).tolist()
        if all(isinstance(label, str) for label in flat):
            return np.array([encodable(label) for label in flat], np.str_).reshape(y.shape)
        if all(isinstance(label, numbers.Real) for label in flat):
            try:
                return np.array([float(label) for label in flat]).reshape(y.shape)
            except OverflowError:
                raise SeparatrixError(
                    f"the labels of {printable(name)} hold a number beyond floating point; "
                    "rescale them"
                ) from None
        missing = sum(label is None for label in flat)
        if missing:
            raise SeparatrixError(
                f"{missing} labels of {printable(name)} are missing; remove these rows"
            )
        sorts = " and ".join(sorted({type(label).__name__ for label in flat})[:3])
        raise SeparatrixError(
            f"the labels of {printable(name)} must be all text or all numbers, but are "
            f"{printable(sorts)}"
        )
    if y.dtype.kind == "S":
        return np.char.decode(y, "utf-8", "backslashreplace")
    if y.dtype.kind == "U":
        try:
            "".join(y.reshape(-1)).encode()
        except UnicodeError:
            raise SeparatrixError(
                f"the labels of {printable(name)} hold text that is not Unicode"
            ) from None
        return y
    if y.dtype.kind not in "buif":
        raise SeparatrixError(
            f"the labels of {printable(name)} must be text or numbers, but are of type "
            f"{printable(str(y.dtype))}"
        )
    return y if y.dtype.isnative else y.astype(y.dtype.newbyteorder("="))


def _flat(name: str, y: np.ndarray, task: TaskOption) -> tuple[np.ndarray, tuple[Note, ...]]:
    if y.ndim == 1:
        return y, ()
    if y.ndim and y.size == len(y):
        return y.reshape(-1), ()
    if y.ndim == 2 and y.shape[1] and task != "regression" and y.dtype.kind in "buif":
        hot = y.astype(bool)
        if (hot.sum(1) == 1).all() and (y[hot] == 1).all():
            note = Note(
                "one-hot",
                "info",
                f"the labels are one-hot rows of {y.shape[1]} and are read as class numbers",
            )
            return hot.argmax(1), (note,)
    raise SeparatrixError(
        f"the labels of {printable(name)} must be one a row, but have the shape "
        f"{' × '.join(map(str, y.shape)) or '()'}"
    )


def _refuse_missing(name: str, y: np.ndarray) -> None:
    if y.dtype.kind == "f":
        missing = ~np.isfinite(y)
    elif y.dtype.kind == "U":
        missing = np.char.strip(y) == ""
    else:
        return
    if missing.any():
        raise SeparatrixError(
            f"{int(missing.sum())} labels of {printable(name)} are missing or infinite, the first "
            f"in row {int(missing.argmax())}; remove these rows"
        )


def _numeric(name: str, y: np.ndarray) -> np.ndarray:
    try:
        out = y.astype(np.float64)
    except ValueError:
        raise SeparatrixError(
            f"the labels of {printable(name)} are text, which a regression cannot use; say "
            "task=classification"
        ) from None
    _refuse_missing(name, out)
    return out


def _classes(y: np.ndarray, values: np.ndarray) -> bool:
    if y.dtype.kind in "bU" or len(values) == 2:
        return True
    enough = len(values) * ROWS_A_CLASS <= len(y)
    if y.dtype.kind == "f":
        return enough and len(values) <= WHOLE_FLOATS and bool((values == np.rint(values)).all())
    return enough and len(values) <= MOST_CLASSES


def _guessed(count: int) -> tuple[Note, ...]:
    words = (
        f"the labels are {count} different whole numbers and are taken for classes; say "
        "task=regression if they are amounts"
    )
    return (Note("task-guessed", "info", words),)


def _called(value: np.generic) -> str:
    plain = value.item()
    return (
        str(int(plain))
        if isinstance(plain, float) and plain.is_integer() and abs(plain) < 1e15
        else str(plain)
    )


def _order(names: list[str]) -> list[int]:
    """Sort whole numbers as numbers (class "10" after class "9") and other names as text."""
    whole = all(len(name) <= 15 and name.isascii() and name.lstrip("-").isdigit() for name in names)
    return sorted(
        range(len(names)),
        key=lambda i: (int(names[i]) if whole and names[i].count("-") <= 1 else 0, names[i]),
    )


def _classified(
    name: str, values: np.ndarray, inverse: np.ndarray, counts: np.ndarray, notes: tuple[Note, ...]
) -> Interpreted:
    rows = len(inverse)
    if len(values) > MOST_CLASSES:
        raise SeparatrixError(
            f"the labels of {printable(name)} name {len(values)} classes, more than the "
            f"{MOST_CLASSES} allowed; is this a regression?"
        )
    if 2 * len(values) > rows:
        raise SeparatrixError(
            f"the labels of {printable(name)} name {len(values)} classes in {rows} rows, fewer "
            "than two rows a class"
        )
    names = [_called(value) for value in values]
    order = _order(names)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    classes = tuple(names[i] for i in order)
    return place[inverse.reshape(-1)], classes, (*notes, *balance(classes, counts[order]))


def balance(classes: tuple[str, ...], counts: np.ndarray) -> tuple[Note, ...]:
    """Notes on classes that have few rows, or many fewer than another.

    >>> [note.code for note in balance(("a", "b"), np.array([99, 1]))]
    ['rare-class', 'imbalanced']
    """
    out = []
    few = np.flatnonzero(counts < RARE)
    if few.size:
        worst = int(counts.argmin())
        words = (
            f"{few.size} of {len(classes)} classes have fewer than {RARE} rows "
            f"(`{printable(classes[worst])}` has {counts[worst]})"
        )
        out.append(
            Note(
                "rare-class",
                "warning",
                words
                + (
                    "; a class of one row is never both learnt and tested"
                    if counts[worst] == 1
                    else ""
                ),
            )
        )
    if counts.max() >= UNEVEN * counts.min():
        most, least = int(counts.argmax()), int(counts.argmin())
        share = counts[most] / counts.sum()
        words = (
            f"class `{printable(classes[most])}` has {counts[most]} rows and "
            f"`{printable(classes[least])}` {counts[least]}"
        )
        out.append(
            Note(
                "imbalanced",
                "warning",
                f"{words}; always answering the first is right in {share:.1%} of the rows",
            )
        )
    return tuple(out)
