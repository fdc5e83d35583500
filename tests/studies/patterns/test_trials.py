"""The trials of the study `patterns`: cases, tuning, and what is cut off."""

import numpy as np
import pytest

from separatrix.engine import structure
from separatrix.studies.patterns import PatternsSettings
from separatrix.studies.patterns.settings import VARIANTS
from separatrix.studies.patterns.trials import (
    CaseResult,
    PatternCase,
    all_cases,
    choose_rate,
    learning_sweeps,
    network_of,
    trial_of,
    tuning_trials,
)


def test_tuning_and_results_share_programs_but_no_seed():
    s = PatternsSettings()
    tuning, results = learning_sweeps(s).values()
    assert not {trial.seed for trial in tuning} & {trial.seed for trial in results}
    # A rate is tuned in the program that its results run in; only the FCN on permuted bits borrows
    # its rate.
    programs, tuned = ({structure(trial) for trial in sweep} for sweep in (results, tuning))
    borrowed = structure(trial_of(s, PatternCase("hidden", "FCN", "adam", 16), 0.1, 0))
    assert programs - tuned == {borrowed}
    assert tuned < programs
    assert {trial.learner.rate.level for trial in tuning} == set(s.learning.adam_rates)


def test_cases_differ_as_they_say():
    s = PatternsSettings().replace(learning={"variants": VARIANTS})
    by_variant = {
        case.variant: trial_of(s, case, 0.1, 7)
        for case in all_cases(s)
        if case.bits == 16 and case.network == "CNN"
    }
    assert by_variant["random"].task.rule_seed == 7
    assert by_variant["hidden"].task.hidden
    assert by_variant["spread"].task.relevant().tolist() == [0, 5, 10, 15]
    assert by_variant["biased"].task.probability == 0.7
    assert by_variant["readout"].learner.train == ("readout",)
    assert structure(by_variant["biased"]) == structure(by_variant["plain"])
    finite = s.replace(learning={"finite_samples": (32, 64)})
    case = PatternCase("plain", "FCN", "adam", 16, 32)
    assert trial_of(finite, case, 0.1, 0).learner.oracle == "empirical"
    assert [tuned.samples for tuned in tuning_trials(finite, [case])] == [64]


@pytest.mark.parametrize("bits", [8, 32, 128])
def test_equal_filters_are_equal_parameters(bits):
    counts = {
        name: network_of(name, PatternCase("plain", name, "adam", bits).window, 64).parameter_count(
            (bits, 1)
        )
        for name in ("CNN", "FCN", "LCN")
    }
    assert counts["CNN"] == counts["FCN"] == 64 * (bits + 2) < counts["LCN"]


def row_of(status, steps, risk=0.0):
    return {
        "status": status,
        "steps": steps,
        "trace.step": [0, steps - 2, steps],
        "risk": risk,
        "run.seconds": 0.1,
    }


def test_the_rate_that_reaches_wins_over_the_quick_one():
    grid = {
        0.1: [row_of("reached", 90), row_of("reached", 80)],
        0.3: [row_of("reached", 5), row_of("diverged", 3, risk=float("nan"))],
    }
    assert choose_rate(grid) == 0.1
    assert choose_rate({0.1: [], 0.3: []}) is None


def test_what_does_not_reach_is_cut_off_and_never_a_number():
    case = PatternCase("plain", "FCN", "adam", 16)
    found = CaseResult.of(
        case,
        0.1,
        [
            row_of("reached", 50),
            row_of("exhausted", 60, risk=0.5),
            row_of("non-finite", 9, risk=None),
        ],
    )
    assert found.steps.lower.tolist() == [49.0, 60.0, 9.0]
    assert found.steps.upper.tolist() == [50.0, np.inf, np.inf]
    assert (found.reached, found.broken, found.seconds.censored) == (1, 1, 2)
