"""Figures of the part `sphere`: gaps and excess risks over n, the onset n*, and the filters."""

import dataclasses
import math
from typing import Any

import numpy as np

from separatrix.inference import Interval
from separatrix.studies.outcome import Axis, Figure, Series, TableData
from separatrix.studies.stability.settings import StabilitySettings
from separatrix.studies.stability.sphere_verdicts import (
    ONSET,
    LogRatio,
    gap_cells,
    judged,
    onset_law,
    onsets,
)
from separatrix.studies.stability.trials import Rows, StabilityCell, finished

Numbers = dict[int, list[float]]  # of the judged runs, by n
FULL = "fully connected (FCN)"


def _series(lines: dict[tuple[str, str], Numbers]) -> list[Series]:
    """Geometric means against n, one line per panel and label; as in the verdicts, a cell's error
    is the larger of its own and of the spread that all cells of a figure share.

    >>> (line,) = _series({("", "full"): {64: [1.0, 4.0], 256: [2.0, 2.0]}})
    >>> [round(y, 3) for y in line.y]
    [2.0, 2.0]
    """
    logs = {
        (line, n): np.log(numbers)
        for line, points in lines.items()
        for n, numbers in points.items()
        if numbers and min(numbers) > 0
    }
    freedom = sum(len(values) - 1 for values in logs.values())
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in logs.values())
    shared = squares / max(freedom, 1)
    out = []
    for line, points in lines.items():
        ends = []
        for n in points:
            interval = None
            if (values := logs.get((line, n))) is not None and freedom:
                own = float(values.var(ddof=1)) if len(values) > 1 else 0.0
                error = math.sqrt(max(own, shared) / len(values))
                interval = LogRatio(float(values.mean()), error, freedom).interval(0.95)
            ends.append((n, interval))
        if any(interval is not None for _, interval in ends):
            out.append(dataclasses.replace(Series.of(line[1], ends), panel=line[0]))
    return out


def _numbers(s: StabilitySettings, rows: Rows, name: str, cells: Any) -> Numbers:
    """A number of the judged runs by n."""
    return {n: [row[name] for row in judged(s, rows.get(cell, []))] for n, cell in cells.items()}


def _lines(s: StabilitySettings, rows: Rows, name: str) -> list[Series]:
    """A panel per dimension: a line for the full network, then one per receptive field."""
    lines: dict[tuple[str, str], Numbers] = {}
    for m in (0, *reversed(s.sphere.patches)):  # so that the legend has the order of the lines
        net, label = ("CNN", f"m = {m}") if m else ("FCN", FULL)
        for d in s.sphere.dimensions:
            if not m or m in s.sphere.patches_of(d):
                sizes = s.sphere.samples_of(d, full=not m)
                cells = {n: StabilityCell("sphere", net, d, n, m) for n in sizes}
                lines[f"d = {d}", label] = _numbers(s, rows, name, cells)
    return _series(lines)


