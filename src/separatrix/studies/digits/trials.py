"""The trials of the study `digits`, and the accuracies that they give."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from separatrix.engine import Lab, Measure, Sweep, Trial
from separatrix.learners import Learner
from separatrix.networks import CNN, FCN, LCN, Network
from separatrix.studies.cells import Row, accuracies, constant_accuracy, run_cells
from separatrix.studies.digits.settings import DigitsSettings
from separatrix.studies.study import seeds_from
from separatrix.tasks import DigitSequenceTask
from separatrix.tasks.digits import LABELS

NETWORKS = ("CNN", "LCN", "FCN")


@dataclasses.dataclass(frozen=True)
class DigitsCell:
    """One point of a figure: the label, the network, the number of digits, and what was varied (""
    for nothing).
    """

    label: str
    network: str
    digits: int
    variation: str = ""


def cells(s: DigitsSettings) -> list[DigitsCell]:
    """Every cell. With three digits both labels are the same, and only the centre's are run.

    >>> len(cells(DigitsSettings())), len(cells(DigitsSettings(variations="fine-stride")))
    (15, 27)
    """
    out = []
    for variation in ("", *s.varied()):
        for label in LABELS:
            for digits in s.variation_digits if variation else s.digits:
                if digits > 3 or label == "centre":
                    out += [DigitsCell(label, name, digits, variation) for name in NETWORKS]
    return out


def network_of(s: DigitsSettings, name: str) -> Network:
    """The three networks: full units, or windows three digits wide with as many filters.

    >>> s = DigitsSettings(height=24, filters=1024)
    >>> [network_of(s, name).parameter_count((24, 40, 1)) for name in ("CNN", "LCN", "FCN")]
    [593921, 1775617, 985089]
    """
    field, stride = (s.height, 3 * s.across), (s.height, s.stride)
    match name:
        case "CNN":
            return CNN(field, s.filters, stride=stride, offset=True)
        case "LCN":
            return LCN(field, s.filters, stride=stride, offset=True)
        case _:
            return FCN(s.filters, offset=True)


def task_of(s: DigitsSettings, cell: DigitsCell) -> DigitSequenceTask:
    """The task of a cell.

    >>> task_of(DigitsSettings(source="embedded-digits"), DigitsCell("ends", "CNN", 5)).apart
    2
    """
    s = s.varied_by(cell.variation)
    return DigitSequenceTask.labelled(
        cell.digits,
        cell.label,
        source=s.chosen_source(),
        height=s.height,
        width=s.across,
        crop=s.crop,
        scaling=s.scaling,
    )


def trials_of(s: DigitsSettings, cell: DigitsCell) -> list[Trial]:
    """The trials of a cell, one per seed; networks with the same seed see the same sequences.

    >>> len(trials_of(DigitsSettings(source="embedded-digits"), DigitsCell("ends", "CNN", 5)))
    4
    """
    learner = Learner(
        s.rate,
        s.steps(cell.digits, cell.variation),
        oracle="online",
        batch=s.batch,
        optimizer="adadelta",
    )
    measure = Measure(test=s.test, times=s.times)
    task, network = task_of(s, cell), network_of(s.varied_by(cell.variation), cell.network)
    seeds = seeds_from(s.seed, s.variation_seeds if cell.variation else s.seeds)
    return [Trial(task, network, learner, 0, seed, measure, s.precision) for seed in seeds]


@dataclasses.dataclass(frozen=True)
class DigitsAccuracy:
    """The accuracies of a cell's seeds at the end and along the way, and the mean seconds of a
    trial.
    """

    accuracy: np.ndarray  # (seeds,)
    steps: np.ndarray  # (moments,)
    curves: np.ndarray  # (seeds, moments): the accuracy at each of `steps`
    seconds: float


@dataclasses.dataclass(frozen=True)
class DigitsResults:
    """The measured cells of one variation; cells with fewer than two finished seeds are missing."""

    cells: Mapping[DigitsCell, DigitsAccuracy]
    chance: float  # the accuracy of the best constant answer
    variation: str = ""

    def accuracy(self, label: str, network: str, digits: int) -> np.ndarray | None:
        """The accuracy of each seed, where the cell was measured; both labels are the same for
        three digits.
        """
        cell = DigitsCell("centre" if digits == 3 else label, network, digits, self.variation)
        return self.cells[cell].accuracy if cell in self.cells else None

    def digits(self, label: str) -> list[int]:
        """The n at which all three networks were measured."""
        known = sorted({cell.digits for cell in self.cells if cell.variation == self.variation})
        return [
            n for n in known if all(self.accuracy(label, name, n) is not None for name in NETWORKS)
        ]

    def of(self, variation: str) -> "DigitsResults":
        """The same measurements, seen from another variation."""
        return dataclasses.replace(self, variation=variation)


def sweep_of(s: DigitsSettings) -> Sweep:
    """All trials.

    >>> len(sweep_of(DigitsSettings(source="embedded-digits")))
    60
    """
    return Sweep(tuple(trial for cell in cells(s) for trial in trials_of(s, cell)))


def measure_all(lab: Lab, s: DigitsSettings) -> DigitsResults:
    """Run every trial; one that did not stay finite counts as a constant answer."""
    chance = constant_accuracy(lab, task_of(s, cells(s)[0]))
    rows = run_cells(lab, {cell: trials_of(s, cell) for cell in cells(s)}, "digits")
    measured = {
        cell: _accuracies(members, chance) for cell, members in rows.items() if len(members) >= 2
    }
    return DigitsResults(measured, chance)


def _accuracies(rows: list[Row], chance: float) -> DigitsAccuracy:
    moments = min(len(row["trace.step"]) for row in rows)
    return DigitsAccuracy(
        accuracy=accuracies((row["risk"] for row in rows), chance),
        steps=np.array(rows[0]["trace.step"][:moments]),
        curves=np.array([accuracies(row["trace.risk"][:moments], chance) for row in rows]),
        seconds=float(np.mean([row["run.seconds"] for row in rows])),
    )
