"""Study `signal-first`: the first experiment on the dynamic signal distribution."""

from separatrix.engine import Lab, Sweep
from separatrix.notes import Note
from separatrix.studies.outcome import Outcome
from separatrix.studies.signal_first import figures as f
from separatrix.studies.signal_first import verdicts as c
from separatrix.studies.signal_first.settings import SCALES, SignalFirstSettings
from separatrix.studies.signal_first.trials import baselines_of, network_sweeps, run_networks
from separatrix.studies.study import Study


class SignalFirst(Study[SignalFirstSettings]):
    """Alignment and risk of each network from the same thousand samples."""

    name = "signal-first"
    title = "First experiment: alignment and risk from the same samples"
    question = "From the same samples, which network finds the signal?"
    summary = (
        "k = 10 patches of d = 20, noise 0.1, 1000 samples: how well each network finds the "
        "signal (Lahoti et al.)"
    )
    claims = c.CLAIMS
    scales = SCALES
    full_minutes = 1
    full_machine = "two CPU cores"

    def sweeps(self, settings: SignalFirstSettings) -> dict[str, Sweep]:
        return network_sweeps(settings)

    def conclude(self, lab: Lab, settings: SignalFirstSettings) -> Outcome:
        rows, baselines = run_networks(lab, settings), baselines_of(settings)
        return Outcome(
            c.judge_all(settings, rows),
            f.result_figures(rows, baselines),
            (f.result_table(rows, baselines),),
            first_notes(baselines, c.untrained(settings, rows)),
            answer=f.answer(rows, tuple(c.untrained(settings, rows))),
        )


def first_notes(baselines: dict[str, float], failed: dict[str, str]) -> tuple[Note, ...]:
    """What a reader must know besides the numbers."""
    notes = [
        Note(
            "recipe",
            "info",
            "Learning rates (CNN 3, LCN 1.5k, FCN 3k) and initial norms (.05, .05, .7) are the "
            "specification's recipe, not tuned on these data; risks are measured with the "
            "network's own LSA bias.",
        )
    ]
    if baselines["linear"] < 2 * max(baselines["bayes"], 0.005):
        notes.append(
            Note(
                "linear-suffices",
                "warning",
                f"At this noise the best linear rule already has risk {baselines['linear']:.2g}: "
                "risk hardly tells the networks apart here, alignment does.",
            )
        )
    notes += [Note("not-trained", "warning", f"{reason}.") for reason in failed.values()]
    return tuple(notes)
