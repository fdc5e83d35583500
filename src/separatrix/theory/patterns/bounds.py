"""Malach & Shalev-Shwartz, the positive side: a convolutional network learns k-patterns (Theorem 4,
Corollary 5, and the right sides of Lemmas 8 and 9 and Theorem 10).

The paper's n, k, q, T and c are `bits`, `window`, `filters`, `steps` and `ceiling`. Every function
takes numbers or arrays that broadcast. Products such as 2^k n² are computed as logarithms, so that
large windows give inf and never a wrong finite number.
"""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import ParameterError, check_number
from separatrix.theory.common import Condition, Values, exponential, flags, grid, plain
from separatrix.theory.patterns.readout import needed_filters

_LN2 = float(np.log(2.0))


@dataclasses.dataclass(frozen=True)
class Theorem4Bound:
    """Theorem 4: the average loss over all steps is at most `total`, the sum of three terms.

    `drift` pays for the first layer's movement (Lemma 9), `comparator` for the distance to Lemma
    6's readout, `descent` for the gradients' size (Theorem 10). `vacuous` says that `total` is at
    least 1, the loss of the network that is zero.

    >>> bound = theorem4(bits=4, window=2, filters=8192, steps=5000)
    >>> round(bound.drift, 4), round(bound.comparator, 4), round(bound.descent, 4)
    (0.0625, 0.7071, 0.1448)
    """

    drift: Values
    comparator: Values
    descent: Values
    total: Values
    rate: Values
    vacuous: bool | np.ndarray
    conditions: tuple[Condition, ...]

    @property
    def applies(self) -> bool:
        """Whether every condition is met everywhere.

        >>> theorem4(bits=4, window=2, filters=10, steps=5000).applies
        False
        """
        return all(bool(np.all(condition.met)) for condition in self.conditions)


def theorem4_rate(bits: ArrayLike, filters: ArrayLike, steps: ArrayLike) -> Values:
    """The step size of Theorem 4, √n/(√q·T); one print of the paper shows √n/√(qT), which its proof
    contradicts.

    >>> theorem4_rate(bits=16, filters=64, steps=10)
    0.05
    """
    n = grid("theorem4", "bits", bits, 1, whole=True)
    q = grid("theorem4", "filters", filters, 1, whole=True)
    t = grid("theorem4", "steps", steps, 1, whole=True)
    return plain(np.sqrt(n / q) / t)


