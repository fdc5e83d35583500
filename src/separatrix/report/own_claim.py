"""A claim of your own in one call: which network needs fewer samples, by how much, over sizes."""

import dataclasses
import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

from separatrix.engine import Lab, Measure, Trial
from separatrix.errors import ParameterError, SeparatrixError
from separatrix.files import write_json
from separatrix.inference import (
    Law,
    Ranking,
    SearchPlan,
    Threshold,
    cell_of,
    rank_laws,
    stop_reason,
)
from separatrix.inference.estimates import ThresholdRatio
from separatrix.learners import Learner
from separatrix.networks import Network
from separatrix.notes import Note
from separatrix.report.figure.draw import Shown, drawing_of, show_or_save
from separatrix.report.write import write_report
from separatrix.studies import Axis, Claim, Figure, Finding, Outcome, Series, TableData
from separatrix.studies.claims import judge, register_paper
from separatrix.studies.kinds import Comparison
from separatrix.studies.search import Query, find_thresholds
from separatrix.tasks import Task

OWNER, CITATION = "own", "A claim of your own"
BASELINE_ROWS = 2000  # drawn to train and as many to test the simple rules
LEAST_CELLS = 4  # that laws can be told apart on
DEFAULT_RATE, DEFAULT_STEPS = 0.03, 300  # of Adam, where no learner is given
Size = tuple[tuple[str, float], ...]  # one place of the grid


@dataclasses.dataclass(frozen=True)
class NetworkComparison:
    """What `compare` found.

    Args:
        finding: the claim with its verdict.
        thresholds: the samples that each network needs, by network and place of the grid.
        rankings: for each network the laws, where laws were asked for and could be told apart.
        baselines: risks of simple rules at each place of the grid, measured by sampling.
        figure: samples needed against the first size; hollow marks are bounds.
        notes: what a reader must know.

    >>> figure = Figure("samples", "", Axis("d"), Axis("samples needed"), ())
    >>> claim = Claim("ours.own", "A needs fewer samples than B.", "your own", "")
    >>> finding = Finding(claim, "undecided", "nothing was run", None)
    >>> NetworkComparison(finding, {}, {}, {}, figure, ())
    undecided: A needs fewer samples than B.
      nothing was run
    """

    finding: Finding
    thresholds: dict[tuple[str, Size], Threshold]
    rankings: dict[str, Ranking]
    baselines: dict[Size, dict[str, float]]
    figure: Figure
    notes: tuple[Note, ...]

    @property
    def verdict(self) -> str:
        """The verdict on the claim."""
        return self.finding.verdict

    def to_frame(self) -> pd.DataFrame:
        """One row per network and place: the samples needed, with interval and censoring."""
        return pd.DataFrame(
            [
                {"network": name, **dict(size)}
                | {"samples": t.estimate, "low": t.low, "high": t.high}
                | {"censoring": t.censoring, "trials": t.trials}
                for (name, size), t in self.thresholds.items()
            ]
        )

    def plot(self, file: str | os.PathLike[str] | None = None) -> Any:
        """The figure: in a notebook it is shown; with `file` (.pdf, .svg or .png) it is saved."""
        return show_or_save(self.figure, file)

    def outcome(self) -> Outcome:
        """The same as the outcome of a study, with figure and table."""
        frame = self.to_frame()
        rows = tuple(tuple(row) for row in frame.itertuples(index=False, name=None))
        table = TableData("thresholds", "Samples needed", tuple(frame.columns), rows)
        sentence = f"{self.verdict.capitalize()}: {self.finding.reason}."
        return Outcome((self.finding,), (self.figure,), (table,), self.notes, sentence)

    def report(self, folder: str | os.PathLike[str]) -> Path:
        """Write a page with claim, figure, thresholds and notes.

        Args:
            folder: where to write it; the page is `report/index.html` in it.

        Returns:
            The path of the page.
        """
        path = Path(folder)
        (path / "outcomes").mkdir(parents=True, exist_ok=True)
        about = {"study": "own", "scale": "", "seed": 0, "command": "sx.compare(…)"}
        plain = self.outcome().plain()
        head = {"title": self.finding.claim.statement, "summary": "A claim of your own"}
        write_json(path / "outcomes" / "own.json", about | head | {"settings": {}} | plain)
        write_json(path / "claims.json", [json.loads(json.dumps(plain["findings"][0])) | about])
        return write_report(path)

    def __repr__(self) -> str:
        lines = [f"{self.verdict}: {self.finding.claim.statement}", f"  {self.finding.reason}"]
        cells = [f"  {n}, {_words(s)}: {t}" for (n, s), t in self.thresholds.items()]
        more = [f"  … {len(cells) - 5} more: .to_frame()"] if len(cells) > 6 else []
        lines += cells[: 5 if more else 6] + more
        return "\n".join([*lines, *(f"  {n.severity}: {n.message}" for n in self.notes[:2])])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(note.message)}</li>" for note in self.notes)
        head = f"<p><b>{self.verdict}</b>: {escape(self.finding.claim.statement)}</p>"
        figure = Shown(self.figure.title, drawing_of(self.figure).alone)._repr_html_()
        return head + figure + self.to_frame().to_html(index=False) + f"<ul>{notes}</ul>"


