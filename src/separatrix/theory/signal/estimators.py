"""Estimators of the signal that are not networks, as references for the sample size of a learner.

- genie: the average when the patch of the signal is known;
- em: expectation-maximisation over the patch of the signal, with the noise level known. For the
  CNN (one filter) and the LCN (one per patch) it starts at the average. For the FCN (k directions
  in R^kd, the patches unknown) it is spherical k-means with soft assignments: it starts inside the
  rows' leading k-dimensional subspace, at rows that are far apart, and ends in the whole space;
- lsa: the average, then one step through the LSA activation: the mean over the patches whose
  projection on the average exceeds the bias (CNN and LCN);
- average: the mean of label times patch, over all patches (CNN) or patch by patch (LCN). For the
  FCN there is one average, which cannot tell patches apart: its patch alignment is at most 1/√k.

Each is equivariant under its network's group, so none is below the network's floor.
"""

import numpy as np

from separatrix.errors import check_choice, check_integer, check_number
from separatrix.theory.signal.floors import draw_genie_alignments
from separatrix.theory.signal.risks import true_signal_risk

ESTIMATORS = ("genie", "em", "average", "lsa")
NETWORKS = ("CNN", "LCN", "FCN")
ROUNDS = 30  # of expectation-maximisation, which converges long before
SUBSPACE_ROUNDS = 8  # of power iteration; the subspace only has to be a start


def estimate_signal(
    x: np.ndarray,
    y: np.ndarray,
    places: np.ndarray,
    noise: float,
    estimator: str,
    network: str,
    bias: float = 0.5,
) -> np.ndarray:
    """Unit filters from data x (rows, patches, dimension).

    Args:
        x: the rows.
        y: their labels.
        places: the patch of the signal in each row; only the genie looks.
        noise: the standard deviation of the noise.
        estimator: one of `ESTIMATORS`.
        network: one row for the CNN, one per patch for the LCN; for the FCN (patches, patches ×
            dimension), in no order.
        bias: of the LSA step.

    Returns:
        The filters, one per row.

    >>> rng = np.random.default_rng(0)
    >>> y, places = rng.choice([-1.0, 1.0], 500), rng.integers(0, 4, 500)
    >>> x = 0.1 * rng.standard_normal((500, 4, 3)); x[np.arange(500), places, 0] += y
    >>> bool(estimate_signal(x, y, places, 0.1, "genie", "CNN")[0, 0] > 0.99)
    True
    """
    check_choice("estimate_signal", "estimator", estimator, ESTIMATORS)
    check_choice("estimate_signal", "network", network, NETWORKS)
    signed = x * y[:, None, None]
    rows, patches, _ = x.shape
    if network == "FCN":
        flat = signed.reshape(rows, -1)
        if estimator in ("average", "lsa"):
            return _unit(np.broadcast_to(flat.mean(0), (patches, flat.shape[1])))
        if estimator == "genie":
            return _unit((places[:, None] == np.arange(patches)).astype(flat.dtype).T @ flat)
        return _soft_directions(flat, patches, noise)

    def filters(weight: np.ndarray) -> np.ndarray:
        total = np.einsum("ip,ipd->pd", weight, signed)
        return _unit(total.sum(0, keepdims=True) if network == "CNN" else total)

    if estimator == "genie":
        return filters((places[:, None] == np.arange(patches)).astype(x.dtype))
    estimate = filters(np.ones((rows, patches), x.dtype))
    if estimator == "em":
        for _ in range(ROUNDS):
            each = np.broadcast_to(estimate, (patches, estimate.shape[1]))
            estimate = filters(_softmax(np.einsum("ipd,pd->ip", signed, each) / noise**2))
    elif estimator == "lsa":
        each = np.broadcast_to(estimate, (patches, estimate.shape[1]))
        passed = np.abs(np.einsum("ipd,pd->ip", signed, each)) > bias
        stepped = filters(passed.astype(x.dtype))
        # A filter that no patch passes has no gradient and stays where it is.
        estimate = np.where(np.linalg.norm(stepped, axis=1, keepdims=True) > 0, stepped, estimate)
    return estimate