def _log_terms(
    n: np.ndarray, k: np.ndarray, c: np.ndarray, local: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logarithms of a, d, r in the bound a/q + d/√q + r√q/T."""
    drift = np.log(2 * c) + (1 if local else 2) * np.log(n) + 2 * np.log(k) + k * _LN2
    comparator = _LN2 + 2 * (k * _LN2 + np.log(k)) - np.log(n) / 2
    return drift, comparator, 2 * np.log(c) + 1.5 * np.log(n)


def theorem4(
    bits: ArrayLike,
    window: ArrayLike,
    filters: ArrayLike,
    steps: ArrayLike,
    delta: ArrayLike = 0.05,
    ceiling: ArrayLike = 1.0,
    local: bool = False,
) -> Theorem4Bound:
    """Theorem 4's bound 2cn²k²2^k/q + 2(2^k k)²/√(qn) + c²n^1.5 √q/T on the average training loss.

    Args:
        bits: the paper's n.
        window: the paper's k.
        filters: the paper's q; of a locally connected network, those of one window.
        steps: the paper's T.
        delta: the probability of a draw of the filters for which nothing is promised.
        ceiling: the paper's c, the largest value of the activation.
        local: whether the network is locally connected (Section 3.1). A window's filters then
            follow that window's gradient alone and move n times less, so that the first term is
            2cnk²2^k/q. The paper says only that the theorem can be modified; this is the result.

    Returns:
        The three terms, their sum, and the conditions.

    >>> bound = theorem4(bits=4, window=2, filters=8192, steps=5000)
    >>> round(bound.total, 2), bound.vacuous, bound.applies
    (0.91, False, True)
    >>> bool(theorem4(bits=64, window=6, filters=10**6, steps=10**6).vacuous)
    True
    >>> round(theorem4(bits=4, window=2, filters=8192, steps=5000, local=True).drift, 4)
    0.0156
    """
    n = grid("theorem4", "bits", bits, 1, whole=True)
    k = grid("theorem4", "window", window, 1, n, whole=True)
    q = grid("theorem4", "filters", filters, 1, whole=True)
    t = grid("theorem4", "steps", steps, 1, whole=True)
    c = grid("theorem4", "ceiling", ceiling, 0, open_low=True)
    p = grid("theorem4", "delta", delta, 0, 1, open_low=True)
    a, d, r = _log_terms(n, k, c, local)
    parts = [
        exponential(a - np.log(q)),
        exponential(d - np.log(q) / 2),
        exponential(r + np.log(q) / 2 - np.log(t)),
    ]
    parts = np.broadcast_arrays(*parts)
    total = np.sum(parts, axis=0)
    needed = needed_filters(k, p)
    conditions = (
        Condition("filters > 2^(window+3) ln(2^window/delta)", flags(np.asarray(q > needed))),
        Condition(
            "ceiling >= 1/window, so that the initial features of Lemma 6 are not cut",
            flags(np.asarray(c >= 1 / k)),
        ),
    )
    drift, comparator, descent = (plain(part) for part in parts)
    rate = plain(np.sqrt(n / q) / t)
    return Theorem4Bound(
        drift, comparator, descent, plain(total), rate, flags(total >= 1), conditions
    )


@dataclasses.dataclass(frozen=True)
class Theorem4Sizes:
    """Sizes at which Theorem 4 guarantees an average loss of at most `epsilon`.

    `filters` is the smallest number with which any number of steps suffices, and `steps` is that
    number of steps (very large at the edge). `cheapest_filters` and `cheapest_steps` minimise their
    product, the work, among all sizes with the guarantee. Counts are float64, inf if they overflow.

    """

    epsilon: Values
    filters: Values
    steps: Values
    cheapest_filters: Values
    cheapest_steps: Values


def theorem4_sizes(
    bits: ArrayLike,
    window: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike = 0.05,
    ceiling: ArrayLike = 1.0,
    local: bool = False,
) -> Theorem4Sizes:
    """The smallest numbers of filters and steps for which Theorem 4's right side is at most
    `epsilon`; the arguments are those of `theorem4`.

    >>> sizes = theorem4_sizes(bits=4, window=2, epsilon=0.9)
    >>> theorem4(4, 2, sizes.filters, sizes.steps).total <= 0.9
    True
    >>> theorem4(4, 2, sizes.filters - 1, 10**15).total <= 0.9
    False
    """
    n = grid("theorem4_sizes", "bits", bits, 1, whole=True)
    k = grid("theorem4_sizes", "window", window, 1, n, whole=True)
    e = grid("theorem4_sizes", "epsilon", epsilon, 0, open_low=True)
    c = grid("theorem4_sizes", "ceiling", ceiling, 0, open_low=True)
    p = grid("theorem4_sizes", "delta", delta, 0, 1, open_low=True)
    n, k, e, c, p = np.broadcast_arrays(n, k, e, c, p)
    a, d, r = _log_terms(n, k, c, local)
    floor = np.floor(needed_filters(k, p)) + 1
    # With y = 1/√q the first two terms are a·y² + d·y. They equal epsilon at the root of a
    # quadratic; the work q·T is least where 5a·y² + 4d·y = 3·epsilon. Both have the positive root
    # 2γ/(β + √(β² + 4αγ)), here with logarithms of α, β, γ.
    smallest = _count(_root(a, d, np.log(e)), floor)
    cheapest = _count(_root(a + np.log(5), d + np.log(4), np.log(3 * e)), floor)

    def steps(q: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            room = e - exponential(a - np.log(q)) - exponential(d - np.log(q) / 2)
            needed = np.ceil(exponential(r + np.log(q) / 2) / room * (1 + 1e-12))
        return np.where(np.isfinite(q) & (room > 0), needed, np.inf)

    # Rounding can leave the smallest count just below the edge, where no number of steps suffices.
    for _ in range(3):
        short = np.isfinite(smallest) & ~np.isfinite(steps(smallest))
        smallest = np.where(
            short, smallest + np.maximum(1, np.spacing(np.where(short, smallest, 1.0))), smallest
        )
    cheapest = np.maximum(cheapest, smallest)
    return Theorem4Sizes(
        plain(e), plain(smallest), plain(steps(smallest)), plain(cheapest), plain(steps(cheapest))
    )


def _root(alpha: np.ndarray, beta: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    inner = np.logaddexp(2 * beta, np.log(4) + alpha + gamma) / 2
    return _LN2 + gamma - np.logaddexp(beta, inner)


def _count(log_y: np.ndarray, floor: np.ndarray) -> np.ndarray:
    return np.maximum(np.ceil(exponential(-2 * log_y)), floor)


@dataclasses.dataclass(frozen=True)
class Corollary5Sizes:
    """The orders of magnitude of Corollary 5. The paper states O(·); the constants here are 1, so
    these are not guarantees.

    `filters`, `steps` and `samples` are as printed. Substituting k = log2 n into Theorem 4 needs
    log⁴ n and log² n where the print has log² n and log n; `filters_from_theorem4` and
    `steps_from_theorem4` are those, again with constant 1.

    >>> sizes = corollary5(bits=64, window=6, epsilon=0.5)
    >>> round(sizes.filters_from_theorem4 / sizes.filters, 1)
    17.3
    """

    filters: Values
    steps: Values
    samples: Values
    filters_from_theorem4: Values
    steps_from_theorem4: Values
    constants: str = "O(.) with every constant set to 1"


def corollary5(
    bits: ArrayLike, window: ArrayLike, epsilon: ArrayLike, delta: ArrayLike = 0.05
) -> Corollary5Sizes:
    """Corollary 5: filters ε⁻²n³log²n, steps ε⁻²n³log n, samples ε⁻²nkq log(nkq/δ), logarithms
    natural.

    >>> sizes = corollary5(bits=16, window=4, epsilon=0.5)
    >>> f"{sizes.filters:.3g} {sizes.steps:.3g} {sizes.samples:.3g}"
    '1.26e+05 4.54e+04 6.09e+08'
    """
    n = grid("corollary5", "bits", bits, 2, whole=True)
    k = grid("corollary5", "window", window, 1, n, whole=True)
    e = grid("corollary5", "epsilon", epsilon, 0, open_low=True)
    p = grid("corollary5", "delta", delta, 0, 1, open_low=True)
    base, log = n**3 / e**2, np.log(n)
    q = base * log**2
    samples = n * k * q * np.log(n * k * q / p) / e**2
    values = np.broadcast_arrays(q, base * log, samples, base * log**4, base * log**2)
    filters, steps, rows, more_filters, more_steps = (plain(v) for v in values)
    return Corollary5Sizes(filters, steps, rows, more_filters, more_steps)


@dataclasses.dataclass(frozen=True)
class Lemma8Bound:
    """Lemma 8 after `steps` steps from u = 0: the readout norm of each window and the distance that
    the first layer has moved.
    """

    readout: Values
    first_layer: Values
    conditions: tuple[Condition, ...]


_START = Condition("u(0) = 0, |sigma| <= ceiling, |sigma'| <= 1", "by the caller")


def _run_parameters(
    owner: str,
    bits: ArrayLike,
    window: ArrayLike,
    filters: ArrayLike,
    steps: ArrayLike,
    rate: ArrayLike,
    ceiling: ArrayLike,
) -> tuple[np.ndarray, ...]:
    n = grid(owner, "bits", bits, 1, whole=True)
    return (
        n,
        grid(owner, "window", window, 1, n, whole=True),
        grid(owner, "filters", filters, 1, whole=True),
        grid(owner, "steps", steps, 0, whole=True),
        grid(owner, "rate", rate, 0, open_low=True),
        grid(owner, "ceiling", ceiling, 0, open_low=True),
    )


def lemma8(
    bits: ArrayLike,
    window: ArrayLike,
    filters: ArrayLike,
    steps: ArrayLike,
    rate: ArrayLike,
    ceiling: ArrayLike = 1.0,
    local: bool = False,
) -> Lemma8Bound:
    """Lemma 8: ||u_j(T)|| <= cηT√q (the main text drops the c) and ||W(T) - W(0)|| <= cη²T²n√(qk).

    With `local`, the weights are those of one window of a locally connected network, whose bound
    is n times smaller.

    >>> bound = lemma8(bits=4, window=2, filters=100, steps=10, rate=0.01)
    >>> round(bound.readout, 9), round(bound.first_layer, 9)
    (1.0, 0.565685425)
    """
    n, k, q, t, eta, c = _run_parameters("lemma8", bits, window, filters, steps, rate, ceiling)
    pace = eta * t
    windows = np.ones_like(n) if local else n
    return Lemma8Bound(
        plain(c * pace * np.sqrt(q)), plain(c * pace**2 * windows * np.sqrt(q * k)), (_START,)
    )


def lemma9(
    bits: ArrayLike,
    window: ArrayLike,
    filters: ArrayLike,
    steps: ArrayLike,
    rate: ArrayLike,
    readout_norms: ArrayLike,
    ceiling: ArrayLike = 1.0,
    local: bool = False,
) -> Values:
    """Lemma 9: |L(u*, W(T)) - L(u*, W(0))| <= cη²T²nk√q·Σ_j||u*_j||, with `readout_norms` the
    ||u*_j|| (last axis); without the n for a locally connected network (`local`).

    >>> norms = [0.5, 0.0, 0.0]
    >>> round(lemma9(4, 2, filters=100, steps=10, rate=0.01, readout_norms=norms), 9)
    0.4
    """
    n, k, q, t, eta, c = _run_parameters("lemma9", bits, window, filters, steps, rate, ceiling)
    norms = grid("lemma9", "readout_norms", readout_norms, 0)
    windows = np.ones_like(n) if local else n
    return plain(c * (eta * t) ** 2 * windows * k * np.sqrt(q) * np.atleast_1d(norms).sum(-1))


@dataclasses.dataclass(frozen=True)
class Theorem10Bound:
    """The right side of Theorem 10, term by term; `total` bounds the average loss of online
    gradient descent.
    """

    comparator_loss: float
    comparator_distance: float
    start: float
    gradients: float
    total: float


def theorem10(
    comparator_losses: ArrayLike,
    comparator_norm: float,
    gradient_norms: ArrayLike,
    rate: float,
    start_norm: float = 0.0,
) -> Theorem10Bound:
    """Theorem 10: mean f_t(θ*) + ||θ*||²/(2ηT) + ||θ_1||·mean||g_t|| + η·mean||g_t||², from the
    numbers of a run.

    >>> bound = theorem10([0.0, 0.0], comparator_norm=1.0, gradient_norms=[1.0, 1.0], rate=0.5)
    >>> bound.comparator_distance, bound.gradients, bound.total
    (0.5, 0.5, 1.0)
    """
    losses = np.atleast_1d(grid("theorem10", "comparator_losses", comparator_losses))
    norms = np.atleast_1d(grid("theorem10", "gradient_norms", gradient_norms, 0))
    check_number("theorem10", "comparator_norm", comparator_norm, 0)
    check_number("theorem10", "start_norm", start_norm, 0)
    check_number("theorem10", "rate", rate, 0, open_low=True)
    if losses.shape != norms.shape or losses.ndim != 1 or not len(losses):
        raise ParameterError(
            "theorem10",
            "gradient_norms",
            f"one norm for each of the {losses.size} losses",
            norms.shape,
        )
    terms = (
        float(losses.mean()),
        comparator_norm**2 / (2 * rate * len(norms)),
        start_norm * float(norms.mean()),
        rate * float((norms**2).mean()),
    )
    return Theorem10Bound(*terms, total=sum(terms))
