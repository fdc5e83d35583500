"""Theorem 12 measured: exact population gradients at the start, for growing n, fully connected
beside windows.
"""

import dataclasses
import itertools
from typing import Any

import numpy as np
from scipy import special

from separatrix.engine import Lab
from separatrix.inference.intervals import Interval
from separatrix.studies.claims import Claim, Evidence, Finding, Verdict, all_of, decide_below
from separatrix.studies.patterns import claims
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.theory.patterns import (
    UnitActivation,
    cube_gradient,
    degree_profile,
    log_window,
    separation_row,
    support_average,
)

# (activation, initialisation): ReLU has no ceiling; the last is Theorem 4's own start, where all
# draws agree.
FAMILIES = (("relu", "gaussian"), ("tanh", "gaussian"), ("clipped", "theorem4"))
IDENTITY_SIZES = ((8, 3), (9, 2), (10, 4), (12, 2))
IDENTITY_ERROR = 1e-12
SIGNALS = ("full", "shared", "local", "full_readout", "shared_readout")


def gradient_row(
    bits: int, window: int, activation: str, initialisation: str, draws: int, seed: int
) -> dict[str, Any]:
    """`separation_row` as plain values.

    >>> row = gradient_row(16, 4, "tanh", "gaussian", draws=4, seed=0)
    >>> row["full"]["high"] < row["paper"]
    True
    """
    row = separation_row(
        bits, window, UnitActivation(activation), initialisation, draws=draws, seed=seed
    )
    plain = dataclasses.asdict(row)
    plain["paper_readout"] = plain["paper_readout"] if np.isfinite(plain["paper_readout"]) else None
    ratios = {"ratio": row.ratio, "bounded_ratio": row.bounded_ratio}
    return plain | {name: ratio if np.isfinite(ratio) else None for name, ratio in ratios.items()}


def measure_gradients(lab: Lab, s: PatternsSettings) -> dict[str, list[dict[str, Any]]]:
    """The rows of every family at k = ⌈log2 n⌉, and of tanh at a fixed window, remembered by the
    laboratory.

    >>> found = measure_gradients(Lab(), PatternsSettings(gradient_sizes=(8, 16), gradient_draws=2))
    >>> list(found)
    ['relu, gaussian', 'tanh, gaussian', 'clipped, theorem4', 'tanh, gaussian, k = 3']
    """
    families: list[tuple[str, str, str, int | None]] = [
        (f"{a}, {i}", a, i, None) for a, i in FAMILIES
    ]
    families.append(
        (f"tanh, gaussian, k = {s.gradient_window}", "tanh", "gaussian", s.gradient_window)
    )
    out: dict[str, list[dict[str, Any]]] = {}
    for name, activation, initialisation, fixed in families:
        rows = []
        for bits in s.gradient_sizes:
            given = {
                "bits": bits,
                "window": fixed or log_window(bits),
                "activation": activation,
                "initialisation": initialisation,
            }
            given |= {"draws": s.gradient_draws, "seed": s.seed}
            rows.append(lab.remember("gradient", given, lambda given=given: gradient_row(**given)))
        out[name] = rows
    return out


def identity_errors(seed: int) -> list[dict[str, Any]]:
    """The identity's two sides by enumeration: gradients for every support one by one, against the
    mass by degree.

    >>> max(row["first_layer"] for row in identity_errors(0)) < IDENTITY_ERROR
    True
    """
    out = []
    for bits, window in IDENTITY_SIZES:
        rng = np.random.default_rng([seed, bits, window])
        for name in ("relu", "tanh", "clipped"):
            activation = UnitActivation(name)
            weights, bias = rng.standard_normal(bits) / np.sqrt(bits), float(rng.normal() / 2)
            supports = list(itertools.combinations(range(bits), window))
            gradients = [
                cube_gradient(weights[None], bias, np.array(support), activation)
                for support in supports
            ]
            slope, value = (
                degree_profile(weights, bias, activation),
                degree_profile(weights, bias, activation, derivative=False),
            )
            average = support_average(
                bits, window, slope[window - 1], slope[window + 1], value[window]
            )
            first = float(np.mean([gradient.squared[0] for gradient in gradients]))
            readout = float(np.mean([gradient.readout[0] ** 2 for gradient in gradients]))
            row: dict[str, Any] = {
                "bits": bits,
                "window": window,
                "activation": name,
                "supports": len(supports),
            }
            row["first_layer"] = abs(first / float(average.first_layer) - 1)
            row["readout"] = abs(readout / float(average.readout) - 1)
            out.append(row)
    return out


