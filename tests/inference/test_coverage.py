"""A smaller run of the calibration; docs/statistics.md has the table of the whole one."""

import pytest
from scipy import stats

from separatrix.errors import UnknownNameError
from separatrix.inference.coverage import as_markdown, calibrate, scenarios

# With S studies and true coverage c the count is binomial(S, c). The whole run demands 92-98 %.
# Here a scenario fails only if its count would be a one-in-a-thousand event at the nearer end of
# that range, so that a sound estimator passes with any seed, while with 120 studies one whose
# coverage is really 78 % fails nine times out of ten.
STUDIES = 120  # half of it where a study is slow


def allowed(wanted: tuple[float, float], studies: int) -> tuple[float, float]:
    low = stats.binom.ppf(0.001, studies, wanted[0]) / studies
    high = stats.binom.ppf(0.999, studies, wanted[1]) / studies
    return low, high


@pytest.mark.parametrize(
    "name",
    [
        "usual: 10-90 % over a factor 3, 8 seeds",
        "shallow: over a factor 14",
        "few seeds: 3",
        "lapses 15 %",
        "at and beyond the grid's ends",
        "adaptive",
        "censored cells (bootstrap)",
        "k and d one at a time, 9 cells (bootstrap)",
        "extra scatter .15 (likelihood)",
        "kd wins where it is true",
        "narrow range: cannot tell",
    ],
)
def test_rates_are_as_claimed(name):
    slow = name == "adaptive" or "wins" in name or "cannot tell" in name
    studies = STUDIES // 2 if slow else STUDIES
    (row,) = calibrate(studies, seed=1, names=[name])
    low, high = allowed(row.wanted, studies)
    assert low <= row.rate.estimate <= high, row


def test_power_of_this_test():
    low, _ = allowed((0.92, 0.98), STUDIES)
    assert stats.binom.cdf(low * STUDIES - 1, STUDIES, 0.78) > 0.9


def test_rows_do_not_depend_on_what_else_runs():
    steep = calibrate(10, seed=3, names=["steep"])[0]
    both = calibrate(10, seed=3, names=["few seeds: 3", "steep"])
    assert steep in both


def test_table_and_names():
    assert "steep" in as_markdown(calibrate(3, names=["steep"]))
    assert {scenario.kind for scenario in scenarios()} == {"threshold", "exponent", "law"}
    with pytest.raises(UnknownNameError, match="did you mean `steep`"):
        calibrate(3, names=["step"])
