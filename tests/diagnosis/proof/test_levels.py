"""The simulated levels: planted borders come out wrong as often as their levels allow."""

import dataclasses

import numpy as np
import pytest

from separatrix.diagnosis.proof.levels import BORDERS, Simulated, levels_table, verdict_of
from separatrix.diagnosis.settings import Settings

BY_NAME = {border.name: border for border in BORDERS}


def verdicts(name, count, spread=0.015, **levels):
    rng = np.random.default_rng(3)
    settings = dataclasses.replace(Settings(), **levels)
    return [verdict_of(Simulated(BY_NAME[name], spread, settings, rng)) for _ in range(count)]


def share_wrong(name, said):
    return np.mean([each in BY_NAME[name].wrong for each in said])


def test_errors_are_rare_where_a_blind_model_is_level_and_frequent_without_levels():
    name = "one blind model is level"
    # 2 % is the level; of 60 diagnoses 5 wrong ones have probability 0.01.
    assert share_wrong(name, verdicts(name, 60)) <= 4 / 60
    assert share_wrong(name, verdicts(name, 60, beats=0.5, sure=0.5)) > 0.1


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("convolution gains 5 points", "convolution pays"),
        ("sharing loses, twisting costs", "locality pays, sharing does not"),
        ("all models are equal", "neither pays"),
    ],
)
def test_clear_truths_are_found(name, verdict):
    assert verdicts(name, 20, spread=0.004).count(verdict) >= 17


def test_the_table_has_a_row_per_border_and_spread():
    table = levels_table(2).splitlines()
    assert len(table) == 2 + 2 * len(BORDERS)
    assert table[0].count("|") == table[-1].count("|")
