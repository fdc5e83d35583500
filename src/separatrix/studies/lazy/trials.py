"""What the study `lazy` computes and trains: kernel regression on three tasks, and finite networks
beside it.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.inference.censored_medians import Amounts
from separatrix.learners import Learner
from separatrix.networks import CNN, FCN, LCN, Network
from separatrix.streams import named
from separatrix.studies.cells import run_cells
from separatrix.studies.lazy.settings import LazySettings
from separatrix.studies.signal.trials import SignalRecipe, signal_learner, signal_network
from separatrix.studies.study import seeds_from
from separatrix.tasks import PatternTask, SignalTask, SphereTask, Task
from separatrix.theory.kernels import KernelSpec, ridge_path, shallow_kernel

NETWORKS = ("CNN", "LCN", "FCN")
CONNECTIVITY = {"CNN": "shared", "LCN": "local", "FCN": "full"}
TASKS = ("cube", "signal", "sphere")
LSA_BIAS = 0.25  # about half of the deviation of a patch's response in the signal task


@dataclasses.dataclass(frozen=True)
class LazyCell:
    """A task at one size, a network, and whether its kernel learns or the network itself."""

    task: str
    size: int
    network: str
    trained: bool = False

    @property
    def label(self) -> str:
        """The cell in words."""
        return f"{self.network} {'trained' if self.trained else 'kernel'}"


def sizes_of(s: LazySettings, task: str) -> tuple[int, ...]:
    """The sizes at which a task is run.

    >>> sizes_of(LazySettings(), "cube")
    (8,)
    """
    return {"cube": s.bits, "signal": s.patches, "sphere": s.sphere}[task]


def task_of(s: LazySettings, task: str, size: int) -> Task:
    """The task at a size.

    >>> task_of(LazySettings(), "signal", 8).shape
    (8, 8)
    """
    match task:
        case "cube":
            return PatternTask(size, s.window, start=(size - s.window) // 2)
        case "signal":
            return SignalTask(size, s.dimension, s.noise)
        case _:
            radius = float(np.sqrt(size))
            return SphereTask(dimension=size, patch=s.patch, noise=0.1, radius=radius)


def kernel_of(s: LazySettings, task: str, network: str) -> KernelSpec:
    """The tangent kernel of a network on a task.

    The cube has a readout for every position, the signal the paper's sum of patches, the sphere one
    readout for all windows. Hidden biases are trained on the cube and the sphere: without them ReLU
    has no odd degrees beyond the first.

    >>> kernel_of(LazySettings(), "cube", "CNN").field
    3
    """
    full = network == "FCN"
    connectivity = CONNECTIVITY[network]
    match task:
        case "cube":
            field = None if full else s.window
            return KernelSpec(connectivity, field, bias_scale=1.0)
        case "signal":
            return KernelSpec(
                connectivity,
                None if full else 1,
                activation="lsa",
                numbers=(("bias", LSA_BIAS),),
                readout="sum",
            )
        case _:
            stride = 1 if full else s.patch
            field = None if full else s.patch
            return KernelSpec(connectivity, field, stride, readout="pooled", bias_scale=1.0)


def kernel_errors(s: LazySettings, task: str, size: int, network: str, seed: int) -> list[float]:
    """The error of kernel ridge regression on fresh rows after every number of samples.

    Training sets are nested. The ridge is chosen on `check_rows` further rows. The error is the
    risk, or for a regression the mean squared error to the noiseless labels over that of their
    mean.

    >>> s = LazySettings(bits=(8,), window=2, samples=(16, 256), test=128)
    >>> few, many = kernel_errors(s, "cube", 8, "LCN", seed=0)
    >>> many < 0.1 < few
    True
    """
    counts = max(s.samples), s.check_rows, s.test
    (train, check, test), clean = _draw(task_of(s, task, size), counts, jax.random.key(seed))
    x, y, judged = (np.asarray(part) for part in (train.x, train.y, check.y))
    inputs = np.concatenate([x, np.asarray(check.x), np.asarray(test.x)])
    # Training sets are nested, so one matrix holds the kernels of all of them.
    kernel = shallow_kernel(kernel_of(s, task, network), inputs, x)
    choosing, fresh = np.split(kernel[len(x) :], [s.check_rows])
    out = []
    for samples in s.samples:
        offset = float(y[:samples].mean()) if clean is not None else 0.0
        path = ridge_path(
            kernel[:samples, :samples],
            y[:samples] - offset,
            check=(choosing[:, :samples], judged - offset),
        )
        guess = fresh[:, :samples].astype(float) @ path.weights + offset
        if clean is None:
            out.append(float(np.mean(np.sign(guess) != np.asarray(test.y))))
        else:
            right = np.asarray(clean)
            out.append(float(np.mean((guess - right) ** 2) / right.var()))
    return out


@functools.partial(jax.jit, static_argnums=(0, 1))
def _draw(made: Task, counts: tuple[int, ...], key: Any) -> Any:
    """The rows that train, choose and test, and the noiseless labels of the last (or None)."""
    truth = made.truth(named(key, "truth"))
    parts = [
        made.draw(named(key, name), count, truth)
        for name, count in zip(("train", "check", "test"), counts)
    ]
    return parts, made.clean(parts[-1].x, truth)


def network_of(s: LazySettings, cell: LazyCell) -> Network:
    """The finite network of a cell.

    >>> network_of(LazySettings(), LazyCell("cube", 8, "CNN")).width
    64
    """
    if cell.task == "signal":
        return signal_network(cell.network, cell.size, 0.5)
    kind = {"CNN": CNN, "LCN": LCN}.get(cell.network)
    return FCN(s.filters) if kind is None else kind(s.window, s.filters)


def trials_of(s: LazySettings, cell: LazyCell) -> list[Trial]:
    """The trials of a trained network: every training set with every seed.

    >>> len(trials_of(LazySettings(), LazyCell("cube", 8, "CNN", trained=True)))
    6
    """
    task, network = task_of(s, cell.task, cell.size), network_of(s, cell)
    measure = Measure(test=s.test, times=10, check_rows=s.check_rows)
    if cell.task == "signal":
        learner = signal_learner(cell.network, cell.size, 200, SignalRecipe())
    else:
        learner = Learner(s.rate, s.steps, loss="hinge", batch=64, optimizer="adam")
    seeds = seeds_from(s.seed, s.seeds)
    return [
        trial
        for samples in s.samples
        for trial in Trial(task, network, learner, samples, seeds[0], measure).at_seeds(seeds)
    ]


def trained_cells(s: LazySettings) -> list[LazyCell]:
    """The cells of trained networks, where the settings ask for them."""
    return [
        LazyCell(task, size, network, trained=True)
        for task in ("cube", "signal")
        for size in sizes_of(s, task)
        for network in NETWORKS
        if s.networks
    ]


def sweep_of(s: LazySettings) -> Sweep:
    """All trials of trained networks.

    >>> len(sweep_of(LazySettings()))
    0
    """
    return Sweep(tuple(trial for cell in trained_cells(s) for trial in trials_of(s, cell)))


Errors = Mapping[LazyCell, np.ndarray]  # (seeds, samples)


def measure_kernels(lab: Lab, s: LazySettings) -> dict[LazyCell, np.ndarray]:
    """The errors of every kernel, one row per seed; remembered by the laboratory."""
    out = {}
    cells = [
        LazyCell(task, size, network)
        for task in TASKS
        for size in sizes_of(s, task)
        for network in NETWORKS
    ]
    for done, cell in enumerate(cells):
        # On the cube both have the same kernel (`sharing_gaps`), so one calculation serves both.
        network = "LCN" if cell.task == "cube" and cell.network == "CNN" else cell.network
        rows = []
        for seed in seeds_from(s.seed, s.seeds):
            inputs: dict[str, Any] = {
                "task": task_of(s, cell.task, cell.size).canonical(),
                "kernel": dataclasses.asdict(kernel_of(s, cell.task, network)),
                "samples": list(s.samples),
                "test": s.test,
                "check_rows": s.check_rows,
                "seed": seed,
            }
            rows.append(
                lab.remember(
                    "kernel-errors",
                    inputs,
                    lambda cell=cell, network=network, seed=seed: kernel_errors(
                        s, cell.task, cell.size, network, seed
                    ),
                )
            )
        out[cell] = np.array(rows)
        lab.report_progress("lazy", done + 1, len(cells))
    return out


def measure_networks(lab: Lab, s: LazySettings) -> dict[LazyCell, np.ndarray]:
    """The risks of trained networks; cells with missing trials are left out, and a trial that did
    not stay finite counts as a coin.
    """
    rows = run_cells(lab, {cell: trials_of(s, cell) for cell in trained_cells(s)}, "lazy")
    out = {}
    for cell, members in rows.items():
        by_place = {(row["samples"], row["seed"]): row["risk"] for row in members}
        places = [[(m, seed) for m in s.samples] for seed in seeds_from(s.seed, s.seeds)]
        if all(place in by_place for line in places for place in line):
            risks = [[by_place[place] for place in line] for line in places]
            out[cell] = np.array(
                [[0.5 if r is None or not np.isfinite(r) else r for r in line] for line in risks]
            )
    return out


def target_of(s: LazySettings, task: str) -> float:
    """The error at which a task counts as learnt."""
    return s.error_target if task == "sphere" else s.risk_target


def amounts_of(s: LazySettings, task: str, errors: np.ndarray) -> Amounts:
    """The samples that each seed needs: between two sizes, or more than the largest.

    >>> s = LazySettings(samples=(32, 128, 512))
    >>> found = amounts_of(s, "cube", np.array([[0.5, 0.4, 0.1], [0.5, 0.5, 0.5]]))
    >>> found.lower.tolist(), found.upper.tolist()
    ([128.0, 512.0], [512.0, inf])
    """
    lower, upper = [], []
    for line in errors:
        reached = np.flatnonzero(line <= target_of(s, task))
        first = int(reached[0]) if reached.size else len(s.samples)
        lower.append(s.samples[first - 1] if first else 1)
        upper.append(s.samples[first] if first < len(s.samples) else np.inf)
    return Amounts.of(np.array(lower, float), np.array(upper, float))


def sharing_gaps(s: LazySettings) -> dict[str, float]:
    """How far the kernels of the CNN and the LCN with a readout for every position differ.

    >>> max(sharing_gaps(LazySettings()).values())
    0.0
    """
    out = {}
    for size in s.bits:
        x = np.random.default_rng([s.seed, size]).choice([-1.0, 1.0], (64, size))
        for trained in ("readout", "both"):
            one, two = (
                shallow_kernel(dataclasses.replace(kernel_of(s, "cube", name), trained=trained), x)
                for name in ("CNN", "LCN")
            )
            out[f"n = {size}, {trained}"] = float(np.abs(one - two).max() / np.abs(two).max())
    return out
