"""Two classical learners of juntas: the low-degree algorithm, and low degree with linear algebra.

Both learn a function of few bits from random rows, in any order of the bits. They are what a
network without the right windows competes with:

- `low_degree`: estimate every Fourier coefficient up to a degree; for a k-junta, the k-th. It is a
  statistical-query algorithm and pays C(n, k) candidates for a parity.
- `low_degree_and_linear` (Mossel, O'Donnell & Servedio 2003): a function of k bits either has a
  Fourier coefficient of degree at most 3k/4, or is a polynomial of low degree over the field of
  two elements, which Gaussian elimination finds. Parities are linear there: no candidates at all.
  It reads rows, so no statistical-query bound applies.
"""

import dataclasses
import itertools
import math
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import SeparatrixError
from separatrix.theory.patterns.junta import check_rows, pack_columns, rule_table
from separatrix.theory.patterns.readout import pattern_index

MOST_CANDIDATES = 3 * 10**8  # coefficients or monomials: minutes
_WORDS = 1 << 20  # of packed rows that are looked at together: 8 MiB, near the cache of a core


@dataclasses.dataclass(frozen=True)
class LearntJunta:
    """The bits that a learner found, its rule, and what finding them cost.

    `support` is empty where nothing was found. `table` holds the rule's signs in the order of
    `pattern_index`, 0 where no row shows the pattern. `candidates` counts coefficients estimated
    and monomials solved for.
    """

    support: tuple[int, ...]
    table: np.ndarray
    candidates: int
    samples: int
    seconds: float

    @property
    def found(self) -> bool:
        """Whether the rule explains every row."""
        return bool(self.support)


