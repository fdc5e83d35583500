"""Study `cifar`: accuracy against the number of parameters."""

from separatrix.data import EMBEDDED
from separatrix.engine import Lab, Sweep
from separatrix.notes import Note
from separatrix.studies.cifar.figures import accuracy_figure, accuracy_table
from separatrix.studies.cifar.settings import SCALES, CifarSettings
from separatrix.studies.cifar.trials import measure_all, sweep_of
from separatrix.studies.cifar.verdicts import CLAIMS, findings
from separatrix.studies.outcome import Outcome
from separatrix.studies.study import Study


class CifarStudy(Study[CifarSettings]):
    """Figure 1 of Malach & Shalev-Shwartz: CNN and FCN of several depths and widths."""

    name = "cifar"
    title = "Accuracy against the number of parameters"
    question = "Is a CNN more accurate than an FCN with as many parameters on real images?"
    summary = (
        "CNN and FCN of depth 2, 4, 6 over widths on real images, with pixel-permuted controls "
        "(Figure 1)"
    )
    claims = CLAIMS
    scales = SCALES
    # 390 s of running, as the same networks took when they were last measured, and the compiler.
    full_minutes = 7
    full_machine = "one H200, estimated"

    def sweeps(self, settings: CifarSettings) -> dict[str, Sweep]:
        return {"cifar": sweep_of(settings)}

    def conclude(self, lab: Lab, settings: CifarSettings) -> Outcome:
        accuracies, chance = measure_all(lab, settings)
        return Outcome(
            findings(settings, accuracies, chance),
            (accuracy_figure(settings, accuracies, chance),),
            (accuracy_table(settings, accuracies, chance),),
            notes(settings),
        )


def notes(s: CifarSettings) -> tuple[Note, ...]:
    """What a reader must know beside the numbers."""
    out = [
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
    text = (
        "The comparison of the widest networks was added after a full-scale run with seed 7 had "
        "been looked at; all others were written before any. The widths of the laptop scale were "
        "cut after seed 301: a network of 16 filters took a quarter of an hour of a core. The "
        "quick scale was cut on seed 44 to one depth, one CNN and two FCNs, without the control."
    )
    out.append(Note("chosen-after-looking", "info", text))
    if s.chosen_source() in EMBEDDED:
        text = (
            "These are embedded images, not CIFAR-10: real, but small and few; `separatrix data "
            "get cifar10` fetches CIFAR-10."
        )
        out.append(Note("embedded-data", "warning", text))
    return tuple(out)
