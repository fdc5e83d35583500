"""The trials of the sample-complexity study: how networks are trained, tuning, threshold searches,
and the estimators that are not networks.
"""

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.inference import SearchPlan, Threshold, estimate_threshold, propose, tally
from separatrix.learners import Learner, Ramp, two_step
from separatrix.networks import CNN, FCN, LCN, LSA, Initial, Network
from separatrix.studies.search import Query, SearchResult, find_thresholds
from separatrix.studies.signal.settings import NETWORKS, SignalSettings
from separatrix.studies.signal_map.settings import MapRecipe, MapSettings, MapTuning, Spot
from separatrix.studies.signal_map.trials import spot_query
from separatrix.studies.study import seeds_from
from separatrix.studies.tuning import Choice, Tunable, choose, grid_of, mean_risks, scale_of
from separatrix.tasks import SignalTask
from separatrix.theory.signal import ESTIMATORS, bounds_for, estimator_risk

# Thresholds by sharing, estimator, patches and dimension
EstimatorThresholds = dict[tuple[str, str, int, int], Threshold]
PROBES = ("risk", "alignment")
ROUGH_RATES = (0.33, 1.0)
BEGIN = {"CNN": 0.5, "LCN": 0.5, "FCN": 8.0}  # factors on the bounds
ROUGH_TRIALS = 24  # of a rough threshold: enough to bracket it
TUNING_FACTORS = (0.5, 1.0, 2.0)  # sizes at which recipes are compared, over the rough threshold


@dataclasses.dataclass(frozen=True)
class SignalRecipe:
    """How a network is trained: factors on the base learning rate, the LSA bias, and the share of
    steps over which it is ramped up.

    The base rates are 3 (CNN), 1.5k (LCN) and 3k (FCN): one filter's gradient shrinks with the
    number of patches that it must serve. The initial norms of a filter are .05, .05 and .7.

    >>> SignalRecipe().describe()
    'rate x1, bias 0.5, ramp 0.5'
    """

    rate: float = 1.0
    bias: float = 0.5
    ramp: float = 0.5

    def describe(self) -> str:
        """In words, for tables."""
        return f"rate x{self.rate:g}, bias {self.bias:g}, ramp {self.ramp:g}"


@functools.lru_cache(maxsize=4096)
def signal_network(name: str, patches: int, bias: float) -> Network:
    """The paper's networks on patches: one filter, a filter per patch, or one full unit per patch.

    >>> [signal_network(name, 10, 0.5).parameter_count((10, 20)) for name in NETWORKS]
    [20, 200, 2000]
    """
    common: dict[str, Any] = {"activation": LSA(bias), "readout": "sum", "bias": False}
    small, large = Initial("directions", scale=0.05), Initial("directions", scale=0.7)
    match name:
        case "CNN":
            return CNN(field=1, initial=small, **common)
        case "LCN":
            return LCN(field=1, initial=small, **common)
        case _:
            return FCN(width=patches, initial=large, **common)


@functools.lru_cache(maxsize=4096)
def signal_learner(name: str, patches: int, steps: int, recipe: SignalRecipe) -> Learner:
    """Projected gradient descent: logistic loss, the whole batch, the unit ball, the LSA bias
    ramped up from 0.

    >>> signal_learner("LCN", 10, 200, SignalRecipe()).rate
    Constant(level=15.0)
    """
    base = {"CNN": 3.0, "LCN": 1.5 * patches, "FCN": 3.0 * patches}[name]
    ramp = Ramp(0.0, recipe.bias, share=recipe.ramp)
    return Learner(rate=base * recipe.rate, steps=steps, projection="ball", lsa_bias=ramp)


