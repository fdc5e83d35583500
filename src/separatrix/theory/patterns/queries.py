"""Statistical queries: how many a learner of parities needs, by the dimension of the class.

A statistical-query learner asks for expectations E[q(x, y)] with |q| ≤ 1 and gets them within a
tolerance τ. Gradient descent on the population loss is one: every entry of a gradient is a query.

Parities of different sets are orthogonal, and for a query q the part that depends on the label is
a function g with E[g²] ≤ 1. By Bessel's inequality at most 1/τ² of d orthogonal targets correlate
with g by more than τ. An oracle that answers all others with 0 rules out at most 1/τ² targets per
query, so telling d targets apart takes at least τ²(d − 1) queries. The bound is about queries: a
learner that looks at rows one by one (Gaussian elimination, `low_degree_and_linear`) is not bound.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from separatrix.theory.common import grid, plain


def sq_dimension(bits: ArrayLike, window: ArrayLike, ordered: bool = True) -> float | np.ndarray:
    """How many parities of `window` bits there are: the statistical-query dimension of the class.

    Args:
      bits: the length n of an input.
      window: the number k of bits in a parity.
      ordered: whether the bits are consecutive (n − k + 1 windows) or any (C(n, k) sets).

    Returns:
      The number of parities, inf beyond 1.8e308; they are orthogonal under the uniform
      distribution.

    >>> sq_dimension(64, 6), sq_dimension(64, 6, ordered=False)
    (59.0, 74974368.0)
    """
    n = grid("sq_dimension", "bits", bits, 1, whole=True)
    k = grid("sq_dimension", "window", window, 1, n, whole=True)
    if ordered:
        return plain(n - k + 1.0)
    return plain(np.vectorize(_choose, otypes=[float])(n, k))


def _choose(bits: float, window: float) -> float:
    try:
        return float(math.comb(int(bits), int(window)))
    except OverflowError:
        return math.inf


def sq_queries(dimension: ArrayLike, tolerance: ArrayLike) -> float | np.ndarray:
    """The fewest queries of a tolerance that tell `dimension` orthogonal targets apart.

    Args:
      dimension: how many targets there are (`sq_dimension`).
      tolerance: the error τ of every answer, in (0, 1].

    Returns:
      max(1, τ²(d − 1)): a lower bound for every statistical-query learner, random ones included
      up to their probability of guessing.

    >>> sq_queries(sq_dimension(64, 6, ordered=False), 0.01) > 7000
    True
    """
    d = grid("sq_queries", "dimension", dimension, 1)
    t = grid("sq_queries", "tolerance", tolerance, 0, 1, open_low=True)
    return plain(np.maximum(1.0, t**2 * (d - 1)))


def samples_per_query(tolerance: ArrayLike, delta: ArrayLike = 0.05) -> float | np.ndarray:
    """How many fresh rows answer one query within a tolerance, with probability 1 − δ (Hoeffding).

    Args:
      tolerance: the error τ allowed, in (0, 1].
      delta: the probability δ of a larger error.

    >>> round(samples_per_query(0.1))
    738
    """
    t = grid("samples_per_query", "tolerance", tolerance, 0, 1, open_low=True)
    p = grid("samples_per_query", "delta", delta, 0, 1, open_low=True)
    return plain(2 * np.log(2 / p) / t**2)


def hidden_below(bits: ArrayLike, window: ArrayLike) -> float | np.ndarray:
    """The tolerance below which one query may find a parity among all sets of bits: 1/√C(n, k).

    With a larger tolerance a typical target is invisible to any one query that does not depend on
    it, such as an entry of the gradient at a random start.

    >>> f"{hidden_below(64, 6):.1e}"
    '1.2e-04'
    """
    return plain(1 / np.sqrt(np.asarray(sq_dimension(bits, window, ordered=False))))
