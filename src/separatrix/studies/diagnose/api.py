"""`diagnose`: from rows and labels to a verdict."""

import dataclasses
import time
from typing import Any

import numpy as np

from separatrix.data.labelled import Labelled, as_labelled
from separatrix.engine import Lab
from separatrix.notes import Note
from separatrix.studies.diagnose.baselines import baselines
from separatrix.studies.diagnose.bench import FULL, LOCAL, SHARED, SHUFFLED, Bench, Unit
from separatrix.studies.diagnose.rounds import ARMS, choose_field, constant, curve, investigate, results
from separatrix.studies.diagnose.saved import labels_saved
from separatrix.studies.diagnose.settings import Settings
from separatrix.studies.diagnose.sights import fields_of
from separatrix.studies.diagnose.verdict import Diagnosis, Saved
from separatrix.studies.seeds import mean_over_seeds


def diagnose(
    x: Any, y: Any = None, *, budget: float | None = None, lab: Lab | None = None, settings: Settings | None = None, **changes: Any
) -> Diagnosis:
    """Whether locality and weight sharing pay on labelled rows: (N, L), (N, L, C), (N, H, W) or (N, H, W, C), or a `Labelled`.

    `budget` is in seconds. With a lab that has a folder, what was run is kept, and the same call with more time goes on.

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
    data, s = bench.data, bench.settings
    simple = baselines(bench)
    field = choose_field(bench)
    verdict, reasons, gains = investigate(bench, field)
    curves = {str(arm): found for arm in ARMS if (found := curve(bench, arm, field))}
    fields = {each: found for each in fields_of(data.shape) if (found := _field(bench, each))}
    best = {"convolution pays": SHARED, "locality pays, sharing does not": LOCAL}.get(verdict)
    saved = _saved(bench, best or SHARED, field)
    about = {
        "rows": len(data), "shape": list(data.shape), "kind": data.kind, "task": data.task, "classes": len(data.classes),
        "unit": "accuracy" if data.classes else "share of explained variance", "margin": s.margin, "ladder": list(bench.sizes.ladder),
        "budget": s.budget, "seconds": round(time.monotonic() - bench.begin, 2), "runs": len(bench.results), "seed": s.seed,
    }  # fmt: skip
    return Diagnosis(
        data.name, verdict, reasons, gains["locality"], gains["sharing"], saved, field, gains, curves, fields, simple, about,
        (*data.notes, *notes_of(bench, field, verdict)),
    )  # fmt: skip


def _field(bench: Bench, field: int) -> dict[str, Any]:
    top = bench.sizes.ladder[-1]
    found = {arm: [r.accuracy for r in results(bench, arm, field, top)] for arm in (LOCAL, SHARED)}
    return {str(arm): mean_over_seeds(np.array(some), bench.settings.level) for arm, some in found.items() if len(some) > 1}


def _saved(bench: Bench, arm: Any, field: int) -> Saved | None:
    ladder = bench.sizes.ladder
    splits = [
        split for split in range(bench.settings.splits)
        if all(Unit(each, field, size, split) in bench.results for each in (arm, FULL) for size in ladder)
    ]  # fmt: skip
    if len(splits) < 2:
        return None
    table = {
        each: np.array([[bench.results[Unit(each, field, size, split)].accuracy for size in ladder] for split in splits])
        for each in (arm, FULL)
    }
    if table[FULL][:, -1].mean() < constant(bench) + bench.settings.margin:
        return None  # the full network learnt nothing: there is no accuracy to reach with fewer labels
    return labels_saved(ladder, table[arm], table[FULL], (str(arm), str(FULL)), bench.settings.level)


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
            Note("ladder", "info", f"sample sizes end at {bench.sizes.learn} of {len(bench.data)} rows; gains may differ with more labels")
        )
    shuffled = [r.accuracy for r in results(bench, SHUFFLED, field, bench.sizes.ladder[-1])]
    if shuffled:
        chance = constant(bench)
        slack = max(s.margin, 3 * float(np.sqrt(max(chance * (1 - chance), 0.0) / (bench.sizes.test * len(shuffled)))))
        if np.mean(shuffled) > chance + slack:
            text = f"trained on shuffled labels the shared network reaches {np.mean(shuffled):.3f}, above chance ({chance:.3f}): rows or labels leak"
            out.append(Note("leak", "warning", text))
    out.append(Note(
        "choices", "info",
        f"one hidden layer of {s.width} filters a window, windows of {field} read as means over regions; Adam, {s.recipe.steps} batches of "
        f"{s.recipe.batch}, rates {', '.join(f'{rate:g}' for rate in s.recipe.rates)} and the moment to stop chosen on validation rows for every "
        f"network alike; the full network costs as many products. Verdicts hold for such networks, not for every architecture.",
    ))  # fmt: skip
    if verdict == "neither pays" and bench.data.kind == "tabular":
        out.append(Note("columns", "info", "the order of a table's columns is arbitrary; another order would be another question"))
    return tuple(out)
