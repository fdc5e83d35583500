"""Two exact learners from noise-free samples: search over windows, and over all sets of k bits.

A set of bits explains the labels unless two samples with different labels agree on it. So every
pair of samples with different labels is a test: the set must contain a bit where the two differ. A
pair is one bit of a packed column per coordinate, and a bitwise or of k words tests 64 pairs. Pairs
at small distance reject most candidates: the closest pairs of a short prefix of the samples reject
nearly all of them with one word. Survivors are confirmed on all samples, exactly.
"""

import dataclasses
import itertools
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import ParameterError, SeparatrixError, check_integer
from separatrix.theory.patterns.hardness import log_window
from separatrix.theory.patterns.readout import pattern_index

LARGEST_SEARCH = 10**10
_TABLE = 1 << 18  # combinations whose words are cached: 2 MiB, within the cache of a core
_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


@dataclasses.dataclass(frozen=True)
class SearchResult:
    """The sets of bits that explain all samples, and the cost of the search.

    `tables` holds for each support the rule's 2^k signs in the order of `pattern_index`, 0 where no
    sample shows the pattern. `survivors` counts all sets that explain the samples; `supports` lists
    the first of them. `rows_read` adds up the samples that the tests of all candidates looked at (a
    candidate's first word of pairs counts the prefix once).

    """

    supports: tuple[tuple[int, ...], ...]
    tables: tuple[np.ndarray, ...]
    survivors: int
    candidates: int
    confirmed: int
    rows_read: int
    seconds: float

    @property
    def unique(self) -> bool:
        """Whether exactly one set of bits explains the samples."""
        return self.survivors == 1

    @property
    def verdict(self) -> str:
        """One sentence for people."""
        if self.survivors == 0:
            return (
                f"none of {self.candidates} candidates explains the samples: labels are noisy or "
                "depend on more bits"
            )
        if self.unique:
            return (
                f"only bits {self.supports[0]} of {self.candidates} candidates explain the samples"
            )
        return (
            f"{self.survivors} of {self.candidates} candidates explain the samples: more samples "
            "are needed to decide"
        )


