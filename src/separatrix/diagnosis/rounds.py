"""The procedure: choose a network of every connectivity on check rows, then compare the chosen ones
on more and more splits until the answer is sure.
"""

import dataclasses
import math
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.labelled import Labelled
from separatrix.diagnosis.baselines import MODELS, fit_baseline
from separatrix.diagnosis.data_splits import LEAST, Splitting, array_data, sizes_of
from separatrix.diagnosis.gains import Gain, common_share, gain_of
from separatrix.diagnosis.metrics import WORDS, constant_score, metric_for, row_scores, suits
from separatrix.diagnosis.networks import (
    DEEP_SIDE,
    Candidate,
    Windows,
    first_candidates,
    full_candidates,
    network_of,
    refined,
    windows_of,
)
from separatrix.diagnosis.settings import Settings
from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.errors import ParameterError
from separatrix.learners import Cosine, Learner
from separatrix.tasks.arrays import ArrayTask

LOOKS = 8  # moments at which the loss on check rows is measured
PILOT = (0, 1)  # splits on whose check rows networks are chosen
ROOM = 3.0  # margins between a simple model and a perfect score, below which fewer labels are tried
CLASS_ROWS = 4  # labels that the rarest class keeps on average when fewer labels are compared
WINDOWED = ("shared", "local")
# The arms of a comparison: connectivity and what is done to the input.
ARMS = (
    ("shared", ""),
    ("local", ""),
    ("full", ""),
    ("shared", "scrambled"),
    ("local", "scrambled"),
    ("shared", "twisted"),
)


def arm_name(connectivity: str, control: str) -> str:
    """How an arm is called in tables.

    >>> arm_name("shared", "scrambled")
    'shared, scrambled'
    """
    return f"{connectivity}, {control}" if control else connectivity


