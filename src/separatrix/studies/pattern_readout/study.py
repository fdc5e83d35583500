"""Study `pattern-readout`: Lemma 6 of Malach & Shalev-Shwartz, checked exactly."""

import dataclasses
from typing import Any

import numpy as np

from separatrix.engine import Lab
from separatrix.errors import check_integer, check_number
from separatrix.inference.intervals import wilson
from separatrix.notes import Note
from separatrix.studies.claims import Claim, Evidence, Finding, Verdict, all_of, decide_below
from separatrix.studies.outcome import Axis, Figure, Outcome, Series, TableData
from separatrix.studies.study import Study, seeds_from
from separatrix.theory.patterns.readout import (
    LARGEST_CHECK,
    coverage_draws,
    coverage_failure,
    lemma6_error,
    lemma6_readout,
    needed_filters,
)

LARGEST_WINDOW = 16  # a draw counts filters by their 2^k sign patterns
TOLERANCE = 1e-12  # float64 sums of up to a few thousand terms of size one

CONDITIONS = (
    "weights uniform in {±1/k}, hidden bias 1/k - 1, ReLU, more than 2^(k+3) ln(2^k/δ) filters"
)


def _claim(name: str, statement: str) -> Claim:
    return Claim(f"malach.lemma6.{name}", statement, "Lemma 6", CONDITIONS)


CLAIM_EXACT = _claim(
    "exact",
    "For every k-pattern there is a readout of the random first layer with h = f on every input.",
)
CLAIM_NORM = _claim("norm", "That readout has norm at most 2^(k+1) k / √q.")
CLAIM_COVERAGE = _claim(
    "coverage", "A draw of the filters allows it with probability at least 1 - δ."
)


@dataclasses.dataclass(frozen=True)
class PatternReadoutSettings:
    """Which windows, draws and rules are checked.

    >>> PatternReadoutSettings().windows
    (2, 3, 4, 5)
    """

    bits: int = 10
    windows: tuple[int, ...] = (2, 3, 4, 5)
    draws: int = 10_000
    exact_draws: int = 5
    rules: int = 5
    delta: float = 0.05
    seed: int = 0

    def __post_init__(self):
        check_integer("pattern-readout", "bits", self.bits, 1, LARGEST_CHECK)
        for window in self.windows:
            check_integer("pattern-readout", "windows", window, 1, min(self.bits, LARGEST_WINDOW))
        for name in ("draws", "exact_draws", "rules"):
            check_integer("pattern-readout", name, getattr(self, name), 1)
        check_number("pattern-readout", "delta", self.delta, 0, 1, open_low=True)
        check_integer("pattern-readout", "seed", self.seed, 0)