def compare(
    task_of: Callable[..., Task],
    networks: Mapping[str, Network | Callable[[Task], Network]],
    over: Mapping[str, Sequence[float]],
    goal: float | Callable[[Task], float],
    learner: Learner | Mapping[str, Learner] | None = None,
    claim: str = "",
    laws: Sequence[Law] = (),
    samples: tuple[int, int] = (2, 4096),
    max_trials: int = 200,
    lab: Lab | None = None,
    measure: Measure | None = None,
    seed: int = 0,
) -> NetworkComparison:
    """Test a claim of your own: the first network needs fewer samples than the others.

    For every network and every place of the grid, the samples are searched at which half of the
    trials reach the goal. The claim is supported if the first network needs fewer samples than each
    other one everywhere, by the intervals of the ratios.

    Args:
        task_of: makes the task from the sizes in `over`, such as `lambda d: MyTask(d)`.
        networks: networks by name, or functions that make one for a task; the first is compared
            with the others.
        over: the values of each size; all combinations are measured.
        goal: the risk that a trial must reach, or a function of the task.
        learner: how they learn, for all or by the network's name; if None, Adam with one rate for
            all, which a note says.
        claim: the sentence to test, if not "A needs fewer samples than B wherever measured".
        laws: candidate laws for the samples needed; at least four places are needed to rank them.
        samples: the smallest and the largest sample size to try.
        max_trials: the most trials per threshold.
        lab: where trials run; one in memory if None.
        measure: what is measured; a test set of 2048 rows if None.
        seed: of the first trial at every sample size.

    Returns:
        Thresholds, verdict, figure and notes; print it, or call `.plot()` or `.report(folder)`.

    Raises:
        ParameterError: fewer than two networks, or no size.

    >>> import separatrix as sx
    >>> options = {"field": 1, "readout": "sum", "bias": False}
    >>> found = compare(
    ...     lambda k: sx.SignalTask(patches=k, dimension=4, noise=0.1),
    ...     {"CNN": sx.CNN(**options), "LCN": sx.LCN(**options)},
    ...     over={"k": [4]},
    ...     goal=0.2,
    ...     learner=sx.Learner(rate=1.0, steps=20),
    ...     samples=(4, 8),
    ...     max_trials=8,
    ...     lab=sx.Lab(workers=0),
    ... )
    >>> found.to_frame()["network"].tolist()
    ['CNN', 'LCN']
    """
    if len(networks) < 2:
        raise ParameterError("compare", "networks", "at least two, by name", list(networks))
    if not over or not all(len(values) for values in over.values()):
        raise ParameterError("compare", "over", "at least one size with its values", dict(over))
    adam = Learner(rate=DEFAULT_RATE, steps=DEFAULT_STEPS, optimizer="adam")
    how = adam if learner is None else learner
    sizes = [tuple(zip(over, values)) for values in itertools.product(*over.values())]
    tasks = {size: task_of(**dict(size)) for size in sizes}
    goals = {size: goal(task) if callable(goal) else goal for size, task in tasks.items()}
    plan = SearchPlan(minimum=samples[0], maximum=samples[1], max_trials=max_trials)
    measured = measure or Measure(test=2048)
    queries = {
        (name, size): _query(tasks[size], network, how, name, goals[size], plan, measured, seed)
        for name, network in networks.items()
        for size in sizes
    }
    with lab or Lab() as place:
        found = find_thresholds(place, queries, "thresholds", batch=64)
    thresholds = {key: result.threshold for key, result in found.items()}
    baselines = {size: sampled_baselines(task) for size, task in tasks.items()}
    rankings, notes = _rankings(thresholds, laws, list(networks), len(sizes))
    notes += _guard_notes(thresholds, plan, goals, baselines)
    if learner is None:
        words = (
            f"every network learns with Adam, rate {DEFAULT_RATE:g}, {DEFAULT_STEPS} steps; give "
            "`learner` to tune it, by network if need be"
        )
        notes.append(Note("default-learner", "info", words))
    finding = _judged(claim, list(networks), sizes, thresholds)
    figure = _figure(list(networks), list(over), sizes, thresholds, "Samples needed")
    return NetworkComparison(finding, thresholds, rankings, baselines, figure, tuple(notes))