def coefficients(x: np.ndarray, y: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """The sets of exactly `degree` bits (as rows) and their empirical Fourier coefficients.

    >>> x = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    >>> sets, values = coefficients(x, x[:, 0] * x[:, 1], 2)
    >>> sets.tolist(), values.tolist()
    ([[0, 1]], [1.0])
    """
    bits, rows = x.shape[1], len(y)
    columns, labels = pack_columns(-x), pack_columns(-y[:, None])[0]
    # Padding is 0 in columns and labels, so it never counts as a disagreement.
    sets, values = [], []
    size = max(64, _WORDS // (degree * columns.shape[1]))
    for block in _blocks(itertools.combinations(range(bits), degree), size):
        product = np.bitwise_xor.reduce(columns[block], axis=1) ^ labels
        wrong = np.bitwise_count(product).sum(1, dtype=np.int64)
        sets.append(block)
        values.append(1 - 2 * wrong / rows)
    return np.concatenate(sets), np.concatenate(values)


def low_degree(x: ArrayLike, y: ArrayLike, window: int) -> LearntJunta:
    """Learn a function of `window` bits from its Fourier coefficients up to that degree.

    Coefficients of a function of k bits are multiples of 2^(1−k), so those beyond 2^−k are
    significant when rows are many enough (about 2·4^k ln C(n, k)).

    Args:
      x: inputs, (rows, bits) of ±1.
      y: labels of ±1, without noise.
      window: the number k of bits that the label depends on.

    Returns:
      The bits of all significant coefficients and their rule, if it explains every row.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.choice([-1, 1], (1500, 12))
    >>> low_degree(x, x[:, 2] * x[:, 5] * x[:, 9], window=3).support
    (2, 5, 9)
    """
    inputs, labels = check_rows("low_degree", x, y, window)
    began, bits = time.perf_counter(), inputs.shape[1]
    candidates = sum(math.comb(bits, degree) for degree in range(1, window + 1))
    _affordable("low_degree", bits, window, candidates)
    support: set[int] = set()
    for degree in range(1, window + 1):
        sets, values = coefficients(inputs, labels, degree)
        support.update(sets[np.abs(values) > 2.0**-window].ravel().tolist())
    return _learnt(inputs, labels, support, window, candidates, began)


def low_degree_and_linear(x: ArrayLike, y: ArrayLike, window: int) -> LearntJunta:
    """Learn a function of `window` bits as Mossel, O'Donnell & Servedio do.

    Args:
      x: inputs, (rows, bits) of ±1.
      y: labels of ±1, without noise.
      window: the number k of bits that the label depends on.

    Returns:
      The bits and their rule, if it explains every row.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.choice([-1, 1], (1500, 40))
    >>> learnt = low_degree_and_linear(x, x[:, [3, 8, 17, 25]].prod(1), window=4)
    >>> learnt.support, learnt.candidates < 11_000
    ((3, 8, 17, 25), True)
    """
    inputs, labels = check_rows("low_degree_and_linear", x, y, window)
    began, counter = time.perf_counter(), [0]
    support = _relevant(inputs, labels, window, counter)
    return _learnt(inputs, labels, support, window, counter[0], began)


def _relevant(x: np.ndarray, y: np.ndarray, window: int, counter: list[int]) -> set[int]:
    """Bits that the labels depend on: some by a search, the others after fixing those."""
    if not len(y) or np.all(y == y[0]) or window < 1:
        return set()
    found = _some_relevant(x, y, window, counter)
    if not found or len(found) >= window:
        return found
    fixed = sorted(found)
    rest = [i for i in range(x.shape[1]) if i not in found]
    index = pattern_index(x[:, fixed])
    for pattern in range(2 ** len(fixed)):
        rows = index == pattern
        inner = _relevant(x[rows][:, rest], y[rows], window - len(fixed), counter)
        found |= {rest[i] for i in inner}
    return found


def _some_relevant(x: np.ndarray, y: np.ndarray, window: int, counter: list[int]) -> set[int]:
    bits, low = x.shape[1], (3 * window) // 4
    for degree in range(1, max(low, 1) + 1):
        _affordable("low_degree_and_linear", bits, degree, math.comb(bits, degree))
        counter[0] += math.comb(bits, degree)
        sets, values = coefficients(x, y, degree)
        best = int(np.argmax(np.abs(values)))
        # A coefficient of a function of k bits is 0 or at least 2^(1−k). Rows may be too few to
        # see that; then only what chance would give to one search in a thousand counts.
        chance = math.sqrt(2 * math.log(2000 * len(values)) / len(y))
        if abs(values[best]) > max(2.0**-window, chance):
            return set(sets[best].tolist())
    return _linear(x, y, max(window - low, 1), counter)


def _linear(x: np.ndarray, y: np.ndarray, degree: int, counter: list[int]) -> set[int]:
    """The bits of a polynomial over two elements, of a degree, that explains all labels."""
    bits = x.shape[1]
    monomials = [
        part for size in range(degree + 1) for part in itertools.combinations(range(bits), size)
    ]
    _affordable("low_degree_and_linear", bits, degree, len(monomials) ** 2 // 64)
    counter[0] += len(monomials)
    ones = x < 0
    matrix = np.column_stack([np.all(ones[:, list(part)], axis=1) for part in monomials])
    solution = solve_binary(matrix, y < 0)
    if solution is None:
        return set()
    return set(itertools.chain.from_iterable(monomials[i] for i in np.flatnonzero(solution)))


def solve_binary(matrix: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """A solution of a linear system over two elements, or None; free unknowns are 0.

    >>> solve_binary(np.array([[1, 1], [0, 1]], bool), np.array([0, 1], bool)).tolist()
    [True, True]
    >>> solve_binary(np.array([[1], [1]], bool), np.array([0, 1], bool)) is None
    True
    """
    rows, unknowns = matrix.shape
    packed = pack_columns(np.where(np.column_stack([matrix, right]).T, 1, -1))  # a row per equation
    pivots: list[int] = []
    for column in range(unknowns):
        word, bit = column // 64, np.uint64(column % 64)
        at = len(pivots)
        holds = ((packed[at:, word] >> bit) & np.uint64(1)).astype(bool)
        if not holds.any():
            continue
        first = at + int(np.argmax(holds))
        packed[[at, first]] = packed[[first, at]]
        others = ((packed[:, word] >> bit) & np.uint64(1)).astype(bool)
        others[at] = False
        packed[others] ^= packed[at]
        pivots.append(column)
        if len(pivots) == rows:
            break
    value = ((packed[:, unknowns // 64] >> np.uint64(unknowns % 64)) & np.uint64(1)).astype(bool)
    if value[len(pivots) :].any():
        return None
    solution = np.zeros(unknowns, bool)
    solution[pivots] = value[: len(pivots)]
    return solution


def _learnt(
    x: np.ndarray, y: np.ndarray, support: set[int], window: int, candidates: int, began: float
) -> LearntJunta:
    bits = tuple(sorted(support))
    table = None
    if bits and len(bits) <= window:
        table = rule_table(pattern_index(x[:, list(bits)]), y, 2 ** len(bits))
    seconds = time.perf_counter() - began
    if table is None:
        return LearntJunta((), np.zeros(0, np.int8), candidates, len(y), seconds)
    return LearntJunta(bits, table, candidates, len(y), seconds)


def _affordable(owner: str, bits: int, degree: int, count: int) -> None:
    if count > MOST_CANDIDATES:
        raise SeparatrixError(
            f"{owner} would look at {count:.3g} candidates for degree {degree} of {bits} bits (at "
            f"most {MOST_CANDIDATES:.0e}); use fewer bits, or window_search if they are consecutive"
        )


def _blocks(sets: Iterator[tuple[int, ...]], size: int) -> Iterator[np.ndarray]:
    while True:
        block = list(itertools.islice(sets, size))
        if not block:
            return
        yield np.array(block, np.int32)
