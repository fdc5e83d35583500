"""A diagnosis as the report's data: what was asked, figures, tables, notes."""

import dataclasses
import json
from typing import Any

import numpy as np

from separatrix.diagnosis.bench import LOCAL_PIXELS, SHARED, SHARED_PATCHES, Bench
from separatrix.diagnosis.verdict import Diagnosis, Gain, answers
from separatrix.errors import SeparatrixError
from separatrix.files import explain_os_errors, write_json
from separatrix.inference.intervals import Interval
from separatrix.studies.claims import Evidence
from separatrix.studies.outcome import Axis, Figure, Heatmap, Outcome, Picture, Series, TableData

SHOWN = {"pays": "supported", "does not pay": "refuted", "cannot tell": "undecided"}
TILES = 10  # example patches in a strip


def write_outcome(bench: Bench, found: Diagnosis, command: str) -> None:
    """Write the diagnosis into the lab's folder, where a report finds it.

    >>> from separatrix.data.labelled import as_labelled
    >>> from separatrix.engine import Lab
    >>> from separatrix.diagnosis.settings import Settings
    >>> data = as_labelled(np.zeros((40, 4)) + np.arange(40)[:, None], np.arange(40) % 2)
    >>> write_outcome(Bench(data, Settings(), Lab()), None, "")
    Traceback (most recent call last):
    separatrix.errors.SeparatrixError: a diagnosis is written into an output folder, and this lab has none
    """
    folder = bench.lab.ledger.folder
    if folder is None:
        raise SeparatrixError("a diagnosis is written into an output folder, and this lab has none")
    with explain_os_errors("make the folder of outcomes"):
        (folder / "outcomes").mkdir(exist_ok=True)
    outcome = Outcome((), figures(bench, found), tables(found), found.notes).plain()
    settings = json.loads(json.dumps(dataclasses.asdict(bench.settings)))
    head = {
        "study": "diagnose",
        "title": f"Would locality and weight sharing pay on {found.name}?",
        "summary": f"{found.verdict}: {'; '.join(found.reasons)}",
        "scale": None,
        "seed": bench.settings.seed,
        "command": command,
    }
    write_json(folder / "outcomes" / "diagnose.json", head | {"settings": settings} | outcome)
    write_json(
        folder / "claims.json",
        [claim | {"study": "diagnose", "command": command} for claim in questions(found)],
    )
    write_json(folder / "diagnosis.json", found.plain())
    bench.lab.write_manifest()


def questions(found: Diagnosis) -> list[dict[str, Any]]:
    """The two questions with their answers, in the form of claims."""
    if not found.gains:
        return []
    local, shares = answers(found.gains)
    unit, margin = found.about["unit"], found.about["margin"]
    asked = (
        (
            "locality",
            "Neighbouring inputs belong together here: a network with local windows profits from their arrangement.",
            local,
            ("locality", "convolution", "local less full", "shared less full"),
        ),
        (
            "sharing",
            "The same local features are useful at many places: sharing weights beats local windows with weights of their own.",
            shares,
            ("sharing", "patches"),
        ),
    )
    return [
        {
            "id": f"diagnosis.{name}",
            "paper": "diagnosis",
            "statement": statement,
            "citation": "",
            "verdict": SHOWN[answer],
            "conditions": f"a gain counts from {100 * margin:g} points of {unit}, as a mean over {', '.join(map(str, found.about['ladder']))} labels",
            "reason": f"{answer}; the verdict: {found.verdict}",
            "conditions_met": True,
            "outside": "",
            "evidence": [
                _evidence(found.gains[each], margin, found.baselines)
                for each in used
                if found.gains[each].ladder is not None
            ],
        }
        for name, statement, answer, used in asked
    ]


def _evidence(gain: Gain, margin: float, baselines: dict[str, Interval]) -> dict[str, Any]:
    simple = {name: found.estimate for name, found in baselines.items()}
    return Evidence.of(f"{gain.first} less {gain.second}", gain.ladder, margin, **simple).plain()


