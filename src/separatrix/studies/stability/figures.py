"""Figures and tables of the study `stability`."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from separatrix.engine import Lab
from separatrix.geometry import mosaic, read_images
from separatrix.inference import mean_interval
from separatrix.probes.activation import UNITS
from separatrix.studies.outcome import Axis, Figure, Picture, Series, TableData
from separatrix.studies.stability.settings import StabilitySettings
from separatrix.studies.stability.trials import (
    PatchSurvey,
    Rows,
    StabilityCell,
    at_edge,
    finished,
    interval_of,
)

# What the authors' notebooks recorded, one seed each.
RECORDED_FITTED = {0: 1.00, 20: 0.57, 40: 0.33, 60: 0.23, 80: 0.18}
RECORDED_WORDS = {"CNN": 0.042, "LCN": 0.394, "FCN": 0.346}
# Elbow and depth area that the authors recorded (4x4 RGB patches of CIFAR-10, one seed).
RECORDED_PATCHES = {
    "conv": (4, 0.0344),
    "non-overlapping": (4, 0.0359),
    "random placement": (4, 0.0337),
    "global shuffle": (41, 0.0104),
    "whole image": (100, 0.0085),
}


def band(label: str, rows: list[dict[str, Any]], name: str) -> Series | None:
    """A trace of all seeds: the mean at every step with its interval.

    >>> band("CNN", [], "loss") is None
    True
    """
    runs = [row for row in finished(rows) if row.get(f"trace.{name}")]
    if not runs:
        return None
    means = [
        mean_interval([row[f"trace.{name}"][i] for row in runs if len(row["trace.step"]) > i])
        for i in range(len(runs[0]["trace.step"]))
    ]
    return Series.of(label, zip(runs[0]["trace.step"], means))


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
    bands = [band(kind, rows, trace) for kind, rows in lines.items()]
    series = [line for line in bands if line is not None]
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
    part = s.sphere
    dimension = max(part.dimensions)
    fields, samples = part.patches_of(dimension), max(part.samples_of(dimension), default=0)
    lines = {
        f"shared, m = {m}": rows.get(StabilityCell("sphere", "CNN", dimension, samples, m), [])
        for m in fields
    }
    full = rows.get(StabilityCell("sphere", "FCN", dimension, samples), [])
    out = curve(
        "sharpness",
        f"Sharpness on the sphere, d = {dimension}, n = {samples}",
        "sharpness λ",
        {**lines, "full": full},
        "sharpness",
        (Series.level("2/η", (0, s.sphere.steps), s.edge),),
    )
    flat = rows.get(StabilityCell("flat", "CNN", 0, s.flat.samples), [])
    out += curve(
        "flat-sharpness",
        "Sharpness while noise is interpolated",
        "sharpness λ",
        {"shared, spherical patches": flat},
        "sharpness",
        (Series.level("2/η", (0, s.flat.steps), s.edge),),
    )
    images = {
        name: rows.get(StabilityCell("images", name, 0, s.images.samples), [])
        for name in ("CNN", "FCN")
    }
    constant = interval_of(images["CNN"], "regression.constant")
    level = (
        ()
        if constant is None
        else (Series.level("constant", (0, s.images.steps), constant.estimate),)
    )
    out += curve(
        "images",
        "Excess risk on images with a local teacher",
        "excess risk",
        images,
        "risk",
        level,
        log=True,
    )
    if finished(flat):
        lines = [
            band("training MSE", flat, "regression.mse"),
            band("excess risk", flat, "regression.excess"),
            band("activation rate", flat, "activation"),
        ]
        series = tuple(line for line in lines if line is not None)
        caption = (
            f"Independent spherical patches, labels of pure noise, m = {s.flat.patch}, L = "
            f"{s.flat.views}, n = {s.flat.samples}, K = {s.flat.width}."
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
        out += (_units_figure(finished(flat)),)
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


def bar_figures(s: StabilitySettings, rows: Rows) -> tuple[Figure, ...]:
    """The noise fitted by number of random views, and the vocabulary's errors by network, with the
    authors' figures.

    >>> bar_figures(StabilitySettings(), {})
    ()
    """
    out = []
    fits = {}
    for count in s.mixing.views:
        runs = finished(rows.get(StabilityCell("mixing", "CNN", count, s.mixing.samples), []))
        if runs:
            shares = [row["regression.fitted"] / row["regression.noise"] for row in runs]
            fits[count] = mean_interval(shares)
    if fits:
        series = [
            Series.of("measured", fits.items()),
            Series(
                "authors (n = 512, K = 1024)",
                tuple(RECORDED_FITTED),
                tuple(RECORDED_FITTED.values()),
                role="law",
            ),
        ]
        caption = (
            "Clean MSE on the training points over the noise energy: 1 is interpolation. n = "
            f"{s.mixing.samples}, K = {s.mixing.width}, {s.mixing.steps} steps."
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
    errors = {}
    for name in ("CNN", "LCN", "FCN"):
        runs = finished(rows.get(StabilityCell("vocabulary", name, 0, s.vocabulary.samples), []))
        if runs:
            errors[name] = mean_interval([float(np.sqrt(row["regression.excess"])) for row in runs])
    if errors:
        recorded = Series(
            "authors (d = 500, n = 200)",
            tuple(RECORDED_WORDS),
            tuple(RECORDED_WORDS.values()),
            role="law",
        )
        caption = (
            f"About {s.vocabulary.parameters} parameters each, d = "
            f"{s.vocabulary.views * s.vocabulary.patch}, n = {s.vocabulary.samples}; the label is "
            "a [reconstruction]."
        )
        series = (Series.of("measured", errors.items()), recorded)
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
    for cell, members in rows.items():
        if not members:
            continue
        runs = finished(members)
        gap = interval_of(members, "regression.gap")
        ends = (None, None) if gap is None else (gap.low, gap.high)
        # The vocabulary's runs do not measure their sharpness.
        sharp = [row for row in runs if row.get("edge_step") is not None]
        means = [_average(row.get(name) for row in runs) for name in names]
        head = (
            cell.part,
            cell.network,
            cell.variant or None,
            cell.number or None,
            cell.patch or None,
            cell.samples,
            len(members),
            len(members) - len(runs),
            sum(at_edge(row, s.edge, s.edge_distance) for row in sharp) if sharp else None,
        )
        out.append((*head, *means, *ends))
    columns = (
        "part",
        "network",
        "variant",
        "d or R",
        "m",
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


def patch_figures(patches: PatchSurvey, source: str) -> tuple[Figure, ...]:
    """Elbow and depth areas by scheme, with the authors' figures beside them.

    >>> patch_figures({}, "cifar10")
    ()
    """
    if not patches:
        return ()
    out = []
    labels = {
        "elbow": "directions for 90 % of the variance",
        "projected": "area under the projected depth",
        "whitened": "area under the whitened depth",
    }
    for place, (name, label) in enumerate(labels.items()):
        points = [(scheme, mean_interval(numbers[name])) for scheme, numbers in patches.items()]
        series = (Series.of("measured", points),)
        if place < 2:
            recorded = tuple(float(numbers[place]) for numbers in RECORDED_PATCHES.values())
            authors = Series("authors, CIFAR-10", tuple(RECORDED_PATCHES), recorded, role="law")
            series = (*series, authors)
        caption = (
            f"4 x 4 patches of {source.partition('@')[0]}; 95 % intervals over seeds. The "
            "authors' figures are for CIFAR-10 and one seed."
        )
        out.append(
            Figure(
                f"patch-{name}",
                f"Patches by scheme: {label}",
                Axis(""),
                Axis(label, log=True),
                series,
                caption,
            )
        )
    return tuple(out)


def patch_picture(
    lab: Lab, patches: PatchSurvey, source: str, seed: int = 0
) -> tuple[Picture, ...]:
    """Example patches of one image, one strip per scheme.

    >>> len(patch_picture(Lab(), {"conv": {}}, "embedded-photographs")[0].strips)
    1
    """
    if not patches:
        return ()

    def cut() -> list[Any]:
        images = read_images(source)[0]
        count = min(40, len(images))
        some = images[np.random.default_rng(seed).choice(len(images), count, replace=False)]
        image = some[np.argmax(some.std((1, 2, 3)))]  # a plain one would show little
        strips = []
        for scheme in patches:
            pixels = np.rint(255 * mosaic(image, scheme, count=20, seed=seed)).astype(int)
            # Grey images have one channel.
            strips.append(np.broadcast_to(pixels, (*pixels.shape[:2], 3)).tolist())
        return strips

    # Remembered, so that the picture can be drawn again where the images are not.
    parameters = {"source": source, "seed": seed, "schemes": list(patches)}
    strips = [
        tuple(tuple(tuple(pixel) for pixel in row) for row in strip)
        for strip in lab.remember("patch-picture", parameters, cut)
    ]
    caption = (
        f"The most varied of 40 images of {source.partition('@')[0]}, cut by every scheme into "
        "patches of 4 x 4 pixels; the whole image is the last."
    )
    return (
        Picture(
            "patch-examples",
            "Example patches",
            Axis(""),
            Axis(""),
            (),
            caption,
            tuple(patches),
            tuple(strips),
        ),
    )


def patch_table(patches: PatchSurvey, s: StabilitySettings) -> tuple[TableData, ...]:
    """Elbow and areas of every scheme.

    >>> patch_table({}, StabilitySettings())
    ()
    """
    rows: list[tuple[Any, ...]] = []
    for scheme, numbers in patches.items():
        elbow, projected, whitened = (
            mean_interval(numbers[name]) for name in ("elbow", "projected", "whitened")
        )
        recorded = RECORDED_PATCHES.get(scheme, (None, None))
        rows.append(
            (
                scheme,
                int(numbers["span"][0]),
                int(numbers["points"][0]),
                elbow.estimate,
                elbow.low,
                elbow.high,
                recorded[0],
                projected.estimate,
                projected.low,
                projected.high,
                recorded[1],
                whitened.estimate,
                whitened.low,
                whitened.high,
            )
        )
    columns = (
        "scheme",
        "dimensions",
        "points",
        "elbow",
        "low",
        "high",
        "authors",
        "projected depth area",
        "low ",
        "high ",
        "authors ",
        "whitened depth area",
        " low",
        " high",
    )
    title = (
        "Patch geometry: PCA elbow at 90 %, and areas of the projected and the whitened depth, "
        f"{s.geometry.directions} directions (both biased upwards)"
    )
    return (TableData("patches", title, columns, tuple(rows)),) if rows else ()