BLIND = ("full", *MODELS, *(arm_name(each, "scrambled") for each in WINDOWED))


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a model came to on one split: what every test row adds to the metric, and its merit on
    check rows.
    """

    rows: np.ndarray
    merit: float

    @property
    def score(self) -> float:
        """The metric on the test rows."""
        return float(self.rows.mean())


class Ceiling(NamedTuple):
    """A simple model that is near perfect: which one, at how many labels, and its metric there."""

    model: str
    labels: int
    score: float


class Bench:
    """A data set with its splits, and what has been measured on them.

    `reserve` is how many times as many labels the data hold as the budget lets networks learn from.
    """

    def __init__(self, data: Labelled, how: Splitting, s: Settings, lab: Lab, begin: float):
        self.data, self.settings, self.lab, self.begin = data, s, lab, begin
        self.classes = len(data.classes)
        suited = metric_for(data.labels, self.classes)
        if s.metric != "auto" and not suits(s.metric, self.classes):
            possible = ", ".join(repr(name) for name in WORDS if suits(name, self.classes))
            labels = f"{self.classes} classes" if self.classes else "a regression"
            raise ParameterError("diagnose", "metric", f"{possible} for {labels}", s.metric)
        self.metric = suited if s.metric == "auto" else s.metric
        self.balanced = suited in ("auc", "balanced-accuracy")
        self.arrays, self.sizes = array_data(data, how, sizes_of(data, how, s), s, self.balanced)
        self.how = how
        self.reserve = (len(data) - self.sizes.test - self.sizes.check) / self.sizes.top
        self.answers: dict[tuple[str, int, int], Answer] = {}  # by model, labels and split
        self.chosen: dict[str, tuple[Candidate, Windows | None]] = {}
        self.tried: list[tuple[Candidate, float]] = []
        self.constant = constant_score(self.metric, data.labels, self.classes)
        self.trials = 0
        self.ceiling: Ceiling | None = None

    @property
    def outputs(self) -> int:
        """How many outputs networks have."""
        return self.classes if self.classes > 2 else 1

    @property
    def left(self) -> float:
        """Seconds of the budget that are left."""
        return self.settings.budget - (time.monotonic() - self.begin)

    def trial(
        self,
        candidate: Candidate,
        group: Windows | None,
        labels: int,
        split: int,
        control: str = "",
    ) -> Trial:
        """The trial of a candidate on the first `labels` rows of a split, under a control."""
        s, seed = self.settings, split + 1
        network = network_of(
            candidate,
            group,
            self.data.shape,
            self.outputs,
            scramble=seed if control == "scrambled" else 0,
            twist=seed if control == "twisted" else 0,
        )
        task = ArrayTask(
            self.arrays.name,
            self.data.shape,
            self.classes if self.classes > 2 else None,
            split,
            labels,
        )
        learner = Learner(
            Cosine(candidate.rate),
            s.training_steps,
            "logistic" if self.classes else "squared",
            oracle="online",
            batch=s.batch,
            optimizer="adam",
        )
        measure = Measure(
            test=self.sizes.test,
            times=LOOKS,
            check_rows=self.sizes.check,
            outcomes=True,
            start_counts=False,
        )
        return Trial(task, network, learner, 0, s.seed, measure)

    def run(self, trials: Sequence[Trial], what: str) -> dict[str, Answer]:
        """Run trials; the answers of those that the budget allowed, by identity."""
        sweep = Sweep(tuple(trials))
        rows = self.lab.run(sweep, what).arrow.to_pylist()
        self.trials += len(rows)
        splits = {trial.identity: _split_of(trial) for trial in sweep}
        return {
            row["trial"]: self.answer(
                splits[row["trial"]], row["outcomes.test"], row["outcomes.check"], row["check"]
            )
            for row in rows
        }

    def answer(self, split: int, test: Any, check: Any, loss: float) -> Answer:
        """An answer from what a model says of the test and check rows of a split."""
        rows = self.arrays.rows
        clean = [
            np.nan_to_num(np.asarray(each, float), posinf=0, neginf=0) for each in (test, check)
        ]
        tested, checked = (
            row_scores(self.metric, given, rows.y[part[split]])
            for given, part in zip(clean, (rows.test, rows.check))
        )
        penalty = 0.25 * min(loss if math.isfinite(loss) else 9.0, 9.0)
        return Answer(
            tested, float(checked.mean()) - penalty / max(1.0, math.log2(self.outputs + 1))
        )

    def baseline(self, model: str, labels: int, split: int) -> Answer:
        """A model without windows, on the first `labels` rows of a split."""
        rows = self.arrays.rows
        parts = [rows.learn[split, :labels], rows.check[split], rows.test[split]]

        def fit() -> dict[str, list[float]]:
            used = np.concatenate(parts)
            x = (rows.x[used].astype(np.float32) - rows.mean[split]) / rows.scale[split]
            ends = np.cumsum([len(part) for part in parts])
            places = np.split(np.arange(len(used)), ends[:-1])
            x = x.reshape(len(used), -1)
            return fit_baseline(model, x, rows.y[used], places, self.classes, self.balanced)

        about = {"data": self.arrays.name, "model": model, "labels": labels, "split": split}
        said = self.lab.remember("diagnose-baseline", about, fit)
        return self.answer(split, said["test"], said["check"], 0.0)

    def gain(self, first: str, second: str, sizes: Iterable[int]) -> Gain | None:
        """The gain of one model over another, the mean over some numbers of labels."""
        sizes = tuple(sizes)
        by_model: list[dict[int, np.ndarray]] = []
        for model in (first, second):
            rows: dict[int, np.ndarray] = {}
            for split in range(self.settings.splits):
                found = [self.answers.get((model, size, split)) for size in sizes]
                there = [each.rows for each in found if each is not None]
                if len(there) == len(sizes):
                    rows[split] = np.mean(there, axis=0)
            by_model.append(rows)
        splits = [split for split in by_model[0] if split in by_model[1]]
        if len(splits) < 2:
            return None
        arrays = self.arrays.rows
        shared = common_share([arrays.test[split] for split in splits])
        trained = float(
            np.mean([common_share([arrays.learn[split, :n] for split in splits]) for n in sizes])
        )
        a, b = by_model
        return gain_of(a, b, shared, trained, random="scrambled" in second)

    def scores(self, model: str, labels: int) -> np.ndarray:
        """The metric of a model on every split on which it was measured."""
        return np.array(
            [
                a.score
                for (name, size, _), a in sorted(self.answers.items(), key=lambda i: i[0])
                if (name, size) == (model, labels)
            ]
        )


def lower_labels(bench: Bench) -> None:
    """Compare at fewer labels where a simple model is near perfect.

    Where one is within `ROOM` margins of a perfect score at the smaller number of labels, networks
    can hardly gain a margin, whatever their windows are worth. Then both numbers are divided by
    four, until there is room for a gain or the rarest class has few labels. Only check rows are
    looked at.
    """
    s = bench.settings
    rarest = min(np.bincount(bench.data.labels)) / len(bench.data) if bench.classes else 1.0
    least, splits = max(LEAST, math.ceil(CLASS_ROWS / max(rarest, 1e-9))), PILOT[: s.splits]
    while len(bench.sizes.labels) == 2 and bench.left > 0:
        low = bench.sizes.labels[0]
        merits = {
            model: float(np.mean([bench.baseline(model, low, split).merit for split in splits]))
            for model in MODELS
        }
        best = max(merits, key=lambda model: merits[model])
        if merits[best] < 1.0 - ROOM * s.margin:
            break
        bench.ceiling = Ceiling(best, low, merits[best])
        if low // 4 < least:
            break
        bench.sizes = dataclasses.replace(bench.sizes, labels=(low // 4, low))


def _split_of(trial: Trial) -> int:
    assert isinstance(trial.task, ArrayTask)
    return trial.task.split


def choose_networks(bench: Bench) -> None:
    """Choose a network of every connectivity by its merit on the check rows of the first splits.

    First every window with two readouts on one split; then the two best windows of each
    connectivity with every readout and rate, on two.
    """
    top, groups = bench.sizes.top, windows_of(bench.data.shape, bench.settings.field)
    axes = len(bench.data.shape) - 1
    first = [
        (candidate, group)
        for group in groups
        for connectivity in WINDOWED
        for candidate in first_candidates(group, connectivity, bench.data.shape)
    ]
    merits = _merits(bench, first, PILOT[:1], top)
    # Trainings on large images are long: there the best windows are refined on one split.
    splits = PILOT[:1] if axes == 2 and min(bench.data.shape[:-1]) >= DEEP_SIDE else PILOT
    second: list[tuple[Candidate, Windows | None]] = [(each, None) for each in full_candidates()]
    for connectivity in WINDOWED:
        ranked = sorted(
            (pair for pair in merits if pair[0].connectivity == connectivity),
            key=lambda pair: -merits[pair],
        )
        places = list(dict.fromkeys((c.side, c.stride, c.depth) for c, _ in ranked))[: len(splits)]
        for place in places:
            best, group = next(p for p in ranked if (p[0].side, p[0].stride, p[0].depth) == place)
            second += [(candidate, group) for candidate in refined(best)]
    merits |= _merits(bench, second, splits, top)
    bench.tried = [(candidate, merit) for (candidate, _), merit in merits.items()]
    for connectivity in (*WINDOWED, "full"):
        mine = [pair for pair in second if pair[0].connectivity == connectivity and pair in merits]
        if mine:
            bench.chosen[connectivity] = max(mine, key=lambda pair: merits[pair])


def _merits(
    bench: Bench,
    pairs: Sequence[tuple[Candidate, Windows | None]],
    splits: Sequence[int],
    labels: int,
) -> dict[tuple[Candidate, Windows | None], float]:
    trials = {
        (pair, split): bench.trial(*pair, labels, split) for pair in pairs for split in splits
    }
    found = bench.run(list(trials.values()), "choosing networks")
    out = {}
    for pair in pairs:
        mine = [trials[pair, split].identity for split in splits]
        if all(each in found for each in mine):
            out[pair] = float(np.mean([found[each].merit for each in mine]))
    return out


def estimate(bench: Bench) -> tuple[int, float]:
    """How many trainings a diagnosis takes until its first answer, and about how many seconds."""
    groups = windows_of(bench.data.shape, bench.settings.field)
    top, splits = bench.sizes.top, range(bench.settings.first)
    trials = [
        bench.trial(candidate, group, top, 0)
        for group in groups
        for connectivity in WINDOWED
        for candidate in first_candidates(group, connectivity, bench.data.shape)
    ]
    trials += [bench.trial(each, None, top, split) for each in full_candidates() for split in PILOT]
    for connectivity in WINDOWED:
        best = first_candidates(groups[0], connectivity, bench.data.shape)[0]
        trials += [bench.trial(c, groups[0], top, s) for c in refined(best) for s in PILOT]
        trials += [
            bench.trial(best, groups[0], labels, split, control)
            for labels in bench.sizes.labels
            for split in splits
            for control in ("", "scrambled", "twisted")
        ]
    sweep = Sweep(tuple(trials))
    return len(sweep), bench.lab.plan(sweep).seconds


def compare(bench: Bench, splits: Iterable[int]) -> None:
    """Measure all arms and all blind models on some splits, at every number of labels."""
    splits = list(splits)
    trials: dict[tuple[str, int, int], Trial] = {}
    for split in splits:
        for connectivity, control in ARMS:
            if connectivity in bench.chosen:
                for labels in bench.sizes.labels:
                    key = arm_name(connectivity, control), labels, split
                    trials[key] = bench.trial(*bench.chosen[connectivity], labels, split, control)
    with ThreadPoolExecutor(1) as pool:
        simple: dict[tuple[str, int, int], Future[Answer]] = {
            (model, labels, split): pool.submit(bench.baseline, model, labels, split)
            for split in splits
            for labels in bench.sizes.labels
            for model in MODELS
        }
        found = bench.run(list(trials.values()), "comparing networks")
        for key, trial in trials.items():
            if trial.identity in found:
                bench.answers[key] = found[trial.identity]
        for key, future in simple.items():
            if bench.left < -3.0 and not future.done():
                future.cancel()
            else:
                bench.answers[key] = future.result()
