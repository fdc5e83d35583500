"""Cells of a study: trials that belong together, run together, and sorted back into their cells.

A cell is anything hashable that names a place of the study's grid. Two minutes from cells to a
figure:

>>> import separatrix as sx
>>> from separatrix.inference.intervals import accuracy_over_seeds
>>> from separatrix.studies.outcome import Series
>>> task, learner = sx.SignalTask(4, 3, 0.3), sx.Learner(rate=1.0, steps=5)
>>> networks = {"CNN": sx.CNN(1), "LCN": sx.LCN(1)}
>>> trials = {
...     (name, m): sx.Trial(task, network, learner, m).at_seeds(range(3))
...     for name, network in networks.items()
...     for m in (8, 16)
... }
>>> rows = run_cells(sx.Lab(workers=0), trials, "demo")
>>> accuracies = {cell: [1.0 - row["risk"] for row in rows[cell]] for cell in trials}
>>> points = [(m, accuracy_over_seeds(accuracies["CNN", m])) for m in (8, 16)]
>>> Series.of("CNN", points).x
(8, 16)
"""

import concurrent.futures
import math
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from separatrix.engine import Lab, Sweep, Trial
from separatrix.tasks import Task

Row = dict[str, Any]
CellT = TypeVar("CellT", bound=Hashable)
T = TypeVar("T")


def run_cells(
    lab: Lab,
    cells: Mapping[CellT, Iterable[Trial]],
    what: str,
    columns: Iterable[str] | None = None,
) -> dict[CellT, list[Row]]:
    """Run the trials of all cells as one sweep.

    Args:
        lab: where they run.
        cells: the trials of each cell; a trial may belong to several cells.
        what: what the progress line calls the sweep.
        columns: the columns to keep besides `trial`; all by default.

    Returns:
        For every cell the rows of its trials, in their order. Where the laboratory's budget ends
        first, the rows of trials that were not run are missing.

    >>> import separatrix as sx
    >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(1), sx.Learner(rate=1.0, steps=5), 8)
    >>> [len(rows) for rows in run_cells(sx.Lab(workers=0), {"CNN": [trial]}, "demo").values()]
    [1]
    """
    trials = {cell: tuple(members) for cell, members in cells.items()}
    sweep = Sweep(tuple(trial for members in trials.values() for trial in members))
    if not len(sweep):
        return {cell: [] for cell in trials}
    table = lab.run(sweep, what).arrow
    if columns is not None:
        table = table.select([c for c in ("trial", *columns) if c in table.column_names])
    rows = {row["trial"]: row for row in table.to_pylist()}
    return {
        cell: [rows[trial.identity] for trial in members if trial.identity in rows]
        for cell, members in trials.items()
    }


def constant_accuracy(lab: Lab, task: Task) -> float:
    """The accuracy of the best constant answer, computed once per task.

    It is remembered because that of stored images can only be computed where the images are.

    >>> import separatrix as sx
    >>> constant_accuracy(sx.Lab(), sx.SignalTask(4, 3, 0.3))
    0.5
    """
    parameters = {"task": task.describe()}
    return 1.0 - lab.remember("constant-answer", parameters, lambda: task.baselines()["constant"])


def accuracies(risks: Iterable[float | None], chance: float) -> np.ndarray:
    """Accuracies from risks; a trial that did not stay finite answers like the best constant.

    >>> accuracies([0.25, None, float("nan")], chance=0.5).tolist()
    [0.75, 0.5, 0.5]
    """
    return np.array(
        [chance if risk is None or not math.isfinite(risk) else 1.0 - risk for risk in risks]
    )


def in_background(calculate: Callable[[], T]) -> Callable[[], T]:
    """Start a calculation in a thread of its own, so that it runs while trials do.

    The thread does not outlive the program: whoever interrupts a run does not wait for it.

    Returns:
        A function that waits for the calculation and returns its result, or raises what it raised.

    >>> result = in_background(lambda: 6 * 7)
    >>> result()
    42
    """
    future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def work() -> None:
        try:
            future.set_result(calculate())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future.result