def estimator_alignment(
    estimator: str,
    network: str,
    patches: int,
    dimension: int,
    noise: float,
    samples: int,
    seed: int,
    bias: float = 0.5,
) -> np.ndarray:
    """The alignment of an estimate with every patch's signal, from one random training set.

    The genie, and the average of CNN and LCN, are drawn from the exact distribution of their
    alignments, without any data.

    Args:
        estimator: one of `ESTIMATORS`.
        network: "CNN", "LCN" or "FCN".
        patches: the number k of patches.
        dimension: the dimension d of a patch.
        noise: the standard deviation σ of the noise.
        samples: the number of rows.
        seed: of the rows.
        bias: of the LSA step.

    Returns:
        One cosine per patch: for the FCN that of the estimate that is best for the patch.

    >>> bool(estimator_alignment("genie", "CNN", 4, 3, 0.1, samples=100, seed=0).min() > 0.99)
    True
    """
    check_choice("estimator_alignment", "estimator", estimator, ESTIMATORS)
    check_choice("estimator_alignment", "network", network, NETWORKS)
    check_integer("estimator_alignment", "patches", patches, low=1)
    check_integer("estimator_alignment", "dimension", dimension, low=1)
    check_integer("estimator_alignment", "samples", samples, low=1)
    check_number("estimator_alignment", "noise", noise, low=0, open_low=True)
    rng = np.random.default_rng([seed, samples, patches, dimension])
    if estimator == "genie" or (estimator == "average" and network != "FCN"):
        return drawn_alignments(
            rng, estimator, network, patches, dimension, noise, samples, draws=1
        )[0]
    truth = rng.standard_normal(dimension).astype(np.float32)
    truth /= np.linalg.norm(truth)
    y = rng.choice(np.array([-1.0, 1.0], np.float32), samples)
    places = rng.integers(0, patches, samples)
    x = rng.standard_normal((samples, patches, dimension), np.float32) * np.float32(noise)
    x[np.arange(samples), places] += y[:, None] * truth
    found = estimate_signal(x, y, places, noise, estimator, network, bias)
    if network != "FCN":
        return np.broadcast_to(found @ truth, (patches,)).astype(float)
    return (found.reshape(-1, patches, dimension) @ truth).max(0).astype(float)


def estimator_risk(
    estimator: str,
    network: str,
    patches: int,
    dimension: int,
    noise: float,
    bias: float,
    samples: int,
    seed: int,
) -> float:
    """The risk of an LSA network of this bias whose filters, one per patch, are estimated from one
    random training set.

    Only a row's own patch knows how well its filter is aligned, so the risk is the mean over
    patches of the exact risk at their alignments.

    >>> estimator_risk("genie", "CNN", 4, 3, 0.1, 0.5, samples=100, seed=0) < 0.01
    True
    """
    aligned = estimator_alignment(
        estimator, network, patches, dimension, noise, samples, seed, bias
    )
    strengths, counts = np.unique(np.clip(aligned, -1, 1), return_counts=True)
    risks = [true_signal_risk(patches, noise, bias, strength=float(a)) for a in strengths]
    return float(np.average(risks, weights=counts))


