"""Laws: the standard ones, and rankings that can say `cannot tell`."""

import math

import numpy as np
import pytest
from cells import measured_cells

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.inference import (
    CANNOT_TELL,
    NONE_FITS,
    Cell,
    Law,
    fit_exponents,
    rank_laws,
    standard_laws,
)


def test_standard_laws_and_their_factors():
    names = [law.name for law in standard_laws(noise=(False, True), logarithm=(False, True))]
    assert len(set(names)) == 16
    assert "σ²·k(k+d)·log(kd)" in names
    law = next(law for law in standard_laws((True,), (True,)) if law.family == "k²d")
    assert law.values({"k": 2.0, "d": 3.0, "sigma": 0.5}) == pytest.approx(12 * 0.25 * math.log(6))


@pytest.mark.parametrize("law", standard_laws(), ids=lambda law: law.name)
def test_the_true_law_wins(law):
    ranking = rank_laws(measured_cells(lambda k, d: 5 * float(law.values({"k": k, "d": d}))))
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
        measured_cells(lambda k, d: k * d, diagonal),
        [*standard_laws(), square_of_k],
        power_law=["k"],
    )
    assert ranking.verdict == CANNOT_TELL
    assert {"kd", "k²", "k(k+d)"} == set(ranking.remaining)
    assert "laws-coincide" in {note.code for note in ranking.notes}
    narrow = rank_laws(
        measured_cells(lambda k, d: k * d, [(k, d) for k in (10, 11, 12) for d in (10, 11, 12)])
    )
    assert narrow.verdict == CANNOT_TELL
    assert narrow.family is None


def test_log_factors_stay_in_the_family():
    cells = measured_cells(lambda k, d: k**2 * d, error=0.1)
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
    assert rank_laws(measured_cells(lambda k, d: d**2 * math.sqrt(k))).verdict == NONE_FITS


def test_held_out_likelihood_agrees_in_direction():
    ranking = rank_laws(measured_cells(lambda k, d: k + d))
    by_name = {score.name: score for score in ranking.scores}
    assert by_name["k+d"].held_out > by_name["kd"].held_out > by_name["k²d"].held_out


def test_censored_cells_take_part_in_the_ranking():
    cells = measured_cells(lambda k, d: k * d)
    floor = math.log(200)
    cut = [c if c.value > floor else Cell(c.design, floor, c.error, "left") for c in cells]
    ranking = rank_laws(cut)
    assert "kd" in ranking.remaining


def test_wrong_use_gets_one_sentence():
    with pytest.raises(SeparatrixError, match="does not vary k and d independently"):
        fit_exponents(measured_cells(lambda k, d: k, [(k, k) for k in (2, 4, 8, 16)]))
    with pytest.raises(SeparatrixError, match="needs a column 'sigma'"):
        rank_laws(measured_cells(lambda k, d: k * d), standard_laws(noise=(True,)))
    with pytest.raises(SeparatrixError, match="at least 4 cells"):
        rank_laws(measured_cells(lambda k, d: k, [(1, 2), (2, 3)]))
    with pytest.raises(SeparatrixError, match="too few cells are uncensored"):
        fit_exponents([Cell({"k": k}, 1.0, 0.1, "left") for k in (1, 2, 3, 4)], ["k"])
    with pytest.raises(ParameterError, match="different names"):
        rank_laws(measured_cells(lambda k, d: k * d), [standard_laws()[0], standard_laws()[0]])
    with pytest.raises(SeparatrixError, match="lacks the design variable `q`"):
        fit_exponents(measured_cells(lambda k, d: k * d), ["q"])


CROSS = [(k, 20) for k in (10, 15, 20, 25, 30)] + [(20, d) for d in (10, 15, 25, 30)]
SQUARE = [(k, d) for k in (8, 16, 32) for d in (8, 16, 32)]


def noisy_cells(size, pairs, error=0.03):
    generator = np.random.default_rng(0)
    return [
        Cell({"k": k, "d": d}, math.log(size(k, d)) + error * generator.normal(), error)
        for k, d in pairs
    ]


@pytest.mark.parametrize("size", [lambda k, d: k * d, lambda k, d: k + d])
@pytest.mark.parametrize("constants", [False, True])
def test_laws_that_a_constant_turns_into_each_other_are_not_ranked(size, constants):
    """On a cross through (20, 20), kd = 20(k + d) - 400."""
    ranking = rank_laws(noisy_cells(size, CROSS), constants=constants)
    assert ranking.verdict == CANNOT_TELL
    assert {"kd", "k+d"} <= set(ranking.remaining)
    assert "laws-collinear" in {note.code for note in ranking.notes}


def test_an_additive_constant_is_told_from_another_law():
    cells = noisy_cells(lambda k, d: k * d + 200, SQUARE)
    names = set(rank_laws(cells, constants=True).remaining)
    assert names == {"kd + constant"}


def test_logarithms_are_offered_beside_the_laws():
    laws = standard_laws(logarithm=(False, True))
    cells = noisy_cells(lambda k, d: (k + d) * math.log(k * d), SQUARE, error=0.01)
    assert rank_laws(cells, laws, constants=True).family == "k+d"


def test_a_ranking_is_read_in_ten_lines_a_frame_and_a_figure():
    sizes = (4, 8, 16)
    cells = [Cell({"k": k, "d": d}, np.log(k * d), 0.05) for k in sizes for d in sizes]
    ranking = rank_laws(cells)
    assert repr(ranking).startswith("Ranking: kd")
    assert len(repr(ranking).splitlines()) <= 10
    assert ranking.to_frame()["name"][0] == "kd"
    assert "<table" in ranking._repr_html_()
    assert len(ranking.plot().patches) == len(ranking.scores)