def gradient_findings(
    found: dict[str, list[dict[str, Any]]], identity: list[dict[str, Any]]
) -> list[Finding]:
    """The verdicts on Theorem 12.

    >>> found = measure_gradients(Lab(), PatternsSettings(gradient_sizes=(8, 16, 128), gradient_draws=4))
    >>> [finding.verdict for finding in gradient_findings(found, identity_errors(0))]
    ['supported', 'supported', 'supported', 'undecided']
    """
    return [
        _below(claims.FIRST_LAYER, found, "full", "paper"),
        _below(claims.READOUT, found, "full_readout", "paper_readout"),
        _identity(identity),
        _superpolynomial(found),
    ]


def _below(
    claim: Claim, found: dict[str, list[dict[str, Any]]], signal: str, bound: str
) -> Finding:
    """A bound that must hold at every (n, k): the interval of the measured mean lies below it."""
    verdicts: list[Verdict] = []
    worst: tuple[float, dict[str, Any], str] | None = None
    for family, rows in found.items():
        for row in rows:
            if row[bound] is None:
                continue
            # The interval over draws, widened by the numerical error of the gradients themselves.
            error = row["full_error"] if signal == "full" else 0.0
            mean, low, high = (
                row[signal]["mean"],
                row[signal]["low"] - error,
                row[signal]["high"] + error,
            )
            interval = Interval(mean, low, high, 0.95, "Student", row[signal]["draws"])
            verdicts.append(
                "supported" if high <= row[bound] else decide_below(interval, row[bound])
            )
            share = high / row[bound]
            if worst is None or share > worst[0]:
                worst = (share, row, family)
    if worst is None:
        return Finding(claim, "undecided", "no row was measured", None)
    share, row, family = worst
    name = f"measured / bound, nearest to it ({family}; n = {row['bits']}, k = {row['window']})"
    mean, low, high = (row[signal][part] / row[bound] for part in ("mean", "low", "high"))
    method = "exact gradients, Student's interval over draws of units"
    evidence = Evidence(name, mean, low, high, row[signal]["draws"], 0.95, method, 1.0)
    sizes = sorted({row["bits"] for rows in found.values() for row in rows})
    reason = (
        f"exact gradients at n = {sizes[0]} … {sizes[-1]}, {len(verdicts)} cases: the upper end "
        f"of the interval is at most {share:.2g} of the bound"
    )
    return Finding(claim, all_of(verdicts), reason, True, (evidence,))


def _identity(rows: list[dict[str, Any]]) -> Finding:
    worst = max(max(row["first_layer"], row["readout"]) for row in rows)
    count = sum(row["supports"] for row in rows)
    verdict: Verdict = "supported" if worst <= IDENTITY_ERROR else "refuted"
    sizes = ", ".join(f"({n}, {k})" for n, k in IDENTITY_SIZES)
    reason = (
        f"largest relative error {worst:.1e} over {count} supports at (n, k) = {sizes}, three "
        "activations, both layers"
    )
    evidence = Evidence(
        "largest relative error",
        worst,
        worst,
        worst,
        count,
        1.0,
        "enumeration of all supports and inputs",
        IDENTITY_ERROR,
    )
    return Finding(claims.IDENTITY, verdict, reason, True, (evidence,))


