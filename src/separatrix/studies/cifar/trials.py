"""The trials of the study `cifar`, and the accuracies that they give."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.learners import Learner
from separatrix.networks import CNN, FCN, Network
from separatrix.studies.cifar.settings import POOLS, CifarSettings
from separatrix.studies.study import seeds_from
from separatrix.tasks import ImageTask


@dataclasses.dataclass(frozen=True)
class Cell:
    """One point of the figure: the network, its depth (layers with weights) and width, and whether
    pixels are permuted.

    >>> Cell("CNN", 2, 8).permuted
    False
    """

    network: str
    depth: int
    width: int
    permuted: bool = False


def cells(s: CifarSettings) -> list[Cell]:
    """Every cell, the controls last.

    >>> len(cells(CifarSettings()))
    12
    """
    families = (("CNN", s.cnn_widths), ("FCN", s.fcn_widths))
    out = [
        Cell(name, depth, width)
        for name, widths in families
        for depth in s.depths
        for width in widths
    ]
    return out + [
        Cell(name, s.depths[0], max(widths), True) for name, widths in families if s.control
    ]


def classes_of(s: CifarSettings) -> int:
    """How many classes the images have.

    >>> classes_of(CifarSettings(source="embedded-photographs"))
    2
    """
    return 2 if s.chosen_source() == "embedded-photographs" else 10


def network_of(s: CifarSettings, cell: Cell) -> Network:
    """A network of the figure. Convolutions are 3x3 around the image's edges; pooling averages 2x2
    positions.

    >>> s = CifarSettings(source="cifar10")
    >>> [network_of(s, Cell(name, 4, 8)).parameter_count((32, 32, 3)) for name in ("CNN", "FCN")]
    [6522, 24818]
    """
    common: dict[str, Any] = {"outputs": classes_of(s), "offset": True, "depth": cell.depth - 1}
    if cell.network == "CNN":
        pools = POOLS[cell.depth]
        return CNN(
            3, cell.width, border="wrap", pool=pools if len(pools) > 1 else pools[0], **common
        )
    return FCN(cell.width, **common)


def trials_of(s: CifarSettings, cell: Cell) -> list[Trial]:
    """The trials of a cell, one a seed; networks with the same seed see the same rows.

    >>> len(trials_of(CifarSettings(source="embedded-digits"), Cell("CNN", 2, 8)))
    4
    """
    task = ImageTask(s.chosen_source(), classes_of(s), cell.permuted)
    learner = Learner(s.rate, s.steps(), oracle="online", batch=s.batch, optimizer="rmsprop")
    measure = Measure(("risk", "train_risk"), test=s.test, times=s.times)
    network = network_of(s, cell)
    return [
        Trial(task, network, learner, 0, seed, measure, s.precision)
        for seed in seeds_from(s.seed, s.seeds)
    ]


def sweep_of(s: CifarSettings) -> Sweep:
    """All trials.

    >>> len(sweep_of(CifarSettings(source="embedded-digits")))
    48
    """
    return Sweep(tuple(trial for cell in cells(s) for trial in trials_of(s, cell)))


@dataclasses.dataclass(frozen=True)
class Measured:
    """What the seeds of a cell did.

    >>> Measured(350, 700, np.array([0.8, 0.9]), np.array([0.9, 0.9]), 1.0).parameters
    350
    """

    parameters: int
    flops: int  # of a forward pass on one image
    accuracy: np.ndarray
    train_accuracy: np.ndarray  # on the last batch
    seconds: float


def measure_all(lab: Lab, s: CifarSettings) -> tuple[Mapping[Cell, Measured], float]:
    """Run everything; the cells with at least two finished seeds, and the accuracy of the best
    constant answer.
    """
    rows = {row["trial"]: row for row in lab.run(sweep_of(s), "cifar").arrow.to_pylist()}
    chance = 1.0 - ImageTask(s.chosen_source(), classes_of(s)).baselines()["constant"]

    def accuracy(risk: Any) -> float:
        return 1.0 - risk if risk is not None and np.isfinite(risk) else chance

    found = {}
    for cell in cells(s):
        mine = [rows[trial.identity] for trial in trials_of(s, cell) if trial.identity in rows]
        if len(mine) >= 2:
            network = network_of(s, cell)
            found[cell] = Measured(
                network.parameter_count(s.shape),
                network.flops(s.shape),
                np.array([accuracy(row["risk"]) for row in mine]),
                np.array([accuracy(row["train_risk"]) for row in mine]),
                float(np.mean([row["run.seconds"] for row in mine])),
            )
    return found, chance
