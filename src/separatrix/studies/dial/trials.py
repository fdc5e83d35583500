"""The trials of the study `dial`: tuned with the same effort at every place, then run with all
labels, and with fewer at the corners.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from separatrix.data import load
from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.learners import Learner
from separatrix.networks import CNN, FCN, LCN, Network
from separatrix.studies.cells import Row, accuracies, constant_accuracy, run_cells
from separatrix.studies.dial.settings import CORNERS, GEOMETRIES, DialPlace, DialSettings
from separatrix.studies.study import seeds_from
from separatrix.studies.symmetry import trained_scores
from separatrix.studies.tuning import Choice, run_grids
from separatrix.tasks.labelled_images import LabelledImages

NEXT = 3  # the side of the windows of further layers, over the positions of the layer before


@dataclasses.dataclass(frozen=True, order=True)
class DialCell:
    """A place with its pixels in order or permuted, and a number of labels."""

    place: DialPlace
    permuted: bool = False
    labels: int = 0  # 0: all


@dataclasses.dataclass(frozen=True, order=True)
class DialRecipe:
    """What is tuned: the learning rate, and the measurement (from 1 to the number of `times`) at
    which training stops.
    """

    rate: float
    moment: int


def network_of(s: DialSettings, place: DialPlace) -> Network:
    """The network of a place. All places of a data set and depth have the same number of hidden
    units.

    The FCN's corner is a full network: where the window is as large as the image and every window
    has its own weights, each unit sees all pixels, in an order that its random weights do not know.

    >>> s = DialSettings(filters=4)
    >>> places = [DialPlace("embedded-digits", 1, *p) for p in ((8, 4), (3, 4), (3, 2), (3, 1))]
    >>> [network_of(s, place).parameter_count((8, 8, 1)) for place in places]
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


def trial_of(
    s: DialSettings, cell: DialCell, rate: float, seed: int, tuning: bool = False
) -> Trial:
    """One trial. Networks with the same data set, pixels, labels and seed see the same rows.

    >>> cell = DialCell(DialPlace("embedded-digits", 1, 3, 1))
    >>> trial_of(DialSettings(), cell, rate=0.01, seed=0).task.labels
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


def tuning_cells(s: DialSettings) -> list[DialCell]:
    """What is tuned: every place, on pixels in order and on permuted ones, with all labels."""
    return [DialCell(place, permuted) for place in s.places() for permuted in (False, True)]


def ladder_cells(s: DialSettings) -> list[list[DialCell]]:
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
            DialCell(place, False, labels)
            for place in places
            for labels in rungs[place.source][start : start + 2]
        ]
        for start in range(0, most, 2)
    ]


def tuning_sweeps(s: DialSettings) -> dict[DialCell, dict[float, Sweep]]:
    """For every cell and rate the trials on which rates are compared, on images that no result
    uses.

    >>> grid = tuning_sweeps(DialSettings(sources=("embedded-digits",), rates=(0.001, 0.01)))
    >>> {len(sweep) for rates in grid.values() for sweep in rates.values()}
    {3}
    """
    seeds = seeds_from(s.seed, s.tune_seeds, purpose=1)
    return {
        cell: {
            rate: Sweep(tuple(trial_of(s, cell, rate, seeds[0], tuning=True).at_seeds(seeds)))
            for rate in s.rates
        }
        for cell in tuning_cells(s)
    }


def tune(lab: Lab, s: DialSettings) -> dict[DialCell, Choice[DialRecipe]]:
    """The recipe of every cell, by its accuracy on held-out images; cells without a finished trial
    are missing.

    To the FCN, pixels in order and permuted ones are the same data: it gets one recipe for both,
    from the trials of both.
    """
    grids = run_grids(lab, tuning_sweeps(s), "tuning")
    chosen = {}
    for cell in grids:
        shared = [
            other
            for other in grids
            if other == cell or (other.place == cell.place and cell.place.name == "FCN")
        ]
        scores: dict[DialRecipe, float] = {}
        for rate in s.rates:
            curves = [_curve(row, s) for other in shared for row in grids[other][rate]]
            if curves:
                scores |= {
                    DialRecipe(rate, moment + 1): 1.0 - float(level)
                    for moment, level in enumerate(np.mean(curves, axis=0))
                }
        if scores:
            images = min(s.test, s.held_out(cell.place.source))
            chosen[cell] = Choice(pick(scores, images), scores)
    return chosen


def pick(scores: Mapping[DialRecipe, float], images: int) -> DialRecipe:
    """The rate with the lowest risk, and its last moment that is as good up to the sampling error
    of so many images.

    Stopping early pays where a network begins to overfit; the best of many moments on few images is
    mostly chance.

    >>> scores = {DialRecipe(0.01, 1): 0.10, DialRecipe(0.01, 2): 0.11, DialRecipe(0.01, 3): 0.20}
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
class DialAccuracy:
    """The accuracies of a cell's seeds where the recipe stops training and at the last step, and
    the mean seconds of a trial.
    """

    accuracy: np.ndarray
    last: np.ndarray
    seconds: float


