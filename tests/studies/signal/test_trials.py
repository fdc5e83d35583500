"""How networks are tuned and thresholds searched."""

import pandas as pd

from separatrix.engine import Lab
from separatrix.inference import Tally, estimate_threshold
from separatrix.studies.search import SearchResult
from separatrix.studies.signal import trials as t
from separatrix.studies.signal.settings import SignalSettings
from separatrix.studies.study import seeds_from
from separatrix.studies.tuning import Choice, is_interior, tune_until_interior

SMALL = SignalSettings(
    shared=SignalSettings().shared.replace(patches=(3,), dimensions=(4,)),
    local=SignalSettings().local.replace(patches=(3,), dimensions=(4,)),
    full=SignalSettings().full.replace(patches=(3,), dimensions=(4,)),
)
CELL = t.SignalCell("root", "FCN", 6, 6)


def test_tuning_and_results_never_share_a_seed():
    s = SignalSettings(seed=7)
    tuning = {trial.seed for trial in t.tuning_trials(s, CELL, t.SignalRecipe())}
    queries = t.descent_queries(s, {CELL: Choice(t.SignalRecipe(), {})})
    results = {query.trial(8, query.first_seed).seed for query in queries.values()}
    assert not tuning & set(range(min(results), min(results) + 400_000))
    assert tuning <= set(seeds_from(7, 8, purpose=1))


def test_all_cells_with_equal_frames_share_programs():
    from separatrix.engine.frames import CPU_ROUNDING, frame_of, structure

    s = SignalSettings()
    cells = [
        cell
        for cell in t.signal_cells(s)
        if cell.network == "LCN" and max(cell.patches, cell.dimension) <= 12
    ]
    frames = {
        structure(frame_of(t.cell_trial(s, cell, t.SignalRecipe(), 40, 0), CPU_ROUNDING))
        for cell in cells
    }
    assert len(cells) == 4
    assert len(frames) == 1


def test_neighbours_are_a_lattice():
    s = SignalSettings().replace(tune={"bias": 0.15})
    around = t.recipe_neighbours(s.tune, t.SignalRecipe())
    assert {(recipe.rate, recipe.bias) for recipe in around} == {
        (0.5, 0.5),
        (2.0, 0.5),
        (1.0, 0.35),
        (1.0, 0.65),
    }
    assert all(t.SignalRecipe() in t.recipe_neighbours(s.tune, recipe) for recipe in around)
    assert t.recipe_neighbours(s.tune.replace(moves=0), t.SignalRecipe()) == []


def test_the_search_for_a_recipe_ends_at_an_interior_optimum(monkeypatch):
    asked = []

    def run_grids(lab, grids, what, columns):
        asked.append({option for grid in grids.values() for option in grid})
        return {
            name: {option: [{"score": abs(option - 3)}] for option in grid}
            for name, grid in grids.items()
        }

    monkeypatch.setattr("separatrix.studies.tuning.run_grids", run_grids)

    def beside(option):
        return [option - 1, option + 1]

    def tuned(moves):
        return tune_until_interior(
            Lab(),
            ["a"],
            0,
            beside,
            lambda name, option: [],
            lambda row: row["score"],
            moves,
            [],
        )["a"]

    best = tuned(9)
    assert best.option == 3
    assert is_interior(best, beside)
    assert asked == [{0, -1, 1}, {2}, {3}, {4}]  # nothing is tried twice
    early = tuned(1)
    assert early.option == 2
    assert not is_interior(early, beside)


def failed_search(train_risk):
    rows = pd.DataFrame(
        {"samples": [16] * 9 + [64] * 9, "train_risk": [0.5] * 9 + [train_risk] * 9}
    )
    return SearchResult(estimate_threshold([Tally(16, 0, 9), Tally(64, 0, 9)]), rows)


def test_an_untrained_network_is_told_from_one_that_needs_more_samples():
    # At σ = 1/√k the best linear rule errs in 0.159 of the rows.
    assert t.not_trained(SMALL, CELL, failed_search(0.2))
    assert not t.not_trained(SMALL, CELL, failed_search(0.05))


def test_a_row_that_is_not_finite_reaches_nothing():
    for value in (None, float("nan"), float("-inf")):
        assert t.misalignment({"patch_alignment": value}) == 1.0
    risk = t.reaches(SMALL, CELL, "risk")
    assert not risk({"risk": None})
    assert risk({"risk": 0.0})


def test_two_steps_are_an_average_and_a_step_through_the_activation():
    learner = t.two_step_learner(t.TWO_STEPS[1], 5, 6, 0.5)
    assert [float(learner.lsa_bias(step, 2)) for step in (0, 1)] == [0.0, 0.5]
    noted = t.two_step_learner(t.TWO_STEPS[0], 5, 6, 0.5)
    assert [float(noted.rate(step, 2)) for step in (0, 1)] == [1.0, 5000.0]
