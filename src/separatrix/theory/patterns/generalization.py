"""Corollary 5 whole: from Theorem 4's training loss to the risk, by the VC dimension.

The paper bounds the generalization gap by "the VC dimension of depth-2 ReLU networks with W weights
is O(W log W)" and leaves the constants out. They are here, so that the numbers are promises and one
sees how large they are.

The dimension is the piecewise-polynomial bound of Bartlett, Harvey, Liaw and Mehrabian (JMLR 20,
2019) for two layers. Only its abstract, O(WL log W), could be looked up; the constants are derived
here and do not rest on the paper's numbering. Warren's theorem: t polynomials of degree g in w ≤ t
variables have at most 2(2egt/w)^w sign patterns. With m inputs, h hidden units of p breakpoints
and W_1 trained weights below them, the hidden layer has at most 2(2em·h·p/W_1)^W_1 patterns.
Within one of them the output is a polynomial of degree 2 in all W_2 weights and has at most
2(4em/W_2)^W_2 signs. With w = W_1 + W_2 and R = h + 2 the weighted mean of the two bases gives
`growth` ≤ 4(2epRm/w)^w, and 2^m ≤ 4(rm/w)^w with r = 2epR ≥ 16 implies m ≤ 2 + w log2(2r log2 r).
Weights that several windows share are variables once. The tests check the last two steps in
numbers, against the product itself.

The gap is the usual inequality (Mohri, Rostamizadeh and Talwalkar, Foundations of Machine Learning,
Corollary 3.19 of the second edition), quoted from memory.
"""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from separatrix.errors import check_choice
from separatrix.theory.common import Values, grid, plain
from separatrix.theory.patterns.bounds import theorem4_sizes

BREAKPOINTS = {"relu": 1, "clipped": 2}  # of the activation


def vc_dimension(
    first_layer: ArrayLike, readout: ArrayLike, units: ArrayLike, activation: str = "relu"
) -> Values:
    """An upper bound on the VC dimension of networks with one hidden layer.

    With W_1 weights in the first layer, W_2 weights in all, p breakpoints of the activation and
    R = units + 2, the dimension is at most 2 + (W_1 + W_2) log2(4epR log2(2epR)): O(W log W).
    Weights that several units share count once. The module's docstring has the derivation.

    Args:
        first_layer: the trained weights and biases of the hidden layer, shared ones once.
        readout: the trained weights of the readout.
        units: hidden units, those of every window.
        activation: "relu" or "clipped".

    Returns:
        The bound, at least the number of weights.

    >>> round(vc_dimension(first_layer=12, readout=4, units=4))
    236
    """
    check_choice("vc_dimension", "activation", activation, BREAKPOINTS)
    first = grid("vc_dimension", "first_layer", first_layer, 1)
    last = grid("vc_dimension", "readout", readout, 0)
    regions = grid("vc_dimension", "units", units, 1) + 2
    inner = 2 * np.e * BREAKPOINTS[activation] * regions
    return plain(2 + (2 * first + last) * np.log2(2 * inner * np.log2(inner)))


def log_growth(
    samples: ArrayLike,
    first_layer: ArrayLike,
    readout: ArrayLike,
    units: ArrayLike,
    activation: str = "relu",
) -> Values:
    """The base-2 logarithm of how many labellings of `samples` inputs the networks can have, at
    most, by Warren's theorem.

    Args:
        samples: the number m of inputs, at least the number of weights.
        first_layer: the trained weights and biases of the hidden layer, shared ones once.
        readout: the trained weights of the readout.
        units: hidden units, those of every window.
        activation: "relu" or "clipped".

    Returns:
        The bound; m inputs can only be shattered while it is at least m.

    >>> log_growth(samples=1000, first_layer=12, readout=4, units=4) < 1000
    True
    """
    check_choice("log_growth", "activation", activation, BREAKPOINTS)
    m = grid("log_growth", "samples", samples, 1)
    first = grid("log_growth", "first_layer", first_layer, 1)
    every = first + grid("log_growth", "readout", readout, 0)
    hidden = grid("log_growth", "units", units, 1) * BREAKPOINTS[activation]
    layers = first * np.log2(2 * np.e * m * hidden / first)
    return plain(2 + layers + every * np.log2(4 * np.e * m / every))


