"""Floors on the dynamic signal distribution: what no equivariant learner can do better than.

A learner that is equivariant under a group does as well on one signal as on a Haar-random one, so
its expected alignment is at most that of the Bayes estimator under the Haar prior. Two bounds on
that estimator are computed here, both with explicit constants:

- the *genie* bound tells the estimator which patch of each training row holds the signal. The
  posterior of a direction is then von Mises-Fisher, and its expected alignment is one smooth
  integral (`genie_alignment`), averaged exactly over how many rows hold the signal in each patch;
- the *information* bound (van Trees, along the group's rotations) keeps the patch hidden. The
  information that a row carries about a direction is ρ/σ² with ρ = E Σᵢ πᵢ² (`information_share`),
  πᵢ the posterior probability of patch i.

The floor is the smaller of the two alignments. The groups differ in how many numbers are unknown:

| network | group | directions | rows per direction | free dimensions (genie, information) |
|---|---|---|---|---|
| CNN | O(d) | 1 | m | d, d − 1 |
| LCN | O(d)^k | k | Binomial(m, 1/k) | d, d − 1 |
| FCN | O(kd) | k orthonormal | Binomial(m, 1/k) | kd − k + 1, kd − k |

docs/floors.md has the proofs.
"""

import functools
import math
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp, xlog1py, xlogy

from separatrix.errors import (
    ParameterError,
    SeparatrixError,
    check_choice,
    check_integer,
    check_number,
)
from separatrix.theory.signal.risks import Estimate, bayes_risk

FLOOR_NETWORKS = ("CNN", "LCN", "FCN")
NODES = 80  # of the quadrature in `genie_alignment`: errors below 1e-13
TAIL = 10.0  # standard deviations after which that integrand is below 1e-22
MOST_SAMPLES = 2**40  # where searches for a sample size give up
# What floors are computed for: beyond, squares overflow or a sample takes minutes.
MOST_PATCHES, MOST_DIMENSIONS = 10**5, 10**9
NOISES = (1e-6, 1e6)
MOST_DRAWN = 2 * 10**8  # numbers of the sample behind `information_share`: about ten seconds


def genie_alignment(samples: Any, dimension: int, noise: float) -> Any:
    """Expected alignment of the best estimate of a unit signal from noisy copies of it.

    The signal is uniform on the unit sphere. With δ = √m/σ the expected cosine between the
    posterior mean and the signal is δ√(2/π) ∫ cosᴰθ exp(−δ² sin²θ / 2) dθ over [0, π/2].

    Args:
      samples: the number m of copies, an integer or an array of integers ≥ 0.
      dimension: the dimension D of the signal.
      noise: the standard deviation σ of the noise in every coordinate.

    Returns:
      Numbers in [0, 1) of the shape of `samples`.

    >>> round(float(genie_alignment(100, dimension=20, noise=0.3)), 4)
    0.9915
    >>> round(float(genie_alignment(0, dimension=20, noise=0.3)), 4)
    0.0
    """
    check_integer("genie_alignment", "dimension", dimension, low=1)
    check_number("genie_alignment", "noise", noise, low=0, open_low=True)
    delta = np.sqrt(np.asarray(samples, float)) / noise
    # sin θ ≥ 2θ/π bounds the integrand by exp(−(2θ/π)²(δ² + D)/2): stop where that is nothing.
    end = 0.5 * math.pi * np.minimum(1.0, TAIL / np.sqrt(delta**2 + dimension))
    node, weight = _legendre()
    angle = end[..., None] * (node + 1) / 2
    exponent = dimension * np.log(np.cos(angle)) - 0.5 * (np.sin(angle) * delta[..., None]) ** 2
    integral = (np.exp(exponent) * weight).sum(-1) * end / 2
    return delta * math.sqrt(2 / math.pi) * integral


@functools.cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(NODES)


