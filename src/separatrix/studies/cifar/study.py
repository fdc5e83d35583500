"""Study `cifar`: accuracy against the number of parameters."""

from collections.abc import Mapping

from separatrix.data import EMBEDDED
from separatrix.engine import Lab, Sweep
from separatrix.inference.intervals import accuracy_over_seeds
from separatrix.notes import Note
from separatrix.studies.cifar.settings import SCALES, CifarSettings
from separatrix.studies.cifar.trials import Cell, Measured, cells, measure_all, sweep_of
from separatrix.studies.cifar.verdicts import CNN_AHEAD, cnn_ahead
from separatrix.studies.outcome import Axis, Figure, Outcome, Series, TableData
from separatrix.studies.study import Study


class CifarStudy(Study[CifarSettings]):
    """Figure 1 of Malach & Shalev-Shwartz: CNN and FCN of several depths and widths.

    >>> CifarStudy().name
    'cifar'
    """

    name = "cifar"
    title = "Accuracy against the number of parameters"
    summary = (
        "CNN and FCN of depth 2, 4, 6 over widths on real images, with pixel-permuted controls "
        "(Figure 1)"
    )
    claims = (CNN_AHEAD,)
    scales = SCALES

    def sweeps(self, settings: CifarSettings) -> dict[str, Sweep]:
        return {"cifar": sweep_of(settings)}

    def conclude(self, lab: Lab, settings: CifarSettings) -> Outcome:
        found, chance = measure_all(lab, settings)
        finding = cnn_ahead(settings, found, chance)
        return Outcome(
            (finding,),
            (_figure(settings, found, chance),),
            (_table(settings, found, chance),),
            _notes(settings),
        )


def _figure(s: CifarSettings, found: Mapping[Cell, Measured], chance: float) -> Figure:
    series = []
    for network in ("CNN", "FCN"):
        for depth in s.depths:
            mine = [
                each
                for cell, each in found.items()
                if (cell.network, cell.depth, cell.permuted) == (network, depth, False)
            ]
            mine.sort(key=lambda each: each.parameters)
            intervals = [accuracy_over_seeds(each.accuracy) for each in mine]
            if mine:
                series.append(
                    Series(
                        f"{network}, depth {depth}",
                        tuple(each.parameters for each in mine),
                        tuple(i.estimate for i in intervals),
                        tuple(i.low for i in intervals),
                        tuple(i.high for i in intervals),
                        seeds=tuple(i.count for i in intervals),
                    )
                )
    counts = [each.parameters for each in found.values()] or [1, 10]
    series.append(
        Series(
            "best constant answer", (min(counts), max(counts)), (chance, chance), role="baseline"
        )
    )
    caption = (
        f"Test accuracy on {s.chosen_source()}, mean over seeds with 95 % intervals. The paper "
        "says: CNNs have a clear advantage over FCNs, regardless of the number of parameters."
    )
    return Figure(
        "figure1",
        "Accuracy against parameters",
        Axis("parameters", log=True),
        Axis("test accuracy"),
        tuple(series),
        caption,
    )


def _table(s: CifarSettings, found: Mapping[Cell, Measured], chance: float) -> TableData:
    rows = []
    for cell in cells(s):
        if (each := found.get(cell)) is not None:
            test, train = (
                accuracy_over_seeds(each.accuracy),
                accuracy_over_seeds(each.train_accuracy),
            )
            rows.append(
                (
                    cell.network,
                    cell.depth,
                    cell.width,
                    "permuted" if cell.permuted else "as they are",
                    each.parameters,
                    each.flops,
                    *(f"{i.estimate:.3f} [{i.low:.3f}, {i.high:.3f}]" for i in (test, train)),
                    test.count,
                    round(chance, 4),
                    round(each.seconds, 3),
                )
            )
    columns = (
        "network",
        "depth",
        "width",
        "pixels",
        "parameters",
        "FLOPs a forward pass",
        "test accuracy (95 %)",
        "accuracy on the last batch",
        "seeds",
        "constant answer",
        "seconds a trial",
    )
    return TableData("accuracy", "Test accuracies", columns, tuple(rows))


def _notes(s: CifarSettings) -> tuple[Note, ...]:
    notes = [
        Note(
            "choices",
            "info",
            "What the paper does not say, and is chosen here: 3x3 filters that continue around "
            "the edges, mean pooling by 2, a readout for every position; RMSprop with rate "
            f"{s.rate:g} and batches of {s.batch}, softmax cross-entropy; no augmentation. Rows "
            "are drawn independently from the training images, so that an epoch is as many rows "
            "as there are images and not each image once. Depth counts layers with weights.",
        )
    ]
    said = (
        "The comparison of the widest networks was added after a full-scale run with seed 7 had "
        "been looked at; all others were written before any."
    )
    notes.append(Note("chosen-after-looking", "info", said))
    if s.chosen_source() in EMBEDDED:
        said = (
            "These are embedded images, not CIFAR-10: real, but small and few; `separatrix data "
            "get cifar10` fetches CIFAR-10."
        )
        notes.append(Note("embedded-data", "warning", said))
    return tuple(notes)
