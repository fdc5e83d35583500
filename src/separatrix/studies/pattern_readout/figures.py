"""The figure and the table of the study `pattern-readout`."""

from typing import Any

from separatrix.studies.outcome import Axis, Figure, Series, TableData
from separatrix.studies.pattern_readout.settings import PatternReadoutSettings
from separatrix.studies.pattern_readout.trials import curve_window
from separatrix.studies.pattern_readout.verdicts import failure_share


def coverage_figure(s: PatternReadoutSettings, curve: list[dict[str, Any]]) -> Figure:
    """How often a draw fails against the number of filters, with its bounds."""
    window = curve_window(s)
    counts = tuple(point["filters"] for point in curve)
    series = (
        Series.of("measured", [(point["filters"], failure_share(point)) for point in curve]),
        Series("exact (multinomial)", counts, tuple(p["exact"] for p in curve), role="law"),
        Series(
            "the paper's Chernoff bound", counts, tuple(p["chernoff"] for p in curve), role="bound"
        ),
        Series.level(f"δ = {s.delta:g}", counts, s.delta),
    )
    caption = (
        f"Probability that a draw of q filters leaves some of the 2^{window} sign patterns with "
        f"fewer than half their share. The lemma asks for q > {counts[-1]}; it needs far fewer."
    )
    return Figure(
        "coverage",
        f"How often a draw fails, k = {window}",
        Axis("filters q", log=True),
        Axis("probability", log=True),
        series,
        caption,
    )


def lemma6_table(rows: list[dict[str, Any]]) -> TableData:
    """Every window with its failures, its largest error and its largest norm."""
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
    cells = []
    for row in rows:
        failure = failure_share(row)
        cells.append(
            (
                row["window"],
                row["filters"],
                row["draws"],
                failure.estimate,
                failure.low,
                failure.high,
                row["exact"],
                row["chernoff"],
                row["error"],
                row["norm_ratio"],
            )
        )
    return TableData(
        "lemma6", "Lemma 6 at the number of filters it asks for", columns, tuple(cells)
    )
