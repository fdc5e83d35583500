import math

import numpy as np
import pytest

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.inference import (
    CANNOT_TELL,
    NONE_FITS,
    Cell,
    Law,
    Tally,
    cell_of,
    estimate_threshold,
    fit_exponents,
    rank_laws,
    standard_laws,
)
from separatrix.inference.censored_regression import fit_rows, rows_of

SQUARE = [(k, d) for k in (8, 16, 32) for d in (8, 16, 32)]


def made(function, pairs=SQUARE, error=0.08, seed=0, **more):
    rng = np.random.default_rng(seed)
    return [
        Cell({"k": k, "d": d, **more}, math.log(function(k, d)) + error * rng.normal(), error)
        for k, d in pairs
    ]


def test_standard_laws_and_their_factors():
    names = [law.name for law in standard_laws(noise=(False, True), logarithm=(False, True))]
    assert len(set(names)) == 16
    assert "σ²·k(k+d)·log(kd)" in names
    law = next(law for law in standard_laws((True,), (True,)) if law.family == "k²d")
    assert law.values({"k": 2.0, "d": 3.0, "sigma": 0.5}) == pytest.approx(12 * 0.25 * math.log(6))


@pytest.mark.parametrize("method", ["bootstrap", "likelihood"])
def test_exponents_of_a_known_power_law(method):
    fitted = fit_exponents(made(lambda k, d: 3 * k**2 * d), method=method)
    assert fitted.exponents["k"].contains(2.0)
    assert fitted.exponents["d"].contains(1.0)
    assert fitted.constant == pytest.approx(3, rel=0.5)
    assert fitted.exponents["k"].high - fitted.exponents["k"].low < 0.5


def test_weighting_follows_the_errors():
    cells = [Cell({"k": k}, math.log(k), 0.02) for k in (4, 8, 16, 32)] + [
        Cell({"k": 64}, math.log(640), 3.0)
    ]
    assert fit_exponents(cells, ["k"], method="likelihood").exponents[
        "k"
    ].estimate == pytest.approx(1.0, abs=0.1)


def test_censored_cells_are_used_as_censored():
    rng = np.random.default_rng(3)
    honest, naive = [], []
    for k in (4, 8, 16, 32, 64, 128):
        value = math.log(k) + 0.05 * rng.normal()
        floor = math.log(16)
        honest.append(Cell({"k": k}, max(value, floor), 0.05, "left" if value < floor else "none"))
        naive.append(Cell({"k": k}, max(value, floor), 0.05))
    assert fit_exponents(honest, ["k"]).exponents["k"].contains(1.0)
    # The very mistake that this is about: a grid's first value read as a threshold flattens the
    # law.
    assert fit_exponents(naive, ["k"]).exponents["k"].estimate < 0.8
    assert fit_exponents(honest, ["k"]).censored == 2


def test_a_bound_that_contradicts_the_fit_pulls_it():
    cells = [Cell({"k": k}, math.log(k), 0.05) for k in (4, 8, 16)]
    high = [*cells, Cell({"k": 32}, math.log(300), 0.05, "right")]
    harmless = [*cells, Cell({"k": 32}, math.log(3), 0.05, "right")]
    slope = {
        name: fit_exponents(c, ["k"]).exponents["k"].estimate
        for name, c in (("a", high), ("b", harmless))
    }
    assert slope["a"] > 1.3
    assert slope["b"] == pytest.approx(1.0, abs=0.05)


def test_tobit_agrees_with_least_squares_without_censoring():
    cells = made(lambda k, d: k * d, error=0.1)
    rows = rows_of(cells)
    matrix = np.column_stack([np.ones(9), [math.log(c.design["k"]) for c in cells]])
    fit = fit_rows(rows, matrix, scatter=np.array([0.3]))
    expected, *_ = np.linalg.lstsq(matrix, rows.value, rcond=None)
    assert fit.coefficients[0] == pytest.approx(expected, abs=1e-4)


def test_clusters_widen_the_interval_when_cells_err_together():
    rng = np.random.default_rng(5)
    cells, alone = [], []
    for k in (4, 8, 16, 32, 64, 128):
        shift = 0.3 * rng.normal()
        for _ in range(4):
            value = math.log(k) + shift + 0.02 * rng.normal()
            cells.append(Cell({"k": k}, value, 0.02, cluster=k))
            alone.append(Cell({"k": k}, value, 0.02))
    wide, narrow = (fit_exponents(c, ["k"]).exponents["k"] for c in (cells, alone))
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


