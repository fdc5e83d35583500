"""The trials of the first experiment: tuning, and every network on the same samples."""

from collections.abc import Mapping

from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.studies.cells import Row, run_cells
from separatrix.studies.signal.settings import NETWORKS
from separatrix.studies.signal.trials import (
    SignalRecipe,
    misalignment,
    recipe_neighbours,
    signal_trial,
    tuning_seeds,
)
from separatrix.studies.signal_first.settings import SignalFirstSettings
from separatrix.studies.study import seeds_from
from separatrix.studies.tuning import Choice, tune_until_interior
from separatrix.tasks import SignalTask
from separatrix.theory.signal import true_signal_risk

PROBES = ("risk", "train_risk", "patch_alignment", "drift", "signal_gradient")
# Trials of the tuning measure the same, so that they run in the programs of the results.
MEASURE = Measure(probes=PROBES, test=8192, times=20)
Recipes = Mapping[str, SignalRecipe]


def task_of(s: SignalFirstSettings) -> SignalTask:
    """The task of the experiment."""
    return SignalTask(s.patches, s.dimension, s.noise)


def baselines_of(s: SignalFirstSettings) -> dict[str, float]:
    """The risks that a reader needs beside every measured risk; the network that knows the signal
    has the untuned bias.
    """
    return task_of(s).baselines() | {"true signal": true_signal_risk(s.patches, s.noise, s.bias)}


def network_trials(
    s: SignalFirstSettings, name: str, recipe: SignalRecipe, seeds: range
) -> list[Trial]:
    """The trials of a network at a recipe, one per seed.

    >>> len(network_trials(SignalFirstSettings(), "CNN", SignalRecipe(), range(3)))
    3
    """
    trial = signal_trial(task_of(s), name, recipe, s.steps, s.samples, seeds[0], MEASURE)
    return trial.at_seeds(seeds)


def untuned(s: SignalFirstSettings) -> dict[str, SignalRecipe]:
    """The untuned recipe of every network, from which the tuning begins.

    >>> untuned(SignalFirstSettings())["CNN"].describe()
    'rate x1, bias 0.5, ramp 0.5'
    """
    return dict.fromkeys(NETWORKS, SignalRecipe(bias=s.bias))


def tuning_trials(s: SignalFirstSettings, name: str, recipe: SignalRecipe) -> list[Trial]:
    """The trials on which a recipe of a network is judged.

    >>> len(tuning_trials(SignalFirstSettings(), "FCN", SignalRecipe()))
    2
    """
    return network_trials(s, name, recipe, tuning_seeds(s.tune, name, s.seed))


def tune_networks(lab: Lab, s: SignalFirstSettings) -> dict[str, Choice[SignalRecipe]]:
    """The recipe of every network with the best mean patch alignment, on seeds that no result uses.

    Every network gets the same lattice, the same number of seeds and the same number of moves.
    """
    return tune_until_interior(
        lab,
        NETWORKS,
        SignalRecipe(bias=s.bias),
        lambda recipe: recipe_neighbours(s.tune, recipe),
        lambda name, recipe: tuning_trials(s, name, recipe),
        misalignment,
        s.tune.moves,
        ("patch_alignment",),
    )


def tuning_sweeps(s: SignalFirstSettings) -> dict[str, Sweep]:
    """The first round of every network's tuning: the untuned recipe and its neighbours.

    >>> {name: len(sweep) for name, sweep in tuning_sweeps(SignalFirstSettings()).items()}
    {'tuning CNN': 10, 'tuning LCN': 10, 'tuning FCN': 10}
    """
    return {
        f"tuning {name}": Sweep(
            tuple(trial for recipe in (start, *around) for trial in tuning_trials(s, name, recipe))
        )
        for name, start in untuned(s).items()
        if (around := recipe_neighbours(s.tune, start))
    }


def network_sweeps(s: SignalFirstSettings, recipes: Recipes) -> dict[str, Sweep]:
    """The trials of every network at its recipe, one per seed: all see the same rows."""
    seeds = seeds_from(s.seed, s.seeds)
    return {
        name: Sweep(tuple(network_trials(s, name, recipe, seeds)))
        for name, recipe in recipes.items()
    }


def run_networks(lab: Lab, s: SignalFirstSettings, recipes: Recipes) -> dict[str, list[Row]]:
    """The rows of every network with at least two finished trials."""
    rows = run_cells(lab, network_sweeps(s, recipes), "signal-first")
    return {name: trials for name, trials in rows.items() if len(trials) >= 2}


def values(rows: list[Row], column: str) -> list[float]:
    """A column of some rows."""
    return [row[column] for row in rows]
