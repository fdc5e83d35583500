"""The trials of the study `cifar`, and the accuracies that they give."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.learners import Learner
from separatrix.networks import CNN, FCN, Network
from separatrix.studies.cells import accuracies, constant_accuracy, run_cells
from separatrix.studies.cifar.settings import POOLS, CifarSettings
from separatrix.studies.study import seeds_from
from separatrix.tasks import ImageTask


@dataclasses.dataclass(frozen=True)
class CifarCell:
    """One point of the figure: the network, its depth (layers with weights) and width, and whether
    pixels are permuted.
    """

    network: str
    depth: int
    width: int
    permuted: bool = False


def cells(s: CifarSettings) -> list[CifarCell]:
    """Every cell, the controls last.

    >>> len(cells(CifarSettings()))
    12
    """
    families = (("CNN", s.cnn_widths), ("FCN", s.fcn_widths))
    plain = [
        CifarCell(name, depth, width)
        for name, widths in families
        for depth in s.depths
        for width in widths
    ]
    controls = [
        CifarCell(name, s.depths[0], max(widths), permuted=True)
        for name, widths in families
        if s.control
    ]
    return plain + controls


def classes_of(s: CifarSettings) -> int:
    """How many classes the images have.

    >>> classes_of(CifarSettings(source="embedded-photographs"))
    2
    """
    return 2 if s.chosen_source() == "embedded-photographs" else 10


def network_of(s: CifarSettings, cell: CifarCell) -> Network:
    """A network of the figure. Convolutions are 3x3 around the image's edges; pooling averages 2x2
    positions.

    >>> s = CifarSettings(source="cifar10")
    >>> networks = [network_of(s, CifarCell(name, 4, 8)) for name in ("CNN", "FCN")]
    >>> [network.parameter_count((32, 32, 3)) for network in networks]
    [6522, 24818]
    """
    common: dict[str, Any] = {"outputs": classes_of(s), "offset": True, "depth": cell.depth - 1}
    if cell.network == "CNN":
        pools = POOLS[cell.depth]
        return CNN(
            3, cell.width, border="wrap", pool=pools if len(pools) > 1 else pools[0], **common
        )
    return FCN(cell.width, **common)


def trials_of(s: CifarSettings, cell: CifarCell) -> list[Trial]:
    """The trials of a cell, one per seed; networks with the same seed see the same rows.

    >>> len(trials_of(CifarSettings(source="embedded-digits"), CifarCell("CNN", 2, 8)))
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
class CifarAccuracy:
    """The cost of a cell's network, and the accuracies of its seeds."""

    parameters: int
    flops: int  # of a forward pass on one image
    accuracy: np.ndarray
    train_accuracy: np.ndarray  # on the last batch
    seconds: float


def measure_all(lab: Lab, s: CifarSettings) -> tuple[Mapping[CifarCell, CifarAccuracy], float]:
    """Run every trial.

    Returns:
        The cells with at least two finished seeds, and the accuracy of the best constant answer. A
        trial that did not stay finite counts as a constant answer.
    """
    chance = constant_accuracy(lab, ImageTask(s.chosen_source(), classes_of(s)))
    measured = {}
    for cell, rows in run_cells(lab, {c: trials_of(s, c) for c in cells(s)}, "cifar").items():
        if len(rows) >= 2:
            network = network_of(s, cell)
            measured[cell] = CifarAccuracy(
                parameters=network.parameter_count(s.shape),
                flops=network.flops(s.shape),
                accuracy=accuracies((row["risk"] for row in rows), chance),
                train_accuracy=accuracies((row["train_risk"] for row in rows), chance),
                seconds=float(np.mean([row["run.seconds"] for row in rows])),
            )
    return measured, chance
