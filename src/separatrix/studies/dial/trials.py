"""The trials of the study `dial`: tuned with the same effort at every place, then run with all
labels, and with fewer at the corners.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.inference import SearchPlan
from separatrix.learners import Learner
from separatrix.networks import CNN, FCN, LCN, Network
from separatrix.studies.dial.settings import CORNERS, DialSettings, Place
from separatrix.studies.dial.task import LabelledImages
from separatrix.studies.study import seeds_from
from separatrix.studies.tuning import Choice, Tunable, grid_of

NEXT = 3  # the side of the windows of further layers, over the positions of the layer before


@dataclasses.dataclass(frozen=True, order=True)
class Cell:
    """A place with its pixels in order or permuted, and a number of labels.

    >>> Cell(Place("cifar10", 1, 32, 8), labels=45000).permuted
    False
    """

    place: Place
    permuted: bool = False
    labels: int = 0  # 0: all


@dataclasses.dataclass(frozen=True, order=True)
class Recipe:
    """What is tuned: the learning rate, and the measurement (from 1 to the number of `times`) at
    which training stops.

    >>> Recipe(0.001, 4).moment
    4
    """

    rate: float
    moment: int


def network_of(s: DialSettings, place: Place) -> Network:
    """The network of a place. All places of a data set and depth have the same number of hidden
    units.

    The FCN's corner is spelled as a full network: with a window as large as the image and weights
    of its own at every window, each unit sees all pixels, in an order that its random weights do
    not know.

    >>> s = DialSettings(filters=4)
    >>> [network_of(s, Place("embedded-digits", 1, *where)).parameter_count((8, 8, 1)) for where in ((8, 4), (3, 4), (3, 2), (3, 1))]
    [4810, 1290, 810, 690]
    """
    common: dict[str, Any] = {
        "outputs": s.classes(place.source),
        "offset": True,
        "depth": place.depth,
    }
    if place.name == "FCN":
        return FCN(s.filters * place.windows**2, **common)
    stride = place.side // place.windows
    common |= {"stride": stride, "border": "wrap", "next_field": NEXT if place.depth > 1 else None}
    if place.groups == place.windows:
        return LCN(place.field, s.filters, **common)
    return CNN(
        place.field, s.filters, groups=None if place.groups == 1 else (place.groups,) * 2, **common
    )


def trial_of(s: DialSettings, cell: Cell, rate: float, seed: int, tuning: bool = False) -> Trial:
    """One trial. Networks with the same data set, pixels, labels and seed see the same rows.

    >>> trial_of(DialSettings(), Cell(Place("embedded-digits", 1, 3, 1)), 0.01, seed=0).task.labels
    972
    """
    place = cell.place
    labels = cell.labels or s.all_labels(place.source)
    task = LabelledImages(
        place.source, s.classes(place.source), labels, int(cell.permuted), int(tuning)
    )
    learner = Learner(rate, s.steps, oracle="online", batch=s.batch, optimizer="adam")
    return Trial(
        task,
        network_of(s, place),
        learner,
        0,
        seed,
        Measure(test=s.test, times=s.times),
        s.precision,
    )


def tuning_cells(s: DialSettings) -> list[Cell]:
    """What is tuned: every place, on pixels in order and on permuted ones, with all labels."""
    return [Cell(place, permuted) for place in s.places() for permuted in (False, True)]


def ladder_cells(s: DialSettings) -> list[list[Cell]]:
    """The corners with fewer labels, in parts of two rungs: with these a program's batches are as
    large as without them.

    >>> [len(part) for part in ladder_cells(DialSettings(sources=("embedded-digits",)))]
    [8, 8]
    """
    rungs = {source: s.labels(source)[:-1] for source in s.chosen_sources()}
    most = max(map(len, rungs.values()))
    places = [place for place in s.places() if place.depth == 1 and place.name]
    return [
        [
            Cell(place, False, labels)
            for place in places
            for labels in rungs[place.source][start : start + 2]
        ]
        for start in range(0, most, 2)
    ]


def tuning_sweeps(s: DialSettings) -> dict[Cell, dict[float, Sweep]]:
    """For every cell and rate the trials on which rates are compared, on images that no result
    uses.

    >>> grid = tuning_sweeps(DialSettings(sources=("embedded-digits",), rates=(0.001, 0.01)))
    >>> {len(sweep) for rates in grid.values() for sweep in rates.values()}
    {3}
    """
    seeds = seeds_from(s.seed, s.tune_seeds, purpose=1)
    out = {}
    for cell in tuning_cells(s):
        most = s.all_labels(cell.place.source)

        def trial(rate: float, labels: int, seed: int, cell: Cell = cell) -> Trial:
            return trial_of(s, dataclasses.replace(cell, labels=labels), rate, seed, tuning=True)

        out[cell] = grid_of(Tunable(trial, bool, SearchPlan(1, most)), s.rates, seeds, (1.0,), most)
    return out


def tune(lab: Lab, s: DialSettings) -> dict[Cell, Choice[Recipe]]:
    """The recipe of every cell, by its accuracy on the images kept apart; cells without a finished
    trial are missing.

    To the FCN, pixels in order and permuted ones are the same data: it gets one recipe for both,
    from the trials of both.
    """
    grid = tuning_sweeps(s)
    rows = _rows(
        lab,
        Sweep(
            tuple(trial for rates in grid.values() for sweep in rates.values() for trial in sweep)
        ),
        "tuning",
    )
    chosen = {}
    for cell in grid:
        alike = [
            each
            for each in grid
            if each == cell or (each.place == cell.place and cell.place.name == "FCN")
        ]
        scores: dict[Recipe, float] = {}
        for rate in s.rates:
            curves = [
                _curve(rows[trial.identity], s)
                for each in alike
                for trial in grid[each][rate]
                if trial.identity in rows
            ]
            if curves:
                scores |= {
                    Recipe(rate, moment + 1): 1.0 - float(level)
                    for moment, level in enumerate(np.mean(curves, axis=0))
                }
        if scores:
            chosen[cell] = Choice(pick(scores, min(s.test, s.apart(cell.place.source))), scores)
    return chosen


def pick(scores: Mapping[Recipe, float], images: int) -> Recipe:
    """The rate with the lowest risk, and its last moment that is as good up to the error that so
    many images bring.

    To stop early pays where a network begins to overfit; the best of many moments on few images is
    mostly chance.

    >>> scores = {Recipe(0.01, 1): 0.10, Recipe(0.01, 2): 0.11, Recipe(0.01, 3): 0.20, Recipe(0.1, 3): 0.15}
    >>> pick(scores, images=100).moment, pick(scores, images=100_000).moment
    (2, 1)
    """
    best = min(scores, key=lambda recipe: (scores[recipe], recipe))
    error = (scores[best] * (1.0 - scores[best]) / images) ** 0.5
    return max(
        recipe
        for recipe, risk in scores.items()
        if recipe.rate == best.rate and risk <= scores[best] + error
    )


@dataclasses.dataclass(frozen=True)
class Measured:
    """What the seeds of a cell did: the accuracies where training stopped by the recipe and at the
    last step, and the seconds of a trial.

    >>> Measured(np.array([0.5, 0.6]), np.array([0.5, 0.6]), 1.0).accuracy.mean().round(2)
    np.float64(0.55)
    """

    accuracy: np.ndarray
    last: np.ndarray
    seconds: float


@dataclasses.dataclass(frozen=True)
class Results:
    """All that was measured, with the recipes; cells with fewer than two finished seeds are
    missing.

    >>> Results({}, {}).accuracy(Place("mnist", 1, 6, 1)) is None
    True
    """

    cells: Mapping[Cell, Measured]
    recipes: Mapping[Cell, Choice[Recipe]]

    def accuracy(self, place: Place, permuted: bool = False, labels: int = 0) -> np.ndarray | None:
        """The accuracy of each seed, where it was measured."""
        found = self.cells.get(Cell(place, permuted, labels))
        return None if found is None else found.accuracy

    def corner(self, source: str, depth: int, name: str) -> Place | None:
        """The place of a corner, where it was measured."""
        return next(
            (
                c.place
                for c in self.cells
                if (c.place.source, c.place.depth, c.place.name) == (source, depth, name)
            ),
            None,
        )

    def complete(self, s: DialSettings) -> list[tuple[str, int]]:
        """The data sets and depths at which all three corners were measured, on pixels in order and
        on permuted ones.
        """
        return [
            (source, depth)
            for source in s.chosen_sources()
            for depth in sorted(set(s.depths))
            if all(
                (place := self.corner(source, depth, name)) is not None
                and self.accuracy(place, permuted) is not None
                for name in CORNERS
                for permuted in (False, True)
            )
        ]


def measure_all(lab: Lab, s: DialSettings) -> Results:
    """Tune, then run everything; a trial that did not stay finite counts as a constant answer."""
    recipes = tune(lab, s)
    found: dict[Cell, Measured] = {}
    for number, part in enumerate([tuning_cells(s), *ladder_cells(s)]):
        trials = {
            cell: result_trials(s, cell, recipes[Cell(cell.place, cell.permuted)])
            for cell in part
            if Cell(cell.place, cell.permuted) in recipes
        }
        rows = _rows(
            lab,
            Sweep(tuple(trial for each in trials.values() for trial in each)),
            "fewer labels" if number else "all labels",
        )
        for cell, mine in trials.items():
            done = [rows[trial.identity] for trial in mine if trial.identity in rows]
            if len(done) >= 2:
                moment = recipes[Cell(cell.place, cell.permuted)].option.moment
                curves = np.array([_curve(row, s) for row in done])
                found[cell] = Measured(
                    curves[:, moment - 1],
                    curves[:, -1],
                    float(np.mean([row["run.seconds"] for row in done])),
                )
    return Results(found, recipes)


def result_trials(s: DialSettings, cell: Cell, choice: Choice[Recipe] | None = None) -> list[Trial]:
    """The trials of a cell, one a seed, with the chosen rate (or the first)."""
    rate = s.rates[0] if choice is None else choice.option.rate
    seeds = seeds_from(s.seed, s.seeds)
    return trial_of(s, cell, rate, seeds[0]).at_seeds(seeds)


def _rows(lab: Lab, sweep: Sweep, what: str) -> dict[str, dict[str, Any]]:
    return (
        {row["trial"]: row for row in lab.run(sweep, what).arrow.to_pylist()} if len(sweep) else {}
    )


def _curve(row: dict[str, Any], s: DialSettings) -> np.ndarray:
    """The accuracies at the moments after the start; where a trial has diverged, that of a guess
    among as many classes.
    """
    out = np.full(s.times, 1.0 / s.classes(row["task.source"].partition("@")[0]))
    for moment, risk in enumerate(row["trace.risk"][1 : s.times + 1]):
        if risk is not None and np.isfinite(risk):
            out[moment] = 1.0 - risk
    return out