@functools.lru_cache(maxsize=256)
def information_share(patches: int, noise: float, rows: int = 200_000) -> Estimate:
    """ρ = E Σᵢ πᵢ²: the share of a row's information that is left when the patch is not known.

    πᵢ is the posterior probability, given the row, its label and the signal, that patch i holds
    the signal. 1/ρ is what not knowing the patch costs in samples, for every estimator, when
    samples are many. Computed on a fixed large sample.

    Args:
      patches: the number k of patches.
      noise: the standard deviation σ of the noise.
      rows: the size of the sample; smaller with more than a thousand patches.

    Returns:
      An `Estimate` whose `risk` field holds ρ, with its standard error.

    >>> information_share(patches=1, noise=0.3).risk
    1.0
    >>> 1 / 20 < information_share(patches=20, noise=0.3).risk < 1
    True
    """
    check_integer("information_share", "patches", patches, low=1)
    check_number("information_share", "noise", noise, low=0, open_low=True)
    if patches == 1:
        return Estimate(1.0, 0.0)
    rng = np.random.default_rng(20261118)
    rows = min(rows, max(1, MOST_DRAWN // patches))
    squares, block = [], max(1, 4_000_000 // patches)
    for start in range(0, rows, block):
        projection = noise * rng.standard_normal((min(block, rows - start), patches))
        projection[:, 0] += 1.0
        log = projection / noise**2
        log -= np.asarray(logsumexp(log, axis=1, keepdims=True))
        squares.append(np.exp(2 * log).sum(1))
    share = np.concatenate(squares)
    return Estimate(float(share.mean()), float(share.std() / math.sqrt(rows)))


def floor_alignment(
    network: str, patches: int, dimension: int, noise: float, samples: Any, genie: bool = False
) -> Any:
    """The largest expected patch alignment that an equivariant learner can have.

    Args:
      network: "CNN", "LCN" or "FCN"; its group says what must be learnt (see the module's table).
      patches: the number k of patches.
      dimension: the dimension d of a patch.
      noise: the standard deviation σ of the noise.
      samples: the number of training rows, an integer or an array of integers ≥ 0.
      genie: whether to stop at the genie bound, which is weaker and needs no simulation of ρ.

    Returns:
      Numbers in [0, 1) of the shape of `samples`.

    >>> [round(float(floor_alignment(n, 10, 20, 0.3, 100)), 3) for n in ("CNN", "LCN", "FCN")]
    [0.991, 0.917, 0.59]
    """
    directions, free = _unknowns(network, patches, dimension, noise)
    rows = np.asarray(samples)
    if rows.size and (rows.min() < 0 or not np.issubdtype(rows.dtype, np.integer)):
        raise ParameterError("floor_alignment", "samples", "integers >= 0", samples)
    told = np.vectorize(lambda m: _told_alignment(int(m), directions, free, noise), otypes=[float])(
        rows
    )
    if genie:
        return told[()]
    share = information_share(patches, noise).risk
    hidden = np.sqrt(rows / np.maximum(rows + noise**2 * directions * (free - 1) / share, 1e-300))
    return np.minimum(told, hidden)[()]


def floor_risk(
    network: str, patches: int, dimension: int, noise: float, samples: int, draws: int = 40_000
) -> Estimate:
    """The smallest expected risk of a rule that sees a row through one learnt filter per patch.

    The filters are the genie's, and the rule is told how well each is aligned, so no network of
    the family does better. Computed on a fixed large sample of training counts, alignments and
    test rows; never below the Bayes risk.

    Args:
      network: "CNN", "LCN" or "FCN".
      patches: the number k of patches.
      dimension: the dimension d of a patch.
      noise: the standard deviation σ of the noise.
      samples: the number of training rows, an integer ≥ 0.
      draws: the size of the sample that the risk is computed on.

    Returns:
      The risk, with its standard error.

    >>> floor_risk("CNN", 10, 20, 0.3, 50).risk < floor_risk("FCN", 10, 20, 0.3, 50).risk
    True
    >>> floor_risk("FCN", 10, 20, 0.3, 0).risk
    0.5
    """
    directions, free = _unknowns(network, patches, dimension, noise)
    check_integer("floor_risk", "samples", samples, low=0)
    check_integer("floor_risk", "draws", draws, low=1)
    if samples == 0:
        return Estimate(0.5, 0.0)
    rng = np.random.default_rng(20261119)
    losses, block = [], max(1, 2_000_000 // patches)
    for start in range(0, draws, block):
        count = min(block, draws - start)
        if directions == 1:
            rows = np.full((count, 1), samples)
        else:
            rows = rng.multinomial(samples, np.full(patches, 1 / patches), size=count)
        aligned = np.broadcast_to(draw_genie_alignments(rng, rows, free, noise), (count, patches))
        losses.append(_projection_losses(rng, aligned, noise))
    loss = np.concatenate(losses)
    at_best = bayes_risk(patches, noise)
    risk, error = float(loss.mean()), float(loss.std() / math.sqrt(draws))
    return at_best if risk < at_best.risk else Estimate(risk, error)


def floor_samples(
    network: str,
    patches: int,
    dimension: int,
    noise: float,
    *,
    alignment: float | None = None,
    risk: float | None = None,
) -> int:
    """The number of samples below which no equivariant learner reaches a target on average.

    Give exactly one target.

    Args:
      network: "CNN", "LCN" or "FCN".
      patches: the number k of patches.
      dimension: the dimension d of a patch.
      noise: the standard deviation σ of the noise.
      alignment: the patch alignment to be reached, in (0, 1).
      risk: the risk to be reached, above the Bayes risk and below 1/2.

    Returns:
      The smallest m at which `floor_alignment` (or `floor_risk`) reaches the target.

    Raises:
      ParameterError: if no target or two are given, or none can reach it.

    >>> [floor_samples(n, 20, 20, 0.3, alignment=0.8) for n in ("CNN", "LCN", "FCN")]
    [4, 82, 1411]
    """
    if (alignment is None) == (risk is None):
        raise SeparatrixError("floor_samples needs one target: `alignment` or `risk`")
    if alignment is not None:
        target = float(alignment)
        if not 0 < target < 1:
            raise ParameterError("floor_samples", "alignment", "a number in (0, 1)", alignment)

        def reached(samples: int) -> bool:
            return bool(
                floor_alignment(network, patches, dimension, noise, np.asarray(samples)) >= target
            )
    else:
        limit = float(risk or 0.0)
        _unknowns(network, patches, dimension, noise)
        best = bayes_risk(patches, noise).risk
        if not best < limit < 0.5:
            allowed = f"above the Bayes risk {best:.4g} and below 0.5"
            raise ParameterError("floor_samples", "risk", allowed, risk)

        def reached(samples: int) -> bool:
            return floor_risk(network, patches, dimension, noise, samples).risk <= limit

    return _first(reached)


def efficiency(floor: Any, samples: Any) -> Any:
    """How close a learner comes to its floor: the floor over the samples it needs.

    Args:
      floor: the floor on the number of samples.
      samples: the number of samples that the learner needs.

    Returns:
      The ratio; 1/ratio says how many times the floor's samples the learner takes.

    >>> efficiency(84, 420)
    0.2
    """
    return floor / samples


def draw_genie_alignments(
    rng: np.random.Generator, rows: np.ndarray, dimension: int, noise: float
) -> np.ndarray:
    """Random alignments of the genie's estimates, one for every entry of `rows`.

    Args:
      rows: how many rows each estimate is made from; 0 gives alignment 0.
      dimension: the dimension of the sphere on which the signal lies.

    >>> draw_genie_alignments(np.random.default_rng(0), np.array([0, 10**6]), 20, 0.3).round(2)
    array([0., 1.])
    """
    along = np.sqrt(rows) / noise + rng.standard_normal(rows.shape)
    across = rng.chisquare(dimension - 1, rows.shape) if dimension > 1 else 0.0
    return np.where(rows > 0, along / np.sqrt(along**2 + across), 0.0)


def _unknowns(network: str, patches: int, dimension: int, noise: float) -> tuple[int, int]:
    """How many directions the network's group hides, and the genie's free dimensions of each."""
    check_choice("a floor", "network", network, FLOOR_NETWORKS)
    check_integer("a floor", "patches", patches, low=1, high=MOST_PATCHES)
    check_integer("a floor", "dimension", dimension, low=1, high=MOST_DIMENSIONS)
    check_number("a floor", "noise", noise, low=NOISES[0], high=NOISES[1])
    if network == "CNN":
        return 1, dimension
    # All but one of an FCN's orthonormal directions may be told: that can only help.
    return patches, dimension if network == "LCN" else patches * dimension - patches + 1


@functools.lru_cache(maxsize=4096)
def _told_alignment(samples: int, directions: int, free: int, noise: float) -> float:
    """The genie bound: exact over how many rows hold the signal in a direction's patch."""
    if directions == 1:
        return float(genie_alignment(samples, free, noise))
    # Ten standard deviations (and room for small means) hold all of the mass that a double sees.
    mean, reach = samples / directions, 10 * math.sqrt(samples / directions) + 30
    low, high = max(0, int(mean - reach)), min(samples, int(mean + reach))
    step = max(1, (high - low) // 4000)  # the alignment is smooth in the count
    rows = np.arange(low, high + 1, step)
    mass = np.exp(
        gammaln(samples + 1)
        - gammaln(rows + 1)
        - gammaln(samples - rows + 1)
        + xlogy(rows, 1 / directions)
        + xlog1py(samples - rows, -1 / directions)
    )
    return float((mass * genie_alignment(rows, free, noise)).sum() / mass.sum())


def _projection_losses(rng: np.random.Generator, aligned: np.ndarray, noise: float) -> np.ndarray:
    """Losses of the Bayes rule on rows zᵢ = y·aᵢ·[i = t] + σ·nᵢ, one per row of `aligned`."""
    count, patches = aligned.shape
    seen = noise * rng.standard_normal((count, patches))
    place = rng.integers(0, patches, count)
    own = np.arange(count), place
    seen[own] += aligned[own]  # by symmetry the label is +1
    exponent, cost = aligned * seen / noise**2, aligned**2 / (2 * noise**2)
    for_plus = np.asarray(logsumexp(exponent - cost, axis=1))
    gap = for_plus - np.asarray(logsumexp(-exponent - cost, axis=1))
    return 0.5 * (1 - np.sign(gap))


def _first(reached: Any) -> int:
    """The smallest integer ≥ 1 at which a condition holds that stays true once it is."""
    high = 1
    while not reached(high):
        high *= 2
        if high > MOST_SAMPLES:
            raise SeparatrixError(f"the target is not reached with {MOST_SAMPLES:.3g} samples")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
