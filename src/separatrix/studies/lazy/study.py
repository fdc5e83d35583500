"""Study `lazy`: which part of each separation is in the kernel, and which needs features?"""

from separatrix.engine import Lab, Sweep
from separatrix.notes import Note
from separatrix.studies.lazy.figures import error_figures, samples_table
from separatrix.studies.lazy.settings import SCALES, LazySettings
from separatrix.studies.lazy.trials import (
    measure_kernels,
    measure_networks,
    sharing_gaps,
    sweep_of,
)
from separatrix.studies.lazy.verdicts import CLAIMS, findings
from separatrix.studies.outcome import Outcome
from separatrix.studies.study import Study


class Lazy(Study[LazySettings]):
    """Kernel regression with the exact tangent kernels of the three networks, on three tasks."""

    name = "lazy"
    title = "Kernels: how much of each separation needs no feature learning?"
    summary = (
        "Exact tangent kernels of CNN, LCN and FCN on cube, signal and sphere: samples to learn, "
        "beside trained networks"
    )
    claims = CLAIMS
    scales = SCALES
    beside_trials = "exact kernels"
    # 288 kernels of 2048 rows take a processor seconds each; the programs are mostly compiled,
    # several at once, for 60 to 120 s.
    full_minutes = 7
    full_machine = "one H200, estimated"

    def sweeps(self, settings: LazySettings) -> dict[str, Sweep]:
        return {"lazy": sweep_of(settings)}

    def conclude(self, lab: Lab, settings: LazySettings) -> Outcome:
        s = settings
        if lab.shard:  # a shard runs its trials first: it then waits for those of others
            measure_networks(lab, s)
        errors = measure_kernels(lab, s) | measure_networks(lab, s)
        return Outcome(
            findings(s, errors, sharing_gaps(s)),
            error_figures(s, errors),
            (samples_table(s, errors),),
            notes(s),
        )


def notes(s: LazySettings) -> tuple[Note, ...]:
    """What a reader must know beside the numbers."""
    return (
        Note(
            "chosen-after-looking",
            "info",
            "The targets and the smallest training set were chosen after a look at the quick "
            "scale's errors of seeds 0 and 1 of the kernels, so that learning starts inside the "
            "range of samples. Training sets of the laptop and the full scale were a factor of 2 "
            "apart until a simulation showed that no number of seeds could decide on them.",
        ),
        Note(
            "kernels",
            "info",
            "Kernels are those of infinitely wide networks in the parametrization of the neural "
            "tangent kernel: ReLU with trained biases and a readout for every position on the "
            "cube, the LSA activation and the sum of patches on the signal, ReLU with one readout "
            "for all windows on the sphere. Kernels and trained networks have the same help beyond "
            f"the training set: {s.check_rows} further rows, on which a kernel chooses its ridge "
            "and a network the moment of training at which its loss is smallest.",
        ),
        Note(
            "networks",
            "info",
            f"Trained networks have {s.filters} filters, hinge loss and Adam with rate {s.rate:g} "
            f"for {s.steps} steps on the cube, and the recipe of the study `signal` on the "
            "signal. Their rates were not tuned here: with a better rate a network needs fewer "
            "samples than shown.",
        ),
    )
