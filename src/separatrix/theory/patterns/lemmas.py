"""Right sides of Lemma 8, Lemma 9 and Theorem 10, to hold against a real run of gradient descent."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import ParameterError, check_number
from separatrix.theory.common import Condition, Values, grid, plain


@dataclasses.dataclass(frozen=True)
class Lemma8Bound:
    """Lemma 8 after `steps` steps from u = 0: each window's readout norm and the first layer's
    distance moved.

    >>> lemma8(bits=4, window=1, filters=1, steps=1, rate=0.5).conditions[0].text
    "u(0) = 0, |sigma| <= ceiling, |sigma'| <= 1"
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
) -> Lemma8Bound:
    """Lemma 8: ||u_j(T)|| <= cηT√q (the main text drops the c) and ||W(T) - W(0)|| <= cη²T²n√(qk).

    >>> bound = lemma8(bits=4, window=2, filters=100, steps=10, rate=0.01)
    >>> round(bound.readout, 9), round(bound.first_layer, 9)
    (1.0, 0.565685425)
    """
    n, k, q, t, eta, c = _run_parameters("lemma8", bits, window, filters, steps, rate, ceiling)
    pace = eta * t
    return Lemma8Bound(
        plain(c * pace * np.sqrt(q)), plain(c * pace**2 * n * np.sqrt(q * k)), (_START,)
    )


def lemma9(
    bits: ArrayLike,
    window: ArrayLike,
    filters: ArrayLike,
    steps: ArrayLike,
    rate: ArrayLike,
    readout_norms: ArrayLike,
    ceiling: ArrayLike = 1.0,
) -> Values:
    """Lemma 9: |L(u*, W(T)) - L(u*, W(0))| <= cη²T²nk√q·Σ_j||u*_j||, with `readout_norms` the
    ||u*_j|| (last axis).

    >>> round(lemma9(bits=4, window=2, filters=100, steps=10, rate=0.01, readout_norms=[0.5, 0.0, 0.0]), 9)
    0.4
    """
    n, k, q, t, eta, c = _run_parameters("lemma9", bits, window, filters, steps, rate, ceiling)
    norms = grid("lemma9", "readout_norms", readout_norms, 0)
    return plain(c * (eta * t) ** 2 * n * k * np.sqrt(q) * np.atleast_1d(norms).sum(-1))


@dataclasses.dataclass(frozen=True)
class Theorem10Bound:
    """Theorem 10's right side, term by term; `total` bounds the average loss of online gradient
    descent.

    >>> theorem10([0.5], 0.0, [2.0], rate=0.25, start_norm=1.0).total
    3.5
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
    """Theorem 10: mean f_t(θ*) + ||θ*||²/(2ηT) + ||θ_1||·mean||g_t|| + η·mean||g_t||², from a run's
    own numbers.

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
