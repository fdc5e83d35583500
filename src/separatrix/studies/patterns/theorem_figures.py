"""Figures, tables and notes of the study `patterns` on Theorems 4 and 12."""

from typing import Any

import numpy as np

from separatrix.inference.intervals import mean_interval
from separatrix.notes import Note
from separatrix.studies.outcome import Axis, Figure, Series, TableData
from separatrix.studies.patterns.settings import PatternsSettings
from separatrix.studies.patterns.theorem_verdicts import Families, work_rows

# The title of every promise's figure, and what is on its axis.
PROMISE_AXES = {
    "readout": ("Lemma 8: the longest readout of a window", "‖u_j‖"),
    "moved": ("Lemma 8: how far the first layer moved", "‖W(t) - W(0)‖"),
    "rival": ("Lemma 9: what that costs Lemma 6's readout", "|L(u*, W(t)) - L(u*, W(0))|"),
    "regret": ("Theorem 10: the average loss and its regret bound", "average loss so far"),
}
_NAMES = {"full": "FCN, a unit", "shared": "CNN, a filter", "local": "LCN, mean over units"}


def gradient_figures(families: Families) -> tuple[Figure, ...]:
    """One figure per family, and the ratio of the signals under both conventions.

    >>> gradient_figures({})
    ()
    """
    figures = [_signals(name, rows) for name, rows in families.items()]
    return (*figures, _crossing_figure(families)) if families else ()


def _signals(name: str, rows: list[dict[str, Any]]) -> Figure:
    sizes = tuple(row["bits"] for row in rows)
    series = []
    for key, label in _NAMES.items():
        means, lows, highs = (
            tuple(row[key][part] for row in rows) for part in ("mean", "low", "high")
        )
        # A filter's gradient can be exactly 0 by symmetry: no point on a logarithmic axis.
        means, lows = (
            tuple(m or None for m in means),
            tuple(low if low > 0 else None for low in lows),
        )
        series.append(
            Series(
                label, sizes, means, lows, highs, seeds=tuple(row[key].get("draws") for row in rows)
            )
        )
    series.append(Series("Theorem 12", sizes, tuple(row["paper"] for row in rows), role="bound"))
    series.append(
        Series("max(n-k+1, k+1)/C(n,k)", sizes, tuple(row["sharper"] for row in rows), role="law")
    )
    caption = (
        "Exact population gradients with u = 1; means over draws of units with 95 % intervals "
        "(no width where all draws agree)."
    )
    place = name if "k =" in name else f"{name}, k = ⌈log2 n⌉"
    slug = name.replace(", ", "-").replace(" = ", "")
    return Figure(
        f"gradient-{slug}",
        f"Gradient signal at the start ({place})",
        Axis("n", log=True),
        Axis("E‖∂L/∂w‖² a unit", log=True),
        tuple(series),
        caption,
    )


def _crossing_figure(families: Families) -> Figure:
    series = []
    for name, rows in families.items():
        if "k =" in name:
            continue
        sizes = tuple(row["bits"] for row in rows)
        series.append(Series(f"{name}: |u| = 1", sizes, tuple(row["ratio"] for row in rows)))
        series.append(
            Series(f"{name}: |h| ≤ 1", sizes, tuple(row["bounded_ratio"] for row in rows))
        )
    sizes = [row["bits"] for rows in families.values() for row in rows]
    series.append(Series.level("equal", sorted(sizes), 1.0))
    caption = (
        "The ratio of means; with |h| ≤ 1 the CNN's readout is 1/(q(n-k+1)) and the FCN's 1/q, "
        "which favours the FCN by (n-k+1)²."
    )
    return Figure(
        "gradient-ratio",
        "The FCN's signal over the CNN's, under both conventions",
        Axis("n", log=True),
        Axis("ratio", log=True),
        tuple(series),
        caption,
    )


def crossing_of(rows: list[dict[str, Any]], ratio: str) -> int | None:
    """The smallest n from which on the ratio stays below 1; rows without a ratio (an exact zero)
    are passed over.

    >>> crossing_of([{"bits": 8, "ratio": 2.0}, {"bits": 16, "ratio": 0.5}], "ratio")
    16
    """
    crossing = None
    for row in rows:
        if row[ratio] is not None:
            crossing = (crossing or row["bits"]) if row[ratio] < 1 else None
    return crossing


def crossing_notes(families: Families) -> tuple[Note, ...]:
    """Where the FCN's signal falls below the CNN's, said for both conventions.

    >>> crossing_notes({})
    ()
    """
    if not families:
        return ()
    parts = []
    for name, rows in families.items():
        if "k =" not in name:
            plain, bounded = (crossing_of(rows, ratio) for ratio in ("ratio", "bounded_ratio"))
            parts.append(f"{name}: from n = {plain} with |u| = 1, from n = {bounded} with |h| ≤ 1")
    text = "The FCN's gradient a unit stays below the CNN's " + "; ".join(parts)
    return (
        Note(
            "crossing",
            "info",
            text + ". Below that size the FCN has the larger signal (None: it never stays below).",
        ),
    )


