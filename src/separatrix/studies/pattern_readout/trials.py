"""What the study `pattern-readout` computes: it trains nothing; numbers are exact or counted."""

import dataclasses
from typing import Any

import numpy as np

from separatrix.engine import Lab
from separatrix.studies.pattern_readout.settings import PatternReadoutSettings
from separatrix.studies.study import seeds_from
from separatrix.theory.patterns.readout import (
    coverage_draws,
    coverage_failure,
    lemma6_error,
    lemma6_readout,
    needed_filters,
)


def measure_windows(lab: Lab, s: PatternReadoutSettings) -> list[dict[str, Any]]:
    """`check_window` at every window of the settings, remembered by the laboratory."""
    rows = []
    for count, window in enumerate(s.windows):
        inputs = dataclasses.asdict(s) | {"windows": [window], "window": window}
        rows.append(lab.remember("lemma6", inputs, lambda window=window: check_window(s, window)))
        lab.report_progress("pattern-readout", count + 1, len(s.windows))
    return rows


def check_window(s: PatternReadoutSettings, window: int) -> dict[str, Any]:
    """Check Lemma 6 at one window: equality on all inputs for several draws, rules and places, and
    the statistics of the draw.

    >>> small = PatternReadoutSettings(bits=5, draws=100, exact_draws=1, rules=1)
    >>> check_window(small, 2)["error"] < 1e-12
    True
    """
    filters = int(np.ceil(needed_filters(window, s.delta)))
    error, checked, tried = 0.0, 0, 0
    for seed in seeds_from(s.seed, s.exact_draws):
        rng = np.random.default_rng([seed, window])
        weights = rng.choice([-1.0 / window, 1.0 / window], (filters, window))
        for _ in range(s.rules):
            table = rng.choice([-1.0, 1.0], 2**window)
            start = int(rng.integers(0, s.bits - window + 1))
            tried += 1
            if not lemma6_readout(weights, table, start, s.bits).covered:
                continue  # the lemma promises nothing for such a draw; `coverage` counts them
            error = max(error, lemma6_error(weights, table, start, s.bits))
            checked += 1
    drawn = coverage_draws(filters, window, s.draws, seed=s.seed)
    failure = coverage_failure(filters, window)
    return {
        "window": window,
        "filters": filters,
        "error": error,
        "checked": checked,
        "tried": tried,
        "draws": drawn.draws,
        "unbalanced": drawn.unbalanced,
        "norm_ratio": drawn.largest_norm_ratio,
        "exact": failure.exact,
        "chernoff": failure.chernoff,
    }


def curve_window(s: PatternReadoutSettings) -> int:
    """The window of the coverage figure: the largest up to 5, or the smallest there is.

    >>> curve_window(PatternReadoutSettings(windows=(2, 4, 7)))
    4
    """
    return max((window for window in s.windows if window <= 5), default=min(s.windows))


def measure_curve(lab: Lab, s: PatternReadoutSettings) -> list[dict[str, Any]]:
    """`coverage_curve` at one window, remembered by the laboratory."""
    window = curve_window(s)
    asked = int(np.ceil(needed_filters(window, s.delta)))
    inputs = {"window": window, "asked": asked, "draws": s.draws, "seed": s.seed}
    return lab.remember(
        "lemma6-curve", inputs, lambda: coverage_curve(window, asked, s.draws, s.seed)
    )


def coverage_curve(window: int, asked: int, draws: int, seed: int) -> list[dict[str, Any]]:
    """The failure probability of the draw against the number of filters, up to `asked`.

    >>> [point["filters"] for point in coverage_curve(2, 100, 10, 0)][-1]
    100
    """
    points = []
    for filters in sorted({int(q) for q in np.geomspace(2 ** (window + 1), asked, 14).round()}):
        failure = coverage_failure(filters, window)
        drawn = coverage_draws(filters, window, draws, seed=seed)
        points.append(
            {
                "filters": filters,
                "draws": drawn.draws,
                "unbalanced": drawn.unbalanced,
                "exact": failure.exact,
                "chernoff": failure.chernoff,
            }
        )
    return points
