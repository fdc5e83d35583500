"""Floors: closed forms, simulated genies, and estimators that must not be below them."""

import math

import numpy as np
import pytest
from scipy.special import erf, hyp1f1, loggamma

from separatrix.errors import SeparatrixError
from separatrix.theory.signal import estimate_signal
from separatrix.theory.signal.floors import (
    draw_genie_alignments,
    efficiency,
    floor_alignment,
    floor_risk,
    floor_samples,
    genie_alignment,
    information_share,
)
from separatrix.theory.signal.risks import bayes_risk


def test_one_dimension_is_the_error_function():
    """On the sphere {±1} the best estimate is a sign, right with probability Φ(δ)."""
    samples = np.array([0, 1, 4, 30])
    expected = erf(np.sqrt(samples) / 0.7 / math.sqrt(2))
    np.testing.assert_allclose(genie_alignment(samples, 1, 0.7), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3, 20, 400])
def test_the_integral_is_the_confluent_hypergeometric_function(dimension):
    samples, noise = np.array([1, 3, 10, 40]), 0.5
    delta = np.sqrt(samples) / noise
    ratio = np.exp(loggamma((dimension + 1) / 2) - loggamma(dimension / 2 + 1)) / math.sqrt(2)
    expected = delta * ratio * hyp1f1(0.5, dimension / 2 + 1, -(delta**2) / 2)
    measured = genie_alignment(samples, dimension, noise)
    np.testing.assert_allclose(measured, expected, rtol=1e-9)


def test_many_dimensions_give_the_plain_formula():
    """a² = m/(m + σ²D) up to terms of order 1/D."""
    samples, dimension, noise = 700, 20_000, 0.3
    plain = math.sqrt(samples / (samples + noise**2 * dimension))
    assert abs(genie_alignment(samples, dimension, noise) - plain) < 1e-4


@pytest.mark.parametrize(("rows", "dimension"), [(1, 2), (5, 20), (60, 200)])
def test_alignments_of_a_simulated_genie(rows, dimension):
    """Directions of averages of noisy copies, in full: no formula is shared with the package."""
    rng, noise, draws = np.random.default_rng(0), 0.4, 4000
    signal = rng.standard_normal((draws, dimension))
    signal /= np.linalg.norm(signal, axis=1, keepdims=True)
    mean = signal + noise / math.sqrt(rows) * rng.standard_normal((draws, dimension))
    cosine = (mean * signal).sum(1) / np.linalg.norm(mean, axis=1)
    error = cosine.std() / math.sqrt(draws)
    # Four standard errors of a fixed seed.
    assert abs(cosine.mean() - genie_alignment(rows, dimension, noise)) < 4 * error
    drawn = draw_genie_alignments(rng, np.full(draws, rows), dimension, noise)
    assert abs(drawn.mean() - cosine.mean()) < 4 * math.hypot(error, drawn.std() / math.sqrt(draws))


def test_uneven_counts_are_averaged_exactly():
    """LCN: by brute force over multinomial draws of the patches' counts."""
    rng, patches, dimension, noise, samples = np.random.default_rng(1), 6, 8, 0.5, 40
    counts = rng.multinomial(samples, np.full(patches, 1 / patches), size=20_000)
    values = genie_alignment(counts, dimension, noise).mean(1)
    measured = floor_alignment("LCN", patches, dimension, noise, samples, genie=True)
    assert abs(values.mean() - measured) < 4 * values.std() / math.sqrt(len(values))


