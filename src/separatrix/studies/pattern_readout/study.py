"""Study `pattern-readout`: after a random first layer, k-patterns are linear."""

from separatrix.engine import Lab
from separatrix.notes import Note
from separatrix.studies.outcome import Outcome
from separatrix.studies.pattern_readout.figures import coverage_figure, lemma6_table
from separatrix.studies.pattern_readout.settings import SCALES, PatternReadoutSettings
from separatrix.studies.pattern_readout.trials import measure_curve, measure_windows
from separatrix.studies.pattern_readout.verdicts import CLAIMS, findings
from separatrix.studies.study import Study


class PatternReadout(Study[PatternReadoutSettings]):
    """Builds Lemma 6's readout on random filters and compares it with the pattern on all inputs."""

    name = "pattern-readout"
    title = "Lemma 6: after a random first layer, k-patterns are linear"
    question = "After a random first layer, does a linear readout compute every k-pattern?"
    summary = (
        "The explicit readout of Lemma 6 on random filters: equality on all 2^n inputs, its norm, "
        "and how often a draw allows it"
    )
    claims = CLAIMS
    scales = SCALES
    beside_trials = "readouts on all inputs"
    full_minutes = 2.5
    full_machine = "one CPU core"

    def conclude(self, lab: Lab, settings: PatternReadoutSettings) -> Outcome:
        rows = measure_windows(lab, settings)
        curve = measure_curve(lab, settings)
        note = Note(
            "coverage",
            "info",
            "A draw fails when some sign pattern has fewer than q·2^(-k-1) filters. The exact "
            "multinomial probability and the paper's Chernoff bound stand beside the measured "
            "share.",
        )
        return Outcome(
            findings(settings, rows),
            (coverage_figure(settings, curve),),
            (lemma6_table(rows),),
            (note,),
        )