@dataclasses.dataclass(frozen=True)
class DialResults:
    """All that was measured, with the recipes; cells with fewer than two finished seeds are
    missing. `chance` has the accuracy of the best constant answer on every data set.
    """

    cells: Mapping[DialCell, DialAccuracy]
    recipes: Mapping[DialCell, Choice[DialRecipe]]
    chance: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def accuracy(
        self, place: DialPlace, permuted: bool = False, labels: int = 0
    ) -> np.ndarray | None:
        """The accuracy of each seed, where it was measured."""
        cell = DialCell(place, permuted, labels)
        return self.cells[cell].accuracy if cell in self.cells else None

    def corner(self, source: str, depth: int, name: str) -> DialPlace | None:
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


def measure_all(lab: Lab, s: DialSettings) -> DialResults:
    """Tune, then run everything; a trial that did not stay finite counts as a constant answer."""
    recipes = tune(lab, s)
    measured: dict[DialCell, DialAccuracy] = {}
    for number, part in enumerate([tuning_cells(s), *ladder_cells(s)]):
        trials = {
            cell: result_trials(s, cell, recipes[tuned])
            for cell in part
            if (tuned := DialCell(cell.place, cell.permuted)) in recipes
        }
        cell_rows = run_cells(lab, trials, "fewer labels" if number else "all labels")
        for cell, rows in cell_rows.items():
            if len(rows) >= 2:
                moment = recipes[DialCell(cell.place, cell.permuted)].option.moment
                curves = np.array([_curve(row, s) for row in rows])
                measured[cell] = DialAccuracy(
                    accuracy=curves[:, moment - 1],
                    last=curves[:, -1],
                    seconds=float(np.mean([row["run.seconds"] for row in rows])),
                )
    chance = {source: chance_of(lab, s, source) for source in s.chosen_sources()}
    return DialResults(measured, recipes, chance)


def chance_of(lab: Lab, s: DialSettings, source: str) -> float:
    """The accuracy of the best constant answer.

    >>> round(chance_of(Lab(), DialSettings(), "embedded-digits"), 3)
    0.102
    """
    place = DialPlace(source, 1, GEOMETRIES[source].fields[-1], GEOMETRIES[source].groups[-1])
    return constant_accuracy(lab, trial_of(s, DialCell(place), s.rates[0], 0).task)


def seeds_of(s: DialSettings, cell: DialCell) -> int:
    """How many seeds a cell has: `corner_seeds` where a claim on CIFAR-10 compares corners.

    >>> s = DialSettings(sources=("cifar10",), corner_seeds=24)
    >>> [seeds_of(s, DialCell(DialPlace("cifar10", 1, *place))) for place in ((6, 1), (12, 2))]
    [24, 6]
    """
    place = cell.place
    compared = place.source == "cifar10" and place.name in CORNERS and not cell.labels
    return max(s.seeds, s.corner_seeds) if compared else s.seeds


def result_trials(
    s: DialSettings, cell: DialCell, choice: Choice[DialRecipe] | None = None
) -> list[Trial]:
    """The trials of a cell, one per seed, with the chosen rate (or the first)."""
    rate = s.rates[0] if choice is None else choice.option.rate
    seeds = seeds_from(s.seed, seeds_of(s, cell))
    return trial_of(s, cell, rate, seeds[0]).at_seeds(seeds)


def permutation_gaps(lab: Lab, s: DialSettings) -> dict[str, float]:
    """How far training the FCN is from commuting with a permutation of the pixels, by depth and
    draw; remembered by the laboratory.
    """
    out = {}
    for depth in sorted(set(s.depths)):
        for seed in seeds_from(s.seed, 2):
            inputs = {"depth": depth, "seed": seed}
            out[f"depth {depth}, seed {seed}"] = lab.remember(
                "dial-symmetry", inputs, lambda inputs=inputs: permutation_gap(**inputs)
            )
    return out


def permutation_gap(depth: int, seed: int, units: int = 16, steps: int = 20) -> float:
    """The relative distance between the FCN trained on images and the FCN trained on the same
    images with permuted pixels, from first weights that are permuted alike.

    >>> permutation_gap(depth=1, seed=0) < 1e-9
    True
    """
    data = load("embedded-digits")
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(data.train_y), 96, replace=False)
    with jax.enable_x64(True):
        x = jnp.asarray(np.asarray(data.train_x)[rows].reshape(96, -1, 1) / 16.0, jnp.float64)
        y = jnp.asarray(np.asarray(data.train_y)[rows], jnp.float64)
        pixels = x.shape[1]
        network = FCN(units, depth=depth, outputs=10, offset=True)
        start = network.init(jax.random.key(seed), (pixels, 1))
        start = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), start)
        order = rng.permutation(pixels)
        if depth == 1:
            moved = start._replace(weights=start.weights[..., order])
        else:
            first, *others = start.weights
            moved = start._replace(weights=(first[..., order], *others))
        learner = Learner(0.01, steps, optimizer="adam")
        train = trained_scores(network, learner, (pixels, 1))
        plain = train(start, x[:64], y[:64], x[64:])
        turned = train(moved, x[:64, order], y[:64], x[64:, order])
        return float(jnp.linalg.norm(turned - plain) / jnp.linalg.norm(plain))


def _curve(row: Row, s: DialSettings) -> np.ndarray:
    """The accuracies at the moments after the start; that of guessing after a trial diverged."""
    chance = 1.0 / s.classes(row["task.source"].partition("@")[0])
    moments = row["trace.risk"][1 : s.times + 1]
    return accuracies([*moments, *[None] * (s.times - len(moments))], chance)
