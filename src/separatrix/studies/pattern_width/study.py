"""Study `pattern-width`: stuck unless the network is super-polynomially large?"""

from separatrix.engine import Lab, Sweep
from separatrix.notes import Note
from separatrix.studies.outcome import Outcome
from separatrix.studies.pattern_width.figures import (
    boundary_figure,
    gradient_figure,
    noise_figure,
    phase_maps,
    width_tables,
)
from separatrix.studies.pattern_width.settings import SCALES, PatternWidthSettings
from separatrix.studies.pattern_width.trials import exact_rows, measure_all, sweep_of
from separatrix.studies.pattern_width.verdicts import CLAIMS, findings
from separatrix.studies.study import Study


class PatternWidth(Study[PatternWidthSettings]):
    """The width sweep of Theorem 12: a phase diagram over bits, width and gradients."""

    name = "pattern-width"
    title = "How wide must a network be to leave chance on k-patterns?"
    summary = (
        "Phase diagram over bits and width for CNN, LCN and FCN, through exact, rounded and noisy "
        "gradients, beside the exact gradient at the start"
    )
    claims = CLAIMS
    scales = SCALES
    beside_trials = "exact gradients"
    # 5.7e14 operations at 5e12 to 1e13 per second are 60 to 110 s if no trial stops early, beside
    # the compilation of 114 programs, several at once, of 60 to 120 s.
    full_minutes = 3
    full_machine = "one H200, estimated"

    def sweeps(self, settings: PatternWidthSettings) -> dict[str, Sweep]:
        return {"pattern-width": sweep_of(settings)}

    def conclude(self, lab: Lab, settings: PatternWidthSettings) -> Outcome:
        s = settings
        if lab.shard:  # a shard runs its trials first: it then waits for those of others
            measure_all(lab, s)
        exact = exact_rows(lab, s)
        results = measure_all(lab, s)
        figures = (
            boundary_figure(s, results),
            *phase_maps(s, results),
            noise_figure(s, results),
            gradient_figure(s, exact),
        )
        return Outcome(findings(s, results), figures, width_tables(s, results, exact), notes(s))


def notes(s: PatternWidthSettings) -> tuple[Note, ...]:
    """What a reader must know beside the numbers."""
    return (
        Note(
            "recipe",
            "info",
            f"ReLU, hinge loss, Adam on {s.batch} fresh rows a step, at most {s.steps} steps. All "
            f"networks have the same rates ({', '.join(f'{rate:g}' for rate in s.rates)}); the "
            f"rate of a cell is chosen on {s.tuning_seeds} seeds that decide nothing else. q "
            "counts the filters of a window, or the units of a fully connected network; at equal "
            "q the CNN and the FCN have equally many parameters.",
        ),
        Note(
            "noise",
            "info",
            "Noise of a fixed size on every entry of the gradient is the tolerance of a "
            "statistical-query oracle. bfloat16 rounds the gradient before the optimizer sees it: "
            "its error is relative to each entry, so it hides no small signal by itself.",
        ),
    )