def gap_figures(s: StabilitySettings, rows: Rows) -> tuple[Figure, ...]:
    """The gap against n with one line per receptive field and the full network, and the excess risk
    beside the constant predictor's, both with a panel per dimension; the gaps of the controls; the
    gap after long training.

    >>> gap_figures(StabilitySettings(), {})
    ()
    """
    out = []
    note = (
        f"Runs that ended within {100 * s.edge_distance:g} % of the edge 2/η = {s.edge:g}, K = "
        f"{s.sphere.width}, {s.sphere.steps:,} steps, noise variance {s.noise**2:g}; geometric "
        "means over seeds with 95 % intervals."
    )
    gaps = _lines(s, rows, "regression.gap")
    axes = Axis("samples n", log=True), Axis("generalization gap", log=True)
    if gaps:
        halves = [
            dataclasses.replace(
                Series.level("half of the noise", line.x, ONSET * s.noise**2), panel=line.panel
            )
            for line in gaps
            if line.label == FULL
        ]
        title = "Generalization gap at the edge, by receptive field m and dimension d"
        words = (
            "The gap |excess risk + noise energy - training MSE| of shared networks with receptive "
            f"field m, and of the fully connected network. {note}"
        )
        if any(s.sphere.samples_of(d) != s.sphere.samples for d in s.sphere.dimensions):
            most = s.sphere.most_numbers
            words += f" Training sets of more than {most:,} numbers, n·d, are left out."
        out.append(Figure("gap", title, *axes, (*gaps, *halves), words, headline=True))
    risks = _lines(s, rows, "regression.excess")
    if risks:
        levels = []
        for d in s.sphere.dimensions:
            constants = [
                row["regression.constant"]
                for cell, members in rows.items()
                if (cell.part, cell.network, cell.number) == ("sphere", "CNN", d)
                for row in finished(members)
                if cell.variant == ""
            ]
            if constants:
                level = Series.level(
                    "best constant", s.sphere.samples_of(d), float(np.mean(constants))
                )
                levels.append(dataclasses.replace(level, panel=f"d = {d}"))
        words = f"The constant is the mean over all teachers. {note}"
        title = "Excess risk on the sphere, beside the best constant's"
        risk_axes = Axis("samples n", log=True), Axis("excess risk", log=True)
        out.append(Figure("excess", title, *risk_axes, (*risks, *levels), words))
    return (*out, *_control_figure(s, rows, note), *_long_figure(s, rows))


def _control_figure(s: StabilitySettings, rows: Rows, note: str) -> tuple[Figure, ...]:
    """The gaps of unshared networks, and of shared ones on patches of unit norm, beside the shared
    ones with the same receptive field."""
    part = s.sphere
    lines: dict[tuple[str, str], Numbers] = {}
    for d in part.dimensions:
        sizes = part.samples_of(d)[: part.control_samples]
        for m in sorted({*part.unshared, *part.unit_norm} & set(part.patches_of(d))):
            kinds = [("CNN", "", "CNN (shared)")]
            kinds += [("LCN", "", "LCN (unshared)")] * (m in part.unshared)
            kinds += [("CNN", "unit", "CNN, patches of unit norm")] * (m in part.unit_norm)
            for net, variant, label in kinds:
                cells = {n: StabilityCell("sphere", net, d, n, m, variant) for n in sizes}
                lines[f"d = {d}, m = {m}", label] = _numbers(s, rows, "regression.gap", cells)
    out = _series(lines)
    if not {line.label for line in out} - {"CNN (shared)"}:
        return ()
    axes = Axis("samples n", log=True), Axis("generalization gap", log=True)
    title = "Controls: the gap without sharing, and with patches of unit norm"
    return (Figure("gap-controls", title, *axes, tuple(out), note),)


def _headline_dimension(s: StabilitySettings) -> int:
    """The largest dimension that has all sample sizes."""
    part = s.sphere
    whole = [d for d in part.dimensions if part.samples_of(d) == part.samples]
    return max(whole or part.dimensions)


def _long_figure(s: StabilitySettings, rows: Rows) -> tuple[Figure, ...]:
    d, lines = min(s.sphere.dimensions), dict[tuple[str, str], Numbers]()
    for label, net, m in (
        ("FCN", "FCN", 0),
        *((f"m = {m}", "CNN", m) for m in s.sphere.patches_of(d)),
    ):
        for variant, words in (("", ""), ("long", f", {s.sphere.long_steps} steps")):
            cells = {
                n: StabilityCell("sphere", net, d, n, m, variant) for n in s.sphere.long_samples
            }
            lines["", f"{label}{words}"] = _numbers(s, rows, "regression.gap", cells)
    out = _series(lines)
    if not s.sphere.long_steps or not out:
        return ()
    title = f"Generalization gap after {s.sphere.steps} and {s.sphere.long_steps} steps, d = {d}"
    axes = Axis("samples n", log=True), Axis("gap", log=True)
    return (Figure("gap-long", title, *axes, tuple(out), "Runs at the edge, 95 % intervals."),)


