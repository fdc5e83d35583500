"""The trials of the map study: the network of a place and how it is trained, tuning at every place,
then one threshold search per place.
"""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from separatrix.engine import Lab, Measure, Trial
from separatrix.errors import ParameterError
from separatrix.inference import SearchPlan
from separatrix.learners import Learner, Ramp
from separatrix.networks import (
    LSA,
    Frame,
    Initial,
    Layout,
    Network,
    Params,
    Patches,
    Windows,
    windows,
)
from separatrix.spec import value
from separatrix.studies.search import Query, SearchResult, find_thresholds
from separatrix.studies.signal_map.settings import MapRecipe, MapSettings, Spot
from separatrix.studies.study import seeds_from
from separatrix.studies.tuning import Choice, Tunable, tune_all

PROBES = ("risk", "train_risk")


class MapNetwork(Network):
    """One unit per patch; unit p looks at the `reach` patches p, p+1, … (around the edge), and the
    units share `sharing` filters.

    It is the function of `Network("shared", 1, field=reach, groups=sharing, border="wrap")`
    (tested), with both numbers as values: one program serves the whole map. For that it is written
    as a full network of one unit per patch, whose weights are the filters put in their places; it
    costs what the full network costs.

    >>> import jax
    >>> network = map_network(patches=4, reach=2, sharing=1, bias=0.5, norm=0.05)
    >>> network.apply(network.init(jax.random.key(0), (4, 3)), jax.numpy.ones((5, 4, 3))).shape
    (5,)
    """

    reach: int = value(low=1, default=1, integer=True)  # patches that a unit sees
    # filters: 1 makes a convolution, one per patch a local network
    sharing: int = value(low=1, default=1, integer=True)

    def check(self) -> None:
        for name, wanted in (
            ("connectivity", "full"),
            ("border", "wrap"),
            ("readout", "sum"),
            ("bias", False),
            ("start", None),
        ):
            if getattr(self, name) != wanted:
                raise ParameterError("MapNetwork", name, repr(wanted), getattr(self, name))
        for name in ("reach", "sharing"):
            if getattr(self, name) > self.width:
                raise ParameterError(
                    "MapNetwork", name, f"at most its units ({self.width})", getattr(self, name)
                )

    def windows(self, shape: tuple[int, ...]) -> Windows:
        """One window, the whole input; what a unit does not see has weight 0."""
        return windows(shape, None, 1)

    def init(
        self, key: Key[Array, ""], shape: tuple[int, ...], within: Frame | None = None
    ) -> Params:
        """Filters of the initial norm on the patches that they see; filters beyond the last group
        are 0.
        """
        params = super().init(key, shape, within)
        weights = params.only_layer.weights
        filters = self._seen(weights) * (jnp.arange(weights.shape[1]) < self.sharing)[None, :, None]
        norm = jnp.linalg.norm(filters, axis=-1, keepdims=True)
        return params._replace(
            weights=filters * (self.initial.scale / jnp.where(norm > 0, norm, 1.0))
        )

    def scores(self, params: Params, patches: Patches, layout: Layout) -> Any:
        """The outputs of the full network whose weights are the filters in their places."""
        placed = self.placed(params.only_layer.weights)
        return super().scores(params._replace(weights=placed), patches, layout)

    def placed(self, filters: Float[Array, "1 units span"]) -> Float[Array, "1 units span"]:
        """The weights of every unit over the whole input."""
        _, units, span = filters.shape
        # A product with zeros and ones, and below a shear by slices: unlike a gather, both have
        # gradients that are sums in a fixed order, also on a GPU.
        member = jax.nn.one_hot(
            np.arange(units) * self.sharing // units, units, dtype=filters.dtype
        )
        tied = (member @ self._seen(filters)[0]).reshape(units, units, span // units)
        # Unit p's filter moves p patches to the right, around the edge: of two copies of each row
        # in a line, read rows that are one shorter, so that each begins one patch earlier than the
        # last.
        line = jnp.concatenate([tied, tied], axis=1).reshape(2 * units * units, span // units)
        return (
            line[units:]
            .reshape(units, 2 * units - 1, span // units)[:, :units]
            .reshape(1, units, span)
        )

    def _seen(self, filters: Float[Array, "1 units span"]) -> Float[Array, "1 units span"]:
        """The filters with zeros beyond their reach; a filter begins at its unit's own patch."""
        _, units, span = filters.shape
        return filters * jnp.repeat(jnp.arange(units) < self.reach, span // units)


def map_network(patches: int, reach: int, sharing: int, bias: float, norm: float) -> MapNetwork:
    """The network at one place of the map, with LSA activation.

    >>> map_network(8, reach=1, sharing=8, bias=0.5, norm=0.05).sharing
    8
    """
    return MapNetwork(
        "full",
        patches,
        activation=LSA(bias),
        readout="sum",
        bias=False,
        initial=Initial("directions", scale=norm),
        border="wrap",
        reach=reach,
        sharing=sharing,
    )


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
    return Measure(PROBES, test=test)


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
    return find_thresholds(lab, queries, "map", s.round, PROBES)


def spot_query(s: MapSettings, spot: Spot, chosen: Choice[MapRecipe]) -> Query:
    """How the threshold of a place is searched.

    >>> spot_query(MapSettings(), Spot(1, 6), Choice(MapRecipe(), {})).trial(8, 0).network.sharing
    6
    """
    return Query(
        lambda samples, seed: map_trial(s, spot, chosen.option, samples, seed),
        lambda row: row["risk"] <= s.target,
        chosen.begin(spot_plan(s, spot)),
        seeds_from(s.seed, 1)[0],
    )
