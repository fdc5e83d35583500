"""`diagnose`: from rows and labels to a verdict."""

import dataclasses
import time
from typing import Any

import numpy as np

from separatrix.data.labelled import Labelled, as_labelled
from separatrix.diagnosis.baselines import baselines
from separatrix.diagnosis.bench import FULL, LOCAL, SHARED, SHUFFLED, Arm, Bench, Unit
from separatrix.diagnosis.explain import Explanations
from separatrix.diagnosis.ladder import raise_ladder
from separatrix.diagnosis.matching import matched_networks
from separatrix.diagnosis.networks import deep_of
from separatrix.diagnosis.patchwork import patch_geometry
from separatrix.diagnosis.rounds import ARMS, choose_field, constant, curve, investigate, results
from separatrix.diagnosis.saved import labels_saved
from separatrix.diagnosis.settings import Settings
from separatrix.diagnosis.shifts import distances, translation
from separatrix.diagnosis.sights import fields_of
from separatrix.diagnosis.verdict import Diagnosis, Saved, recommended
from separatrix.engine import Lab
from separatrix.inference.intervals import mean_over_seeds
from separatrix.notes import Note


def diagnose(
    x: Any,
    y: Any = None,
    *,
    budget: float | None = None,
    lab: Lab | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> Diagnosis:
    """Decide whether locality and weight sharing pay on labelled data.

    With a lab that has a folder, finished trainings are stored there, and the same call with a
    larger budget continues.

    Args:
        x: Inputs of shape (N, L), (N, L, C), (N, H, W) or (N, H, W, C), or a `Labelled`.
        y: The labels; None if `x` is a `Labelled`.
        budget: The time in seconds; None for that of `settings`.
        lab: The lab that runs the trainings; None for a lab in memory.
        settings: The settings; None for the defaults.
        **changes: Settings to change by name.

    >>> rng = np.random.default_rng(0)
    >>> quick = Settings(first=2, splits=2, recipe=Settings().recipe._replace(steps=8, looks=2))
    >>> found = diagnose(rng.normal(size=(80, 6)), np.arange(80) % 2, budget=30, settings=quick)
    >>> found.verdict in ("cannot tell", "neither pays")
    True
    """
    begin = time.monotonic()
    data = x if isinstance(x, Labelled) else as_labelled(x, y)
    given = settings or Settings()
    if budget is not None:
        changes["budget"] = float(budget)
    bench = Bench(data, dataclasses.replace(given, **changes), lab or Lab(), begin)
    return conclude(bench)


def conclude(bench: Bench) -> Diagnosis:
    """Run a bench and draw the conclusions."""
    data, field = bench.data, choose_field(bench)
    raise_ladder(bench, field)
    s, simple = bench.settings, baselines(bench)
    verdict, reasons, gains = investigate(bench, field)
    if not any(results(bench, arm, field, bench.sizes.ladder[-1]) for arm in (FULL, LOCAL, SHARED)):
        reasons = ("the budget ended before a network was trained",)
    curves = {str(arm): found for arm in ARMS if (found := curve(bench, arm, field))}
    fields = {each: found for each in fields_of(data.shape) if (found := _field(bench, each))}
    best = Arm(recommended(verdict, gains["sharing"]))
    saved = _saved(bench, SHARED if best == FULL else best, field)
    explained = explain(bench, field) if s.explain else Explanations()
    about = {
        "rows": len(data),
        "shape": list(data.shape),
        "kind": data.kind,
        "task": data.task,
        "classes": len(data.classes),
        "unit": "accuracy" if data.classes else "share of explained variance",
        "margin": s.margin,
        "ladder": list(bench.sizes.ladder),
        "budget": s.budget,
        "seconds": round(time.monotonic() - bench.begin, 2),
        "runs": len(bench.results),
        "seed": s.seed,
        "field_labels": bench.tried_size,
    }
    return Diagnosis(
        data.name,
        verdict,
        reasons,
        gains["locality"],
        gains["sharing"],
        saved,
        field,
        gains,
        curves,
        fields,
        simple,
        about,
        (*data.notes, *notes_of(bench, field, verdict), *missing(bench, explained)),
        explained,
    )


def explain(bench: Bench, field: int) -> Explanations:
    """The explanations that the rest of the budget affords, the cheap ones first; they come after
    the verdict and cannot change it.

    >>> rng = np.random.default_rng(0)
    >>> bench = Bench(as_labelled(rng.normal(size=(60, 8)), np.arange(60) % 2), Settings(), Lab())
    >>> len(explain(bench, 3).geometry)  # nothing was trained, so that there is nothing to shift
    2
    """
    bench.spare = 0.0
    return Explanations(
        translation(bench, field), patch_geometry(bench, field), matched_networks(bench, field)
    )


def missing(bench: Bench, explained: Explanations) -> tuple[Note, ...]:
    """A note on what the budget left unexplained."""
    wanted = {
        "the geometry of patches": bool(explained.geometry),
        "networks of matched cost": len(explained.matched) == 6,
    }
    if bench.data.kind != "tabular" and distances(bench.data.shape):
        wanted = {"the translation test": bool(explained.translation)} | wanted
    without = [what for what, there in wanted.items() if not there]
    if not without or not bench.settings.explain:
        return ()
    return (
        Note(
            "unexplained",
            "info",
            f"the budget ended before {', '.join(without)} could be measured in full; the verdict needs none of it",
        ),
    )


def _field(bench: Bench, field: int) -> dict[str, Any]:
    units = {
        arm: [Unit(arm, field, bench.tried_size, split) for split in range(bench.settings.splits)]
        for arm in (LOCAL, SHARED)
    }
    found = {
        arm: [bench.tried[unit].accuracy for unit in some if unit in bench.tried]
        for arm, some in units.items()
    }
    return {
        str(arm): mean_over_seeds(np.array(some), bench.settings.level)
        for arm, some in found.items()
        if len(some) > 1
    }


def _saved(bench: Bench, arm: Any, field: int) -> Saved | None:
    ladder = bench.sizes.ladder
    splits = [
        split
        for split in range(bench.settings.splits)
        if all(
            Unit(each, field, size, split) in bench.results
            for each in (arm, FULL)
            for size in ladder
        )
    ]
    if len(splits) < 2:
        return None
    table = {
        each: np.array(
            [
                [bench.results[Unit(each, field, size, split)].accuracy for size in ladder]
                for split in splits
            ]
        )
        for each in (arm, FULL)
    }
    if table[FULL][:, -1].mean() < constant(bench) + bench.settings.margin:
        return (
            None  # the full network learnt nothing: there is no accuracy to reach with fewer labels
        )
    return labels_saved(
        ladder, table[arm], table[FULL], (str(arm), str(FULL)), bench.settings.level
    )


def layers(bench: Bench, field: int) -> str:
    """The hidden layers of the networks with windows, in words.

    >>> bench = Bench(as_labelled(np.random.default_rng(0).normal(size=(60, 8)), np.arange(60) % 2), Settings(), Lab())
    >>> layers(bench, 3)
    'one hidden layer of 16 filters a window, windows of 3'
    """
    net = bench.net(SHARED, field)
    first = f"of {net.width} filters a window, windows of {field}"
    if not net.second:
        return f"one hidden layer {first}"
    deep = deep_of(net.counts)
    return f"a hidden layer {first}, {deep.pool} x {deep.pool} max pooling, and a second one of {net.second} filters, windows of {deep.side},"


def _chosen(rates: tuple[float, ...]) -> str:
    words = ", ".join(f"{rate:g}" for rate in rates)
    return (
        f"rates {words} and the moment to stop"
        if len(rates) > 1
        else f"rate {words}, the moment to stop"
    )


def notes_of(bench: Bench, field: int, verdict: str) -> tuple[Note, ...]:
    """What a reader must know besides."""
    s, out = bench.settings, []
    if bench.ended:
        out.append(
            Note(
                "budget",
                "info",
                f"the budget of {s.budget:g} s ended the work; more time tightens the intervals, and --out keeps what was run",
            )
        )
    if bench.sizes.learn < len(bench.data) - bench.sizes.test - bench.sizes.check - 1:
        out.append(
            Note(
                "ladder",
                "info",
                f"sample sizes end at {bench.sizes.learn} of {len(bench.data)} rows; gains may differ with more labels",
            )
        )
    shuffled = [r.accuracy for r in results(bench, SHUFFLED, field, bench.sizes.ladder[-1])]
    if shuffled:
        chance = constant(bench)
        slack = max(
            s.margin,
            3
            * float(np.sqrt(max(chance * (1 - chance), 0.0) / (bench.sizes.test * len(shuffled)))),
        )
        if np.mean(shuffled) > chance + slack:
            text = f"trained on shuffled labels the shared network reaches {np.mean(shuffled):.3f}, above chance ({chance:.3f}): rows or labels leak"
            out.append(Note("leak", "warning", text))
    out.append(
        Note(
            "choices",
            "info",
            f"{layers(bench, field)} read as means over regions; Adam, {s.recipe.steps} batches of {s.recipe.batch}, {_chosen(s.recipe.rates)} "
            f"chosen on validation rows for every network alike; the full network costs as many products. Verdicts hold for such networks, not for every architecture.",
        )
    )
    if verdict == "neither pays" and bench.data.kind == "tabular":
        out.append(
            Note(
                "columns",
                "info",
                "the order of a table's columns is arbitrary; another order would be another question",
            )
        )
    return tuple(out)
