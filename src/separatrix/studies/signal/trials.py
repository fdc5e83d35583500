"""The trials of the sample-complexity study: how networks are trained, tuning in every cell, and
threshold searches.
"""

import dataclasses
import functools
import math
from typing import Any, NamedTuple

from separatrix.engine import Lab, Measure, Trial
from separatrix.inference import SearchPlan, Threshold
from separatrix.learners import Learner, Ramp, Stages, two_step
from separatrix.networks import CNN, FCN, LCN, LSA, Initial, Network
from separatrix.studies.cells import Row
from separatrix.studies.search import (
    Query,
    SearchResult,
    find_thresholds,
)
from separatrix.studies.signal.settings import NETWORKS, SignalSettings, Tuning
from separatrix.studies.study import seeds_from
from separatrix.studies.tuning import Choice, tune_until_interior
from separatrix.tasks import SignalTask
from separatrix.theory.signal import (
    best_linear_risk,
)

PROBES = ("risk", "patch_alignment", "train_risk")
TWO_STEPS = ("two steps as noted", "average, then LSA step")


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


@functools.lru_cache(maxsize=4096)
def two_step_learner(algorithm: str, patches: int, dimension: int, bias: float) -> Learner:
    """The two-step algorithm with the constants of readers' notes, or as an average of labelled
    patches (a step without a threshold) followed by one step through the LSA activation.

    >>> two_step_learner("average, then LSA step", 4, 3, 0.5).lsa_bias
    Stages(first=0.0, later=0.5)
    """
    noted = two_step(patches, dimension)
    if algorithm == TWO_STEPS[0]:
        return noted
    large = 1e3 * patches
    return noted.replace(rate=Stages(large, large), lsa_bias=Stages(0.0, bias))


def two_step_trial(
    task: SignalTask,
    name: str,
    bias: float,
    samples: int,
    seed: int,
    measure: Measure,
    algorithm: str = TWO_STEPS[0],
) -> Trial:
    """One trial of a two-step algorithm, evaluated with an LSA bias of our choice.

    >>> two_step_trial(SignalTask(4, 3, 0.3), "CNN", 0.5, 8, 0, Measure()).learner.steps
    2
    """
    learner = two_step_learner(algorithm, task.patches, task.dimension, bias)
    return Trial(task, _two_step_network(name, task, bias), learner, samples, seed, measure)


@functools.lru_cache(maxsize=4096)
def _two_step_network(name: str, task: SignalTask, bias: float) -> Network:
    tiny = Initial("normal", scale=1.0 / (10 * task.patches * task.dimension))
    return signal_network(name, task.patches, bias).replace(initial=tiny)


class SignalCell(NamedTuple):
    """One cell of the study."""

    regime: str
    network: str
    patches: int
    dimension: int

    def describe(self) -> str:
        """In words, for the names of parts and for notes."""
        return f"{self.network}, {self.regime}, k = {self.patches}, d = {self.dimension}"


class SearchKey(NamedTuple):
    """One search: a cell, how the network learns there, and the target."""

    cell: SignalCell
    learner: str  # "descent", a neighbouring recipe, or a two-step algorithm
    target: str


def signal_cells(s: SignalSettings) -> list[SignalCell]:
    """Every cell of the study.

    >>> len(signal_cells(SignalSettings()))
    15
    """
    return [
        SignalCell(regime, network, *pair)
        for regime in s.regimes
        for network in NETWORKS
        for pair in s.cells(regime, network)
    ]


@functools.lru_cache(maxsize=16)
def _measure(test: int) -> Measure:
    return Measure(PROBES, test=test)


def cell_trial(
    s: SignalSettings, cell: SignalCell, recipe: SignalRecipe, samples: int, seed: int
) -> Trial:
    """One trial of projected gradient descent in a cell.

    >>> cell = SignalCell("root", "FCN", 6, 6)
    >>> cell_trial(SignalSettings(), cell, SignalRecipe(), 8, 0).network.width
    6
    """
    task = s.task(cell.regime, cell.patches, cell.dimension)
    return signal_trial(task, cell.network, recipe, s.steps, samples, seed, _measure(s.test))