def gradient_table(families: Families) -> TableData:
    """Every row of every family, with bounds and ratios.

    >>> gradient_table({}).rows
    ()
    """
    columns = (
        "family",
        "n",
        "k",
        "FCN",
        "low",
        "high",
        "numerical error",
        "Theorem 12",
        "sharper bound",
        "FCN readout",
        "its bound",
        "CNN",
        "CNN low",
        "CNN high",
        "LCN",
        "FCN/CNN, |u| = 1",
        "FCN/CNN, |h| ≤ 1",
        "median of plain draws",
    )
    cells = tuple(
        (
            name,
            row["bits"],
            row["window"],
            row["full"]["mean"],
            row["full"]["low"],
            row["full"]["high"],
            row["full_error"],
            row["paper"],
            row["sharper"],
            row["full_readout"]["mean"],
            row["paper_readout"],
            row["shared"]["mean"],
            row["shared"]["low"],
            row["shared"]["high"],
            row["local"]["mean"],
            row["ratio"],
            row["bounded_ratio"],
            row["plain"]["median"],
        )
        for name, rows in families.items()
        for row in rows
    )
    return TableData(
        "gradients", "Exact gradient signal a unit at the start, u = 1", columns, cells
    )


def certificate_tables(s: PatternsSettings, records: list[dict[str, Any]]) -> tuple[TableData, ...]:
    """The runs with their bounds, and what a bound below 1 costs at growing n.

    >>> [table.name for table in certificate_tables(PatternsSettings(), [])]
    ['theorem4', 'theorem4-work']
    """
    columns = (
        "n",
        "k",
        "q",
        "T",
        "rate",
        "runs",
        "average loss",
        "low",
        "high",
        "bound",
        "drift",
        "comparator",
        "descent",
        "vacuous",
    )
    rows = []
    for record in records:
        average = mean_interval([run["average"] for run in record["runs"]])
        sizes = (
            record["bits"],
            record["window"],
            record["filters"],
            record["steps"],
            record["rate"],
            len(record["runs"]),
        )
        rows.append(
            (
                *sizes,
                average.estimate,
                average.low,
                average.high,
                record["bound"],
                *record["terms"],
                record["vacuous"],
            )
        )
    work = tuple(
        (
            r["bits"],
            r["window"],
            r["filters"],
            r["steps"],
            r["operations"],
            r["operations"] <= s.work_limit,
        )
        for r in work_rows(s)
    )
    return (
        TableData(
            "theorem4",
            "Theorem 4 on real runs: average loss (95 % interval over starts) and its bound",
            columns,
            tuple(rows),
        ),
        TableData(
            "theorem4-work",
            "The cheapest run for which Theorem 4 promises a loss below 1",
            ("n", "k", "q", "T", "operations", f"within {s.work_limit:.0e}"),
            work,
        ),
    )


def certificate_figures(records: list[dict[str, Any]]) -> tuple[Figure, ...]:
    """Both sides of every promise along the first run's sizes.

    >>> certificate_figures([])
    ()
    """
    if not records:
        return ()
    first = records[0]
    times = tuple(first["times"])
    where = (
        f"n = {first['bits']}, k = {first['window']}, q = {first['filters']}, T = {first['steps']}"
    )
    figures = []
    for name, (title, label) in PROMISE_AXES.items():
        left = np.array([run[name][0] for run in first["runs"]])
        right = np.array([run[name][1] for run in first["runs"]])
        starts = (len(left),) * len(times)
        series = [
            Series(
                "measured",
                times,
                _positive(left.mean(0)),
                _positive(left.min(0)),
                _positive(left.max(0)),
                seeds=starts,
            ),
            Series(
                "right side",
                times,
                _positive(right.mean(0)),
                _positive(right.min(0)),
                _positive(right.max(0)),
                role="bound",
            ),
        ]
        if name == "regret":
            series.append(Series.level("Theorem 4 at the end", times, first["bound"], role="law"))
            series.append(Series.level("the network that is zero", times, 1.0))
        caption = (
            f"{where}; the mean over {len(left)} starts, the band from the smallest to the largest."
        )
        figures.append(
            Figure(
                f"certificate-{name}",
                title,
                Axis("step"),
                Axis(label, log=True),
                tuple(series),
                caption,
            )
        )
    return tuple(figures)


def _positive(values: np.ndarray) -> tuple[float | None, ...]:
    """Values for a logarithmic axis: what is exactly 0 has no place on it."""
    return tuple(float(value) if value > 0 else None for value in values)
