"""Figures and tables of the study `pattern-width`."""

import math
from typing import Any

import numpy as np

from separatrix.inference.intervals import wilson
from separatrix.studies.claims import finite
from separatrix.studies.outcome import Axis, Figure, Heatmap, Series, TableData
from separatrix.studies.pattern_width.settings import PatternWidthSettings
from separatrix.studies.pattern_width.trials import (
    Results,
    WidthCell,
    boundary,
    gradients_of,
    widths_of,
)
from separatrix.studies.patterns.trials import NETWORKS


def phase_maps(s: PatternWidthSettings, results: Results) -> tuple[Heatmap, ...]:
    """For each network, the share of seeds that leave chance over n and q.

    >>> [figure.name for figure in phase_maps(PatternWidthSettings(), {})]
    ['phase-CNN', 'phase-LCN', 'phase-FCN']
    """
    out = []
    for name in NETWORKS:
        widths = widths_of(s, name)
        shares = [[results.get(WidthCell(name, n, q)) for n in s.sizes] for q in widths]
        out.append(
            Heatmap(
                f"phase-{name}",
                f"{name}: share of seeds that leave chance within {s.steps} steps",
                Axis("bits n"),
                Axis("width q"),
                Axis("share"),
                s.sizes,
                widths,
                tuple(tuple(None if r is None else r.share for r in row) for row in shares),
                tuple(
                    tuple("" if r is None else f"{r.left}/{r.seeds}" for r in row) for row in shares
                ),
                tuple(tuple(False for _ in row) for row in shares),
                f"Parity of k = ⌈log2 n⌉ neighbouring bits; leaving chance is a risk of at most "
                f"{s.left:g}; Adam, {s.batch} fresh rows a step, the rate chosen on other seeds.",
                ends=(0.0, 1.0),
            )
        )
    return tuple(out)


def boundary_figure(s: PatternWidthSettings, results: Results) -> Figure:
    """The picture for a lecture: how wide each network must be, against n."""
    series = []
    for name in NETWORKS:
        points = [
            (n, found)
            for n in s.sizes
            if (found := boundary(s, results, name, n)) is not None and found.censoring != "both"
        ]
        series += Series.bounded(name, points)
    if series:
        from separatrix.studies.pattern_width.verdicts import SUBSETS

        law = SUBSETS.values({"n": np.array(s.sizes, float)})
        series.append(
            Series(
                "Theorem 12's growth, C(n-1, k-1)/n",
                s.sizes,
                tuple(float(v) for v in law * s.widths[0] / law[0]),
                role="law",
            )
        )
    return Figure(
        "width-boundary",
        f"How wide must a network be to leave chance within {s.steps} steps?",
        Axis("bits n", log=True),
        Axis("width q*", log=True),
        tuple(series),
        "The width at which half of the seeds leave chance, with 95 % intervals. A bound is drawn "
        "where all widths or none do. The line has Theorem 12's growth and an arbitrary height.",
        headline=True,
    )


def gradient_figure(s: PatternWidthSettings, exact: list[dict[str, Any]]) -> Figure:
    """The exact gradient of one unit at the start against the tolerance that hides it."""
    sizes = tuple(row["bits"] for row in exact)
    series = [
        Series(
            f"{name}: gradient of one unit",
            sizes,
            tuple(math.sqrt(row[name]) if row[name] > 0 else None for row in exact),
            role="law",
        )
        for name in ("CNN", "FCN")
    ]
    if exact:
        hidden = tuple(row["hidden_below"] for row in exact)
        series.append(Series("hides a typical parity, 1/√C(n, k)", sizes, hidden, role="bound"))
        series += [Series.level(f"noise {noise:g}", sizes, noise) for noise in s.noises]
        series.append(Series.level(f"a batch of {s.batch} rows, 1/√batch", sizes, s.batch**-0.5))
    return Figure(
        "width-gradient",
        "The exact population gradient at the start, and what hides it",
        Axis("bits n", log=True),
        Axis("gradient's norm, readout 1", log=True),
        tuple(series),
        "Root mean square over Gaussian units with ReLU and a readout of 1, exact over all inputs. "
        "An oracle with a larger tolerance may answer 0.",
    )


def noise_figure(s: PatternWidthSettings, results: Results) -> Figure:
    """The share of seeds that leave chance for every gradient, at the largest noisy size."""
    n = s.noisy_sizes[-1] if s.noisy_sizes else 0
    series = []
    for name in NETWORKS:
        cells = {g: results.get(WidthCell(name, n, s.noisy_width, g)) for g in gradients_of(s)}
        points = [(g, wilson(r.left, r.seeds)) for g, r in cells.items() if r is not None]
        if points:
            series.append(Series.of(name, points))
    return Figure(
        "width-noise",
        f"Leaving chance through imprecise gradients, n = {n}, q = {s.noisy_width}",
        Axis("gradient"),
        Axis("share of seeds"),
        tuple(series),
        "Wilson's 95 % intervals. Rounding to bfloat16 is relative and hides no small signal; "
        "noise of a fixed size on every entry does.",
    )


def width_tables(
    s: PatternWidthSettings, results: Results, exact: list[dict[str, Any]]
) -> tuple[TableData, ...]:
    """Every cell, every boundary, and the exact gradients.

    >>> [table.name for table in width_tables(PatternWidthSettings(), {}, [])]
    ['width-cells', 'width-boundary', 'width-gradients']
    """
    cells = []
    for cell, result in results.items():
        share = wilson(result.left, result.seeds)
        cells.append(
            (
                cell.network,
                cell.bits,
                cell.width,
                cell.gradient,
                result.rate,
                result.left,
                result.seeds,
                share.low,
                share.high,
            )
        )
    edges = []
    for name in NETWORKS:
        for n in s.sizes:
            found = boundary(s, results, name, n)
            if found is not None:
                numbers = (found.estimate, found.low, found.high)
                edges.append((name, n, *map(finite, numbers), found.censoring, found.trials))
    columns = ("network", "n", "q", "gradient", "rate", "left chance", "seeds", "low", "high")
    return (
        TableData(
            "width-cells", f"Seeds that leave chance within {s.steps} steps", columns, tuple(cells)
        ),
        TableData(
            "width-boundary",
            "The width at which half of the seeds leave chance",
            ("network", "n", "q*", "low", "high", "censoring", "trials"),
            tuple(edges),
        ),
        TableData(
            "width-gradients",
            "Exact squared gradient per unit at the start, and the tolerance that hides a parity",
            ("n", "k", "CNN", "LCN", "FCN", "1/√C(n, k)"),
            tuple(
                (r["bits"], r["window"], r["CNN"], r["LCN"], r["FCN"], r["hidden_below"])
                for r in exact
            ),
        ),
    )
