"""Measuring the study's thresholds: tuning first, then the searches, then the estimators that are
not networks.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from separatrix.engine import Lab, Measure, Sweep
from separatrix.inference import SearchPlan, Threshold, estimate_threshold, propose, tally
from separatrix.studies.search import Found, Query, find_thresholds
from separatrix.studies.signal.recipes import (
    NETWORKS,
    Recipe,
    recipe_grid,
    signal_trial,
    two_step_trial,
)
from separatrix.studies.signal.settings import SignalSettings
from separatrix.studies.study import seeds_from
from separatrix.tasks import SignalTask
from separatrix.theory.signal import ESTIMATORS, bounds_for, estimator_risk

Estimators = dict[
    tuple[str, str, int, int], Threshold
]  # by sharing, estimator, patches and dimension
PROBES = ("risk", "alignment")
ROUGH_RATES = (0.33, 1.0)
BEGIN = {"CNN": 0.5, "LCN": 0.5, "FCN": 8.0}  # factors on the bounds
ROUGH_TRIALS = 24  # of a rough threshold: enough to bracket it


class Tuned(NamedTuple):
    """The recipe chosen for a network in a regime, and how every recipe of the grid did at one
    number of patches: mean risk.

    >>> Tuned(Recipe(), {Recipe(): 0.1}).recipe.rate
    1.0
    """

    recipe: Recipe
    scores: dict[Recipe, float]


class CellKey(NamedTuple):
    """One cell of the study.

    >>> CellKey("fixed", "CNN", 8, 8).network
    'CNN'
    """

    regime: str
    network: str
    patches: int
    dimension: int


class TuningKey(NamedTuple):
    """Where a recipe is chosen: once for each regime, network and (with `tune_each`) number of
    patches.

    >>> TuningKey("fixed", "CNN", 8).patches
    8
    """

    regime: str
    network: str
    patches: int


def tuning_keys(s: SignalSettings) -> list[TuningKey]:
    """Every place at which a recipe is chosen.

    >>> len(tuning_keys(SignalSettings())), len(tuning_keys(SignalSettings(tune_each=True)))
    (3, 9)
    """
    keys = [
        TuningKey(regime, network, s.tuned_patches(network, patches))
        for regime in s.regimes
        for network in NETWORKS
        for patches, _ in s.cells(network)
    ]
    return list(dict.fromkeys(keys))


def tuning_sweep(s: SignalSettings, key: TuningKey, about: float) -> dict[Recipe, Sweep]:
    """The trials on which a network is tuned: the whole grid at one cell, at sizes `about` the
    untuned threshold, on tuning seeds.

    >>> sum(len(sweep) for sweep in tuning_sweep(SignalSettings(), TuningKey("fixed", "CNN", 8), 8.0).values())
    36
    """
    regime, network, _ = key
    patches, dimension = s.tuned_cell(network, key.patches)
    task, measure = s.task(regime, patches, dimension), Measure(PROBES, test=s.test)
    seeds = seeds_from(s.seed, s.tune_seeds, purpose=1)
    sizes = sorted({max(2, min(s.largest, round(factor * about))) for factor in (0.5, 1.0, 2.0)})
    return {
        recipe: Sweep(
            tuple(
                trial
                for samples in sizes
                for trial in signal_trial(
                    task, network, recipe, s.steps, samples, 0, measure
                ).at_seeds(seeds)
            )
        )
        for recipe in recipe_grid(s.tune_rates, s.tune_biases, s.tune_ramps)
    }


class RoughKey(NamedTuple):
    """A rough search before tuning: what is tuned, and with which factor on the learning rate.

    >>> RoughKey(TuningKey("fixed", "CNN", 8), 1.0).rate
    1.0
    """

    tuned: TuningKey
    rate: float


def rough_queries(s: SignalSettings) -> dict[RoughKey, Query]:
    """Searches for the rough thresholds about which networks are tuned, on seeds that no result
    uses.

    With `tune_each` for a lower learning rate as well, since a rate that suits few patches can
    diverge with many.

    >>> [key.tuned.network for key in rough_queries(SignalSettings())]
    ['CNN', 'LCN', 'FCN']
    """
    first_seed = seeds_from(s.seed, 1, purpose=1)[0]
    out = {}
    for key in tuning_keys(s):
        for rate in ROUGH_RATES if s.tune_each else (1.0,):
            query = cell_query(
                s,
                CellKey(key.regime, key.network, *s.tuned_cell(key.network, key.patches)),
                Recipe(rate, bias=s.bias),
            )
            plan = dataclasses.replace(query.plan, width=1.2, max_trials=ROUGH_TRIALS)
            out[RoughKey(key, rate)] = dataclasses.replace(query, plan=plan, first_seed=first_seed)
    return out


def tune(lab: Lab, s: SignalSettings, rough: Mapping[RoughKey, Found]) -> dict[TuningKey, Tuned]:
    """Choose a recipe for every network and regime, with the same effort for each, on seeds that no
    result uses.

    Every recipe is tried at half, once and twice the smaller of the rough thresholds, and the
    lowest mean risk wins.
    """
    abouts = {
        key: [_about(found.threshold) for each, found in rough.items() if each.tuned == key]
        for key in tuning_keys(s)
    }
    sweeps = {key: tuning_sweep(s, key, min(about)) for key, about in abouts.items() if about}
    table = lab.run(
        Sweep(
            tuple(trial for grid in sweeps.values() for sweep in grid.values() for trial in sweep)
        ),
        "tuning: grid",
    )
    risk = (
        {row["trial"]: row["risk"] for row in table.arrow.select(["trial", "risk"]).to_pylist()}
        if len(table)
        else {}
    )
    scores: dict[TuningKey, dict[Recipe, float]] = {}
    for key, grid in sweeps.items():
        risks = {
            recipe: [risk[trial.identity] for trial in sweep if trial.identity in risk]
            for recipe, sweep in grid.items()
        }
        scores[key] = {
            recipe: float(np.mean(each)) if each else math.inf for recipe, each in risks.items()
        }
    return {
        key: Tuned(_jointly_best(s, key, scores), scores.get(key, {})) for key in tuning_keys(s)
    }


def _jointly_best(
    s: SignalSettings, key: TuningKey, scores: dict[TuningKey, dict[Recipe, float]]
) -> Recipe:
    """The recipe with the lowest risk on average over every number of patches at which this network
    was tuned in this regime.

    One recipe for all: recipes chosen cell by cell would differ by luck, and the thresholds with
    them.
    """
    mine = [
        each
        for other, each in scores.items()
        if (other.regime, other.network) == (key.regime, key.network)
    ]
    if not mine:
        return Recipe(bias=s.bias)
    mean = {recipe: float(np.mean([each[recipe] for each in mine])) for recipe in mine[0]}
    return min(mean, key=lambda recipe: (mean[recipe], recipe != Recipe()))


def _about(threshold: Threshold) -> float:
    """A threshold as a scale, whatever censors it."""
    for value in (threshold.estimate, threshold.low, threshold.high):
        if math.isfinite(value) and value > 0:
            return value
    return 2.0


def cell_query(s: SignalSettings, cell: CellKey, recipe: Recipe) -> Query:
    """How a cell's threshold is searched: from few samples upwards, on a √2 grid.

    >>> cell_query(SignalSettings(), CellKey("fixed", "CNN", 8, 8), Recipe()).plan.minimum
    2
    """
    task = s.task(cell.regime, cell.patches, cell.dimension)
    target, measure = s.target(cell.patches, task.noise), Measure(PROBES, test=s.test)
    return Query(
        lambda samples, seed: signal_trial(
            task, cell.network, recipe, s.steps, samples, seed, measure
        ),
        lambda row: row["risk"] <= target,
        search_plan(s, cell.network, cell.patches, cell.dimension, task.noise),
        seeds_from(s.seed, 1)[0],
    )


def search_plan(
    s: SignalSettings, network: str, patches: int, dimension: int, noise: float
) -> SearchPlan:
    """The range and precision of a search; it begins where the paper's bound puts the scale, with
    constants near what earlier runs found.

    Where a search begins decides how soon it ends, and not where.

    >>> search_plan(SignalSettings(), "FCN", 8, 8, 0.3).maximum
    16384
    """
    guess = BEGIN[network] * max(
        bound.value(patches, dimension, noise) for bound in bounds_for(network)
    )
    start = float(min(max(guess, 2.0), s.largest))
    width, trials = (s.full_width, s.full_trials) if network == "FCN" else (s.width, s.trials)
    return SearchPlan(minimum=2, maximum=s.largest, width=width, max_trials=trials, start=start)


def measure_cells(
    lab: Lab, s: SignalSettings, tuned: dict[TuningKey, Tuned]
) -> dict[CellKey, Found]:
    """The threshold of every cell of every regime."""
    cells = [
        CellKey(regime, network, *cell)
        for regime in s.regimes
        for network in NETWORKS
        for cell in s.cells(network)
    ]
    queries: dict[Any, Query] = {}
    for cell in cells:
        key = TuningKey(cell.regime, cell.network, s.tuned_patches(cell.network, cell.patches))
        queries[cell] = cell_query(s, cell, tuned[key].recipe)
    found: dict[Any, Found] = find_thresholds(lab, queries, "thresholds", s.round, PROBES)
    return found


def two_step_queries(s: SignalSettings) -> dict[CellKey, Query]:
    """The searches of the paper's two-step algorithm for the CNN and the LCN at the base cell of
    the first regime.

    >>> [cell.network for cell in two_step_queries(SignalSettings())]
    ['CNN', 'LCN']
    """
    regime = s.regimes[0]
    cells = [
        CellKey(regime, network, s.base_patches, s.base_dimension) for network in ("CNN", "LCN")
    ]
    return {
        cell: _two_step_query(s, cell, s.task(regime, cell.patches, cell.dimension))
        for cell in cells
    }


def _two_step_query(s: SignalSettings, cell: CellKey, task: SignalTask) -> Query:
    target, measure = s.target(cell.patches, task.noise), Measure(PROBES, test=s.test)
    return Query(
        lambda samples, seed: two_step_trial(task, cell.network, s.bias, samples, seed, measure),
        lambda row: row["risk"] <= target,
        search_plan(s, cell.network, cell.patches, cell.dimension, task.noise),
        seeds_from(s.seed, 1)[0],
    )


def measure_estimators(lab: Lab, s: SignalSettings) -> Estimators:
    """Thresholds of the genie, expectation-maximisation and the average, shared and local, at the
    cells of the first regime.
    """
    out = {}
    for sharing, network in (("shared", "CNN"), ("local", "LCN")):
        for patches, dimension in s.cells(network):
            for estimator in ESTIMATORS:
                given = {
                    "estimator": estimator,
                    "sharing": sharing,
                    "patches": patches,
                    "dimension": dimension,
                    "seed": s.seed,
                    "noise": s.sigma(s.regimes[0], patches),
                    "bias": s.bias,
                    "margin": s.margin,
                    "trials": s.estimator_seeds,
                    "width": s.width,
                }
                rows = lab.remember(
                    "estimator", given, lambda given=given: search_estimator(s, **given)
                )
                out[sharing, estimator, patches, dimension] = estimate_threshold(_tallies(rows))
    return out


def search_estimator(s: SignalSettings, **given: Any) -> list[list[float]]:
    """The outcomes [samples, success] of a threshold search with an estimator in place of a
    network.

    >>> small = {"estimator": "genie", "sharing": "shared", "patches": 4, "dimension": 4, "noise": 0.3, "bias": 0.5, "seed": 0}
    >>> outcomes = search_estimator(SignalSettings(), **small, margin=0.05, trials=10, width=1.0)
    >>> {success for _, success in outcomes} <= {0.0, 1.0}
    True
    """
    target = s.target(given["patches"], given["noise"], given["margin"])
    plan = SearchPlan(
        minimum=2, maximum=s.largest, width=given["width"], max_trials=given["trials"]
    )
    outcomes: list[list[float]] = []
    first = seeds_from(s.seed, 1)[0]
    while proposals := propose(_tallies(outcomes) if outcomes else [], 16, plan):
        for resource, repetitions in proposals:
            used = sum(1 for samples, _ in outcomes if samples == resource)
            for index in range(used, used + repetitions):
                risk = estimator_risk(
                    given["estimator"],
                    given["sharing"],
                    given["patches"],
                    given["dimension"],
                    given["noise"],
                    given["bias"],
                    int(resource),
                    first + index,
                )
                outcomes.append([resource, float(risk <= target)])
    return outcomes


def _tallies(outcomes: list[list[float]]) -> Any:
    return tally([samples for samples, _ in outcomes], [bool(success) for _, success in outcomes])
