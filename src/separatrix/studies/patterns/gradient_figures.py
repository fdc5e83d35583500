"""Figures and tables of Theorem 12: the signal against n, its bounds, and where the networks cross."""

from typing import Any

from separatrix.notes import Note
from separatrix.studies.outcome import Axis, Figure, Series, TableData

_NAMES = {"full": "FCN, a unit", "shared": "CNN, a filter", "local": "LCN, mean over units"}


def gradient_figures(found: dict[str, list[dict[str, Any]]]) -> tuple[Figure, ...]:
    """One figure a family, and the ratio of the signals under both conventions.

    >>> gradient_figures({})
    ()
    """
    figures = [_signals(name, rows) for name, rows in found.items()]
    return (*figures, _crossing_figure(found)) if found else ()


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


def _crossing_figure(found: dict[str, list[dict[str, Any]]]) -> Figure:
    series = []
    for name, rows in found.items():
        if "k =" in name:
            continue
        sizes = tuple(row["bits"] for row in rows)
        series.append(Series(f"{name}: |u| = 1", sizes, tuple(row["ratio"] for row in rows)))
        series.append(
            Series(f"{name}: |h| ≤ 1", sizes, tuple(row["bounded_ratio"] for row in rows))
        )
    sizes = [row["bits"] for rows in found.values() for row in rows]
    series.append(Series("equal", (min(sizes), max(sizes)), (1.0, 1.0), role="baseline"))
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

    >>> crossing_of([{"bits": 8, "ratio": 2.0}, {"bits": 16, "ratio": 0.5}, {"bits": 32, "ratio": None}], "ratio")
    16
    """
    found = None
    for row in rows:
        if row[ratio] is not None:
            found = (found or row["bits"]) if row[ratio] < 1 else None
    return found


def crossing_notes(found: dict[str, list[dict[str, Any]]]) -> tuple[Note, ...]:
    """Where the FCN's signal falls below the CNN's, said for both conventions.

    >>> crossing_notes({})
    ()
    """
    if not found:
        return ()
    parts = []
    for name, rows in found.items():
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


def gradient_table(found: dict[str, list[dict[str, Any]]]) -> TableData:
    """Every row of every family, with bounds and ratios.

    >>> gradient_table({}).rows
    ()
    """
    columns = (
        *(
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
        ),
        *(
            "CNN",
            "CNN low",
            "CNN high",
            "LCN",
            "FCN/CNN, |u| = 1",
            "FCN/CNN, |h| ≤ 1",
            "median of plain draws",
        ),
    )
    cells = tuple(
        (
            *(
                name,
                row["bits"],
                row["window"],
                row["full"]["mean"],
                row["full"]["low"],
                row["full"]["high"],
                row["full_error"],
            ),
            *(row["paper"], row["sharper"], row["full_readout"]["mean"], row["paper_readout"]),
            *(
                row["shared"]["mean"],
                row["shared"]["low"],
                row["shared"]["high"],
                row["local"]["mean"],
            ),
            *(row["ratio"], row["bounded_ratio"], row["plain"]["median"]),
        )
        for name, rows in found.items()
        for row in rows
    )
    return TableData(
        "gradients", "Exact gradient signal a unit at the start, u = 1", columns, cells
    )
