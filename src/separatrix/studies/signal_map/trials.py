"""Measuring the map: tuning at every place, then one threshold search a place."""

from typing import Any

from separatrix.engine import Lab, Trial
from separatrix.inference import SearchPlan
from separatrix.studies.search import Found, Query, find_thresholds
from separatrix.studies.signal_map.settings import MapRecipe, MapSettings, Spot, map_trial
from separatrix.studies.study import seeds_from
from separatrix.studies.tuning import Choice, Tunable, tune_all


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
        seeds_from(s.seed, s.tune_seeds, purpose=1),
        s.tune_factors,
        s.round,
    )


def _tunable(s: MapSettings, spot: Spot) -> Tunable[MapRecipe]:
    def trial(recipe: MapRecipe, samples: int, seed: int) -> Trial:
        return map_trial(s, spot, recipe, samples, seed)

    return Tunable(trial, lambda row: row["risk"] <= s.target, spot_plan(s, spot))


def measure_map(
    lab: Lab, s: MapSettings, tuned: dict[Spot, Choice[MapRecipe]]
) -> dict[Spot, Found]:
    """The threshold of every place."""
    queries: dict[Any, Query] = {spot: spot_query(s, spot, tuned[spot]) for spot in s.spots()}
    found: dict[Any, Found] = find_thresholds(lab, queries, "map", s.round)
    return found


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