def test_a_coarse_grid_of_counts_changes_nothing():
    """Where there are more than 4,000 counts the sum takes every few of them."""
    samples = 8_000_000
    spread = floor_alignment("LCN", 4, 5000, 2.0, samples, genie=True)
    middle = genie_alignment(samples // 4, 5000, 2.0)
    assert abs(spread - middle) < 1e-6


def test_the_information_bound_is_above_the_genie_where_the_patch_is_known():
    """With one patch nothing is hidden, so van Trees must not cut into the exact value."""
    samples = np.array([1, 2, 5, 20, 100])
    for dimension in (2, 5, 50):
        told = floor_alignment("CNN", 1, dimension, 0.5, samples, genie=True)
        both = floor_alignment("CNN", 1, dimension, 0.5, samples)
        np.testing.assert_array_equal(told, both)


def test_information_share_against_the_score():
    """ρ/σ² is the variance of the score in a direction orthogonal to the signal."""
    rng, patches, noise, rows = np.random.default_rng(2), 5, 0.6, 200_000
    along = noise * rng.standard_normal((rows, patches))
    along[:, 0] += 1.0
    across = noise * rng.standard_normal((rows, patches))
    weight = np.exp(along / noise**2)
    score = ((weight / weight.sum(1, keepdims=True)) * across).sum(1) / noise**2
    expected = information_share(patches, noise)
    error = (score**2).std() / math.sqrt(rows) * noise**2
    assert abs(score.var() * noise**2 - expected.risk) < 4 * math.hypot(error, expected.error)


@pytest.mark.parametrize("network", ["CNN", "LCN"])
@pytest.mark.parametrize("estimator", ["genie", "em", "average", "lsa"])
def test_no_estimator_is_below_its_floor(network, estimator):
    rng, patches, dimension, noise, samples = np.random.default_rng(3), 8, 10, 0.4, 60
    aligned = []
    for _ in range(200):
        y, places = rng.choice([-1.0, 1.0], samples), rng.integers(0, patches, samples)
        x = noise * rng.standard_normal((samples, patches, dimension))
        x[np.arange(samples), places, 0] += y
        filters = estimate_signal(x, y, places, noise, estimator, network)
        aligned.append(filters[:, 0].mean())
    told = float(floor_alignment(network, patches, dimension, noise, samples, genie=True))
    error = np.std(aligned) / math.sqrt(len(aligned))
    if estimator == "genie":  # is the bound itself
        assert abs(np.mean(aligned) - told) < 4 * error
    else:
        hidden = float(floor_alignment(network, patches, dimension, noise, samples))
        assert np.mean(aligned) < hidden + 4 * error


def test_risks_fall_to_the_bayes_risk():
    for network in ("CNN", "LCN", "FCN"):
        risks = [floor_risk(network, 6, 5, 0.4, m, draws=20_000).risk for m in (0, 3, 30, 3000)]
        assert risks[0] == 0.5
        assert risks == sorted(risks, reverse=True)
    best = bayes_risk(6, 0.4)
    last = floor_risk("CNN", 6, 5, 0.4, 10**7)
    assert abs(last.risk - best.risk) < 4 * math.hypot(last.error, best.error)


def test_a_shared_filter_of_known_alignment():
    """One patch: the risk at alignment a is Φ(−a/σ), averaged over the genie's alignments."""
    from scipy.special import ndtr

    rng, noise = np.random.default_rng(4), 0.8
    aligned = draw_genie_alignments(rng, np.full(200_000, 6), 4, noise)
    measured = floor_risk("CNN", 1, 4, noise, 6)
    assert abs(measured.risk - ndtr(-aligned / noise).mean()) < 4 * measured.error + 1e-3


def test_sample_floors_are_where_the_target_is_reached():
    for network in ("CNN", "LCN", "FCN"):
        samples = floor_samples(network, 10, 20, 0.3, alignment=0.8)
        below, at = floor_alignment(network, 10, 20, 0.3, np.array([samples - 1, samples]))
        assert below < 0.8 <= at
    assert floor_samples("LCN", 20, 20, 0.3, risk=0.127) > floor_samples(
        "CNN", 20, 20, 0.3, risk=0.127
    )


def test_floors_grow_as_the_groups_do():
    """σ²D a²/(1 − a²): doubling k doubles the LCN's floor and quadruples the FCN's at fixed σ."""
    for network, factor in [("CNN", 1), ("LCN", 2), ("FCN", 4)]:
        # The same ρ on both sides: the genie bound alone.
        target = 0.8

        def needed(patches, network=network, target=target):
            samples = np.unique(np.geomspace(1, 30_000, 300).astype(int))
            values = floor_alignment(network, patches, 60, 0.1, samples, genie=True)
            return samples[np.searchsorted(values, target)]

        assert abs(needed(40) / needed(20) / factor - 1) < 0.25


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"network": "RNN"}, "must be one of 'CNN', 'LCN', 'FCN', got 'RNN'"),
        ({"patches": 0}, "the `patches` of a floor must be an integer in [1, 100000], got 0"),
        ({"noise": 1e300}, "the `noise` of a floor must be a number in [1e-06, 1e+06], got 1e+300"),
        ({"noise": 0.0}, "the `noise` of a floor must be a number in [1e-06, 1e+06], got 0.0"),
        (
            {"alignment": 1.2},
            "the `alignment` of floor_samples must be a number in (0, 1), got 1.2",
        ),
        ({"alignment": None, "risk": 1e-6}, "the `risk` of floor_samples must be above the Bayes"),
        ({"risk": 0.2}, "floor_samples needs one target: `alignment` or `risk`"),
    ],
)
def test_wrong_input_gets_one_sentence(change, sentence):
    arguments = {
        "network": "CNN",
        "patches": 8,
        "dimension": 8,
        "noise": 0.3,
        "alignment": 0.8,
    } | change
    with pytest.raises(SeparatrixError) as caught:
        floor_samples(**arguments)
    assert sentence in str(caught.value)


def test_efficiency():
    assert efficiency(50, 200) == 0.25
