"""Tables and figures of the sample-complexity study."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.inference import Interval, Threshold, wilson
from separatrix.studies.outcome import Axis, Figure, Heatmap, Series, TableData
from separatrix.studies.search import SearchResult
from separatrix.studies.signal.settings import NETWORKS, SignalSettings
from separatrix.studies.signal.trials import SignalCell, map_settings
from separatrix.studies.signal.verdicts import PREDICTED, LawFits
from separatrix.studies.signal_map.figures import map_figure
from separatrix.studies.signal_map.settings import Spot
from separatrix.theory.signal import bayes_risk, best_linear_risk, bounds_for, true_signal_risk


def _cells_along(
    searches: dict[SignalCell, SearchResult], regime: str, network: str, axis: str, base: int
) -> list[tuple[int, Threshold]]:
    """A network's thresholds along one line of the grid."""
    fixed = "dimension" if axis == "patches" else "patches"
    line = [
        (getattr(cell, axis), search.threshold)
        for cell, search in searches.items()
        if (cell.regime, cell.network) == (regime, network) and getattr(cell, fixed) == base
    ]
    return sorted(line, key=lambda pair: pair[0])


def growth_figures(
    s: SignalSettings, searches: dict[SignalCell, SearchResult]
) -> tuple[Figure, ...]:
    """m* against k and against d, with bands, and each network's predicted law through its
    thresholds.
    """
    out = []
    for regime in s.regimes:
        for axis, letter in (("patches", "k"), ("dimension", "d")):
            series = []
            for network in NETWORKS:
                lines = s.lines(network)
                base = lines.base_dimension if axis == "patches" else lines.base_patches
                line = _cells_along(searches, regime, network, axis, base)
                if not line:
                    continue
                xs = tuple(x for x, _ in line)
                series += Series.bounded(network, line)
                law = _law_line(s, regime, network, axis, base, line)
                if law is not None:
                    series.append(Series(f"{PREDICTED[network]} ({network})", xs, law, role="law"))
            out.append(
                Figure(
                    f"{regime}-{letter}",
                    f"Samples needed against {letter}, {regime} noise",
                    Axis(letter, log=True),
                    Axis("samples m*", log=True),
                    tuple(series),
                    "Smallest sample size at which half of the trials come within the margin of "
                    "the network that knows the signal; 95 % intervals; a short dash is the bound "
                    "of a censored search. Dashed: the paper's law through the measured points.",
                )
            )
    return tuple(out)


def _law_line(
    s: SignalSettings,
    regime: str,
    network: str,
    axis: str,
    base: int,
    line: list[tuple[int, Threshold]],
) -> tuple[float, ...] | None:
    """The network's bound, scaled to pass through the thresholds that have a value."""
    bound = bounds_for(network)[0]
    cells = [(x, base) if axis == "patches" else (base, x) for x, _ in line]
    values = np.array([bound.value(k, d, s.sigma(regime, k)) for k, d in cells])
    known = np.array([t.estimate for _, t in line])
    if not np.isfinite(known).any():
        return None
    constant = float(np.exp(np.nanmean(np.log(known) - np.log(values))))
    return tuple(float(constant * value) for value in values)


def risks_by_size(search: SearchResult) -> list[tuple[int, np.ndarray]]:
    """The risks of a search's trials, sample size by sample size.

    >>> import pandas as pd
    >>> from separatrix.inference import Tally, estimate_threshold
    >>> rows = pd.DataFrame({"samples": [8, 8, 16], "risk": [0.3, 0.1, 0.2]})
    >>> search = SearchResult(estimate_threshold([Tally(8, 1, 2)]), rows)
    >>> [(m, len(risks)) for m, risks in risks_by_size(search)]
    [(8, 2), (16, 1)]
    """
    sizes, risks = search.rows["samples"].to_numpy(), search.rows["risk"].to_numpy()
    return [(int(m), risks[sizes == m]) for m in np.unique(sizes)]


def curve_figure(s: SignalSettings, searches: dict[SignalCell, SearchResult]) -> Figure:
    """Learning curves at each network's first cell: the share of trials that succeed."""
    regime, series = s.regimes[0], []
    for network in NETWORKS:
        cell = SignalCell(regime, network, *s.cells(network)[0])
        if cell not in searches:
            continue
        target = s.target(cell.patches, s.sigma(regime, cell.patches))
        shares = [
            (m, wilson(int((risks <= target).sum()), len(risks)))
            for m, risks in risks_by_size(searches[cell])
        ]
        series.append(Series.of(f"{network} (k = {cell.patches}, d = {cell.dimension})", shares))
    return Figure(
        "curves",
        "Share of trials that succeed",
        Axis("samples", log=True),
        Axis("share"),
        tuple(series),
        "Each point: the trials of one sample size, with Wilson intervals. Searches put most "
        "trials near the threshold.",
    )


