"""Risks of rules that know the signal, against independent simulation and known limits."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from separatrix.errors import ParameterError
from separatrix.theory.signal import Estimate, bayes_risk, best_linear_risk, true_signal_risk

ROWS = 200_000


def simulate(patches, noise, signals=1, seed=1, dimension=3):
    """Projections <w*, x_i> of full inputs with random labels, places and signal; the labels."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(dimension)
    w /= np.linalg.norm(w)
    y = rng.choice([-1.0, 1.0], ROWS)
    x = noise * rng.standard_normal((ROWS, patches, dimension))
    places = np.argsort(rng.random((ROWS, patches)), axis=1)[:, :signals]
    x[np.arange(ROWS)[:, None], places] += y[:, None, None] * w
    return x @ w, y


def standard_error(risk):
    return math.sqrt(max(risk * (1 - risk), 1 / ROWS) / ROWS)


@pytest.mark.parametrize(
    "patches, noise, signals", [(1, 1.0, 1), (10, 0.3, 1), (7, 0.5, 3), (20, 1.0, 20)]
)
def test_best_linear_risk_is_what_the_summed_projection_achieves(patches, noise, signals):
    a, y = simulate(patches, noise, signals)
    expected = best_linear_risk(patches, noise, signals)
    measured = np.mean(np.sign(a.sum(1)) != y)
    assert abs(measured - expected) < 4.5 * standard_error(
        expected
    )  # 4.5 standard errors of the simulation, fixed seed


def test_no_other_linear_rule_beats_the_best_one():
    # Random weightings of the patches, exactly: the mean over places t of Φ(-v_t / (σ‖v‖)).
    rng = np.random.default_rng(0)
    for noise in (0.1, 0.5, 2.0):
        weightings = rng.standard_normal((500, 6)) + rng.choice([0.0, 2.0], (500, 1))
        risks = norm.cdf(
            -weightings / (noise * np.linalg.norm(weightings, axis=1, keepdims=True))
        ).mean(1)
        assert risks.min() >= best_linear_risk(6, noise) - 1e-12


@pytest.mark.parametrize(
    "patches, noise, signals", [(8, 0.3, 1), (20, 0.5, 1), (6, 0.8, 2), (5, 0.7, 3)]
)
def test_bayes_risk_is_what_the_likelihood_ratio_achieves(patches, noise, signals):
    a, y = simulate(patches, noise, signals, seed=2)
    # The likelihood summed over every set of places, spelled out.
    places = np.array(list(itertools.combinations(range(patches), signals)))
    sums = a[:, places].sum(2) / noise**2
    score = (
        np.log(np.exp(sums - sums.max()).sum(1))
        + sums.max()
        - np.log(np.exp(-sums + sums.min()).sum(1))
        + sums.min()
    )
    wrong = np.mean(np.sign(score) != y)
    expected = bayes_risk(patches, noise, signals)
    # Both sides are simulations: their errors add in squares.
    assert abs(wrong - expected.risk) < 4.5 * math.hypot(
        standard_error(expected.risk), expected.error
    )
    assert expected.risk < best_linear_risk(patches, noise, signals) + 4.5 * expected.error


def test_bayes_risk_states_its_error_and_is_exact_where_nothing_is_hidden():
    estimate = bayes_risk(8, 0.3)
    assert estimate.error == pytest.approx(math.sqrt(estimate.risk * (1 - estimate.risk) / 100_000))
    assert bayes_risk(1, 0.5) == Estimate(float(norm.cdf(-2.0)), 0.0)
    # All patches carry the signal: then the summed projection is sufficient and the linear rule
    # optimal.
    assert bayes_risk(4, 1.0, 4).risk == pytest.approx(best_linear_risk(4, 1.0, 4))
    assert bayes_risk(4, 1.0, 4).error == 0.0


@pytest.mark.parametrize(
    "patches, noise, bias",
    [(1, 1.0, 0.5), (8, 0.3, 0.5), (20, 0.3, 0.5), (20, 0.3, 0.0), (10, 0.1, 0.5), (5, 0.5, 2.0)],
)
def test_true_signal_risk_is_what_the_network_with_the_signal_achieves(patches, noise, bias):
    a, y = simulate(patches, noise, seed=3)
    scores = (np.maximum(a - bias, 0) - np.maximum(-a - bias, 0)).sum(1) * y
    measured = np.mean((scores < 0) + 0.5 * (scores == 0))
    expected = true_signal_risk(patches, noise, bias)
    # 4.5 standard errors of the simulation, and the lattice's own error (2^15 cells over about 20
    # σ√k: below 1e-4).
    assert abs(measured - expected) < 4.5 * standard_error(expected) + 1e-4


def test_true_signal_risk_without_bias_is_the_linear_rule_and_with_one_patch_counts_ties():
    for patches, noise in [(1, 1.0), (5, 0.3), (20, 0.5)]:
        assert true_signal_risk(patches, noise, 0.0) == pytest.approx(
            best_linear_risk(patches, noise), abs=1e-6
        )
    # One patch: wrong below -b, a tie within [-b, b].
    below, inside = (
        norm.cdf((-0.5 - 1) / 0.4),
        norm.cdf((0.5 - 1) / 0.4) - norm.cdf((-0.5 - 1) / 0.4),
    )
    assert true_signal_risk(1, 0.4, 0.5) == pytest.approx(below + inside / 2, abs=1e-4)
    # A threshold that nothing passes leaves only ties.
    assert true_signal_risk(3, 0.1, 10.0) == pytest.approx(0.5, abs=1e-9)


def test_true_signal_risk_converges_in_its_lattice():
    coarse, fine, finest = (
        true_signal_risk(20, 0.3, 0.5, cells) for cells in (2**12, 2**15, 2**17)
    )
    assert abs(fine - finest) < 1e-4
    assert abs(fine - finest) <= abs(coarse - finest) + 1e-12


@pytest.mark.parametrize(
    "rule",
    [
        best_linear_risk,
        lambda k, s: bayes_risk(k, s).risk,
        lambda k, s: true_signal_risk(k, s, 0.5),
    ],
)
def test_risks_grow_with_noise_and_with_patches_and_stay_below_chance(rule):
    by_noise = [rule(8, noise) for noise in (0.2, 0.3, 0.5, 1.0, 3.0)]
    by_patches = [rule(patches, 0.5) for patches in (1, 2, 5, 20, 100)]
    for risks in (by_noise, by_patches):
        assert all(a < b for a, b in itertools.pairwise(risks))
        assert risks[0] >= 0
        assert risks[-1] < 0.5


def test_no_rule_beats_the_bayes_rule():
    for patches, noise in [(5, 0.3), (20, 0.3), (20, 0.5)]:
        floor = bayes_risk(patches, noise)
        for bias in (0.0, 0.3, 0.6):
            assert true_signal_risk(patches, noise, bias) > floor.risk - 4.5 * floor.error


def test_invalid_arguments_are_one_sentence():
    for call, name in [
        (lambda: best_linear_risk(0, 0.3), "patches"),
        (lambda: best_linear_risk(3, float("nan")), "noise"),
        (lambda: best_linear_risk(3, 0.3, 4), "signals"),
        (lambda: bayes_risk(3, -1.0), "noise"),
        (lambda: bayes_risk(2.5, 1.0), "patches"),
        (lambda: true_signal_risk(3, 0.3, -0.1), "bias"),
        (lambda: true_signal_risk(3, "0.3", 0.1), "noise"),
    ]:
        with pytest.raises(ParameterError) as caught:
            call()
        assert caught.value.name == name
