"""Lemma 6: on random sign filters every k-pattern is linear, with an explicit readout; and the
probability that a draw of filters allows it.
"""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import ParameterError, SeparatrixError, check_integer
from separatrix.theory.common import Values, exponential, grid, plain

LARGEST_CHECK = 24
LARGEST_PATTERNS = 20


def needed_filters(window: ArrayLike, delta: ArrayLike) -> Values:
    """Lemma 6 needs more filters than 2^(k+3) ln(2^k/δ).

    >>> round(needed_filters(window=3, delta=0.05))
    325
    """
    k = grid("needed_filters", "window", window, 1, whole=True)
    p = grid("needed_filters", "delta", delta, 0, 1, open_low=True)
    return plain(exponential((k + 3) * np.log(2)) * (k * np.log(2) - np.log(p)))


def pattern_index(patterns: ArrayLike) -> np.ndarray:
    """The row of a rule's table for patterns of ±1 in the last axis: entry Σ 2^i [x_i = +1], as in
    `PatternTask`.

    >>> pattern_index([[-1, -1], [1, -1], [1, 1]]).tolist()
    [0, 1, 3]
    """
    signs = np.asarray(patterns)
    return ((signs > 0) * (1 << np.arange(signs.shape[-1]))).sum(-1)


def parity_table(window: int) -> np.ndarray:
    """The parity of `window` bits as a table of signs.

    >>> parity_table(2).tolist()
    [1.0, -1.0, -1.0, 1.0]
    """
    check_integer("parity_table", "window", window, 1, LARGEST_PATTERNS)
    zeros = window - np.bitwise_count(np.arange(2**window)).astype(np.int64)
    return 1.0 - 2.0 * (zeros & 1)


def cube(bits: int) -> np.ndarray:
    """All 2^bits inputs of ±1, row by row in the order of `pattern_index`.

    >>> cube(2).tolist()
    [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    """
    check_integer("cube", "bits", bits, 1, LARGEST_CHECK)
    return 2.0 * ((np.arange(2**bits)[:, None] >> np.arange(bits)) & 1) - 1.0


@dataclasses.dataclass(frozen=True)
class ReadoutCertificate:
    """The readout u* of Lemma 6 for one draw of filters, with the properties that the lemma states.

    `readout` has a row per window; only row `start` is not zero. `counts` are the |J_z|, how many
    filters have each sign pattern. `covered` says that every pattern has a filter (then h = f
    exactly), `balanced` that every count is at least q·2^(-k-1) (then `norm` is at most
    `norm_bound`).

    """

    readout: np.ndarray
    counts: np.ndarray
    norm: float
    norm_bound: float
    covered: bool
    balanced: bool


def lemma6_readout(
    filters: ArrayLike, table: ArrayLike, start: int, bits: int
) -> ReadoutCertificate:
    """Build u*: at window `start`, every filter of sign pattern z gets k·g(z)/|J_z|; all other
    entries are zero.

    `filters` are q rows of ±1/k, `table` the rule's 2^k signs in the order of `pattern_index`.

    >>> filters = [[-0.5, -0.5], [0.5, -0.5], [-0.5, 0.5], [0.5, 0.5]]
    >>> certificate = lemma6_readout(filters, parity_table(2), start=1, bits=4)
    >>> certificate.readout.tolist()
    [[0.0, 0.0, 0.0, 0.0], [2.0, -2.0, -2.0, 2.0], [0.0, 0.0, 0.0, 0.0]]
    >>> certificate.norm <= certificate.norm_bound
    True
    """
    weights, rule = np.asarray(filters, np.float64), np.asarray(table, np.float64)
    q, k = weights.shape
    check_integer("lemma6_readout", "bits", bits, k)
    check_integer("lemma6_readout", "start", start, 0, bits - k)
    if not np.allclose(np.abs(weights), 1 / k, rtol=1e-6, atol=0):
        raise ParameterError(
            "lemma6_readout",
            "filters",
            f"rows of {k} weights -1/{k} or 1/{k}",
            weights.ravel()[:4].tolist(),
        )
    if rule.shape != (2**k,) or not np.all(np.abs(rule) == 1):
        raise ParameterError("lemma6_readout", "table", f"{2**k} signs -1 or 1", rule.tolist())
    index = pattern_index(weights)
    counts = np.bincount(index, minlength=2**k)
    readout = np.zeros((bits - k + 1, q))
    readout[start] = k * rule[index] / counts[index]
    return ReadoutCertificate(
        readout,
        counts,
        float(np.linalg.norm(readout)),
        float(2.0 ** (k + 1) * k / np.sqrt(q)),
        bool(counts.min() > 0),
        bool(counts.min() >= q * 2.0 ** (-k - 1)),
    )