def curvature(bits: np.ndarray, signals: np.ndarray, level: float = 0.95) -> Interval:
    """The coefficient of L² in log2(signal) = a + b·L + c·L², L = log2 n: 0 for a power of n,
    negative for what falls faster.

    Student's interval from the residuals, which hold the errors of the draws and the unevenness
    from one k to the next.

    >>> sizes = 2.0 ** np.arange(3, 10)
    >>> curvature(sizes, sizes**-2.0 * 1.01 ** np.array([1, -1, 0, 1, 0, -1, 1])).contains(0.0)
    True
    """
    logs = np.log2(bits)
    matrix = np.stack([np.ones_like(logs), logs, logs**2], 1)
    values = np.log2(signals)
    coefficients, *_ = np.linalg.lstsq(matrix, values, rcond=None)
    freedom = len(bits) - 3
    if freedom < 1:
        return Interval(float(coefficients[2]), -np.inf, np.inf, level, "least squares", len(bits))
    noise = float(((values - matrix @ coefficients) ** 2).sum()) / freedom
    error = float(np.sqrt(noise * np.linalg.inv(matrix.T @ matrix)[2, 2]))
    half = float(special.stdtrit(freedom, 0.5 + level / 2)) * error
    return Interval(
        float(coefficients[2]),
        float(coefficients[2]) - half,
        float(coefficients[2]) + half,
        level,
        "least squares",
        len(bits),
    )


def local_exponents(rows: list[dict[str, Any]], signal: str) -> list[float]:
    """-d log(signal)/d log n between neighbouring sizes.

    >>> rows = [{"bits": n, "full": {"mean": n**-2.0}} for n in (8, 16, 32)]
    >>> [round(e, 6) for e in local_exponents(rows, "full")]
    [2.0, 2.0]
    """
    pairs = itertools.pairwise(rows)
    return [
        float(np.log(a[signal]["mean"] / b[signal]["mean"]) / np.log(b["bits"] / a["bits"]))
        for a, b in pairs
    ]


def _superpolynomial(found: dict[str, list[dict[str, Any]]]) -> Finding:
    verdicts: list[Verdict] = []
    evidence, words = [], []
    for activation, initialisation in FAMILIES:
        family = f"{activation}, {initialisation}"
        rows = found[family]
        bits = np.array([row["bits"] for row in rows], float)
        full, shared = (
            curvature(bits, np.array([row[signal]["mean"] for row in rows]))
            for signal in ("full", "shared")
        )
        # Both must hold: steeper than any power, and steeper than the convolutional network's.
        gap = full.estimate - shared.estimate
        half = float(np.hypot(full.high - full.estimate, shared.high - shared.estimate))
        apart = Interval(gap, gap - half, gap + half, full.level, "least squares", full.count)
        verdicts.extend((decide_below(full, 0.0), decide_below(apart, 0.0)))
        evidence.append(
            Evidence.of(
                f"curvature of log2 signal in log2 n, FCN ({family})",
                full,
                0.0,
                CNN=shared.estimate,
            )
        )
        evidence.append(
            Evidence.of(f"curvature of log2 signal in log2 n, CNN ({family})", shared, None)
        )
        evidence.append(Evidence.of(f"FCN's curvature minus the CNN's ({family})", apart, 0.0))
        ends = {signal: local_exponents(rows, signal) for signal in ("full", "shared")}
        if ends["full"]:
            words.append(
                f"{family}: the FCN's local exponent goes from {ends['full'][0]:.1f} to "
                f"{ends['full'][-1]:.1f}, the CNN's is at most {max(ends['shared']):.1f}"
            )
    if len(next(iter(found.values()))) < 4:
        return Finding(
            claims.SUPERPOLYNOMIAL,
            "undecided",
            "fewer than four sizes: no curvature with an interval",
            True,
            tuple(evidence),
        )
    return Finding(
        claims.SUPERPOLYNOMIAL, all_of(verdicts), "; ".join(words), True, tuple(evidence)
    )
