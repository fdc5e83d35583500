"""The table and the figure of the equivariance audit."""

import numpy as np

from separatrix.inference import Interval
from separatrix.studies.equivariance.trials import Gaps
from separatrix.studies.outcome import Axis, Figure, Series, TableData
from separatrix.studies.symmetry import EQUIVARIANT, GROUPS


def spread(gaps: list[float]) -> Interval:
    """The median of the draws between the smallest and the largest."""
    median = float(np.median(gaps))
    return Interval(median, float(min(gaps)), float(max(gaps)), 1.0, "range", len(gaps))


def gap_table(gaps: Gaps) -> TableData:
    """Every gap, and whether it counts as equivariant."""
    rows = []
    for (network, optimizer), by_group in gaps.items():
        for group, draws in by_group.items():
            ends = spread(draws)
            equivariant = "yes" if max(draws) < EQUIVARIANT else "no"
            rows.append(
                (network, optimizer, group, ends.estimate, ends.low, ends.high, equivariant)
            )
    return TableData(
        "gaps",
        f"Equivariance gaps (below {EQUIVARIANT:g} in every draw counts as equivariant)",
        ("network", "learner", "group", "median gap", "smallest", "largest", "equivariant"),
        tuple(rows),
    )


def gap_figure(gaps: Gaps) -> Figure:
    """The gaps of every network and optimizer, one series per group."""
    names = {pair: " ".join(pair) for pair in gaps}
    series = [
        Series.of(group, [(names[pair], spread(gaps[pair][group])) for pair in gaps])
        for group in GROUPS
    ]
    line = Series.level(f"rounding ({EQUIVARIANT:g})", names.values(), EQUIVARIANT)
    return Figure(
        "gaps",
        "How far training and transforming are from commuting",
        Axis(""),
        Axis("relative gap", log=True),
        (*series, line),
        "Median over draws, with the smallest and the largest draw.",
    )