def figures(bench: Bench, found: Diagnosis) -> tuple[Figure | Heatmap, ...]:
    """Learning curves of the networks and of the controls, the receptive fields, and what windows
    see.
    """
    unit = found.about["unit"]
    networks = tuple(_series(arm, curve) for arm, curve in found.accuracy.items() if "," not in arm)
    controls = tuple(
        _series(arm, curve)
        for arm, curve in found.accuracy.items()
        if "," in arm or arm == "shared"
    )
    sizes = found.about["ladder"]
    base = tuple(
        Series(name, (sizes[0], sizes[-1]), (i.estimate,) * 2, role="baseline")
        for name, i in found.baselines.items()
    )
    words = "Means over splits with 95 % intervals."
    out: list[Figure | Heatmap] = [
        Figure(
            "networks",
            "Three networks on these data",
            Axis("labels", log=True),
            Axis(unit),
            (*networks, *base),
            f"{words} Baselines are those at the largest size.",
        ),
        Figure(
            "controls",
            "What scrambling costs",
            Axis("labels", log=True),
            Axis(unit),
            controls,
            f"{words} A curve that falls shows what the network used.",
        ),
    ]
    if found.fields:
        series = tuple(
            Series(
                arm,
                tuple(fields),
                tuple(fields[f].estimate for f in fields),
                tuple(fields[f].low for f in fields),
                tuple(fields[f].high for f in fields),
            )
            for arm in ("local", "shared")
            if (fields := {field: arms[arm] for field, arms in found.fields.items() if arm in arms})
        )
        caption = f"At {found.about['field_labels']} labels. {words} The field was chosen on validation rows of the first splits."
        out.append(
            Figure(
                "fields",
                "Receptive fields",
                Axis("side of the window"),
                Axis(unit),
                series,
                caption,
            )
        )
    if found.explanations.translation:
        out.append(shifts(found))
    picture = patches(bench, found.receptive_field)
    return (*out, picture) if picture is not None else tuple(out)


def shifts(found: Diagnosis) -> Figure:
    """The translation test: accuracies under shifts, with those on the same rows as they are at 0."""
    tested = found.explanations.translation
    series = []
    for network in dict.fromkeys(each.network for each in tested):
        mine = [each for each in tested if each.network == network]
        # Without a shift the accuracy is known as a sum only: the interval belongs to what was
        # measured.
        still = mine[0].accuracy.estimate + mine[0].cost.estimate
        series.append(
            Series(
                network,
                (0, *(each.shift for each in mine)),
                (still, *(each.accuracy.estimate for each in mine)),
                (None, *(each.accuracy.low for each in mine)),
                (None, *(each.accuracy.high for each in mine)),
            )
        )
    caption = (
        f"Networks trained on {found.about['ladder'][-1]} rows as they are; {tested[0].rows} held-out rows of a split shifted along every axis, both ways, the edge repeated. "
        f"Means over {tested[0].accuracy.count} splits with 95 % intervals. It explains and decides nothing."
    )
    return Figure(
        "shifts",
        "The translation test",
        Axis("shift in pixels"),
        Axis(found.about["unit"]),
        tuple(series),
        caption,
    )


def _series(label: str, curve: tuple[tuple[int, Interval], ...]) -> Series:
    return Series(
        label,
        tuple(n for n, _ in curve),
        tuple(i.estimate for _, i in curve),
        tuple(i.low for _, i in curve),
        tuple(i.high for _, i in curve),
    )