def signal_trial(
    task: SignalTask,
    name: str,
    recipe: SignalRecipe,
    steps: int,
    samples: int,
    seed: int,
    measure: Measure,
) -> Trial:
    """One trial of a signal study.

    >>> signal_trial(SignalTask(4, 3, 0.3), "CNN", SignalRecipe(), 10, 8, 0, Measure()).samples
    8
    """
    learner = signal_learner(name, task.patches, steps, recipe)
    return Trial(
        task, signal_network(name, task.patches, recipe.bias), learner, samples, seed, measure
    )


def two_step_trial(
    task: SignalTask, name: str, bias: float, samples: int, seed: int, measure: Measure
) -> Trial:
    """One trial of the paper's two-step algorithm, evaluated with an LSA bias of our choice.

    >>> two_step_trial(SignalTask(4, 3, 0.3), "CNN", 0.5, 8, 0, Measure()).learner.steps
    2
    """
    tiny = Initial("normal", scale=1.0 / (10 * task.patches * task.dimension))
    network = signal_network(name, task.patches, bias).replace(initial=tiny)
    return Trial(task, network, two_step(task.patches, task.dimension), samples, seed, measure)


def recipe_grid(
    rates: tuple[float, ...], biases: tuple[float, ...], ramps: tuple[float, ...]
) -> list[SignalRecipe]:
    """The same grid for every network.

    >>> len(recipe_grid((0.3, 1.0, 3.0), (0.35, 0.5), (0.5,)))
    6
    """
    return [SignalRecipe(*recipe) for recipe in itertools.product(rates, biases, ramps)]


class SignalCell(NamedTuple):
    """One cell of the study."""

    regime: str
    network: str
    patches: int
    dimension: int


class TuningKey(NamedTuple):
    """Where a recipe is chosen: once for each regime, network and (with `tune.each`) number of
    patches.
    """

    regime: str
    network: str
    patches: int


def tuning_keys(s: SignalSettings) -> list[TuningKey]:
    """Every place at which a recipe is chosen.

    >>> s = SignalSettings()
    >>> len(tuning_keys(s)), len(tuning_keys(s.replace(tune={"each": True})))
    (3, 9)
    """
    keys = [
        TuningKey(regime, network, s.tuned_patches(network, patches))
        for regime in s.regimes
        for network in NETWORKS
        for patches, _ in s.cells(network)
    ]
    return list(dict.fromkeys(keys))


def tunable(s: SignalSettings, key: TuningKey) -> Tunable[SignalRecipe]:
    """How the trials on which a network is tuned are made."""
    task = s.task(key.regime, *s.tuned_cell(key.network, key.patches))
    measure = Measure(PROBES, test=s.test)

    def trial(recipe: SignalRecipe, samples: int, seed: int) -> Trial:
        return signal_trial(task, key.network, recipe, s.steps, samples, seed, measure)

    return Tunable(trial, bool, SearchPlan(minimum=2, maximum=s.largest))


def tuning_grid(s: SignalSettings, key: TuningKey, about: float) -> dict[SignalRecipe, Sweep]:
    """The trials on which a network is tuned: the whole grid at one cell, at sizes `about` the
    untuned threshold, on tuning seeds.

    >>> grid = tuning_grid(SignalSettings(), TuningKey("fixed", "CNN", 8), 8.0)
    >>> sum(len(sweep) for sweep in grid.values())
    36
    """
    recipes = recipe_grid(s.tune.rates, s.tune.biases, s.tune.ramps)
    seeds = seeds_from(s.seed, s.tune.seeds, purpose=1)
    return grid_of(tunable(s, key), recipes, seeds, TUNING_FACTORS, about)


class RoughKey(NamedTuple):
    """A rough search before tuning: what is tuned, and with which factor on the learning rate."""

    tuned: TuningKey
    rate: float


