import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.errors import ParameterError
from separatrix.inference import (
    Tally,
    binarize,
    estimate_threshold,
    tally,
    threshold_from_metric,
    threshold_ratio,
)
from separatrix.inference.coverage import SyntheticLearner
from separatrix.inference.thresholds import isotonic_rates

GRID = [8 * 2 ** (step / 2) for step in range(13)]


def codes(threshold):
    return {note.code for note in threshold.notes}


def test_many_trials_find_the_threshold():
    rng = np.random.default_rng(0)
    for shape in ("logistic", "weibull", "probit"):
        found = estimate_threshold(SyntheticLearner(60.0, 0.25, shape=shape).sweep(GRID, 2000, rng))
        assert found.estimate == pytest.approx(60.0, rel=0.04)
        assert found.log_width < 0.08


def test_the_threshold_counts_lapses_and_other_probabilities():
    rng = np.random.default_rng(1)
    learner = SyntheticLearner(60.0, 0.25, lapse=0.15)
    tallies = learner.sweep(GRID, 2000, rng)
    found = estimate_threshold(tallies)
    assert found.estimate == pytest.approx(60.0, rel=0.05)
    assert found.lapse == pytest.approx(0.15, abs=0.03)
    assert "high-lapse" in codes(found)
    higher = estimate_threshold(tallies, probability=0.7)
    assert learner.chance(higher.estimate) == pytest.approx(0.7, abs=0.03)


def test_a_guess_rate_moves_the_threshold():
    # Half of the trials succeed by chance: success in 3 of 4 is then the middle of the rise.
    tallies = [Tally(r, h, 100) for r, h in ((8, 50), (16, 52), (32, 75), (64, 98), (128, 100))]
    assert estimate_threshold(tallies, probability=0.75, guess=0.5).estimate == pytest.approx(
        32, rel=0.1
    )


@pytest.mark.parametrize("trials", [3, 8, 50])
def test_a_grid_that_starts_above_is_left_censored_never_its_first_value(trials):
    found = estimate_threshold([Tally(r, trials, trials) for r in (64, 91, 128)])
    assert found.censoring == "left"
    assert math.isnan(found.estimate)
    assert found.low == 0
    assert found.high < 110
    assert "left-censored" in codes(found)
    assert found.log_bound < math.log(found.high)


def test_a_grid_that_ends_below_is_right_censored():
    found = estimate_threshold([Tally(r, 0, 12) for r in (8, 16, 32)])
    assert found.censoring == "right"
    assert found.low > 30
    assert found.high == math.inf
    assert str(found).startswith(">=")


def test_one_lucky_trial_says_nothing():
    assert estimate_threshold([Tally(8, 1, 2)]).censoring == "both"


def test_budget_that_mostly_fails_is_not_extrapolated_to_a_value():
    # A quarter of the trials succeed at the last level: the estimate would lie beyond everything
    # that was tried.
    found = estimate_threshold([Tally(8, 0, 40), Tally(16, 2, 40), Tally(32, 10, 40)])
    assert found.censoring == "right"
    assert math.isnan(found.estimate)


def test_step_data_give_the_gap_of_the_grid():
    found = estimate_threshold([Tally(16, 0, 20), Tally(32, 20, 20)])
    assert 16 < found.low < 20 < 25 < found.high < 32
    assert "steeper-than-grid" in codes(found)


def test_notes_of_trouble():
    falling = [Tally(8, 0, 20), Tally(16, 20, 20), Tally(32, 2, 20), Tally(64, 20, 20)]
    assert "non-monotone" in codes(estimate_threshold(falling))
    fine = [Tally(8, 1, 20), Tally(16, 9, 20), Tally(32, 18, 20), Tally(64, 17, 20)]
    assert "non-monotone" not in codes(estimate_threshold(fine))
    few = estimate_threshold([Tally(8, 0, 2), Tally(16, 0, 2), Tally(32, 2, 2), Tally(64, 2, 2)])
    assert few.censoring != "none" or "few-trials" in codes(few)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=8).flatmap(
        lambda trials: st.tuples(st.just(trials), st.tuples(*(st.integers(0, n) for n in trials)))
    )
)
def test_any_data_give_an_ordered_answer(case):
    trials, hits = case
    tallies = [Tally(8 * 2 ** (i / 2), h, n) for i, (n, h) in enumerate(zip(trials, hits))]
    found = estimate_threshold(tallies)
    assert 0 <= found.low <= found.high <= math.inf
    if found.censoring == "none":
        assert 0 < found.low <= found.estimate <= found.high < math.inf
        assert 0 < found.log_error < 5
    else:
        assert math.isnan(found.estimate)
    assert found.trials == sum(trials)


