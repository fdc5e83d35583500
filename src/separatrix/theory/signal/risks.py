"""Lahoti et al.: risks of rules that know the signal, in closed form or by exact one-dimensional
computation.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtr

from separatrix.errors import check_integer, check_number

MOST_DRAWN = 10**8  # numbers of a fixed sample: about ten seconds


class Estimate(NamedTuple):
    """A number computed from a fixed large sample, with its standard error (0 where it is exact).

    >>> Estimate(0.1, 0.0).risk
    0.1
    """

    risk: float
    error: float


def _check(patches: int, noise: float, signals: int = 1) -> None:
    check_integer("the signal task", "patches", patches, low=1)
    check_number("the signal task", "noise", noise, low=0, open_low=True)
    check_integer("the signal task", "signals", signals, low=1, high=patches)


def best_linear_risk(patches: int, noise: float, signals: int = 1) -> float:
    """Risk of the best linear rule, sign of the sum over patches of <w*, x_i>: Φ(-s / (σ√k)) for s
    signals.

    >>> round(best_linear_risk(patches=10, noise=0.1), 4)
    0.0008
    """
    _check(patches, noise, signals)
    return float(ndtr(-signals / (noise * math.sqrt(patches))))


@functools.lru_cache(maxsize=512)
def bayes_risk(patches: int, noise: float, signals: int = 1, rows: int = 100_000) -> Estimate:
    """Bayes risk when w* is known: the likelihood ratio over where the signals may sit, on a fixed
    large sample (of fewer rows with more than a thousand patches).

    With a_i = <w*, x_i> the rule compares e_s(exp(a/σ²)) with e_s(exp(-a/σ²)), where e_s is the
    elementary symmetric polynomial of degree s (a sum, for one signal).

    >>> abs(bayes_risk(patches=1, noise=1.0).risk - 0.1587) < 1e-4
    True
    >>> bayes_risk(patches=8, noise=0.3).risk < best_linear_risk(patches=8, noise=0.3)
    True
    """
    _check(patches, noise, signals)
    if patches == signals:
        return Estimate(float(ndtr(-math.sqrt(signals) / noise)), 0.0)
    rng = np.random.default_rng(20240315)
    rows = min(rows, max(1, MOST_DRAWN // patches))
    wrong, block = 0.0, max(1, 4_000_000 // patches)
    for start in range(0, rows, block):
        count = min(block, rows - start)
        a = noise * rng.standard_normal((count, patches))
        a[:, :signals] += (
            1.0  # by symmetry the label is +1 and the signals sit in the first patches
        )
        gap = _log_symmetric(a / noise**2, signals) - _log_symmetric(-a / noise**2, signals)
        wrong += (gap < 0).sum() + 0.5 * (gap == 0).sum()
    risk = float(wrong / rows)
    return Estimate(risk, math.sqrt(max(risk * (1 - risk), 1 / rows) / rows))


def _log_symmetric(logs: np.ndarray, degree: int) -> np.ndarray:
    """Logarithm of the elementary symmetric polynomial of exp(logs), row by row."""
    if degree == 1:
        return np.asarray(logsumexp(logs, axis=1))
    table = np.full((degree + 1, len(logs)), -np.inf)
    table[0] = 0.0
    for column in logs.T:
        for s in range(degree, 0, -1):
            table[s] = np.logaddexp(table[s], table[s - 1] + column)
    return table[degree]


@functools.lru_cache(maxsize=512)
def true_signal_risk(
    patches: int, noise: float, bias: float, cells: int = 2**15, strength: float = 1.0
) -> float:
    """Risk R(k, σ, b) of the network Σ_i φ_b(<w*, x_i>) that already knows w*: the floor for every
    learner with this bias.

    A unit filter whose alignment with w* is `strength` instead of 1 has the risk that this gives.

    The distribution of the sum is computed exactly on a lattice (a k-fold convolution by FFT); the
    lattice error falls with `cells`.

    >>> round(true_signal_risk(patches=1, noise=1.0, bias=0.0), 4)
    0.1587
    >>> true_signal_risk(20, noise=0.3, bias=0.5) < true_signal_risk(20, noise=0.3, bias=0.0)
    True
    """
    _check(patches, noise)
    check_number("the LSA activation", "bias", bias, low=0)
    check_number("true_signal_risk", "strength", strength, low=-1, high=1)
    transform = np.fft.rfft(
        np.fft.ifftshift(_mass(patches, noise, bias, cells, strength))
    ) * _others(patches, noise, bias, cells)
    total = np.fft.fftshift(np.fft.irfft(transform, cells))
    return float(np.clip(total[: cells // 2].sum() + 0.5 * total[cells // 2], 0.0, 1.0))


@functools.lru_cache(maxsize=16)
def _others(patches: int, noise: float, bias: float, cells: int) -> np.ndarray:
    """The transform of the sum over the patches without a signal, which searches need for one
    filter after another.
    """
    return np.fft.rfft(np.fft.ifftshift(_mass(patches, noise, bias, cells, 0.0))) ** (patches - 1)


def _mass(patches: int, noise: float, bias: float, cells: int, mean: float) -> np.ndarray:
    """The distribution of one patch's activation on the lattice of the sum."""
    reach = 1.0 + noise * (9.0 + 9.0 * math.sqrt(patches))
    step = 2.0 * reach / cells
    centre = (np.arange(cells) - cells // 2) * step

    # The activation maps [-b, b] to 0 and shifts the rest towards 0 by b.
    def below(edge: np.ndarray) -> np.ndarray:
        return ndtr((edge + np.where(edge > 0, bias, -bias) - mean) / noise)

    return below(centre + step / 2) - below(centre - step / 2)
