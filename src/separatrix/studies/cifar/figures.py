"""The figure and the table of the study `cifar`."""

from collections.abc import Mapping

from separatrix.inference.intervals import accuracy_over_seeds
from separatrix.studies.cifar.settings import CifarSettings
from separatrix.studies.cifar.trials import CifarAccuracy, CifarCell, cells
from separatrix.studies.outcome import Axis, Figure, Series, TableData


def accuracy_figure(
    s: CifarSettings, accuracies: Mapping[CifarCell, CifarAccuracy], chance: float
) -> Figure:
    """Accuracy against the number of parameters: Figure 1 of the paper."""
    series = []
    for network in ("CNN", "FCN"):
        for depth in s.depths:
            line = [
                accuracy
                for cell, accuracy in accuracies.items()
                if (cell.network, cell.depth, cell.permuted) == (network, depth, False)
            ]
            line.sort(key=lambda accuracy: accuracy.parameters)
            if line:
                points = [(a.parameters, accuracy_over_seeds(a.accuracy)) for a in line]
                series.append(Series.of(f"{network}, depth {depth}", points))
    counts = sorted(accuracy.parameters for accuracy in accuracies.values()) or [1, 10]
    series.append(Series.level("best constant answer", counts, chance))
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


def accuracy_table(
    s: CifarSettings, accuracies: Mapping[CifarCell, CifarAccuracy], chance: float
) -> TableData:
    """Every cell with its accuracies and what it cost."""
    rows = []
    for cell in cells(s):
        accuracy = accuracies.get(cell)
        if accuracy is None:
            continue
        test = accuracy_over_seeds(accuracy.accuracy)
        train = accuracy_over_seeds(accuracy.train_accuracy)
        rows.append(
            (
                cell.network,
                cell.depth,
                cell.width,
                "permuted" if cell.permuted else "as they are",
                accuracy.parameters,
                accuracy.flops,
                f"{test:.3f}",
                f"{train:.3f}",
                test.count,
                round(chance, 4),
                round(accuracy.seconds, 3),
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