class PatternReadout(Study[PatternReadoutSettings]):
    """Builds Lemma 6's readout on random filters and compares it with the pattern on all inputs.

    >>> PatternReadout().name
    'pattern-readout'
    """

    name = "pattern-readout"
    title = "Lemma 6: after a random first layer, k-patterns are linear"
    summary = (
        "The explicit readout of Lemma 6 on random filters: equality on all 2^n inputs, its "
        "norm, and how often a draw allows it"
    )
    claims = (CLAIM_EXACT, CLAIM_NORM, CLAIM_COVERAGE)
    scales = {  # noqa: RUF012
        "quick": PatternReadoutSettings(),
        "laptop": PatternReadoutSettings(
            bits=14, windows=(2, 3, 4, 5, 6, 7), draws=100_000, exact_draws=20, rules=10
        ),
        "full": PatternReadoutSettings(
            bits=16, windows=(2, 3, 4, 5, 6, 7, 8), draws=1_000_000, exact_draws=20, rules=20
        ),
    }

    def conclude(self, lab: Lab, settings: PatternReadoutSettings) -> Outcome:
        s = settings
        rows = []
        for count, window in enumerate(s.windows):
            given = dataclasses.asdict(s) | {"windows": [window], "window": window}
            rows.append(
                lab.remember("lemma6", given, lambda window=window: check_window(s, window))
            )
            if lab.progress is not None:
                lab.progress(self.name, count + 1, len(s.windows))
        worst = max(row["error"] for row in rows)
        checked = sum(row["checked"] for row in rows)
        exact: Verdict = "refuted" if worst > TOLERANCE else "supported" if checked else "undecided"
        ratio = max(row["norm_ratio"] for row in rows)
        balanced = sum(row["draws"] - row["unbalanced"] for row in rows)
        norm: Verdict = "refuted" if ratio > 1.0 else "supported" if balanced else "undecided"
        failures = [wilson(row["unbalanced"], row["draws"]) for row in rows]
        coverage = all_of([decide_below(failure, s.delta) for failure in failures])
        findings = (
            Finding(
                CLAIM_EXACT,
                exact,
                f"largest |h(x) - f(x)| over {checked} checked patterns, all 2^{s.bits} inputs "
                f"each: {worst:.2g}",
                True,
                (
                    Evidence(
                        "largest |h - f|",
                        worst,
                        worst,
                        worst,
                        checked,
                        1.0,
                        "exhaustive over inputs",
                        TOLERANCE,
                    ),
                ),
            ),
            Finding(
                CLAIM_NORM,
                norm,
                f"largest norm over its bound, in {balanced} draws whose patterns are all covered "
                f"as the lemma wants: {ratio:.3f}",
                True,
                (
                    Evidence(
                        "largest ||u*|| / bound",
                        ratio,
                        ratio,
                        ratio,
                        balanced,
                        1.0,
                        "largest over draws",
                        1.0,
                    ),
                ),
            ),
            Finding(
                CLAIM_COVERAGE,
                coverage,
                "; ".join(
                    f"k = {row['window']}: {failure.estimate:.2g} of draws fail"
                    for row, failure in zip(rows, failures)
                )
                + f", against δ = {s.delta:g}",
                True,
                tuple(
                    Evidence.of(
                        f"failure probability, k = {row['window']}",
                        failure,
                        s.delta,
                        exact=row["exact"],
                        chernoff=row["chernoff"],
                    )
                    for row, failure in zip(rows, failures)
                ),
            ),
        )
        note = Note(
            "coverage",
            "info",
            "A draw fails when some sign pattern has fewer than q·2^(-k-1) filters. The exact "
            "multinomial probability and the paper's Chernoff bound stand beside the measured "
            "share.",
        )
        return Outcome(findings, self._figures(s, lab), (self._table(rows, failures),), (note,))

    def _table(self, rows: list[dict[str, Any]], failures: list[Any]) -> TableData:
        columns = (
            "window",
            "filters",
            "draws",
            "failed",
            "low",
            "high",
            "exact",
            "Chernoff",
            "largest |h - f|",
            "norm / bound",
        )
        cells = tuple(
            (
                *(
                    row["window"],
                    row["filters"],
                    row["draws"],
                    failure.estimate,
                    failure.low,
                    failure.high,
                ),
                *(row["exact"], row["chernoff"], row["error"], row["norm_ratio"]),
            )
            for row, failure in zip(rows, failures)
        )
        return TableData("lemma6", "Lemma 6 at the number of filters it asks for", columns, cells)

    def _figures(self, s: PatternReadoutSettings, lab: Lab) -> tuple[Figure, ...]:
        window = max(w for w in s.windows if w <= 5) if min(s.windows) <= 5 else min(s.windows)
        asked = int(np.ceil(needed_filters(window, s.delta)))
        given = {"window": window, "asked": asked, "draws": s.draws, "seed": s.seed}
        curve = lab.remember(
            "lemma6-curve", given, lambda: coverage_curve(window, asked, s.draws, s.seed)
        )
        counts = tuple(point["filters"] for point in curve)
        shares = [wilson(point["unbalanced"], point["draws"]) for point in curve]
        series = (
            Series(
                "measured",
                counts,
                tuple(share.estimate for share in shares),
                tuple(share.low for share in shares),
                tuple(share.high for share in shares),
                seeds=tuple(share.count for share in shares),
            ),
            Series(
                "exact (multinomial)", counts, tuple(point["exact"] for point in curve), role="law"
            ),
            Series(
                "the paper's Chernoff bound",
                counts,
                tuple(point["chernoff"] for point in curve),
                role="bound",
            ),
            Series(
                f"δ = {s.delta:g}", (counts[0], counts[-1]), (s.delta, s.delta), role="baseline"
            ),
        )
        caption = (
            f"Probability that a draw of q filters leaves some of the 2^{window} sign patterns "
            "with fewer than half their share."
        )
        return (
            Figure(
                "coverage",
                f"How often a draw fails, k = {window}",
                Axis("filters q", log=True),
                Axis("probability", log=True),
                series,
                f"{caption} The lemma asks for q > {asked}; it needs far fewer.",
            ),
        )


def check_window(s: PatternReadoutSettings, window: int) -> dict[str, Any]:
    """Lemma 6 at one window: equality on all inputs for several draws, rules and places, and the
    statistics of the draw.

    >>> check_window(PatternReadoutSettings(bits=5, draws=100, exact_draws=1, rules=1), 2)["error"] < TOLERANCE
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


def coverage_curve(window: int, asked: int, draws: int, seed: int) -> list[dict[str, Any]]:
    """The failure probability of the draw against the number of filters.

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