def drawn_alignments(
    rng: np.random.Generator,
    estimator: str,
    network: str,
    patches: int,
    dimension: int,
    noise: float,
    samples: int,
    draws: int,
) -> np.ndarray:
    """Alignments of the genie, or of the average of CNN and LCN, from their exact distribution.

    The FCN's genie has an estimate per patch and does not know that they are orthonormal; for every
    patch the best of all estimates counts, as it does for a network.

    Args:
        rng: the source of randomness.
        estimator: "genie" or "average".
        network: "CNN", "LCN" or "FCN".
        patches: the number k of patches.
        dimension: the dimension d of a patch.
        noise: the standard deviation σ of the noise.
        samples: the number of rows.
        draws: how many training sets.

    Returns:
        The alignment of every patch in every draw, (draws, patches).

    >>> rng = np.random.default_rng(0)
    >>> drawn_alignments(rng, "average", "LCN", 4, 3, 0.1, 400, draws=5).shape
    (5, 4)
    """
    if network == "CNN":
        counts = np.full((draws, 1), samples)
    else:
        counts = rng.multinomial(samples, np.full(patches, 1 / patches), size=draws)
    if estimator == "genie" and network == "FCN":
        return _draw_full_genie(rng, counts, patches * dimension, noise)
    if estimator == "genie":
        aligned = draw_genie_alignments(rng, counts, dimension, noise)
    else:
        # The average of the CNN adds the noise of all patches; that of the LCN adds the noise of
        # all rows.
        strength = (
            np.sqrt(counts / patches) if network == "CNN" else counts / np.sqrt(samples)
        ) / noise
        along = strength + rng.standard_normal(strength.shape)
        across = rng.chisquare(dimension - 1, strength.shape) if dimension > 1 else 0.0
        aligned = along / np.sqrt(along**2 + across)
    return np.broadcast_to(aligned, (draws, patches))


def _draw_full_genie(
    rng: np.random.Generator, counts: np.ndarray, size: int, noise: float
) -> np.ndarray:
    """The best alignment with every direction among the means of rows with one direction each."""
    draws, patches = counts.shape
    spread = noise * np.sqrt(counts)[:, :, None]  # of a sum of rows, in every coordinate
    along = spread * rng.standard_normal((draws, patches, patches))
    along[:, np.arange(patches), np.arange(patches)] += counts
    rest = rng.chisquare(size - patches, counts.shape)[:, :, None] if size > patches else 0.0
    norm = np.sqrt((along**2).sum(2, keepdims=True) + spread**2 * rest)
    return (along / np.where(norm > 0, norm, 1.0)).max(1)


def _soft_directions(signed: np.ndarray, count: int, noise: float) -> np.ndarray:
    """`count` unit directions of which each row is one plus noise: EM from a spectral start."""
    rows, size = signed.shape
    rng = np.random.default_rng(rows)
    basis = np.linalg.qr(rng.standard_normal((size, min(count, size))).astype(signed.dtype))[0]
    for _ in range(SUBSPACE_ROUNDS):
        basis = np.linalg.qr(signed.T @ (signed @ basis))[0]
    inner = signed @ basis
    found = _maximise(inner, _far_apart(inner, count, rng), noise, ROUNDS)
    return _maximise(signed, _unit(found @ basis.T), noise, ROUNDS)


def _maximise(rows: np.ndarray, found: np.ndarray, noise: float, rounds: int) -> np.ndarray:
    for _ in range(rounds):
        share = _softmax((rows @ found.T) / noise**2)
        newer = _unit(share.T @ rows)
        still = float(np.abs(newer - found).max()) < 1e-4
        found = newer
        if still:
            break
    return found


def _far_apart(rows: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Rows that are likely to belong to different directions, as k-means++ chooses them."""
    chosen = [rows[rng.integers(len(rows))]]
    nearest = ((rows - chosen[0]) ** 2).sum(1)
    while len(chosen) < count:
        total = nearest.sum()
        place = rng.choice(len(rows), p=nearest / total) if total > 0 else rng.integers(len(rows))
        chosen.append(rows[place])
        nearest = np.minimum(nearest, ((rows - rows[place]) ** 2).sum(1))
    return _unit(np.array(chosen))


def _softmax(logs: np.ndarray) -> np.ndarray:
    share = np.exp(logs - logs.max(1, keepdims=True))
    return share / share.sum(1, keepdims=True)


def _unit(vectors: np.ndarray) -> np.ndarray:
    norm = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norm > 0, norm, 1.0)