def lemma6_error(filters: ArrayLike, table: ArrayLike, start: int, bits: int) -> float:
    """The largest |h(x) - f(x)| over all 2^bits inputs, for Lemma 6's readout and the bias 1/k - 1
    (ReLU).

    >>> rng = np.random.default_rng(0)
    >>> lemma6_error(rng.choice([-1/3, 1/3], (200, 3)), parity_table(3), start=2, bits=6) < 1e-14
    True
    """
    certificate = lemma6_readout(filters, table, start, bits)
    if bits > LARGEST_CHECK:
        raise SeparatrixError(
            f"2^{bits} inputs are too many to check one by one (at most 2^{LARGEST_CHECK}); "
            "check bits = window, since u* is zero outside its window"
        )
    weights, rule = np.asarray(filters, np.float64), np.asarray(table, np.float64)
    k = weights.shape[1]
    # The features of a window depend only on its k bits: tabulate them once, then look them up.
    features = np.maximum(cube(k) @ weights.T + (1 / k - 1), 0.0)
    outputs = features @ certificate.readout.T
    worst, block = 0.0, 1 << 18
    for first in range(0, 2**bits, block):
        codes = np.arange(first, min(first + block, 2**bits))
        seen = [(codes >> j) & (2**k - 1) for j in range(bits - k + 1)]
        value = sum(outputs[part, j] for j, part in enumerate(seen))
        worst = max(worst, float(np.abs(value - rule[seen[start]]).max()))
    return worst


@dataclasses.dataclass(frozen=True)
class CoverageFailure:
    """The probability that a draw of filters fails: some pattern has fewer than `minimum` filters.

    `chernoff` is the paper's bound 2^k e^(-q 2^-k/8) (for minimum = q·2^(-k-1)), `union` the union
    bound with the exact binomial, `exact` the multinomial probability itself (absolute error about
    1e-12; below that, use `union`).
    """

    minimum: int
    chernoff: float
    union: float
    exact: float


def coverage_failure(filters: int, window: int, minimum: int | None = None) -> CoverageFailure:
    """The probability that some sign pattern gets too few of `filters` random filters (default:
    fewer than q·2^(-k-1)).

    >>> failure = coverage_failure(filters=325, window=3)
    >>> failure.exact <= failure.union <= failure.chernoff <= 0.0501
    True
    >>> round(coverage_failure(filters=2, window=1, minimum=1).exact, 12)
    0.5
    """
    from scipy import stats  # slow to import

    check_integer("coverage_failure", "filters", filters, 1, 10_000_000)
    check_integer("coverage_failure", "window", window, 1, LARGEST_PATTERNS)
    if minimum is None:
        minimum = int(np.ceil(filters * 2.0 ** (-window - 1)))
    check_integer("coverage_failure", "minimum", minimum, 0)
    patterns = 2.0**window
    chernoff = float(min(1.0, patterns * exponential(-filters / patterns / 8)))
    union = float(min(1.0, patterns * stats.binom.cdf(minimum - 1, filters, 1 / patterns)))
    return CoverageFailure(minimum, chernoff, union, _multinomial_failure(filters, window, minimum))


def _multinomial_failure(q: int, k: int, minimum: int) -> float:
    from scipy import stats  # slow to import
    from scipy.signal import fftconvolve

    if minimum * 2**k > q:
        return 1.0
    # Counts of a multinomial are independent Poisson variables given their sum. 2^k equal factors
    # are k squarings.
    mean = q / 2**k
    part = stats.poisson.pmf(np.arange(q + 1), mean)
    part[:minimum] = 0.0
    part = np.trim_zeros(np.where(part < 1e-30, 0.0, part), "b")
    for _ in range(k):
        part = np.maximum(fftconvolve(part, part)[: q + 1], 0.0)
    success = part[q] if len(part) > q else 0.0
    return float(np.clip(1.0 - success / stats.poisson.pmf(q, q), 0.0, 1.0))


def draw_pattern_counts(
    filters: int, window: int, draws: int, seed: int | tuple[int, ...] = 0
) -> np.ndarray:
    """|J_z| for many independent draws of the filters: (draws, 2^window) counts, exactly
    multinomial.

    >>> counts = draw_pattern_counts(filters=100, window=3, draws=1000)
    >>> counts.shape, set(counts.sum(1).tolist())
    ((1000, 8), {100})
    """
    check_integer("draw_pattern_counts", "filters", filters, 1)
    check_integer("draw_pattern_counts", "window", window, 1, 16)
    check_integer("draw_pattern_counts", "draws", draws, 1)
    patterns = 2**window
    return np.random.default_rng(seed).multinomial(
        filters, np.full(patterns, 1 / patterns), size=draws
    )


@dataclasses.dataclass(frozen=True)
class CoverageDraws:
    """How many draws of the filters failed to cover, or to balance, the patterns."""

    draws: int
    uncovered: int
    unbalanced: int
    smallest: np.ndarray
    largest_norm_ratio: float


def coverage_draws(filters: int, window: int, draws: int = 10_000, seed: int = 0) -> CoverageDraws:
    """Monte-Carlo of Lemma 6's draw; `largest_norm_ratio` is max ||u*||/bound over the balanced
    draws (must be <= 1).

    >>> result = coverage_draws(filters=325, window=3, draws=2000)
    >>> result.unbalanced / result.draws <= 0.05, result.largest_norm_ratio <= 1
    (True, True)
    """
    counts = np.concatenate(
        [
            draw_pattern_counts(filters, window, min(draws - first, 4096), seed=(seed, first))
            for first in range(0, draws, 4096)
        ]
    )
    smallest = counts.min(1)
    balanced = smallest >= filters * 2.0 ** (-window - 1)
    # ||u*||² = Σ_z k²/|J_z| and the bound squared is 4·4^k·k²/q: k cancels.
    squares = (1.0 / np.maximum(counts[balanced], 1)).sum(1) * filters / 4.0 ** (window + 1)
    ratio = float(np.sqrt(squares.max())) if len(squares) else 0.0
    return CoverageDraws(draws, int((smallest == 0).sum()), int((~balanced).sum()), smallest, ratio)
