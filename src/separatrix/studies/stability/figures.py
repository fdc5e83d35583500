"""Figures and tables of the stability study."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from separatrix.inference import mean_interval
from separatrix.probes.activation import UNITS
from separatrix.studies.outcome import Axis, Figure, Series, TableData
from separatrix.studies.stability.recipes import CellKey
from separatrix.studies.stability.settings import StabilitySettings
from separatrix.studies.stability.trials import Rows, at_edge, good, interval_of

# What the authors' notebooks recorded, one seed each.
RECORDED_FITTED = {0: 1.00, 20: 0.57, 40: 0.33, 60: 0.23, 80: 0.18}
RECORDED_WORDS = {"CNN": 0.042, "LCN": 0.394, "FCN": 0.346}


def band(label: str, rows: list[dict[str, Any]], name: str) -> Series | None:
    """A trace of all seeds: the mean at every step with its interval.

    >>> band("CNN", [], "loss") is None
    True
    """
    runs = [row for row in good(rows) if row.get(f"trace.{name}")]
    if not runs:
        return None
    steps = runs[0]["trace.step"]
    columns = [
        [row[f"trace.{name}"][place] for row in runs if len(row["trace.step"]) > place]
        for place in range(len(steps))
    ]
    found = [mean_interval(column) for column in columns]
    middle, low, high = (
        tuple(getattr(each, part) for each in found) for part in ("estimate", "low", "high")
    )
    return Series(label, tuple(steps), middle, low, high, seeds=tuple(each.count for each in found))


def curve(
    name: str,
    title: str,
    label: str,
    lines: dict[str, list[dict[str, Any]]],
    trace: str,
    extra: tuple[Series, ...] = (),
    log: bool = False,
    caption: str = "",
) -> tuple[Figure, ...]:
    """A figure of one trace against the step for several kinds of runs; none where nothing was run.

    >>> curve("demo", "Demo", "loss", {"CNN": []}, "loss")
    ()
    """
    series = [
        found for kind, rows in lines.items() if (found := band(kind, rows, trace)) is not None
    ]
    if not series:
        return ()
    words = caption or "Means over seeds with 95 % intervals."
    return (Figure(name, title, Axis("step"), Axis(label, log=log), (*series, *extra), words),)


def training_figures(s: StabilitySettings, rows: Rows) -> tuple[Figure, ...]:
    """Sharpness against the step with the 2/η line, the flat interpolation's losses, and the excess
    risk on images.

    >>> training_figures(StabilitySettings(), {})
    ()
    """
    largest = max(s.dimensions), max(s.samples)
    kinds = {name: rows.get(CellKey("sphere", name, *largest), []) for name in ("CNN", "FCN")}
    flat = rows.get(CellKey("flat", "CNN", 0, s.flat_samples), [])
    line = (Series("2/η", (0, s.steps), (s.edge, s.edge), role="baseline"),)
    out = curve(
        "sharpness",
        f"Sharpness on the sphere, d = {largest[0]}, n = {largest[1]}",
        "sharpness λ",
        kinds,
        "sharpness",
        line,
    )
    line = (Series("2/η", (0, s.flat_steps), (s.edge, s.edge), role="baseline"),)
    out += curve(
        "flat-sharpness",
        "Sharpness while noise is interpolated",
        "sharpness λ",
        {"shared, spherical patches": flat},
        "sharpness",
        line,
    )
    kinds = {
        name: rows.get(CellKey("images", name, 0, s.image_samples), []) for name in ("CNN", "FCN")
    }
    constant = interval_of(kinds["CNN"], "regression.constant")
    level = (
        ()
        if constant is None
        else (Series("constant", (0, s.image_steps), (constant.estimate,) * 2, role="baseline"),)
    )
    out += curve(
        "images",
        "Excess risk on images with a local teacher",
        "excess risk",
        kinds,
        "risk",
        level,
        True,
    )
    if good(flat):
        lines = [
            band("training MSE", flat, "regression.mse"),
            band("excess risk", flat, "regression.excess"),
            band("activation rate", flat, "activation"),
        ]
        series = tuple(each for each in lines if each is not None)
        caption = (
            f"Independent spherical patches, labels of pure noise, m = {s.flat_patch}, L = "
            f"{s.flat_views}, n = {s.flat_samples}, K = {s.flat_width}."
        )
        out += (
            Figure(
                "flat",
                "Interpolating noise while flat",
                Axis("step"),
                Axis("MSE, or share", log=True),
                series,
                caption,
            ),
        )
        out += (_units_figure(good(flat)),)
    return out


def _units_figure(runs: list[dict[str, Any]]) -> Figure:
    def scatter(label: str, place: int) -> Series:
        pairs = [
            (row[f"trace.units.path{n}"][place], row[f"trace.units.rate{n}"][place])
            for row in runs
            for n in range(UNITS)
        ]
        return Series(label, tuple(x for x, _ in pairs), tuple(y for _, y in pairs), role="samples")

    caption = (
        f"{UNITS} units of each seed, spread over the order of path norms: large units come to be "
        "active on few patches."
    )
    axes = Axis("path norm |v|·‖w‖", log=True), Axis("activation rate")
    return Figure(
        "activation",
        "Activation rate against path norm",
        *axes,
        (scatter("before training", 0), scatter("after training", -1)),
        caption,
    )


def gap_figures(s: StabilitySettings, rows: Rows) -> tuple[Figure, ...]:
    """The gap against n and against d, with bands.

    >>> gap_figures(StabilitySettings(), {})
    ()
    """

    def line(label: str, xs: tuple[int, ...], keys: list[CellKey]) -> Series | None:
        return _line(label, xs, [rows.get(key, []) for key in keys])

    by_n = [
        line(f"{name}, d = {d}", s.samples, [CellKey("sphere", name, d, n) for n in s.samples])
        for name in ("CNN", "FCN")
        for d in (min(s.dimensions), max(s.dimensions))
    ]
    by_d = [
        line(name, s.dimensions, [CellKey("sphere", name, d, max(s.samples)) for d in s.dimensions])
        for name in ("CNN", "FCN")
    ]
    out = []
    for what, label, lines in (("n", "samples n", by_n), ("d", "dimension d", by_d)):
        series = tuple(each for each in lines if each is not None)
        if series:
            caption = (
                f"|excess + realised noise energy - training MSE| after {s.steps} steps, m = "
                f"{s.patch}, K = {s.width}; 95 % intervals over {s.seeds} seeds."
            )
            out.append(
                Figure(
                    f"gap-{what}",
                    f"Generalization gap on the sphere against {what}",
                    Axis(label, log=True),
                    Axis("gap", log=True),
                    series,
                    caption,
                )
            )
    return tuple(out)


def _line(label: str, xs: tuple[int, ...], cells: list[list[dict[str, Any]]]) -> Series | None:
    found = [interval_of(each, "regression.gap") for each in cells]
    if not any(found):
        return None
    ends = [
        tuple(None if each is None else getattr(each, part) for each in found)
        for part in ("estimate", "low", "high")
    ]
    return Series(
        label,
        tuple(xs),
        ends[0],
        ends[1],
        ends[2],
        seeds=tuple(None if each is None else each.count for each in found),
    )


def bar_figures(s: StabilitySettings, rows: Rows) -> tuple[Figure, ...]:
    """The noise fitted by number of random views, and the vocabulary's errors by network, with the
    authors' figures.

    >>> bar_figures(StabilitySettings(), {})
    ()
    """
    out = []
    fits = {}
    for count in s.mix_views:
        runs = good(rows.get(CellKey("mixing", "CNN", count, s.mix_samples), []))
        if runs:
            fits[count] = mean_interval(
                [row["regression.fitted"] / row["regression.noise"] for row in runs]
            )
    if fits:
        series = [
            _bars("measured", fits),
            Series(
                "authors (n = 512, K = 1024)",
                tuple(RECORDED_FITTED),
                tuple(RECORDED_FITTED.values()),
                role="law",
            ),
        ]
        caption = (
            "Clean MSE on the training points over the noise energy: 1 is interpolation. n = "
            f"{s.mix_samples}, K = {s.mix_width}, {s.mix_steps} steps."
        )
        out.append(
            Figure(
                "mixing",
                "Noise fitted against random views",
                Axis("random views R"),
                Axis("share of the noise fitted"),
                tuple(series),
                caption,
            )
        )
    words = {}
    for name in ("CNN", "LCN", "FCN"):
        runs = good(rows.get(CellKey("vocabulary", name, 0, s.word_samples), []))
        if runs:
            words[name] = mean_interval([float(np.sqrt(row["regression.excess"])) for row in runs])
    if words:
        recorded = Series(
            "authors (d = 500, n = 200)",
            tuple(RECORDED_WORDS),
            tuple(RECORDED_WORDS.values()),
            role="law",
        )
        caption = (
            f"About {s.word_parameters} parameters each, d = {s.word_views * s.word_patch}, n = "
            f"{s.word_samples}; the label is a [reconstruction]."
        )
        series = (_bars("measured", words), recorded)
        out.append(
            Figure(
                "vocabulary",
                "Error on the vocabulary task",
                Axis(""),
                Axis("test L2 error", log=True),
                series,
                caption,
            )
        )
    return tuple(out)


def _bars(label: str, found: dict[Any, Any]) -> Series:
    ends = [
        tuple(getattr(each, part) for each in found.values())
        for part in ("estimate", "low", "high")
    ]
    return Series(
        label,
        tuple(found),
        ends[0],
        ends[1],
        ends[2],
        seeds=tuple(each.count for each in found.values()),
    )


def result_table(s: StabilitySettings, rows: Rows) -> tuple[TableData, ...]:
    """Every cell: how many runs, how many at the edge, and the means of what was measured.

    >>> result_table(StabilitySettings(), {})
    ()
    """
    names = (
        "regression.mse",
        "regression.excess",
        "regression.constant",
        "regression.noise",
        "regression.fitted",
        "regression.gap",
        "regression.gap_nominal",
        "sharpness",
        "activation",
    )
    out: list[tuple[Any, ...]] = []
    for cell, each in rows.items():
        if not each:
            continue
        runs = good(each)
        gap = interval_of(each, "regression.gap")
        ends = (None, None) if gap is None else (gap.low, gap.high)
        known = [
            row for row in runs if row.get("edge_step") is not None
        ]  # the vocabulary's runs do not measure their sharpness
        there = sum(at_edge(row, s.edge) for row in known) if known else None
        means = [_average(row.get(name) for row in runs) for name in names]
        head = (
            cell.part,
            cell.network,
            cell.number or None,
            cell.samples,
            len(each),
            len(each) - len(runs),
            there,
        )
        out.append((*head, *means, *ends))
    columns = (
        "part",
        "network",
        "d or R",
        "n",
        "runs",
        "diverged",
        "at the edge",
        "training MSE",
        "excess",
        "constant",
        "noise energy",
        "clean MSE on training points",
        "gap",
        "gap (nominal σ²)",
        "sharpness",
        "activation",
        "gap low",
        "gap high",
    )
    return (
        (
            TableData(
                "cells", "Every cell: means over the runs that did not diverge", columns, tuple(out)
            ),
        )
        if out
        else ()
    )


def _average(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return float(np.mean(known)) if known else None
