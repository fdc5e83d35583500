"""Study `signal-map`: the samples needed over receptive field and weight sharing, from the FCN
through the LCN to the CNN.
"""

from separatrix.engine import Lab, Sweep
from separatrix.notes import Note
from separatrix.studies.outcome import Outcome
from separatrix.studies.search import SearchResult
from separatrix.studies.signal_map import figures as f
from separatrix.studies.signal_map import verdicts as c
from separatrix.studies.signal_map.settings import SCALES, MapRecipe, MapSettings, Spot
from separatrix.studies.signal_map.trials import map_trial, measure_map, spot_query, tune_map
from separatrix.studies.study import Study, seeds_from
from separatrix.studies.tuning import Choice, tuning_table
from separatrix.theory.signal import best_linear_risk


class SignalMap(Study[MapSettings]):
    """Thresholds between the three networks of the paper."""

    name = "signal-map"
    title = "Between the networks: locality and weight sharing as two numbers"
    question = "How many samples do partly local and partly shared networks need?"
    summary = (
        "A map of the samples needed over receptive field and number of filters, with the FCN, "
        "LCN and CNN at its corners (Lahoti et al.)"
    )
    claims = c.CLAIMS
    scales = SCALES
    full_minutes = 2

    def sweeps(self, settings: MapSettings) -> dict[str, Sweep]:
        """For each place the tuning and the most trials its search may buy, at the size where it
        begins.
        """
        s = settings
        tuning, seeds = seeds_from(s.seed, s.tune.seeds, purpose=1), seeds_from(s.seed, s.trials)
        out: dict[str, Sweep] = {}
        for spot in s.spots():
            query = spot_query(s, spot, Choice(MapRecipe(), {}))
            size = int(query.plan.start or query.plan.minimum)
            if len(s.recipes()) > 1:
                grid = (
                    map_trial(s, spot, recipe, size, seed)
                    for recipe in s.recipes()
                    for seed in tuning
                )
                out[f"tuning r = {spot.field}, g = {spot.groups}"] = Sweep(tuple(grid))
            out[f"r = {spot.field}, g = {spot.groups}"] = Sweep(
                tuple(query.trial(size, seed) for seed in seeds)
            )
        return out

    def conclude(self, lab: Lab, settings: MapSettings) -> Outcome:
        s = settings
        tuned = tune_map(lab, s)
        searches = measure_map(lab, s, tuned)
        tables = (
            f.map_table(s, searches, tuned),
            tuning_table(tuned, ("r", "g", "recipe"), MapRecipe.describe),
        )
        return Outcome(
            c.judge_all(s, searches),
            (f.map_figure(s, searches), *f.line_figures(s, searches)),
            tables,
            map_notes(s, searches),
            answer=f.answer(s, searches),
        )


def map_notes(s: MapSettings, searches: dict[Spot, SearchResult]) -> tuple[Note, ...]:
    """What a reader must know besides the numbers.

    >>> map_notes(MapSettings(), {})[0].code
    'target'
    """
    notes = [
        Note(
            "target",
            "info",
            f"A trial succeeds when its risk is at most R(k, σ, b = {s.bias:g}) + {s.margin:g} = "
            f"{s.target:.4f}, R being the risk of the network that knows the signal; the "
            f"threshold is the sample size at which half of the trials succeed. {s.steps} steps.",
        ),
        Note(
            "network",
            "info",
            "Every place has one unit per patch and a sum readout; windows continue around the "
            "edge, so that every field has as many positions. Unit p belongs to group "
            "floor(p·g/k). At r = k and g = k this is the FCN with k units up to a relabelling of "
            "inputs.",
        ),
    ]
    if len(s.recipes()) > 1:
        notes.append(
            Note(
                "tuning",
                "info",
                "Every place was tuned on the same grid of factors on the learning rate and the "
                "initial norm, about its own untuned threshold, on seeds that no result uses. The "
                "untuned rates and norms are the recipes of the study `signal` at the corners, "
                "interpolated geometrically.",
            )
        )
    notes.append(
        Note(
            "chosen-after-looking",
            "info",
            "While this study was built, quick runs with the default seed were looked at before "
            "these were settled: that a search begins at the rough threshold of its tuning, and "
            "the number of trials and steps of the quick scale. Its map was made smaller to save "
            "time after seed 44. The kinds and margins of its "
            "claims were fixed on 2026-11-18, after full runs with earlier rules "
            "(evidence/history). Another --seed gives data that none of these has seen.",
        )
    )
    for spot, search in searches.items():
        where = f"r = {spot.field}, g = {spot.groups}"
        if search.failed_to_train(best_linear_risk(s.patches, s.noise)):
            text = "the training risk is no better than the best linear rule's: a failed recipe"
            notes.append(Note("not-trained", "warning", f"{where}: {text}, which counts nowhere."))
        else:
            notes += search.warnings(where)
    return tuple(notes)