def sampled_baselines(task: Task, rows: int = BASELINE_ROWS, seed: int = 0) -> dict[str, float]:
    """Risks of simple rules on a two-class task, measured on fresh rows.

    Args:
        task: the task.
        rows: how many rows to train on, and how many to test on.
        seed: of the rows.

    Returns:
        The error rates of the best constant, of least squares and of five nearest neighbours; empty
        for a task whose labels are not two classes.

    >>> from separatrix.tasks import SignalTask
    >>> sorted(sampled_baselines(SignalTask(2, 3, 0.1), rows=200))
    ['constant', 'linear', 'nearest']
    """
    sample = task.sample(jax.random.key(seed), 2 * rows)
    x, y = np.asarray(sample.x).reshape(2 * rows, -1), np.asarray(sample.y)
    if y.ndim != 1 or not set(np.unique(y)) <= {-1.0, 1.0}:
        return {}
    (fit, test), (known, wanted) = np.split(x, 2), np.split(y, 2)
    design = np.c_[fit, np.ones(rows)]
    ridge = design.T @ design + 1e-3 * np.eye(design.shape[1])
    weights = np.linalg.solve(ridge, design.T @ known)
    linear = np.c_[test, np.ones(rows)] @ weights
    squared = (test**2).sum(1)[:, None] + (fit**2).sum(1) - 2 * test @ fit.T
    nearest = known[np.argpartition(squared, 5, axis=1)[:, :5]].sum(1)
    return {
        "constant": float(min((wanted > 0).mean(), (wanted < 0).mean())),
        "linear": float((linear * wanted <= 0).mean()),
        "nearest": float((nearest * wanted <= 0).mean()),
    }


def _query(
    task: Task,
    network: Network | Callable[[Task], Network],
    learner: Learner | Mapping[str, Learner],
    name: str,
    goal: float,
    plan: SearchPlan,
    measure: Measure,
    seed: int,
) -> Query:
    made = network if isinstance(network, Network) else network(task)
    how = learner[name] if isinstance(learner, Mapping) else learner

    def trial(count: int, seed: int) -> Trial:
        return Trial(task, made, how, count, seed, measure)

    def success(row: Any) -> bool:
        return row["risk"] is not None and row["risk"] <= goal

    return Query(trial, success, plan, seed)


