"""Theorem 12: a fully connected network's gradient at initialisation, when the label is the parity
of k bits.

The paper bounds E||∂L/∂W||² by q·n·min{1/C(n-1,k), 1/C(n-1,k-1)}. Averaging over the supports
exactly gives more: with A and B the Fourier mass of σ'(<w,x>+b) on sets of k-1 and k+1 bits, a
unit's average is u²·[A(n-k+1) + B(k+1)]/C(n,k).
"""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from separatrix.theory.common import (
    Condition,
    Values,
    exponential,
    flags,
    grid,
    log_binomial,
    plain,
)


@dataclasses.dataclass(frozen=True)
class Theorem12Bound:
    """Theorem 12 for `filters` units: bounds on the expected squared norms of both layers'
    gradients at initialisation.

    `first_layer` and `readout` are the paper's; `sharper` follows from the identity. The logarithms
    stay finite where the bounds underflow. `vacuous` says that the paper's first-layer bound is no
    better than q, which Parseval gives for free (`sharper` is vacuous where `sharper_vacuous`).

    >>> bound = theorem12(bits=[4, 64], window=2)
    >>> bound.vacuous.tolist(), bound.sharper_vacuous.tolist()
    ([True, False], [False, False])
    """

    first_layer: Values
    readout: Values
    sharper: Values
    log_first_layer: Values
    log_readout: Values
    log_sharper: Values
    vacuous: bool | np.ndarray
    sharper_vacuous: bool | np.ndarray
    conditions: tuple[Condition, ...]


def theorem12(
    bits: ArrayLike,
    window: ArrayLike,
    filters: ArrayLike = 1,
    ceiling: ArrayLike = 1.0,
    readout_size: ArrayLike = 1.0,
) -> Theorem12Bound:
    """Theorem 12's two bounds, and the sharper max(n-k+1, k+1)/C(n,k) per unit (`readout_size` is
    the bound on |u_i|).

    >>> bound = theorem12(bits=16, window=4)
    >>> f"{bound.first_layer:.4g} {bound.sharper:.4g} {bound.readout:.4g}"
    '0.01172 0.007143 0.0005495'
    >>> theorem12(bits=4096, window=12).log_sharper < -70
    True
    """
    n = grid("theorem12", "bits", bits, 1, whole=True)
    k = grid("theorem12", "window", window, 1, n, whole=True)
    q = grid("theorem12", "filters", filters, 1, whole=True)
    c = grid("theorem12", "ceiling", ceiling, 0, open_low=True)
    u = grid("theorem12", "readout_size", readout_size, 0, 1, open_low=True)
    free = np.log(q) + 2 * np.log(u)
    largest = np.maximum(log_binomial(n - 1, k), log_binomial(n - 1, k - 1))
    # At k = n no set has k+1 bits, so only A(n-k+1) is left.
    factor = np.where(k == n, n - k + 1, np.maximum(n - k + 1, k + 1))
    logs = np.broadcast_arrays(
        free + np.log(n) - largest,
        np.log(q) + 2 * np.log(c) - log_binomial(n, k),
        free + np.log(factor) - log_binomial(n, k),
    )
    conditions = (
        Condition(
            "the weights' distribution is invariant under permutations of the coordinates",
            "by the caller",
        ),
        Condition("|u_i| <= 1 and |h(x)| <= 1 for every x", "by the caller"),
        Condition(
            "|sigma| <= ceiling (readout only; ReLU has no ceiling) and |sigma'| <= 1",
            "by the caller",
        ),
    )
    first, readout, sharper = (plain(exponential(log)) for log in logs)
    return Theorem12Bound(
        first,
        readout,
        sharper,
        plain(logs[0]),
        plain(logs[1]),
        plain(logs[2]),
        flags(logs[0] >= free),
        flags(logs[2] >= free),
        conditions,
    )


@dataclasses.dataclass(frozen=True)
class SupportAverage:
    """A unit's squared gradient averaged over every support of k bits, exactly: the identity behind
    Theorem 12.

    >>> round(support_average(bits=8, window=3, mass_below=0.1, mass_above=0.0).log_first_layer, 4)
    -4.5362
    """

    first_layer: Values
    readout: Values
    log_first_layer: Values
    log_readout: Values


def support_average(
    bits: int,
    window: ArrayLike,
    mass_below: ArrayLike,
    mass_above: ArrayLike,
    mass_value: ArrayLike = 0.0,
    readout_size: ArrayLike = 1.0,
) -> SupportAverage:
    """u²·[A(n-k+1) + B(k+1)]/C(n,k) for the first layer and M/C(n,k) for the readout.

    A = `mass_below` and B = `mass_above` are the Fourier masses of σ' at degrees k-1 and k+1, M =
    `mass_value` that of σ at degree k (see `degree_profile` and `degree_mass`).

    >>> round(support_average(bits=4, window=2, mass_below=1.0, mass_above=0.0).first_layer, 12)
    0.5
    """
    n = grid("support_average", "bits", bits, 1, whole=True)
    k = grid("support_average", "window", window, 1, n, whole=True)
    below = grid("support_average", "mass_below", mass_below, 0)
    above = grid("support_average", "mass_above", mass_above, 0)
    value = grid("support_average", "mass_value", mass_value, 0)
    u = grid("support_average", "readout_size", readout_size, 0)
    with np.errstate(divide="ignore"):
        first = np.log(u**2 * (below * (n - k + 1) + above * (k + 1))) - log_binomial(n, k)
        readout = np.log(value) - log_binomial(n, k)
    return SupportAverage(
        plain(exponential(first)), plain(exponential(readout)), plain(first), plain(readout)
    )