def pack_columns(signs: ArrayLike) -> np.ndarray:
    """Columns of ±1 as bits, 64 samples per word: (columns, words) of uint64, padded with zeros.

    >>> pack_columns([[1, -1], [1, 1]]).tolist()
    [[3], [2]]
    """
    ones = np.asarray(signs) > 0
    padded = np.zeros((ones.shape[1], -(-ones.shape[0] // 64) * 64), np.uint8)
    padded[:, : ones.shape[0]] = ones.T
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def check_rows(
    owner: str, x: ArrayLike, y: ArrayLike, window: int
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels as arrays of ±1, or one sentence that says what is wrong with them."""
    inputs, labels = np.asarray(x), np.asarray(y).ravel()
    if inputs.ndim != 2 or not inputs.size or not np.isin(inputs[:1024], (-1, 1)).all():
        raise ParameterError(owner, "x", "an array (samples, bits) of -1 and 1", np.shape(x))
    if len(labels) != len(inputs) or not np.isin(labels[:1024], (-1, 1)).all():
        raise ParameterError(owner, "y", f"{len(inputs)} labels -1 or 1", np.shape(y))
    check_integer(owner, "window", window, 1, min(inputs.shape[1], 20))
    return inputs, labels


def _tests(
    inputs: np.ndarray, labels: np.ndarray, prefix: int, words: int
) -> tuple[np.ndarray, bool]:
    """Up to 64·words pairs of samples with different labels, closest first, as packed columns of
    where they differ.

    Also whether these are all pairs that the samples have, so that passing them is an exact answer.
    """
    positive = np.flatnonzero(labels[:prefix] > 0)
    negative = np.flatnonzero(labels[:prefix] <= 0)
    ones = inputs[:prefix] > 0
    a, b = ones[positive].astype(np.float32), ones[negative].astype(np.float32)
    distance = a.sum(1)[:, None] + b.sum(1) - 2 * a @ b.T
    count = min(distance.size, 64 * words)
    every = len(labels) <= prefix and count == distance.size
    if not count:  # one label only: nothing rejects any candidate yet
        return np.full((inputs.shape[1], 1), _ALL), every
    closest = np.argpartition(distance.ravel(), count - 1)[:count]
    closest = closest[np.argsort(distance.ravel()[closest], kind="stable")]
    first, second = np.unravel_index(closest, distance.shape)
    differ = ones[positive[first]] ^ ones[negative[second]]
    # Padding must not reject a candidate: pad with ones.
    padded = np.ones((-(-count // 64) * 64, inputs.shape[1]), bool)
    padded[:count] = differ
    return pack_columns(np.where(padded, 1, -1)), every


def _subsets(bits: int, size: int) -> np.ndarray:
    """All sets of `size` bits as sorted rows, in lexicographic order."""
    rows = np.arange(bits, dtype=np.int32)[:, None]
    for _ in range(size - 1):
        more = bits - 1 - rows[:, -1]
        first = np.repeat(np.cumsum(more) - more, more)
        rows = np.repeat(rows, more, axis=0)
        rows = np.column_stack(
            [rows, rows[:, -1] + 1 + np.arange(len(rows), dtype=np.int32) - first]
        ).astype(np.int32)
    return rows


def _combinations(
    bits: int, window: int, columns: np.ndarray
) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Every (prefix, suffixes) of the search tree whose first word of tests is hit: suffixes are
    rows of index tuples.
    """
    size = window
    while size > 1 and math.comb(bits, size) > _TABLE:
        size -= 1
    tails = _subsets(bits, size)
    hits = np.bitwise_or.reduce(columns[tails], axis=1)
    # Lexicographic order: the tails that start after bit i are a suffix of the table.
    starts = np.searchsorted(tails[:, 0], np.arange(bits + 1), side="left")
    for head in itertools.combinations(range(bits), window - size):
        first = int(starts[head[-1] + 1]) if head else 0
        if first == len(tails):
            continue
        base = np.bitwise_or.reduce(columns[list(head)]) if head else np.uint64(0)
        alive = np.flatnonzero((hits[first:] | base) == _ALL)
        if len(alive):
            yield head, tails[first + alive]


def rule_table(index: np.ndarray, labels: np.ndarray, patterns: int) -> np.ndarray | None:
    """The rule's table if no pattern has both labels, else None."""
    seen = np.bincount(2 * index + (labels > 0), minlength=2 * patterns).reshape(patterns, 2) > 0
    if np.any(seen.all(1)):
        return None
    return seen[:, 1].astype(np.int8) - seen[:, 0].astype(np.int8)


class _Confirmer:
    """Tests survivors on growing numbers of samples, and counts the rows it reads."""

    def __init__(self, inputs: np.ndarray, labels: np.ndarray, keep: int):
        self.inputs, self.labels, self.keep = inputs, labels, keep
        self.rows = self.confirmed = self.survivors = 0
        self.supports: list[tuple[int, ...]] = []
        self.tables: list[np.ndarray] = []

    def test(self, support: tuple[int, ...]) -> None:
        """Confirm one candidate on a short prefix, then on all samples."""
        self.confirmed += 1
        total, table = len(self.labels), None
        for rows in sorted({min(total, 2048), total}):
            self.rows += rows
            table = rule_table(
                pattern_index(self.inputs[:rows, list(support)]),
                self.labels[:rows],
                2 ** len(support),
            )
            if table is None:
                return
        self.survivors += 1
        if table is not None and len(self.supports) < self.keep:
            self.supports.append(support)
            self.tables.append(table)


def junta_search(
    x: ArrayLike, y: ArrayLike, window: int, *, prefix: int = 256, words: int = 8, keep: int = 16
) -> SearchResult:
    """Every set of `window` bits that explains the labels, among all C(n, k).

    Args:
        x: The inputs, (samples, bits) of ±1.
        y: The labels, ±1.
        window: The number of bits k.
        prefix: The number of samples that the tests are made of.
        words: The number of words of tests: 64·`words` of the closest pairs.
        keep: How many survivors are listed.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.choice([-1, 1], (400, 20))
    >>> result = junta_search(x, x[:, 3] * x[:, 8] * x[:, 17], window=3)
    >>> result.supports, result.candidates, result.unique
    (((3, 8, 17),), 1140, True)
    >>> result.tables[0].tolist()
    [-1, 1, 1, -1, 1, -1, -1, 1]
    """
    inputs, labels = check_rows("junta_search", x, y, window)
    for name, number in (("prefix", prefix), ("words", words), ("keep", keep)):
        check_integer("junta_search", name, number, 1, 4096)
    bits = inputs.shape[1]
    candidates = math.comb(bits, window)
    if candidates > LARGEST_SEARCH:
        raise SeparatrixError(
            f"C({bits}, {window}) = {candidates:.3g} sets of bits are too many to search (at most "
            f"{LARGEST_SEARCH:.0e}); use window_search if the bits are consecutive, or a smaller "
            "window"
        )
    began = time.perf_counter()
    if np.all(labels == labels[0]):
        prefix = len(labels)  # every set explains a constant
    tests, every = _tests(inputs, labels, prefix, words)
    confirmer = _Confirmer(inputs, labels, keep)
    for head, tails in _combinations(bits, window, tests[:, 0]):
        if head:
            tails = np.concatenate(
                [np.broadcast_to(np.array(head, np.int32), (len(tails), len(head))), tails], axis=1
            )
        if tests.shape[1] > 1:
            tails = tails[(np.bitwise_or.reduce(tests[:, 1:][tails], axis=1) == _ALL).all(1)]
        # If the tests cover all pairs, survivors need no confirmation; only those listed get a
        # table.
        room = max(keep - len(confirmer.supports), 0) if every else len(tails)
        for support in tails[:room].tolist():
            confirmer.test(tuple(support))
        confirmer.survivors += len(tails[room:])
    return _result(confirmer, candidates, min(prefix, len(labels)), began)


def window_search(x: ArrayLike, y: ArrayLike, window: int, *, keep: int = 16) -> SearchResult:
    """Every window of consecutive bits that explains the labels, among all n-k+1.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.choice([-1, 1], (200, 64))
    >>> window_search(x, x[:, 10] * x[:, 11] * x[:, 12], window=3).supports
    ((10, 11, 12),)
    """
    inputs, labels = check_rows("window_search", x, y, window)
    check_integer("window_search", "keep", keep, 1)
    began = time.perf_counter()
    confirmer = _Confirmer(inputs, labels, keep)
    count = inputs.shape[1] - window + 1
    for start in range(count):
        confirmer.test(tuple(range(start, start + window)))
    return _result(confirmer, count, 0, began)


def _result(confirmer: _Confirmer, candidates: int, prefix: int, began: float) -> SearchResult:
    return SearchResult(
        tuple(confirmer.supports),
        tuple(confirmer.tables),
        confirmer.survivors,
        candidates,
        confirmer.confirmed,
        candidates * prefix + confirmer.rows,
        time.perf_counter() - began,
    )


def search_once(bits: int, samples: int, seed: int) -> dict[str, Any]:
    """Both searches for the parity of k = ⌈log2 n⌉ consecutive bits, and both again after a
    permutation of the bits.

    Where there are too many sets of bits to search, the time is missing and the count is not.

    >>> row = search_once(16, 500, seed=0)
    >>> row["windows"], row["sets"], row["agree"], row["permuted_windows"]
    (13, 1820, True, 0)
    """
    window = log_window(bits)
    rng = np.random.default_rng([seed, bits, window])
    x = rng.choice([-1, 1], (samples, bits))
    start = int(rng.integers(0, bits - window + 1))
    y = x[:, start : start + window].prod(1)
    order = rng.permutation(bits)
    by_window = window_search(x, y, window)
    row: dict[str, Any] = {
        "bits": bits,
        "window": window,
        "windows": by_window.candidates,
        "sets": math.comb(bits, window),
        "window_rows": by_window.rows_read,
        "junta_rows": None,
        "window_seconds": by_window.seconds,
        "junta_seconds": None,
        "agree": None,
        "permuted_found": None,
    }
    bits_of_label = tuple(range(start, start + window))
    row["window_found"] = by_window.unique and by_window.supports[0] == bits_of_label
    row["permuted_windows"] = window_search(x[:, order], y, window).survivors
    if row["sets"] <= LARGEST_SEARCH:
        by_set = junta_search(x, y, window)
        row["junta_rows"], row["junta_seconds"] = by_set.rows_read, by_set.seconds
        row["agree"] = by_set.unique and by_set.supports == by_window.supports
        if row["sets"] <= LARGEST_SEARCH / 1000:
            moved = tuple(sorted(np.argsort(order)[start : start + window].tolist()))
            row["permuted_found"] = junta_search(x[:, order], y, window).supports == (moved,)
    return row
