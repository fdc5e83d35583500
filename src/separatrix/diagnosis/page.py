"""The page of a diagnosis: the answer first, then what it rests on."""

from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from separatrix.diagnosis.codes import CODES
from separatrix.diagnosis.gains import METHOD
from separatrix.diagnosis.result import MODEL_WORDS, Diagnosis, plain_interval
from separatrix.files import explain_os_errors, write_bytes, write_json
from separatrix.inference.intervals import Interval
from separatrix.report.figure.draw import draw
from separatrix.report.figure.legend import entries_of
from separatrix.report.html import render, template_source
from separatrix.studies import Axis, Figure, Picture, Series
from separatrix.units import human_seconds

UNITS = {"image": "pixels", "signal": "samples", "tabular": "columns"}


def curves(found: Diagnosis) -> Figure:
    """The learning curves of the networks, with the simple models as levels."""
    sizes = found.about["labels"]
    nets = [Series.of(name, found.scores[name]) for name in NETWORKS if name in found.scores]
    simple = [
        Series.level(name, sizes, points[-1][1].estimate)
        for name, points in found.scores.items()
        if name not in NETWORKS and "," not in name
    ]
    return Figure(
        "curves",
        "Score by number of labels",
        Axis("labels", log=True),
        Axis(found.metric),
        tuple(nets + simple),
        f"Means over {found.about['splits']} splits with 95 % intervals; simple models at "
        f"{sizes[-1]} labels.",
    )


NETWORKS = ("shared", "local", "full")


def controls(found: Diagnosis) -> Figure:
    """The windowed networks as they are, and on scrambled input."""
    names = [name for name in found.scores if "," in name or name in NETWORKS[:2]]
    return Figure(
        "controls",
        f"The same networks on scrambled {UNITS[found.about['kind']]}",
        Axis("labels", log=True),
        Axis(found.metric),
        tuple(Series.of(name, found.scores[name]) for name in names),
        "Scrambled: one random order for all rows. Twisted: other orders and signs in every "
        "window, so that windows cannot share weights.",
    )


def windows(found: Diagnosis) -> Picture | None:
    """A row of every class with its most varied window framed; None for tables and where no
    windows were chosen.
    """
    if not found.examples or not found.window:
        return None
    strips = []
    for _, row in found.examples:
        pixels, scale = _pixels(row)
        side, tall = found.window, row.ndim == 3
        down, across = _busiest(row if tall else row[None], side if tall else 1, side)
        top, left = (down * scale, across * scale) if tall else (0, across * scale)
        height = side * scale if tall else len(pixels)
        _frame(pixels, top, left, height, side * scale)
        strips.append(tuple(tuple(map(tuple, line)) for line in pixels.tolist()))
    axes = found.examples[0][1].ndim - 1
    unit, times = UNITS[found.about["kind"]], " x ".join([str(found.window)] * axes)
    return Picture(
        "windows",
        "Example windows",
        Axis(""),
        Axis(""),
        (),
        f"The first row of every class, from dark (low) to light (high). Framed: a window of "
        f"{times} {unit}, the size that was chosen, where the row varies most.",
        tuple(name for name, _ in found.examples),
        tuple(strips),
    )