def rough_queries(s: SignalSettings) -> dict[RoughKey, Query]:
    """Searches for the rough thresholds about which networks are tuned, on seeds that no result
    uses.

    With `tune.each` for a lower learning rate as well, since a rate that suits few patches can
    diverge with many.

    >>> [key.tuned.network for key in rough_queries(SignalSettings())]
    ['CNN', 'LCN', 'FCN']
    """
    first_seed = seeds_from(s.seed, 1, purpose=1)[0]
    out = {}
    for key in tuning_keys(s):
        for rate in ROUGH_RATES if s.tune.each else (1.0,):
            query = cell_query(
                s,
                SignalCell(key.regime, key.network, *s.tuned_cell(key.network, key.patches)),
                SignalRecipe(rate, bias=s.bias),
            )
            plan = dataclasses.replace(query.plan, width=1.2, max_trials=ROUGH_TRIALS)
            out[RoughKey(key, rate)] = dataclasses.replace(query, plan=plan, first_seed=first_seed)
    return out


def tune(
    lab: Lab, s: SignalSettings, rough: Mapping[RoughKey, SearchResult]
) -> dict[TuningKey, Choice[SignalRecipe]]:
    """Choose a recipe for every network and regime, with the same effort for each, on seeds that no
    result uses.

    Every recipe is tried at half, once and twice the smaller of the rough thresholds, and the
    lowest mean risk wins. A network has one recipe for all numbers of patches in a regime: recipes
    chosen cell by cell would differ by luck, and the thresholds with them.
    """
    keys = tuning_keys(s)
    scales: dict[TuningKey, list[float]] = {key: [] for key in keys}
    for key, result in rough.items():
        scales[key.tuned].append(scale_of(result.threshold))
    grids = {key: tuning_grid(s, key, min(about)) for key, about in scales.items() if about}
    untuned = SignalRecipe(bias=s.bias)
    return choose(mean_risks(lab, grids), keys, untuned, lambda key: (key.regime, key.network))


