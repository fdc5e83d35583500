"""The trials of the map study: how the network of a place is trained, tuning at every place, then
one threshold search per place.
"""

import functools
import math

from separatrix.engine import Lab, Measure, Trial
from separatrix.inference import SearchPlan
from separatrix.learners import Learner, Ramp
from separatrix.studies.search import Query, SearchResult, find_thresholds
from separatrix.studies.signal_map.network import map_network
from separatrix.studies.signal_map.settings import MapRecipe, MapSettings, Spot
from separatrix.studies.study import seeds_from
from separatrix.studies.tuning import Choice, Tunable, tune_all


def base_rate(spot: Spot, patches: int) -> float:
    """The untuned learning rate: the recipes' 3 (CNN), 1.5k (LCN) and 3k (FCN) at the corners,
    geometrically between them.

    >>> [round(base_rate(Spot(*place), 8), 6) for place in ((1, 1), (1, 8), (8, 8))]
    [3.0, 12.0, 24.0]
    """
    across, up = _shares(spot, patches)
    return 3.0 * spot.groups * 2.0 ** (-up * (1.0 - across))


def base_norm(spot: Spot, patches: int) -> float:
    """The untuned initial norm of a filter: the recipes' .05 where it sees one patch, .7 where it
    sees all, geometrically between.

    >>> [round(base_norm(Spot(*place), 8), 6) for place in ((1, 1), (1, 8), (8, 8))]
    [0.05, 0.05, 0.7]
    """
    return 0.05 * 14.0 ** _shares(spot, patches)[0]


def _shares(spot: Spot, patches: int) -> tuple[float, float]:
    """How far a place is from one patch to all, and from one filter to k filters (log scales)."""
    whole = math.log(max(patches, 2))
    return math.log(spot.field) / whole, math.log(spot.groups) / whole


# Parts are cached, so that the trials of a search share them: a plan looks at each object once.
@functools.lru_cache(maxsize=64)
def _measure(test: int) -> Measure:
    return Measure(("risk",), test=test)


@functools.lru_cache(maxsize=4096)
def _learner(spot: Spot, patches: int, steps: int, bias: float, recipe: MapRecipe) -> Learner:
    return Learner(
        rate=base_rate(spot, patches) * recipe.rate,
        steps=steps,
        projection="ball",
        lsa_bias=Ramp(0.0, bias),
    )


@functools.lru_cache(maxsize=4096)
def _network(spot: Spot, patches: int, bias: float, recipe: MapRecipe):
    return map_network(
        patches, spot.field, spot.groups, bias, min(1.0, base_norm(spot, patches) * recipe.norm)
    )


def map_trial(s: MapSettings, spot: Spot, recipe: MapRecipe, samples: int, seed: int) -> Trial:
    """One trial at a place of the map: projected gradient descent as in the study `signal`.

    >>> map_trial(MapSettings(), Spot(1, 1), MapRecipe(), 8, 0).samples
    8
    """
    network, learner = (
        _network(spot, s.patches, s.bias, recipe),
        _learner(spot, s.patches, s.steps, s.bias, recipe),
    )
    return Trial(s.task, network, learner, samples, seed, _measure(s.test))


def spot_plan(s: MapSettings, spot: Spot) -> SearchPlan:
    """The range and precision of a search.

    It begins near 2σ²(k+d)·(rg)^1.5, a rough guess between the networks' thresholds; where a search
    begins does not decide where it ends.

    >>> spot_plan(MapSettings(), Spot(1, 1)).minimum
    2
    """
    guess = 2.0 * (spot.field * spot.groups) ** 1.5 * s.noise**2 * (s.patches + s.dimension)
    start = float(min(max(guess, 4.0), s.largest))
    return SearchPlan(minimum=2, maximum=s.largest, width=s.width, max_trials=s.trials, start=start)


def tune_map(lab: Lab, s: MapSettings) -> dict[Spot, Choice[MapRecipe]]:
    """The recipe of every place, chosen from one grid with the same effort, on seeds that no result
    uses.
    """
    learners = {spot: _tunable(s, spot) for spot in s.spots()}
    return tune_all(
        lab,
        learners,
        s.recipes(),
        seeds_from(s.seed, s.tune.seeds, purpose=1),
        s.tune.factors,
        s.round,
    )


def _tunable(s: MapSettings, spot: Spot) -> Tunable[MapRecipe]:
    def trial(recipe: MapRecipe, samples: int, seed: int) -> Trial:
        return map_trial(s, spot, recipe, samples, seed)

    return Tunable(trial, lambda row: row["risk"] <= s.target, spot_plan(s, spot))


def measure_map(
    lab: Lab, s: MapSettings, tuned: dict[Spot, Choice[MapRecipe]]
) -> dict[Spot, SearchResult]:
    """The threshold of every place."""
    queries = {spot: spot_query(s, spot, tuned[spot]) for spot in s.spots()}
    return find_thresholds(lab, queries, "map", s.round)


def spot_query(s: MapSettings, spot: Spot, chosen: Choice[MapRecipe]) -> Query:
    """How the threshold of a place is searched.

    >>> spot_query(MapSettings(), Spot(1, 8), Choice(MapRecipe(), {})).trial(8, 0).network.sharing
    8
    """
    return Query(
        lambda samples, seed: map_trial(s, spot, chosen.option, samples, seed),
        lambda row: row["risk"] <= s.target,
        chosen.begin(spot_plan(s, spot)),
        seeds_from(s.seed, 1)[0],
    )