def _pixels(row: np.ndarray) -> tuple[np.ndarray, int]:
    """A row as (down, across, 3) levels from 0 to 255, and the pixels that one number takes."""
    levels = row if row.shape[-1] in (1, 3) else row[..., :1]
    low, high = float(levels.min()), float(levels.max())
    levels = np.rint(255 * (levels - low) / (high - low or 1.0)).astype(int)
    levels = np.broadcast_to(levels, (*levels.shape[:-1], 3))
    scale = max(1, 96 // levels.shape[-2] if row.ndim == 3 else 480 // len(row))
    wide = levels.repeat(scale, -2)
    return (wide.repeat(scale, 0) if row.ndim == 3 else np.stack([wide] * 24)), scale


def _busiest(row: np.ndarray, height: int, width: int) -> tuple[int, int]:
    """Where the window with the largest variance begins."""
    cut = np.lib.stride_tricks.sliding_window_view(row.astype(float), (height, width), (0, 1))
    spread = cut.var((-2, -1)).sum(2)
    down, across = divmod(int(spread.argmax()), spread.shape[1])
    return down, across


def _frame(pixels: np.ndarray, top: int, left: int, height: int, width: int) -> None:
    """Draw a frame, two pixels wide, inside a rectangle."""
    colour, edge = (214, 90, 20), 2
    inside = pixels[top : top + height, left : left + width]
    inside[:edge] = inside[-edge:] = colour
    inside[:, :edge] = inside[:, -edge:] = colour


def tables(found: Diagnosis) -> list[dict[str, Any]]:
    """Comparisons, the networks that were chosen, and the windows that were tried."""
    axes = len(found.about["shape"]) - 1
    compared = [
        [f"{c.first} less {c.second}", points(c.mean), *(points(gain) for _, gain in c.at)]
        for c in found.comparisons
        if c.mean is not None
    ]
    best: dict[tuple[Any, ...], float] = {}
    for candidate, merit in found.tried:
        key = candidate.connectivity, candidate.side, candidate.stride, candidate.depth
        if candidate.connectivity != "full":
            best[key] = max(best.get(key, -1e9), merit)
    tried = [
        [kind, side, stride, depth, f"{merit:.3f}"]
        for (kind, side, stride, depth), merit in sorted(best.items(), key=lambda each: -each[1])
    ]
    sizes = [f"at {n} labels" for n in found.about["labels"]]
    return [
        {
            "title": "Gains, in percentage points",
            "columns": ["gain", "mean", *sizes],
            "rows": compared,
        },
        {
            "title": "The networks that were chosen",
            "columns": ["network", "what it is"],
            "rows": [[name, net.words(axes)] for name, net in found.networks.items()],
        },
        {
            "title": f"Windows that were tried, in {UNITS[found.about['kind']]}",
            "columns": ["network", "side", "stride", "layers", "merit on check rows"],
            "rows": tried[:14],
        },
    ]


def points(interval: Interval | None) -> str:
    """An interval in percentage points.

    >>> points(Interval(0.031, 0.02, 0.0421, 0.95, "", 6))
    '3.1 [2.0, 4.2]'
    """
    if interval is None:
        return ""
    return f"{100 * interval.estimate:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def fragment(found: Diagnosis) -> str:
    """The body of the page, as HTML in which all text is escaped."""
    views = []
    if found.scores:
        views = [view_of(curves(found)), view_of(controls(found))]
    example = windows(found)
    labels = found.about["labels"]
    ranked = sorted(
        ((name, dict(curve)) for name, curve in found.scores.items() if "," not in name),
        key=lambda pair: -pair[1][max(pair[1])].estimate,
    )
    rows = [[_named(name), *(score(curve.get(n)) for n in labels)] for name, curve in ranked]
    rows.append(["best constant answer", *(f"{100 * found.about['constant']:.1f}" for _ in labels)])
    return render(
        "diagnosis_body.html.jinja",
        found=found,
        headline=found.headline[:1].upper() + found.headline[1:] + ".",
        warnings=[note for note in found.notes if note.severity == "warning"][:3],
        figures=views,
        windows=view_of(example) if example else None,
        labels=labels,
        scores=rows,
        tables=tables(found),
        notes=[
            (note, CODES[note.code].remedy if note.code in CODES else "") for note in found.notes
        ],
        method=method(found),
    )


def view_of(figure: Figure) -> dict[str, Any]:
    """A figure as the page shows it."""
    legend = [(entry.label, Markup(entry.swatch)) for entry in entries_of(figure)]
    svg = Markup(draw(figure, f"{figure.name}-"))
    return {"title": figure.title, "svg": svg, "legend": legend, "caption": figure.caption}


def _named(model: str) -> str:
    """A model in words, with the name that figures have for it."""
    words = MODEL_WORDS[model].removeprefix("a ")
    return f"{words} ({model})" if model in NETWORKS else words


def score(interval: Interval | None) -> str:
    """A score in percent, with the half width of its interval."""
    if interval is None:
        return ""
    return f"{100 * interval.estimate:.1f} ± {50 * (interval.high - interval.low):.1f}"


def method(found: Diagnosis) -> str:
    """How the numbers came about, in a few sentences."""
    about = found.about
    return (
        f"Every network is trained with Adam for {about['steps']} steps; its windows, readout, "
        f"rate and moment to stop are chosen on {about['checked']} check rows, with the same "
        f"effort for every connectivity, and it is tested on {about['tested']} other rows. "
        f"Locality pays where a windowed network beats its scrambled self ({about['sure']:.0%} "
        f"level) and every model that is blind to the arrangement ({about['beats']:.0%} level, "
        f"one-sided), by at least the margin of {100 * about['margin']:g} %. Intervals: "
        f"{METHOD}. Verdicts hold for networks like these. {about['trials']} trainings took "
        f"{human_seconds(about['seconds'])}."
    )


def page(found: Diagnosis) -> str:
    """The whole page."""
    return render(
        "diagnosis.html.jinja",
        found=found,
        body=Markup(fragment(found)),
        style=Markup(template_source("page.css")),
    )


def write_page(found: Diagnosis, folder: Path) -> Path:
    """Write index.html, diagnosis.json and scores.csv; the path of the page."""
    with explain_os_errors(f"make the folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    write_bytes(folder / "index.html", page(found).encode())
    write_json(folder / "diagnosis.json", found.plain())
    rows = ["model,labels,estimate,low,high,splits"]
    for name, curve in found.scores.items():
        for labels, interval in curve:
            plain = plain_interval(interval)
            numbers = ",".join(str(plain[key]) for key in ("estimate", "low", "high", "splits"))
            rows.append(f'"{name}",{labels},{numbers}')
    write_bytes(folder / "scores.csv", ("\n".join(rows) + "\n").encode())
    return folder / "index.html"