@given(st.floats(0.1, 1000))
@settings(max_examples=15, deadline=None)
def test_units_do_not_matter(unit):
    base = [(8, 0), (16, 3), (32, 8), (64, 8)]
    one = estimate_threshold([Tally(r, h, 8) for r, h in base])
    other = estimate_threshold([Tally(r * unit, h, 8) for r, h in base])
    assert other.estimate / one.estimate == pytest.approx(unit, rel=0.01)


def test_order_of_trials_does_not_matter():
    a = tally([16, 8, 16, 32], [True, False, False, True])
    b = tally([32, 16, 8, 16], [True, False, False, True])
    assert a == b
    assert estimate_threshold(a) == estimate_threshold(b) or math.isnan(
        estimate_threshold(a).estimate
    )


def test_metric_and_direction():
    assert binarize([1.0, 3.0], 2.0, "above") == (False, True)
    sizes = [8] * 9 + [16] * 9 + [32] * 9
    accuracy = [0.5] * 9 + [0.7, 0.8, 0.95] * 3 + [0.99] * 9
    found = threshold_from_metric(sizes, accuracy, target=0.9, direction="above")
    assert 12 < found.estimate < 24
    assert found.evidence[1].successes == 3


def test_ratio_of_thresholds():
    small = estimate_threshold([Tally(8, 0, 30), Tally(11, 15, 30), Tally(16, 30, 30)])
    large = estimate_threshold([Tally(80, 0, 30), Tally(110, 15, 30), Tally(160, 30, 30)])
    found = threshold_ratio(large, small)
    assert found.low < 10 < found.high
    assert found.high / found.low < 1.6
    below = estimate_threshold([Tally(8, 30, 30)])
    assert threshold_ratio(large, below).high == math.inf
    assert threshold_ratio(large, below).low > 8
    assert threshold_ratio(below, large).low == 0


def test_isotonic_rates_pool():
    assert isotonic_rates([Tally(1, 3, 4), Tally(2, 1, 4), Tally(3, 4, 4)]).tolist() == [
        0.5,
        0.5,
        1.0,
    ]


def test_wrong_use_gets_one_sentence():
    with pytest.raises(ParameterError, match="`successes` of Tally"):
        Tally(8, 5, 4)
    with pytest.raises(ParameterError, match="`probability`"):
        estimate_threshold([Tally(8, 1, 4)], probability=1.0)
    with pytest.raises(ParameterError, match="non-empty"):
        estimate_threshold([])
    with pytest.raises(ParameterError, match="true or false"):
        tally([8], [0.5])
    with pytest.raises(ParameterError, match="`direction`"):
        binarize([1.0], 2.0, "under")


def test_a_threshold_is_read_in_ten_lines_a_frame_and_a_figure():
    found = estimate_threshold([Tally(2.0**i, min(12, 2 * i), 12) for i in range(1, 10)])
    assert len(repr(found).splitlines()) <= 10
    assert str(found) in repr(found)
    assert len(found.to_frame()) == 9
    assert "<table" in found._repr_html_()
    assert found.plot().get_xscale() == "log"
    censored = estimate_threshold([Tally(16, 0, 12)])
    assert "&gt;=" in censored._repr_html_()
    assert censored.plot().get_lines()


def test_the_threshold_is_that_of_psignifit():
    psignifit = pytest.importorskip("psignifit")
    # So many trials that they decide between our three shapes; psignifit is told the right one.
    tallies = SyntheticLearner(60.0, 0.3, lapse=0.02).sweep(GRID, 1000, np.random.default_rng(0))
    found = estimate_threshold(tallies)
    data = np.array([[math.log(t.resource), t.successes, t.trials] for t in tallies])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = psignifit.psignifit(
            data,
            experiment_type="yes/no",
            sigmoid="logistic",
            fixed_parameters={"gamma": 0.0, "eta": 1e-4},
            grid_steps={"threshold": 20, "width": 20, "lambda": 10, "gamma": 1, "eta": 1},
        )
        # Half of all trials succeed there, not half of those that do not lapse.
        log_threshold = float(theirs.threshold(np.array(0.5), return_ci=False))
    # The priors differ: a quarter of our interval.
    assert abs(math.log(found.estimate) - log_threshold) < 0.25 * found.log_width
