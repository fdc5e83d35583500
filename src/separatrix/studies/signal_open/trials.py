"""Measuring the open questions: floors, tuning where there is a grid, then one search a threshold."""

from typing import Any

from separatrix.engine import Lab, Trial
from separatrix.inference import SearchPlan
from separatrix.studies.search import Found, Query, find_thresholds
from separatrix.studies.signal.recipes import NETWORKS
from separatrix.studies.signal_open.floors import Floor, floor_of
from separatrix.studies.signal_open.recipes import open_trial
from separatrix.studies.signal_open.settings import OpenKey, OpenSettings
from separatrix.studies.study import seeds_from
from separatrix.studies.tuning import Choice, Tunable, tune_all

Floors = dict[tuple[str, int], Floor]
Tuned = dict[tuple[str, str], Choice[float]]


def measure_floors(lab: Lab, s: OpenSettings) -> Floors:
    """The floor of every variant at every number of patches."""
    return {
        pair: floor_of(lab, s, *pair)
        for pair in dict.fromkeys((key.variant, key.patches) for key in s.wanted())
    }


def target_of(s: OpenSettings, floor: Floor, variant: str) -> float:
    """The risk that counts as success: the floor plus the margin.

    >>> round(target_of(OpenSettings(), Floor(0.04, 0.0, 0.1, ""), "uneven"), 2)
    0.09
    """
    return floor.risk + (s.product_margin if variant == "product" else s.margin)


def key_plan(s: OpenSettings, key: OpenKey) -> SearchPlan:
    """The range and precision of a search, and where it begins: rough multiples of the paper's
    laws, which decide nothing else.

    Local networks cannot express the product, so theirs begins at the largest size.

    >>> key_plan(OpenSettings(), OpenKey("product", "CNN", 8)).start
    2048.0
    """
    k, d, local = key.patches, s.dimension, key.variant == "product" and key.network != "FCN"
    largest = s.product_largest if key.variant == "product" else s.largest
    scale = {"CNN": 1.0 * (k + d), "LCN": 0.8 * k * (k + d)}.get(key.network, 6.0 * k * k * d)
    least = 2 if local else s.least[NETWORKS.index(key.network) if key.network in NETWORKS else -1]
    start = largest if local else min(max(s.noise**2 * scale * 4, 4.0, least), largest)
    return SearchPlan(
        minimum=least, maximum=largest, width=s.width, max_trials=s.trials, start=float(start)
    )


def key_query(s: OpenSettings, key: OpenKey, target: float, chosen: Choice[float]) -> Query:
    """How a threshold is searched.

    >>> key_query(OpenSettings(), OpenKey("uneven", "LCN", 5), 0.1, Choice(1.0, {})).trial(16, 0).samples
    16
    """
    return Query(
        lambda samples, seed: open_trial(s, key, chosen.option, samples, seed),
        lambda row: row["risk"] <= target,
        key_plan(s, key),
        seeds_from(s.seed, 1)[0],
    )


def tune_open(lab: Lab, s: OpenSettings, floors: Floors) -> Tuned:
    """The learning rate of every variant and network, chosen at its first cell from one grid, on
    seeds that no result uses.
    """
    learners: dict[tuple[str, str], Tunable[float]] = {}
    for key in s.wanted():
        learners.setdefault(
            (key.variant, key.network),
            _tunable(s, key, target_of(s, floors[key.variant, key.patches], key.variant)),
        )
    return tune_all(
        lab,
        learners,
        s.tune_rates,
        seeds_from(s.seed, s.tune_seeds, purpose=1),
        s.tune_factors,
        s.round,
    )


def _tunable(s: OpenSettings, key: OpenKey, target: float) -> Tunable[float]:
    def trial(rate: float, samples: int, seed: int) -> Trial:
        return open_trial(s, key, rate, samples, seed)

    return Tunable(trial, lambda row: row["risk"] <= target, key_plan(s, key))


def measure_open(lab: Lab, s: OpenSettings, floors: Floors, tuned: Tuned) -> dict[OpenKey, Found]:
    """Every threshold of the study."""
    queries: dict[Any, Query] = {}
    for key in s.wanted():
        target = target_of(s, floors[key.variant, key.patches], key.variant)
        queries[key] = key_query(s, key, target, tuned[key.variant, key.network])
    found: dict[Any, Found] = find_thresholds(lab, queries, "thresholds", s.round)
    return found
