"""Figures and tables of the study `lazy`: one figure per task."""

from separatrix.inference.censored_medians import censored_median
from separatrix.inference.intervals import mean_interval
from separatrix.studies.claims import finite
from separatrix.studies.lazy.settings import LazySettings
from separatrix.studies.lazy.trials import (
    NETWORKS,
    TASKS,
    Errors,
    LazyCell,
    amounts_of,
    sizes_of,
    target_of,
)
from separatrix.studies.outcome import Axis, Figure, Series, TableData

TITLES = {
    "cube": "Parity of neighbouring bits: kernels and trained networks",
    "signal": "Signal in a random patch: kernels and trained networks",
    "sphere": "Local teacher on a sphere: kernels",
}
SIZES = {"cube": "bits", "signal": "patches", "sphere": "dimensions"}


def error_figures(s: LazySettings, errors: Errors) -> tuple[Figure, ...]:
    """The error against the number of samples, for the largest size of each task.

    >>> [figure.name for figure in error_figures(LazySettings(), {})]
    ['lazy-cube', 'lazy-signal', 'lazy-sphere']
    """
    out = []
    for task in TASKS:
        size = max(sizes_of(s, task), default=0)
        cells = [
            LazyCell(task, size, name, trained) for trained in (False, True) for name in NETWORKS
        ]
        series = [
            Series.of(
                cell.label,
                [(m, mean_interval(errors[cell][:, i])) for i, m in enumerate(s.samples)],
            )
            for cell in cells
            if cell in errors
        ]
        if series:
            series.append(Series.level("learnt", s.samples, target_of(s, task)))
        what = "error over the best constant's" if task == "sphere" else "risk"
        out.append(
            Figure(
                f"lazy-{task}",
                f"{TITLES[task]} ({size} {SIZES[task]})",
                Axis("training samples", log=True),
                Axis(what),
                tuple(series),
                f"Means over {s.seeds} seeds with 95 % intervals. A kernel is what the network "
                "computes when it is infinitely wide and its features do not change.",
                headline=task == TASKS[0],
            )
        )
    return tuple(out)


def samples_table(s: LazySettings, errors: Errors) -> TableData:
    """The samples that every kernel and network needs.

    >>> samples_table(LazySettings(), {}).rows
    ()
    """
    rows = []
    for cell, lines in errors.items():
        amounts = amounts_of(s, cell.task, lines)
        median = censored_median(amounts)
        rows.append(
            (
                cell.task,
                cell.size,
                cell.label,
                finite(median.estimate),
                finite(median.low),
                finite(median.high),
                amounts.count - amounts.censored,
                amounts.count,
                float(lines[:, -1].mean()),
            )
        )
    columns = (
        "task",
        "size",
        "learner",
        "median samples",
        "low",
        "high",
        "seeds that learn",
        "seeds",
        f"mean error after {s.samples[-1]}",
    )
    return TableData("lazy-samples", "Samples to learn each task", columns, tuple(rows))