@pytest.mark.parametrize("law", standard_laws(), ids=lambda law: law.name)
def test_the_true_law_wins(law):
    ranking = rank_laws(made(lambda k, d: 5 * float(law.values({"k": k, "d": d}))))
    assert ranking.verdict == law.name
    assert (
        ranking.scores[0].constant == pytest.approx(5, rel=0.15)
        or ranking.scores[0].name == "power law"
    )
    assert sum(score.weight for score in ranking.scores) == pytest.approx(1)


def test_indistinguishable_designs_cannot_tell():
    diagonal = [(k, k) for k in (4, 6, 8, 12, 16, 24)]
    square_of_k = Law("k²", "k²", lambda design: design["k"] ** 2)
    ranking = rank_laws(
        made(lambda k, d: k * d, diagonal), [*standard_laws(), square_of_k], power_law=["k"]
    )
    assert ranking.verdict == CANNOT_TELL
    assert {"kd", "k²", "k(k+d)"} == set(ranking.remaining)
    assert "laws-coincide" in {note.code for note in ranking.notes}
    narrow = rank_laws(
        made(lambda k, d: k * d, [(k, d) for k in (10, 11, 12) for d in (10, 11, 12)])
    )
    assert narrow.verdict == CANNOT_TELL
    assert narrow.family is None


def test_log_factors_stay_in_the_family():
    cells = made(lambda k, d: k**2 * d, error=0.1)
    ranking = rank_laws(cells, standard_laws(logarithm=(False, True)))
    assert ranking.family == "k²d"


def test_noise_factor_is_told_when_sigma_varies():
    cells = [
        Cell({"k": k, "d": d, "sigma": s}, math.log(k * d * s**2) + 0.05 * (-1) ** (k + d), 0.05)
        for k, d in [(8, 8), (8, 32), (32, 8), (32, 32)]
        for s in (0.1, 0.3)
    ]
    ranking = rank_laws(cells, standard_laws(noise=(False, True)), power_law=["k", "d", "sigma"])
    assert ranking.verdict == "σ²·kd"


def test_no_named_law_fits():
    assert rank_laws(made(lambda k, d: d**2 * math.sqrt(k))).verdict == NONE_FITS


def test_held_out_likelihood_agrees_in_direction():
    ranking = rank_laws(made(lambda k, d: k + d))
    by_name = {score.name: score for score in ranking.scores}
    assert by_name["k+d"].held_out > by_name["kd"].held_out > by_name["k²d"].held_out


def test_censored_cells_take_part_in_the_ranking():
    cells = made(lambda k, d: k * d)
    floor = math.log(200)
    cut = [c if c.value > floor else Cell(c.design, floor, c.error, "left") for c in cells]
    ranking = rank_laws(cut)
    assert "kd" in ranking.remaining


def test_cell_of_threshold():
    none = cell_of({"k": 1}, estimate_threshold([Tally(8, 0, 20), Tally(16, 20, 20)]))
    right = cell_of({"k": 1}, estimate_threshold([Tally(8, 0, 20)]))
    assert none is not None
    assert none.censoring == "none"
    assert math.log(8) < none.value < math.log(16)
    assert right is not None
    assert right.censoring == "right"
    assert right.value > math.log(8)
    assert cell_of({"k": 1}, estimate_threshold([Tally(8, 1, 2)])) is None


def test_wrong_use_gets_one_sentence():
    with pytest.raises(SeparatrixError, match="does not vary k and d independently"):
        fit_exponents(made(lambda k, d: k, [(k, k) for k in (2, 4, 8, 16)]))
    with pytest.raises(SeparatrixError, match="needs a column 'sigma'"):
        rank_laws(made(lambda k, d: k * d), standard_laws(noise=(True,)))
    with pytest.raises(SeparatrixError, match="at least 4 cells"):
        rank_laws(made(lambda k, d: k, [(1, 2), (2, 3)]))
    with pytest.raises(SeparatrixError, match="too few cells are uncensored"):
        fit_exponents([Cell({"k": k}, 1.0, 0.1, "left") for k in (1, 2, 3, 4)], ["k"])
    with pytest.raises(ParameterError, match="different names"):
        rank_laws(made(lambda k, d: k * d), [standard_laws()[0], standard_laws()[0]])
    with pytest.raises(SeparatrixError, match="lacks the design variable `q`"):
        fit_exponents(made(lambda k, d: k * d), ["q"])