def _judged(
    sentence: str,
    names: list[str],
    sizes: list[Size],
    thresholds: dict[tuple[str, Size], Threshold],
) -> Finding:
    first, others = names[0], names[1:]
    words = " and ".join(others)
    register_paper(OWNER, CITATION)
    kind = Comparison(f"samples, {words} over {first}", "above", 1.0)
    statement = sentence or f"{first} needs fewer samples than {words} wherever measured."
    parts = {
        f"{other}, {_words(size)}": ThresholdRatio(thresholds[other, size], thresholds[first, size])
        for size in sizes
        for other in others
        if (other, size) in thresholds and (first, size) in thresholds
    }
    return judge(Claim(f"{OWNER}.claim", statement, "your own", "", kind), parts)


def _rankings(
    thresholds: dict[tuple[str, Size], Threshold], laws: Sequence[Law], names: list[str], cells: int
) -> tuple[dict[str, Ranking], list[Note]]:
    if not laws:
        return {}, []
    if cells < LEAST_CELLS:
        message = (
            f"{cells} places are too few to rank laws; give `over` values that make at least "
            f"{LEAST_CELLS}"
        )
        return {}, [Note("too-few-cells", "warning", message)]
    rankings, notes = {}, []
    for name in names:
        cells_of = [cell_of(dict(s), t) for (n, s), t in thresholds.items() if n == name]
        known = [cell for cell in cells_of if cell is not None]
        try:
            rankings[name] = rank_laws(known, laws, power_law=())
        except SeparatrixError as error:
            notes.append(Note("no-ranking", "warning", f"{name}: {error}"))
    return rankings, notes


def _guard_notes(
    thresholds: dict[tuple[str, Size], Threshold],
    plan: SearchPlan,
    goals: dict[Size, float],
    baselines: dict[Size, dict[str, float]],
) -> list[Note]:
    """What a reader must know: trials that ran out, goals that a simple rule reaches, bounds."""
    notes = []
    for (name, size), threshold in thresholds.items():
        where = f"{name}, {_words(size)}"
        tried = max(entry.resource for entry in threshold.evidence)
        if threshold.censoring == "right" and tried >= plan.maximum:
            words = f"{where}: {tried:g} samples do not reach the goal; only a bound is known"
            notes.append(Note("bound-only", "warning", words))
        elif stop_reason(threshold.evidence, plan) == "trials" and threshold.log_width > plan.width:
            words = f"{where}: trials ran out ({threshold.trials}); raise max_trials"
            notes.append(Note("trials-ran-out", "warning", words))
    for size, risks in baselines.items():
        for rule in ("constant", "linear", "nearest"):
            if rule in risks and risks[rule] <= goals[size]:
                words = (
                    f"{_words(size)}: the {rule} rule with {BASELINE_ROWS} samples reaches the "
                    f"goal ({risks[rule]:.3g} <= {goals[size]:.3g}); lower the goal"
                )
                notes.append(Note("goal-too-easy", "warning", words))
                break
    return notes


def _figure(
    names: list[str],
    variables: list[str],
    sizes: list[Size],
    thresholds: dict[tuple[str, Size], Threshold],
    title: str,
) -> Figure:
    series: list[Series] = []
    for name in names:
        lines: dict[Size, list[tuple[float, Threshold]]] = {}
        for size in sizes:
            if (name, size) in thresholds:
                lines.setdefault(size[1:], []).append((size[0][1], thresholds[name, size]))
        for rest, points in lines.items():
            label = f"{name}, {_words(rest)}" if rest else name
            series += Series.bounded(label, points)
    return Figure(
        "samples",
        title,
        Axis(variables[0], log=True),
        Axis("samples needed", log=True),
        tuple(series),
        "Samples at which half of the trials reach the goal, with 95 % intervals; a hollow mark "
        "is only a bound.",
        headline=True,
    )


def _words(size: Size) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in size)