def vc_gap(dimension: ArrayLike, samples: ArrayLike, delta: ArrayLike = 0.05) -> Values:
    """How far the risk may lie above the training risk: √(2d ln(em/d)/m) + √(ln(1/δ)/(2m)).

    Args:
        dimension: the VC dimension d. With fewer samples than d, all labellings are possible, and
            the bound takes d = m.
        samples: the size m of the training set.
        delta: the probability with which the bound may fail.

    Returns:
        The bound, which holds for all networks of the class at once; 1 or more says nothing.

    >>> round(vc_gap(dimension=100, samples=1_000_000), 4)
    0.0464
    >>> vc_gap(dimension=100, samples=50) > 1
    True
    """
    d = grid("vc_gap", "dimension", dimension, 1)
    m = grid("vc_gap", "samples", samples, 1)
    p = grid("vc_gap", "delta", delta, 0, 1, open_low=True)
    rich = np.minimum(d, m)
    return plain(np.sqrt(2 * rich * np.log(np.e * m / rich) / m) + np.sqrt(np.log(1 / p) / (2 * m)))


def vc_samples(dimension: ArrayLike, gap: ArrayLike, delta: ArrayLike = 0.05) -> Values:
    """The smallest training set for which `vc_gap` is at most `gap`.

    Args:
        dimension: the VC dimension.
        gap: the largest allowed excess of the risk over the training risk.
        delta: the probability with which the bound may fail.

    Returns:
        The number of samples, as float64.

    >>> m = vc_samples(dimension=100, gap=0.1)
    >>> vc_gap(100, m) <= 0.1 < vc_gap(100, m - 1)
    True
    """
    d = grid("vc_samples", "dimension", dimension, 1)
    wanted = grid("vc_samples", "gap", gap, 0, open_low=True)
    p = grid("vc_samples", "delta", delta, 0, 1, open_low=True)
    d, wanted, p = (np.array(part) for part in np.broadcast_arrays(d, wanted, p))
    low, high = np.zeros_like(d), np.ones_like(d)
    while np.any(short := np.asarray(vc_gap(d, high, p)) > wanted):
        high = np.where(short, 2 * high, high)
    while np.any(wide := high - low > np.maximum(1, np.spacing(high))):
        middle = np.floor((low + high) / 2)
        enough = np.asarray(vc_gap(d, np.maximum(middle, 1), p)) <= wanted
        low = np.where(wide & ~enough, middle, low)
        high = np.where(wide & enough, middle, high)
    return plain(high)


@dataclasses.dataclass(frozen=True)
class Corollary5Promise:
    """Sizes at which gradient descent on a fixed sample provably has a risk of at most `epsilon`.

    `filters` and `steps` make Theorem 4's bound ε/2 on the sample with the least work, `weights`
    and `dimension` are those of that network, and `samples` brings the gap to ε/2. Both steps may
    fail with probability δ/2. Counts are float64, inf if they overflow.
    """

    filters: Values
    steps: Values
    weights: Values
    dimension: Values
    samples: Values


def corollary5_promise(
    bits: ArrayLike,
    window: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike = 0.05,
    ceiling: ArrayLike = 1.0,
    local: bool = False,
) -> Corollary5Promise:
    """Corollary 5 with all of its constants: filters, steps and samples for a risk of ε.

    Args:
        bits: the paper's n.
        window: the paper's k.
        epsilon: the risk that is asked for.
        delta: the probability of failure.
        ceiling: the paper's c, the largest value of the activation.
        local: whether the network is locally connected.

    Returns:
        The sizes. The hinge loss bounds the risk, so ε is a bound on both.

    Raises:
        ParameterError: a size or a probability is out of range.

    >>> promise = corollary5_promise(bits=4, window=2, epsilon=0.9)
    >>> f"{promise.filters:.2g} {promise.steps:.2g} {promise.samples:.2g}"
    '4e+04 1.4e+04 3.4e+08'
    """
    n = grid("corollary5", "bits", bits, 2, whole=True)
    k = grid("corollary5", "window", window, 1, n, whole=True)
    e = grid("corollary5", "epsilon", epsilon, 0, open_low=True)
    p = grid("corollary5", "delta", delta, 0, 1, open_low=True)
    sizes = theorem4_sizes(bits, window, e / 2, p / 2, ceiling, local)
    q = np.asarray(sizes.cheapest_filters, float)
    windows = n - k + 1
    first = q * k * (windows if local else 1)  # the bias is not trained
    readout = q * windows
    finite = np.isfinite(q)
    dimension = vc_dimension(
        np.where(finite, first, 1),
        np.where(finite, readout, 1),
        np.where(finite, readout, 1),
        "clipped",
    )
    samples = vc_samples(dimension, e / 2, p / 2)
    return Corollary5Promise(
        sizes.cheapest_filters,
        sizes.cheapest_steps,
        plain(np.where(finite, first + readout, np.inf)),
        plain(np.where(finite, dimension, np.inf)),
        plain(np.where(finite, samples, np.inf)),
    )
