"""Study `dial`: how much of a convolutional network's lead on images is locality, how much is
weight sharing?
"""

from separatrix.data import EMBEDDED
from separatrix.engine import Lab, Sweep
from separatrix.notes import Note
from separatrix.studies.dial import figures as f
from separatrix.studies.dial.settings import SCALES, DialSettings
from separatrix.studies.dial.trials import (
    DialResults,
    ladder_cells,
    measure_all,
    permutation_gaps,
    result_trials,
    tuning_cells,
    tuning_sweeps,
)
from separatrix.studies.dial.verdicts import CLAIMS, findings
from separatrix.studies.outcome import Outcome
from separatrix.studies.study import Study


class DialStudy(Study[DialSettings]):
    """From FCN through LCN to CNN on real images: receptive field and weight sharing, turned one at
    a time.
    """

    name = "dial"
    title = "The dial on images: how much is locality, how much is sharing?"
    question = "On real images, how much of the gain is locality and how much is weight sharing?"
    summary = (
        "Accuracy and labels from FCN through LCN to CNN over receptive field and weight "
        "sharing, on real images and on permuted pixels"
    )
    claims = CLAIMS
    scales = SCALES
    full_minutes = 6

    def sweeps(self, settings: DialSettings) -> dict[str, Sweep]:
        s = settings
        tuning = (
            trial
            for rates in tuning_sweeps(s).values()
            for sweep in rates.values()
            for trial in sweep
        )
        out = {"tuning": Sweep(tuple(tuning))}
        for number, part in enumerate([tuning_cells(s), *ladder_cells(s)]):
            out[f"fewer labels {number}" if number else "all labels"] = Sweep(
                tuple(t for cell in part for t in result_trials(s, cell))
            )
        return out

    def conclude(self, lab: Lab, settings: DialSettings) -> Outcome:
        s = settings
        symmetry = permutation_gaps(lab, s)
        results = measure_all(lab, s)
        figures = (
            *f.accuracy_figures(s, results),
            *f.label_figures(s, results),
            *f.maps(s, results),
        )
        tables = (
            f.decomposition_table(s, results),
            f.price_table(s, results),
            f.accuracy_table(s, results),
        )
        return Outcome(tuple(findings(s, results, symmetry)), figures, tables, notes(s, results))


def notes(s: DialSettings, results: DialResults) -> tuple[Note, ...]:
    """What a reader must know beside the numbers.

    >>> [note.code for note in notes(DialSettings(sources=("mnist",)), DialResults({}, {}))]
    ['networks', 'tuning', 'intervals']
    """
    out = [
        Note(
            "networks",
            "info",
            f"Every network has {s.filters} units at every window in each hidden layer, a bias "
            "each, ReLU, a trained readout of every unit and no pooling; windows continue around "
            "the edge. So places of the dial differ in what a unit sees and in which units share "
            "weights, and in nothing else; parameters and operations differ and stand in the "
            "table. Adam, softmax cross-entropy, no augmentation.",
        ),
        Note(
            "tuning",
            "info",
            f"Every place had the same {len(s.rates)} rates with {s.tune_seeds} seeds, on pixels "
            "in order and on permuted ones each, judged by the accuracy on training images that "
            "no result trains or tests on (one of four, or of ten where there are many). The "
            f"rate is the best one's; training stops at its last of {s.times} moments that is as "
            "good as its best, up to the error of so many images. The FCN, to which both orders "
            "of pixels are the same data, has one recipe for both. Fewer labels use the recipe "
            "of all labels. How moments are chosen, how many images are kept apart, the rates of "
            "the quick scale and the FCN's common recipe were settled after looking at runs of "
            "the quick scale with the default seed, in one of which sharing did not pay. The quick "
            "scale was cut on seed 44 to one hidden layer, two rates and two tuning seeds.",
        ),
        Note(
            "intervals",
            "info",
            "Intervals are over seeds: the labelled images, the order of pixels, the start and "
            f"the batches. All networks are tested on the same {s.test} images, and the error "
            "that these bring is not in the intervals; in differences of networks most of it "
            "cancels.",
        ),
    ]
    edges = [
        cell
        for cell, choice in results.recipes.items()
        if len(s.rates) > 1 and choice.option.rate in (min(s.rates), max(s.rates))
    ]
    if edges:
        listed = ", ".join(
            sorted(
                {
                    f"{c.place.name or f'field {c.place.field}, groups {c.place.groups}'} "
                    f"({c.place.source}, depth {c.place.depth})"
                    for c in edges
                }
            )
        )
        out.append(
            Note(
                "edge-of-grid",
                "warning",
                "The best rate lies at an end of the rates tried, so that a better one may lie "
                f"beyond, for: {listed}.",
            )
        )
    small = [name for name in s.chosen_sources() if name in EMBEDDED]
    if small:
        text = (
            f"These are embedded images ({', '.join(small)}): real, but small and few; "
            "`separatrix data get cifar10` and `mnist` fetch larger ones."
        )
        out.append(Note("embedded-data", "warning", text))
    return tuple(out)