def patches(bench: Bench, field: int) -> Picture | None:
    """What some windows see in one image, as it is and under the controls; None for what is no
    image.
    """
    shape = bench.data.shape
    if len(shape) != 3:
        return None
    image = np.asarray(bench.data.inputs[0], float).reshape(-1, shape[-1])
    low, high = image.min(), image.max()
    colours = np.clip(255 * (image - low) / max(high - low, 1e-12), 0, 255).astype(int)
    colours = colours[:, :3] if shape[-1] >= 3 else np.repeat(colours[:, :1], 3, axis=1)
    labels, strips = [], []
    for label, arm in (
        ("windows", SHARED),
        ("pixels permuted", LOCAL_PIXELS),
        ("patches permuted", SHARED_PATCHES),
    ):
        places = bench.sight(arm, field).places
        chosen = places[np.linspace(0, len(places) - 1, min(TILES, len(places))).astype(int)]
        tiles = colours[chosen].reshape(len(chosen), field, field, 3)
        gap = np.full((field, 1, 3), 255)
        strip = np.concatenate([part for tile in tiles for part in (tile, gap)][:-1], axis=1)
        labels.append(label)
        strips.append(tuple(tuple(tuple(int(c) for c in pixel) for pixel in row) for row in strip))
    caption = f"Windows of {field} x {field} pixels of the first image."
    return Picture(
        "patches", "What windows see", Axis(""), Axis(""), (), caption, tuple(labels), tuple(strips)
    )


def tables(found: Diagnosis) -> tuple[TableData, ...]:
    """Gains at every size, accuracies, baselines."""
    gains = [
        (gain.first, gain.second, "mean over the ladder", *_cells(gain.ladder), gain.decision)
        for gain in found.gains.values()
    ]
    gains += [
        (gain.first, gain.second, str(size), *_cells(i), "")
        for gain in found.gains.values()
        for size, i in gain.sizes
    ]
    accuracy = [
        (arm, size, *_cells(i)) for arm, curve in found.accuracy.items() for size, i in curve
    ]
    accuracy += [
        (name, found.about["ladder"][-1], *_cells(i)) for name, i in found.baselines.items()
    ]
    unit = found.about["unit"]
    return (
        TableData(
            "gains",
            f"Gains in {unit} (paired splits, 95 % intervals)",
            ("network", "less", "labels", "gain", "low", "high", "splits", "decision"),
            tuple(gains),
        ),
        TableData(
            "accuracy",
            f"{unit.capitalize()} of every network, control and baseline",
            ("network", "labels", unit, "low", "high", "splits"),
            tuple(accuracy),
        ),
        *why_tables(found),
    )


def why_tables(found: Diagnosis) -> tuple[TableData, ...]:
    """Tables of the explanations; those that were not reached are left out."""
    unit, why = found.about["unit"], found.explanations
    costs = [
        (each.network, each.shift, *_cells(each.accuracy)[:3], *_cells(each.cost))
        for each in why.translation
    ]
    kinds = [
        (
            each.patches,
            each.numbers,
            each.points,
            each.directions,
            *_cells(each.elbow)[:3],
            *_cells(each.depth),
        )
        for each in why.geometry
    ]
    sizes = [
        (
            each.network,
            each.cost or "as it took part",
            each.width,
            each.parameters,
            each.products,
            *_cells(each.accuracy)[:3],
            *_cells(each.gap)[:3],
            each.accuracy.count,
        )
        for each in why.matched
    ]
    bounds = ("low", "high")
    tables_ = (
        TableData(
            "shifts",
            "The translation test (explains, decides nothing)",
            (
                "network",
                "shift",
                unit,
                *bounds,
                "cost of the shift",
                "cost low",
                "cost high",
                "splits",
            ),
            tuple(costs),
        ),
        TableData(
            "geometry",
            "The geometry of patches: directions that hold 90 % of the variance, and Tukey depth area (an upper bound; compare at equal points and directions)",
            (
                "patches",
                "numbers",
                "points",
                "directions",
                "elbow",
                *bounds,
                "depth area",
                "area low",
                "area high",
                "splits",
            ),
            tuple(kinds),
        ),
        TableData(
            "matched",
            f"Networks of the shared one's cost at {found.about['ladder'][-1]} labels (parameters, or products of a forward pass; decides nothing)",
            (
                "network",
                "matched",
                "width",
                "parameters",
                "products",
                unit,
                *bounds,
                "shared less this",
                "gap low",
                "gap high",
                "splits",
            ),
            tuple(sizes),
        ),
    )
    return tuple(table for table in tables_ if table.rows)


def _cells(interval: Interval | None) -> tuple[Any, ...]:
    return (
        (None, None, None, 0)
        if interval is None
        else (interval.estimate, interval.low, interval.high, interval.count)
    )
