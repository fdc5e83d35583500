"""The table and the figures of the first experiment."""

import numpy as np

from separatrix.inference.intervals import mean_interval
from separatrix.studies.cells import Row
from separatrix.studies.outcome import Axis, Figure, Series, TableData
from separatrix.studies.signal_first.trials import Recipes, values
from separatrix.studies.signal_first.verdicts import ALIGNED, QUANTITY


def result_table(
    rows: dict[str, list[Row]], baselines: dict[str, float], recipes: Recipes
) -> TableData:
    """Recipe, alignment and risk of every network beside the baselines."""
    lines = []
    for name, trials in rows.items():
        alignment, risk = (mean_interval(values(trials, column)) for column in (QUANTITY, "risk"))
        lines.append(
            (
                *(name, recipes[name].describe()),
                *(alignment.count, alignment.estimate, alignment.low, alignment.high),
                *(risk.estimate, risk.low, risk.high, *baselines.values()),
            )
        )
    columns = (
        *("network", "recipe", "seeds", "alignment", "low", "high"),
        *("risk", "risk low", "risk high"),
    )
    return TableData(
        "networks",
        "Patch alignment and risk after training, means over seeds with 95 % intervals",
        (*columns, *baselines),
        tuple(lines),
    )


def curves(rows: dict[str, list[Row]], quantity: str) -> tuple[Series, ...]:
    """The mean of a quantity over seeds along training, for every network."""
    return tuple(
        Series.of(
            name,
            [
                (int(step), mean_interval(column))
                for step, column in zip(
                    trials[0]["trace.step"], np.array(values(trials, f"trace.{quantity}")).T
                )
            ],
        )
        for name, trials in rows.items()
    )


def result_figures(rows: dict[str, list[Row]], baselines: dict[str, float]) -> tuple[Figure, ...]:
    """Alignment and risk along training, and both for every seed."""
    last = max((max(values(trials, "steps")) for trials in rows.values()), default=1)
    lines = tuple(
        Series.level(f"{name} ({level:.2g})", (0, last), level)
        for name, level in baselines.items()
        if level > 0
    )
    dots = tuple(
        Series(
            name,
            tuple(values(trials, QUANTITY)),
            tuple(values(trials, "risk")),
            role="samples",
        )
        for name, trials in rows.items()
    )
    return (
        Figure(
            "alignment",
            "Alignment with the signal while training",
            Axis("step"),
            Axis("patch alignment"),
            (
                *curves(rows, QUANTITY),
                Series.level(f"failed below ({ALIGNED})", (0, last), ALIGNED),
            ),
            "For every patch the cosine between the signal and the unit that sees it best, "
            "averaged over patches; mean over seeds with 95 % intervals.",
            headline=True,
        ),
        Figure(
            "risk",
            "Test risk while training",
            Axis("step"),
            Axis("risk"),
            (*curves(rows, "risk"), *lines),
            "Mean over seeds with 95 % intervals, beside the constant rule, the best linear rule, "
            "the Bayes rule and the network that knows the signal.",
        ),
        Figure(
            "seeds",
            "Every seed: alignment and risk after training",
            Axis("patch alignment"),
            Axis("risk"),
            dots,
            "One point per seed.",
        ),
    )


def answer(rows: dict[str, list[Row]], failed: tuple[str, ...]) -> str:
    """The alignments in one sentence; empty where nothing was measured.

    >>> answer({"CNN": [{"patch_alignment": 0.9}, {"patch_alignment": 1.0}]}, ())
    'From the same samples the mean patch alignment is 0.95 for the CNN.'
    """
    if not rows:
        return ""
    means = [
        f"{np.mean(values(trials, QUANTITY)):.2f} for the {name}"
        + (", which did not train" if name in failed else "")
        for name, trials in rows.items()
    ]
    return f"From the same samples the mean patch alignment is {'; '.join(means)}."
