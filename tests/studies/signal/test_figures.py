"""Figures and tables of the signal study, from planted thresholds."""

from separatrix.studies.signal import figures as f
from separatrix.studies.signal.settings import SignalSettings
from separatrix.studies.signal.trials import SignalRecipe, signal_cells
from separatrix.studies.signal.verdicts import key_of
from separatrix.studies.tuning import Choice
from sharp_searches import sharp_search

S = SignalSettings()
CELLS = signal_cells(S)
SEARCHES = {key_of(cell): sharp_search(20.0 * cell.patches * cell.dimension) for cell in CELLS}


def test_the_first_figure_shows_networks_bounds_and_floors():
    (figure,) = f.headline_figures(S, SEARCHES)
    assert (figure.name, figure.headline) == ("samples-root", True)
    for panel, axis in zip(figure.panels, (S.shared.patches, S.shared.dimensions), strict=True):
        own = [series for series in figure.series if series.panel == panel]
        assert {s.label for s in own if s.role == "measured"} == {"CNN", "LCN", "FCN"}
        assert len([series for series in own if series.role == "floor"]) == 3
        # A bound for the CNN and for the FCN, two for the LCN
        assert len([series for series in own if "·" in series.label]) == 4
        assert own[0].x[: len(axis)] == axis


def test_bounds_with_their_constants_cover_the_measured_points():
    for figure in f.headline_figures(S, SEARCHES):
        for network in ("CNN", "LCN", "FCN"):
            points, _ = [
                one for one in figure.series if one.label == network and one.role == "measured"
            ]
            for law in figure.series:
                if "·" not in law.label or law.panel != points.panel:
                    continue
                assert all(a <= y <= b for a, y, b in zip(law.low, law.y, law.high))
                if law.label.startswith(f"{network} ≤"):
                    assert all(y <= bound * 1.001 for y, bound in zip(points.y, law.y))
                if law.label.startswith(f"{network} ≥"):
                    assert all(y >= bound * 0.999 for y, bound in zip(points.y, law.y))


def test_efficiency_is_the_floor_over_the_threshold():
    maps = f.efficiency_maps(S, SEARCHES)
    assert [one.name for one in maps] == ["efficiency-cnn", "efficiency-lcn", "efficiency-fcn"]
    first = maps[0]
    floor = S.floor("CNN", "root", first.rows[0], first.columns[0])
    value = SEARCHES[key_of(CELLS[0])].threshold.estimate
    assert abs(first.values[0][0] - floor / value) < 1e-9


def test_tables_have_every_cell():
    tuned = {cell: Choice(SignalRecipe(), {SignalRecipe(): 0.2}) for cell in CELLS}
    table = f.threshold_table(S, SEARCHES, {}, tuned)
    assert len(table.rows) == len(CELLS)
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert len(f.tuning_rows(S.tune, tuned).rows) == len(CELLS)
    assert f.tuning_rows(S.tune, tuned).rows[0][-1] == "chosen, at an edge"


def test_the_answer_gives_samples_beside_floors():
    k, d = 6, 12  # the middle cell
    floors = [S.floor(network, "root", k, d) for network in ("CNN", "LCN", "FCN")]
    # The same planted threshold for all three, near 20·k·d
    m = f"{SEARCHES[key_of(f.middle_cells(S)[0])].threshold.estimate:,.0f}"
    words = f.answer(S, SEARCHES)
    assert words == (
        f"At k = {k}, d = {d}, σ = 1/√k, tuned descent needs {m} samples on the CNN (floor "
        f"{floors[0]}), {m} samples on the LCN (floor {floors[1]}) and {m} samples on the FCN "
        f"(floor {floors[2]})."
    )
    censored = SEARCHES | {key_of(f.middle_cells(S)[0]): sharp_search(5.0, "left")}
    assert "needs at most" in f.answer(S, censored)
    assert f.answer(S, {}) == ""


def test_bounds_of_censored_searches_are_named():
    censored = SEARCHES | {key_of(f.middle_cells(S)[0]): sharp_search(5.0, "left")}
    figure = f.headline_figures(S, censored)[0]
    assert figure.headline
    bounds = [one.label for one in figure.series if one.role == "bound"]
    assert [label for label in bounds if "·" not in label] == ["CNN"] * 2  # hollow, in both panels
    assert "Hollow: only a bound" in figure.caption
    texts = [text for row in f.efficiency_maps(S, censored)[0].texts for text in row]
    assert sum(text.startswith("≥") for text in texts) == 1


def test_nothing_measured_draws_nothing():
    assert f.efficiency_maps(S, {}) == ()
    assert f.curve_figures(S, {}) == ()
    assert all(not figure.series for figure in f.headline_figures(S, {}))