def cell_query(s: SignalSettings, cell: SignalCell, recipe: SignalRecipe) -> Query:
    """How a cell's threshold is searched: from few samples upwards, on a √2 grid.

    >>> cell_query(SignalSettings(), SignalCell("fixed", "CNN", 8, 8), SignalRecipe()).plan.minimum
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
    """The range and precision of a search.

    It begins at the scale of the paper's bound, with constants near the thresholds of earlier runs.
    The start decides how soon a search ends, not what it finds.

    >>> search_plan(SignalSettings(), "FCN", 8, 8, 0.3).maximum
    16384
    """
    guess = BEGIN[network] * max(
        bound.value(patches, dimension, noise) for bound in bounds_for(network)
    )
    start = float(min(max(guess, 2.0), s.largest))
    lines = s.lines(network)
    return SearchPlan(
        minimum=2, maximum=s.largest, width=lines.width, max_trials=lines.trials, start=start
    )


def measure_cells(
    lab: Lab, s: SignalSettings, tuned: dict[TuningKey, Choice[SignalRecipe]]
) -> dict[SignalCell, SearchResult]:
    """The threshold of every cell of every regime."""
    cells = [
        SignalCell(regime, network, *cell)
        for regime in s.regimes
        for network in NETWORKS
        for cell in s.cells(network)
    ]
    queries: dict[Any, Query] = {}
    for cell in cells:
        key = TuningKey(cell.regime, cell.network, s.tuned_patches(cell.network, cell.patches))
        queries[cell] = cell_query(s, cell, tuned[key].option)
    return find_thresholds(lab, queries, "thresholds", s.round, PROBES)


def two_step_queries(s: SignalSettings) -> dict[SignalCell, Query]:
    """The searches of the paper's two-step algorithm for the CNN and the LCN at the base cell of
    the first regime.

    >>> [cell.network for cell in two_step_queries(SignalSettings())]
    ['CNN', 'LCN']
    """
    regime = s.regimes[0]
    cells = [
        SignalCell(regime, network, s.base_patches, s.base_dimension) for network in ("CNN", "LCN")
    ]
    return {
        cell: _two_step_query(s, cell, s.task(regime, cell.patches, cell.dimension))
        for cell in cells
    }


def _two_step_query(s: SignalSettings, cell: SignalCell, task: SignalTask) -> Query:
    target, measure = s.target(cell.patches, task.noise), Measure(PROBES, test=s.test)
    return Query(
        lambda samples, seed: two_step_trial(task, cell.network, s.bias, samples, seed, measure),
        lambda row: row["risk"] <= target,
        search_plan(s, cell.network, cell.patches, cell.dimension, task.noise),
        seeds_from(s.seed, 1)[0],
    )


def measure_estimators(lab: Lab, s: SignalSettings) -> EstimatorThresholds:
    """Thresholds of the genie, expectation-maximisation and the average, shared and local, at the
    cells of the first regime.
    """
    thresholds = {}
    for sharing, network in (("shared", "CNN"), ("local", "LCN")):
        for (patches, dimension), estimator in itertools.product(s.cells(network), ESTIMATORS):
            parameters = {
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
            outcomes = lab.remember(
                "estimator", parameters, lambda given=parameters: search_estimator(s, **given)
            )
            thresholds[sharing, estimator, patches, dimension] = estimate_threshold(
                _tallies(outcomes)
            )
    return thresholds


def search_estimator(
    s: SignalSettings,
    *,
    estimator: str,
    sharing: str,
    patches: int,
    dimension: int,
    seed: int,
    noise: float,
    bias: float,
    margin: float,
    trials: int,
    width: float,
) -> list[list[float]]:
    """The outcomes [samples, success] of a threshold search with an estimator in place of a
    network.

    >>> parameters = {"patches": 4, "dimension": 4, "noise": 0.3, "bias": 0.5, "margin": 0.05}
    >>> search = {"seed": 0, "trials": 10, "width": 1.0}
    >>> outcomes = search_estimator(
    ...     SignalSettings(), estimator="genie", sharing="shared", **parameters, **search
    ... )
    >>> {success for _, success in outcomes} <= {0.0, 1.0}
    True
    """
    target = s.target(patches, noise, margin)
    plan = SearchPlan(minimum=2, maximum=s.largest, width=width, max_trials=trials)
    outcomes: list[list[float]] = []
    first = seeds_from(seed, 1)[0]
    while proposals := propose(_tallies(outcomes) if outcomes else [], 16, plan):
        for resource, repetitions in proposals:
            used = sum(1 for samples, _ in outcomes if samples == resource)
            for index in range(used, used + repetitions):
                risk = estimator_risk(
                    estimator,
                    sharing,
                    patches,
                    dimension,
                    noise,
                    bias,
                    int(resource),
                    first + index,
                )
                outcomes.append([resource, float(risk <= target)])
    return outcomes


def _tallies(outcomes: list[list[float]]) -> Any:
    return tally([samples for samples, _ in outcomes], [bool(success) for _, success in outcomes])


def map_settings(s: SignalSettings) -> MapSettings | None:
    """The settings of the sketch; None where the study draws no map.

    >>> map_settings(SignalSettings()).spots()[-1]
    Spot(field=4, groups=4)
    """
    if not s.map_places:
        return None
    size = max(s.map_places)
    return MapSettings(
        patches=size,
        dimension=size,
        fields=s.map_places,
        groups=s.map_places,
        noise=s.noise,
        bias=s.bias,
        margin=s.margin,
        width=1.4,
        trials=20,
        round=s.round,
        largest=2048,
        test=512,
        tune=MapTuning(rates=(1.0,)),
        seed=s.seed,
    )


def sketch_queries(s: SignalSettings) -> dict[Spot, Query]:
    """The searches of the sketch; none where the study draws no map.

    >>> len(sketch_queries(SignalSettings()))
    9
    """
    m = map_settings(s)
    return (
        {}
        if m is None
        else {spot: spot_query(m, spot, Choice(MapRecipe(), {})) for spot in m.spots()}
    )
