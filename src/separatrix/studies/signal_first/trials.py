"""The trials of the first experiment: every network on the same samples."""

from separatrix.engine import Lab, Measure, Sweep
from separatrix.studies.cells import Row, run_cells
from separatrix.studies.signal.settings import NETWORKS
from separatrix.studies.signal.trials import SignalRecipe, signal_trial
from separatrix.studies.signal_first.settings import SignalFirstSettings
from separatrix.studies.study import seeds_from
from separatrix.tasks import SignalTask
from separatrix.theory.signal import true_signal_risk

PROBES = ("risk", "train_risk", "patch_alignment", "drift", "signal_gradient")


def task_of(s: SignalFirstSettings) -> SignalTask:
    """The task of the experiment."""
    return SignalTask(s.patches, s.dimension, s.noise)


def baselines_of(s: SignalFirstSettings) -> dict[str, float]:
    """The risks that a reader needs beside every measured risk."""
    return task_of(s).baselines() | {"true signal": true_signal_risk(s.patches, s.noise, s.bias)}


def network_sweeps(s: SignalFirstSettings) -> dict[str, Sweep]:
    """The trials of every network, one per seed."""
    task, recipe = task_of(s), SignalRecipe(bias=s.bias)
    measure = Measure(probes=PROBES, test=8192, times=20)
    seeds = seeds_from(s.seed, s.seeds)
    return {
        name: Sweep(
            tuple(
                signal_trial(task, name, recipe, s.steps, s.samples, seed, measure)
                for seed in seeds
            )
        )
        for name in NETWORKS
    }


def run_networks(lab: Lab, s: SignalFirstSettings) -> dict[str, list[Row]]:
    """The rows of every network with at least two finished trials."""
    rows = run_cells(lab, network_sweeps(s), "signal-first")
    return {name: trials for name, trials in rows.items() if len(trials) >= 2}


def values(rows: list[Row], column: str) -> list[float]:
    """A column of some rows."""
    return [row[column] for row in rows]