def answer(s: StabilitySettings, rows: Rows) -> str:
    """What the gaps at the largest n say, in one sentence; empty without runs.

    >>> answer(StabilitySettings(), {})
    ''
    """
    d = _headline_dimension(s)
    shared = [c for c in gap_cells(s, rows) if c.cell.number == d]
    full = [c for c in gap_cells(s, rows, "FCN") if c.cell.number == d]
    if not shared or not full:
        return ""
    n = max(c.cell.samples for c in shared)
    gaps = {c.cell.patch: math.exp(c.log_gap) for c in shared if c.cell.samples == n}
    most = [math.exp(c.log_gap) for c in full if c.cell.samples == n]
    words = ", ".join(f"{gap:.2g} (m = {m})" for m, gap in gaps.items())
    other = f", that of a fully connected one {most[0]:.2g}" if most else ""
    return (
        f"At the edge of stability, with d = {d}, n = {n} and noise of variance {s.noise**2:g}, "
        f"the gap of a shared network with receptive field m is {words}{other}."
        if len(gaps) > 1
        else ""
    )


def onset_figures(s: StabilitySettings, rows: Rows) -> tuple[Figure, ...]:
    """The onset n* against m, one line per dimension, with the law that fits best.

    >>> onset_figures(StabilitySettings(), {})
    ()
    """
    cells = onsets(s, rows)
    if not cells:
        return ()
    series = []
    for d in s.sphere.dimensions:
        points = [(m, _onset_interval(cells[d, m])) for (e, m) in cells if e == d]
        if points:
            series += Series.bounded(f"d = {d}", points)
    law, _ = onset_law(list(cells.values()))
    caption = (
        "The sample size at which the gap falls below half of the noise energy, by interpolation "
        f"in log n. Bounds where it lies outside of the sizes that were measured. {law}"
    )
    axes = Axis("receptive field m", log=True), Axis("n*", log=True)
    return (Figure("onset", "Where generalization begins", *axes, tuple(series), caption),)


def _onset_interval(cell: Any) -> Interval:
    middle, half = math.exp(cell.value), 1.96 * cell.error
    if cell.censoring == "left":
        return Interval(math.nan, 0.0, middle, 0.95, "censored", 1)
    if cell.censoring == "right":
        return Interval(math.nan, middle, math.inf, 0.95, "censored", 1)
    low, high = (math.exp(cell.value + sign * half) for sign in (-1, 1))
    return Interval(middle, low, high, 0.95, "interpolated", 1)


def onset_table(s: StabilitySettings, rows: Rows) -> tuple[TableData, ...]:
    """n* for every d and m, and which cells interpolate.

    >>> onset_table(StabilitySettings(), {})
    ()
    """
    cells = onsets(s, rows)
    if not cells:
        return ()
    interpolating: dict[tuple[int, int], list[int]] = {}
    for gap in gap_cells(s, rows):
        if gap.interpolates:
            key = (gap.cell.number, gap.cell.patch)
            interpolating.setdefault(key, []).append(gap.cell.samples)
    signs = {"none": "", "left": "at most", "right": "at least"}
    table = []
    for (d, m), cell in cells.items():
        end = _onset_interval(cell)
        ends = (end.low, end.high) if cell.censoring == "none" else (None, None)
        names = ", ".join(str(n) for n in interpolating.get((d, m), []))
        table.append((d, m, signs[cell.censoring], math.exp(cell.value), *ends, names))
    columns = ("d", "m", "bound", "n*", "low", "high", "n at which it interpolates")
    title = (
        "Onset: the sample size n* at which the shared network's gap is half of the noise energy"
    )
    return (TableData("onset", title, columns, tuple(table)),)


def coupling_figures(s: StabilitySettings, rows: Rows) -> tuple[Figure, ...]:
    """The angle of filters to the patch subspace while shared and unshared networks train.

    >>> coupling_figures(StabilitySettings(), {})
    ()
    """
    from separatrix.studies.stability.figures import curve

    lines = {
        label: rows.get(StabilityCell("vocabulary", name, 0, s.vocabulary.samples), [])
        for label, name in (("shared", "CNN"), ("unshared", "LCN"))
    }
    return curve(
        "coupling",
        "Angle of the filters to the patch subspace (vocabulary)",
        "angle, degrees",
        lines,
        "coupling.angle",
    )
