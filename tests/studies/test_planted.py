"""A smaller run of the planted truths; docs/statistics.md has the table of the whole one."""

import pytest

from separatrix.errors import UnknownNameError
from separatrix.studies.kinds import KINDS, Together
from separatrix.studies.planted import plant, planted_line, planted_truths

# Of 60 studies with a chance of 5 % more than 9 are wrong once in a thousand runs.
STUDIES, MOST_WRONG = 60, 9


@pytest.mark.parametrize("name", [truth.name for truth in planted_truths()])
def test_wrong_verdicts_are_rare_and_right_ones_frequent(name):
    slow = name.startswith(("≤", "≥"))
    studies = STUDIES // 3 if slow else STUDIES
    row = plant(studies, seed=11, names=[name])[0]
    assert row.wrong_alone.estimate * studies <= (5 if slow else MOST_WRONG)
    assert row.wrong.estimate * studies <= 3
    if row.planted.power is not None:
        assert row.right.high >= row.planted.power


def test_every_kind_has_truths_that_hold_and_that_do_not():
    for kind in KINDS:
        if kind is not Together:
            held = {truth.holds for truth in planted_truths() if isinstance(truth.kind, kind)}
            assert held == {True, False}, kind.name


def test_a_row_has_the_columns_of_the_table():
    row = plant(3, names=["identity: holds"])[0]
    assert planted_line(row).count("|") == 8
    with pytest.raises(UnknownNameError, match="there is no planted truth `identity`"):
        plant(3, names=["identity"])