def start_size(s: SignalSettings, cell: SignalCell) -> int:
    """Where the search of a cell begins, and the size at which its recipes are compared."""
    return s.start(cell.network, cell.regime, cell.patches, cell.dimension)


def recipe_neighbours(tuning: Tuning, recipe: SignalRecipe) -> list[SignalRecipe]:
    """The recipes next to a recipe on the lattice of learning rates and biases.

    >>> [recipe.rate for recipe in recipe_neighbours(Tuning(), SignalRecipe())]
    [0.5, 2.0]
    """
    if tuning.moves == 0:
        return []
    rates = [recipe.rate / tuning.step, recipe.rate * tuning.step]
    out = [dataclasses.replace(recipe, rate=float(f"{rate:.4g}")) for rate in rates]
    if tuning.bias > 0:
        biases = [round(recipe.bias + sign * tuning.bias, 3) for sign in (-1, 1)]
        out += [dataclasses.replace(recipe, bias=b) for b in biases if 0.04 < b < 1]
    return out


def lattice_in_words(tuning: Tuning) -> str:
    """The lattice of recipes and how it is searched, for notes.

    >>> lattice_in_words(Tuning())[:60]
    'from the untuned recipe to the best neighbour on a lattice o'
    """
    biases = f" and LSA biases ({tuning.bias:g} apart)" if tuning.bias else ""
    return (
        "from the untuned recipe to the best neighbour on a lattice of learning rates (a factor "
        f"{tuning.step:g} apart){biases}, until no neighbour is better, at most {tuning.moves} "
        "moves"
    )


def tuning_seeds(tuning: Tuning, network: str, seed: int) -> range:
    """The seeds on which a network's recipes are compared; no result uses them.

    >>> len(tuning_seeds(Tuning(), "FCN", 0))
    3
    """
    counts = {"LCN": tuning.local_seeds, "FCN": tuning.full_seeds}
    return seeds_from(seed, counts.get(network, tuning.seeds), purpose=1)


def misalignment(row: Row) -> float:
    """How far the patch alignment is from 1; a trial that did not stay finite has alignment 0."""
    aligned = row["patch_alignment"]
    return 1.0 if aligned is None or not math.isfinite(aligned) else 1.0 - aligned


def tune(lab: Lab, s: SignalSettings) -> dict[SignalCell, Choice[SignalRecipe]]:
    """The recipe of every cell, on seeds that no result uses: the one with the best mean patch
    alignment at the size where the search will begin.
    """
    return tune_until_interior(
        lab,
        signal_cells(s),
        SignalRecipe(bias=s.bias),
        lambda recipe: recipe_neighbours(s.tune, recipe),
        lambda cell, recipe: tuning_trials(s, cell, recipe),
        misalignment,
        s.tune.moves,
        ("patch_alignment",),
    )


def tuning_trials(s: SignalSettings, cell: SignalCell, recipe: SignalRecipe) -> list[Trial]:
    """The trials on which a recipe of a cell is judged.

    >>> len(tuning_trials(SignalSettings(), SignalCell("root", "FCN", 6, 6), SignalRecipe()))
    3
    """
    seeds = tuning_seeds(s.tune, cell.network, s.seed)
    return cell_trial(s, cell, recipe, start_size(s, cell), seeds[0]).at_seeds(seeds)


def reaches(s: SignalSettings, cell: SignalCell, target: str) -> Any:
    """The function that says whether a trial's row reaches a target.

    >>> cell = SignalCell("root", "CNN", 6, 6)
    >>> reaches(SignalSettings(), cell, "alignment")({"patch_alignment": 0.9})
    True
    """
    if target == "alignment":
        return lambda row: misalignment(row) <= 1.0 - s.alignment
    limit = s.target(cell.patches, s.sigma(cell.regime, cell.patches))
    return lambda row: row["risk"] is not None and row["risk"] <= limit