def risk_figure(s: SignalSettings, searches: dict[SignalCell, SearchResult]) -> Figure:
    """Median risk against the sample size at each network's first cell, beside the rules that know
    the signal.
    """
    regime, series, sizes = s.regimes[0], [], [2, 2]
    for network in NETWORKS:
        cell = SignalCell(regime, network, *s.cells(network)[0])
        if cell in searches:
            points = [
                (
                    m,
                    Interval(
                        float(np.median(r)), float(r.min()), float(r.max()), 1.0, "range", len(r)
                    ),
                )
                for m, r in risks_by_size(searches[cell])
            ]
            sizes = [min(sizes[0], points[0][0]), max(sizes[1], points[-1][0])]
            series.append(Series.of(network, points))
    patches = s.cells("CNN")[0][0]
    sigma = s.sigma(regime, patches)
    lines = {
        "best linear rule": best_linear_risk(patches, sigma),
        "knows the signal": true_signal_risk(patches, sigma, s.bias),
        "Bayes": bayes_risk(patches, sigma).risk,
        "target": s.target(patches, sigma),
    }
    drawn = tuple(
        Series(name, (sizes[0], sizes[1]), (level, level), role="baseline")
        for name, level in lines.items()
        if level > 0
    )
    return Figure(
        "risk",
        "Risk against the sample size",
        Axis("samples", log=True),
        Axis("risk", log=True),
        (*series, *drawn),
        "Median and range over seeds; the lines are rules that know the signal, and the target.",
    )


def threshold_table(
    s: SignalSettings, searches: dict[SignalCell, SearchResult], estimators: dict[Any, Threshold]
) -> TableData:
    """Every threshold with its interval, other criteria, baselines, bounds and whether it lies
    inside the paper's conditions.
    """
    rows = []
    for cell, search in searches.items():
        sigma = s.sigma(cell.regime, cell.patches)
        floor = true_signal_risk(cell.patches, sigma, s.bias)
        wide = search.under(lambda row, limit=floor + 0.10: row["risk"] <= limit)
        aligned = search.under(lambda row: row["alignment"] >= 0.9)
        sharing = {"CNN": "shared", "LCN": "local"}.get(cell.network, "")
        known = [
            estimators.get((sharing, name, cell.patches, cell.dimension))
            if cell.regime == s.regimes[0]
            else None
            for name in ("genie", "em", "average")
        ]
        bounds = "; ".join(
            f"{bound.side} {bound.value(cell.patches, cell.dimension, sigma):.3g}"
            for bound in bounds_for(cell.network)
        )
        inside = all(
            c.met is not False
            for b in bounds_for(cell.network)
            for c in b.conditions(cell.patches, cell.dimension, sigma, s.bias, True)
        )
        t = search.threshold
        rows.append(
            (
                cell.regime,
                cell.network,
                cell.patches,
                cell.dimension,
                round(sigma, 4),
                str(t),
                t.trials,
                str(wide),
                str(aligned),
                *("" if b is None else str(b) for b in known),
                bounds,
                "inside" if inside else "outside",
                round(floor, 4),
                round(best_linear_risk(cell.patches, sigma), 4),
                round(bayes_risk(cell.patches, sigma).risk, 4),
            )
        )
    columns = (
        "noise",
        "network",
        "k",
        "d",
        "σ",
        "m*",
        "trials",
        "m* at +.10",
        "m* by alignment .9",
        "genie",
        "EM",
        "average",
        "bounds (constant 1)",
        "conditions",
        "risk with the signal known",
        "best linear risk",
        "Bayes risk",
    )
    return TableData(
        "thresholds",
        "Samples needed, with 95 % intervals (<= and >= mark censored searches)",
        columns,
        tuple(rows),
    )


def exponent_table(fits: LawFits) -> TableData:
    """Exponents and the ranking of laws, for each regime and network."""
    rows = []
    for arm, fit in fits.exponents.items():
        ranking = fits.rankings.get(arm)
        best = () if ranking is None else ranking.scores[:3]
        rows.append(
            (
                *arm,
                str(fit.exponents["k"]),
                str(fit.exponents["d"]),
                fit.cells,
                fit.censored,
                ", ".join(f"{score.name} {score.weight:.2f}" for score in best),
                "" if ranking is None else str(ranking),
            )
        )
    columns = (
        "noise",
        "network",
        "exponent in k",
        "exponent in d",
        "cells",
        "censored",
        "laws (AICc weight)",
        "verdict",
    )
    return TableData("exponents", "Growth of the samples needed", columns, tuple(rows))


def sketch_figures(s: SignalSettings, searches: Mapping[Spot, SearchResult]) -> tuple[Heatmap, ...]:
    """The sketched map between the networks; none where the study draws no map."""
    settings = map_settings(s)
    return () if settings is None else (map_figure(settings, dict(searches)),)
