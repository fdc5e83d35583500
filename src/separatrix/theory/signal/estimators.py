"""Estimators of the signal that are not networks, as references for the sample size of a learner.

- average: the mean of label times patch, over all patches (shared) or patch by patch (local);
- em: expectation-maximisation over the position of the signal, started at the average, with the
  noise level known;
- genie: the average when the position of the signal is known.

Each estimator has a "shared" form (one filter, as a CNN) and a "local" form (one filter per patch,
as an LCN).
"""

import numpy as np

from separatrix.errors import check_choice, check_integer, check_number
from separatrix.theory.signal.risks import true_signal_risk

ESTIMATORS = ("genie", "em", "average")
ROUNDS = 30  # of expectation-maximisation, which converges long before


def estimate_signal(
    x: np.ndarray, y: np.ndarray, places: np.ndarray, noise: float, estimator: str, sharing: str
) -> np.ndarray:
    """Unit filters from data x (rows, patches, dimension): one row if shared, one per patch if
    local.

    >>> rng = np.random.default_rng(0)
    >>> y, places = rng.choice([-1.0, 1.0], 500), rng.integers(0, 4, 500)
    >>> x = 0.1 * rng.standard_normal((500, 4, 3)); x[np.arange(500), places, 0] += y
    >>> bool(estimate_signal(x, y, places, 0.1, "genie", "shared")[0, 0] > 0.99)
    True
    """
    check_choice("estimate_signal", "estimator", estimator, ESTIMATORS)
    check_choice("estimate_signal", "sharing", sharing, ("shared", "local"))
    signed = x * y[:, None, None]
    rows, patches, _ = x.shape

    def filters(weight: np.ndarray) -> np.ndarray:
        total = np.einsum("ip,ipd->pd", weight, signed)
        total = total.sum(0, keepdims=True) if sharing == "shared" else total
        norm = np.linalg.norm(total, axis=1, keepdims=True)
        return total / np.where(norm > 0, norm, 1.0)

    if estimator == "genie":
        return filters((places[:, None] == np.arange(patches)).astype(float))
    estimate = filters(np.full((rows, patches), 1.0))
    if estimator == "em":
        for _ in range(ROUNDS):
            inner = (
                np.einsum(
                    "ipd,pd->ip", signed, np.broadcast_to(estimate, (patches, estimate.shape[1]))
                )
                / noise**2
            )
            share = np.exp(inner - inner.max(1, keepdims=True))
            estimate = filters(share / share.sum(1, keepdims=True))
    return estimate


def estimator_risk(
    estimator: str,
    sharing: str,
    patches: int,
    dimension: int,
    noise: float,
    bias: float,
    samples: int,
    seed: int,
) -> float:
    """The risk of an LSA network of this bias whose filters are estimated from one random training
    set.

    For shared filters the risk depends only on their alignment and is computed exactly; for local
    filters it is computed on a large sample of projected patches.

    >>> estimator_risk("genie", "shared", 4, 3, 0.1, 0.5, samples=100, seed=0) < 0.01
    True
    """
    check_integer("estimator_risk", "samples", samples, low=1)
    check_number("estimator_risk", "noise", noise, low=0, open_low=True)
    rng = np.random.default_rng([seed, samples, patches, dimension])
    truth = rng.standard_normal(dimension)
    truth /= np.linalg.norm(truth)
    y, places = rng.choice([-1.0, 1.0], samples), rng.integers(0, patches, samples)
    x = noise * rng.standard_normal((samples, patches, dimension))
    x[np.arange(samples), places] += y[:, None] * truth
    aligned = estimate_signal(x, y, places, noise, estimator, sharing) @ truth
    if sharing == "shared":
        return true_signal_risk(patches, noise, bias, strength=float(np.clip(aligned[0], -1, 1)))
    rows = 4096
    seen = noise * rng.standard_normal((rows, patches))
    where = rng.integers(0, patches, rows)
    seen[np.arange(rows), where] += aligned[where]
    score = (seen - np.clip(seen, -bias, bias)).sum(1)
    return float(np.mean(0.5 * (1 - np.sign(score))))
