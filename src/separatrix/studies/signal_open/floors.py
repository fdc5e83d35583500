"""The risks beside which a variant is judged: of rules that know the signal, on a large fixed
sample where no closed form is known.
"""

import dataclasses
import math
from typing import Any

import numpy as np

from separatrix.engine import Lab
from separatrix.studies.signal_open.settings import OpenSettings
from separatrix.studies.signal_open.task import LAWS, VARIANTS
from separatrix.theory.signal import true_signal_risk

ROWS = 100_000
BLOCK = 1_000  # rows that share one draw of the signal


@dataclasses.dataclass(frozen=True)
class Floor:
    """The floor of a variant, its standard error (0 where it is exact), and the best linear rule's
    risk where one learns it.

    >>> Floor(0.04, 0.0006, 0.12, "the network that knows the signal").risk
    0.04
    """

    risk: float
    error: float
    linear: float
    rule: str


def floor_of(lab: Lab, s: OpenSettings, variant: str, patches: int) -> Floor:
    """The floor of a variant at a cell, computed once for its parameters.

    It is the risk of Σ φ_b(<w*, x_i>), the network that knows the signal; for the product, which
    that network cannot express, the Bayes rule's.
    """
    given = {
        "variant": variant,
        "patches": patches,
        "dimension": s.dimension,
        "noise": s.noise,
        "bias": s.bias,
        "rows": ROWS,
    }
    found = lab.remember("variant-floor", given, lambda: simulate_floor(**given))
    rule = "the Bayes rule" if variant == "product" else "the network that knows the signal"
    if variant in ("plain", "depth-two"):
        return Floor(true_signal_risk(patches, s.noise, s.bias), 0.0, found["linear"], rule)
    return Floor(found["risk"], found["error"], found["linear"], rule)


def simulate_floor(
    variant: str, patches: int, dimension: int, noise: float, bias: float, rows: int
) -> dict[str, float]:
    """Risks on a fixed sample of the variant, drawn with NumPy (not with the code that draws the
    trials' rows).

    >>> found = simulate_floor("plain", 8, 6, 0.3, 0.5, rows=20_000)
    >>> abs(found["risk"] - true_signal_risk(8, 0.3, 0.5)) < 5 * found["error"]
    True
    """
    rng = np.random.default_rng(20240315)
    wrong, linear = 0.0, 0.0
    for _ in range(rows // BLOCK):
        inner, y = _projections(rng, variant, patches, dimension, noise)
        if VARIANTS[variant].changes.get("product"):
            # The likelihoods given ±1 are sums over pairs of cosh(a_i ± a_j), whose difference is
            # the sum of sinh(a_i)·sinh(a_j).
            tilt = np.sinh(inner / noise**2)
            score = tilt.sum(1) ** 2 - (tilt**2).sum(1)
        else:
            score = (inner - np.clip(inner, -bias, bias)).sum(1)
        wrong += _errors(score, y)
        linear += _errors(inner.sum(1), y)
    risk = wrong / rows
    return {
        "risk": risk,
        "error": math.sqrt(max(risk * (1 - risk), 1 / rows) / rows),
        "linear": linear / rows,
    }


def _errors(score: np.ndarray, y: np.ndarray) -> float:
    return float((0.5 * (1 - np.sign(score * y))).sum())


def _projections(
    rng: np.random.Generator, variant: str, patches: int, dimension: int, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """<w*, x_i> of every patch for a block of rows with one random w*, and the labels."""
    changes: dict[str, Any] = VARIANTS[variant].changes
    signals, share = changes.get("signals", 1), changes.get("dependence", 0.0)
    law = tuple(LAWS)[changes.get("law", 0)]
    truth = rng.standard_normal(dimension)
    truth /= np.linalg.norm(truth)

    def drawn(*shape: int) -> np.ndarray:
        match law:
            case "gaussian":
                return rng.standard_normal(shape)
            case "laplace":
                return rng.laplace(scale=math.sqrt(0.5), size=shape)
            case "uniform":
                return rng.uniform(-math.sqrt(3.0), math.sqrt(3.0), shape)
            case _:
                return rng.choice([-1.0, 1.0], shape)

    own = drawn(BLOCK, patches, dimension) @ truth
    inner = (
        math.sqrt(1 - share) * own + math.sqrt(share) * (drawn(BLOCK, dimension) @ truth)[:, None]
    )
    tilt = 2.0 * np.arange(patches) / max(patches - 1, 1) - 1.0
    inner = noise * inner * np.sqrt(1 + changes.get("unevenness", 0.0) * tilt)
    places = rng.permuted(np.tile(np.arange(patches), (BLOCK, 1)), axis=1)[:, :signals]
    signs = rng.choice([-1.0, 1.0], (BLOCK, signals))
    product = bool(changes.get("product"))
    y = signs.prod(1) if product else signs[:, 0]
    inner[np.arange(BLOCK)[:, None], places] += signs if product else y[:, None]
    return inner, y