def search_plan(s: SignalSettings, cell: SignalCell, few: bool = False) -> SearchPlan:
    """The range and precision of a search; with `few`, of a less precise one.

    >>> search_plan(SignalSettings(), SignalCell("root", "FCN", 6, 6)).start
    476.0
    """
    many = {"CNN": s.search.shared_trials, "FCN": s.search.full_trials}
    trials = many.get(cell.network, s.search.trials)
    # A search that climbs several sizes at once begins below where it is expected to end.
    start = start_size(s, cell) / 2 ** ((s.search.ahead - 1) // 2)
    return SearchPlan(
        minimum=2,
        maximum=s.search.largest,
        width=2 * s.search.width if few else s.search.width,
        max_trials=s.search.few if few else trials,
        start=max(start, 2.0),
        repetitions=s.search.first,
        lookahead=s.search.ahead,
        ratio=s.search.ratio,
    )


def descent_queries(
    s: SignalSettings, tuned: dict[SignalCell, Choice[SignalRecipe]]
) -> dict[SearchKey, Query]:
    """The searches of tuned descent for every cell and target, and at neighbouring rates.

    >>> s = SignalSettings()
    >>> len(descent_queries(s, {cell: Choice(SignalRecipe(), {}) for cell in signal_cells(s)}))
    15
    """
    out: dict[SearchKey, Query] = {}
    for cell, choice in tuned.items():
        recipes = {"descent": choice.option}
        if s.neighbours and cell.regime in s.thorough:
            slower, faster = recipe_neighbours(s.tune, choice.option)[:2]
            recipes |= {"slower": slower, "faster": faster}
        for learner, recipe in recipes.items():
            both = learner == "descent" and cell.regime in s.thorough
            for target in s.targets if both else ("alignment",):
                few = learner != "descent" or target != "alignment"
                out[SearchKey(cell, learner, target)] = Query(
                    functools.partial(cell_trial, s, cell, recipe),
                    reaches(s, cell, target),
                    search_plan(s, cell, few),
                    seeds_from(s.seed, 1)[0],
                )
    return out


def two_step_queries(s: SignalSettings) -> dict[SearchKey, Query]:
    """The searches of the two-step algorithms for the CNN in every cell.

    >>> len(two_step_queries(SignalSettings(two_steps=True)))
    8
    """
    out: dict[SearchKey, Query] = {}
    for cell in signal_cells(s) if s.two_steps else ():
        if cell.network != "CNN":
            continue
        task = s.task(cell.regime, cell.patches, cell.dimension)
        for algorithm in TWO_STEPS:

            def trial(samples: int, seed: int, task=task, cell=cell, algorithm=algorithm) -> Trial:
                return two_step_trial(
                    task, cell.network, s.bias, samples, seed, _measure(s.test), algorithm
                )

            out[SearchKey(cell, algorithm, "alignment")] = Query(
                trial,
                reaches(s, cell, "alignment"),
                search_plan(s, cell, few=True),
                seeds_from(s.seed, 1)[0],
            )
    return out


Searches = dict[SearchKey, SearchResult]


def measure_cells(
    lab: Lab, s: SignalSettings, tuned: dict[SignalCell, Choice[SignalRecipe]]
) -> Searches:
    """Every threshold of the study; all searches share their rounds."""
    queries = {**descent_queries(s, tuned), **two_step_queries(s)}
    return find_thresholds(lab, queries, "thresholds", s.search.round, PROBES)


def not_trained(s: SignalSettings, cell: SignalCell, search: SearchResult) -> bool:
    """Whether a search failed for want of training: no size reached the target, and at the largest
    one the training risk is no better than the best linear rule's.

    >>> import pandas as pd
    >>> from separatrix.inference import Tally, estimate_threshold
    >>> rows = pd.DataFrame({"samples": [64] * 9, "train_risk": [0.4] * 9})
    >>> failed = SearchResult(estimate_threshold([Tally(64, 0, 9)]), rows)
    >>> not_trained(SignalSettings(), SignalCell("root", "FCN", 6, 6), failed)
    True
    """
    return search.failed_to_train(
        best_linear_risk(cell.patches, s.sigma(cell.regime, cell.patches))
    )


Thresholds = dict[tuple[SignalCell, str], Threshold]  # of estimators, by cell and name
