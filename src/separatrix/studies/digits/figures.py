"""Figures and tables of the study `digits`."""

from separatrix.inference.intervals import accuracy_over_seeds
from separatrix.studies.claims import Evidence, Finding
from separatrix.studies.digits.settings import VARIATIONS, DigitsSettings
from separatrix.studies.digits.trials import (
    NETWORKS,
    DigitsCell,
    DigitsResults,
    cells,
    network_of,
    task_of,
)
from separatrix.studies.digits.verdicts import CLAIMS, findings
from separatrix.studies.outcome import Axis, Figure, Series, TableData
from separatrix.tasks.digits import LABELS

PAPER = {
    "centre": (
        "figure3",
        "Parity of the three central digits",
        "The paper says: the CNN and the LCN perform well for every n, the LCN better; the FCN "
        "degrades and is at chance at n = 19.",
    ),
    "ends": (
        "figure4",
        "Parity of the first, middle and last digit",
        "The paper says: for small n the FCN is much better than the CNN and the LCN; for large "
        "n all are poor. At n = 3 both labels are the same.",
    ),
}


def accuracy_figures(s: DigitsSettings, results: DigitsResults) -> tuple[Figure, ...]:
    """Accuracy against n, for both labels: Figures 3 and 4 of the paper."""
    out = []
    for label in LABELS:
        name, title, words = PAPER[label]
        series = []
        for network in NETWORKS:
            points = [
                (n, accuracy_over_seeds(accuracy))
                for n in s.digits
                if (accuracy := results.accuracy(label, network, n)) is not None
            ]
            if points:
                series.append(Series.of(network, points))
        series.append(Series.level("best constant answer", sorted(s.digits), results.chance))
        caption = (
            f"Test accuracy, mean over seeds with 95 % intervals, on {s.chosen_source()}. {words}"
        )
        out.append(
            Figure(name, title, Axis("digits n"), Axis("test accuracy"), tuple(series), caption)
        )
    return tuple(out)


def curve_figure(s: DigitsSettings, results: DigitsResults) -> Figure:
    """Accuracy while training, at the longest sequence with the central label."""
    series = []
    n = max(s.digits)
    for network in NETWORKS:
        measured = results.cells.get(DigitsCell("centre", network, n))
        if measured is not None:
            points = [
                (int(step), accuracy_over_seeds(measured.curves[:, i]))
                for i, step in enumerate(measured.steps)
            ]
            series.append(Series.of(network, points))
    series.append(Series.level("best constant answer", (0, s.steps(n)), results.chance))
    caption = f"Central label, n = {n}; mean over seeds with 95 % intervals."
    return Figure(
        "curves",
        f"Learning at n = {n}",
        Axis("steps"),
        Axis("test accuracy"),
        tuple(series),
        caption,
    )


def accuracy_table(s: DigitsSettings, results: DigitsResults) -> TableData:
    """Every accuracy with its interval, beside the constant answer's, and what it cost."""
    rows = []
    for cell in cells(s):
        measured = results.cells.get(cell)
        if measured is None:
            continue
        shape = task_of(s, cell).shape
        network = network_of(s.varied_by(cell.variation), cell.network)
        accuracy = accuracy_over_seeds(measured.accuracy)
        rows.append(
            (
                cell.variation or "as stated",
                cell.label,
                cell.digits,
                cell.network,
                f"{accuracy:.3f}",
                accuracy.count,
                round(results.chance, 4),
                s.steps(cell.digits, cell.variation),
                network.parameter_count(shape),
                network.flops(shape),
                round(measured.seconds, 3),
            )
        )
    columns = (
        "choice",
        "label",
        "n",
        "network",
        "test accuracy (95 %)",
        "seeds",
        "constant answer",
        "steps",
        "parameters",
        "FLOPs a forward pass",
        "seconds a trial",
    )
    return TableData("accuracy", "Test accuracies", columns, tuple(rows))


def sensitivity_table(s: DigitsSettings, results: DigitsResults) -> TableData | None:
    """The verdicts under other choices of what the paper leaves open, on the same lengths; None
    where nothing was varied.
    """
    if not s.varied():
        return None
    compared = {
        cell: measured
        for cell, measured in results.cells.items()
        if cell.variation or cell.digits in s.variation_digits
    }
    rows = []
    for variation in ("", *s.varied()):
        verdicts = map(_verdict, findings(s, DigitsResults(compared, results.chance, variation)))
        meaning = VARIATIONS.get(variation, "as stated in the settings")
        rows.append((variation or "as stated", meaning, *verdicts))
    names = tuple(claim.id.removeprefix("malach.digits.") for claim in CLAIMS)
    lengths = ", ".join(map(str, s.variation_digits))
    title = (
        f"How the claims move with what the paper does not say (n = {lengths} only; first "
        "evidence with its 95 % interval)"
    )
    return TableData("sensitivity", title, ("choice", "what it is", *names), tuple(rows))


def _verdict(finding: Finding) -> str:
    if not finding.evidence:
        return finding.verdict
    nearest = min(finding.evidence, key=lambda evidence: abs(_margin(evidence)))
    shown = finding.evidence[0] if finding.verdict == "undecided" else nearest
    return f"{finding.verdict}: {shown.estimate:.3f} [{shown.low:.3f}, {shown.high:.3f}]"


def _margin(evidence: Evidence) -> float:
    return (evidence.estimate or 0.0) - (evidence.reference or 0.0)
