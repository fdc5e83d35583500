"""Estimators against closed forms, against each other, and what they refuse."""

import math

import numpy as np
import pytest

from separatrix.errors import SeparatrixError
from separatrix.theory.signal import (
    drawn_alignments,
    estimate_signal,
    estimator_alignment,
    estimator_risk,
    floor_alignment,
    true_signal_risk,
)


def drawn_rows(rng, samples, patches, dimension, noise):
    y, places = rng.choice([-1.0, 1.0], samples), rng.integers(0, patches, samples)
    x = noise * rng.standard_normal((samples, patches, dimension))
    x[np.arange(samples), places, 0] += y
    return x, y, places


@pytest.mark.parametrize(
    ("network", "estimator"),
    [("CNN", "genie"), ("CNN", "average"), ("LCN", "genie"), ("LCN", "average"), ("FCN", "genie")],
)
def test_alignments_without_data_are_those_with_data(network, estimator):
    rng, patches, dimension, noise, samples = np.random.default_rng(5), 5, 7, 0.5, 80
    simulated = []
    for _ in range(400):
        x, y, places = drawn_rows(rng, samples, patches, dimension, noise)
        found = estimate_signal(x, y, places, noise, estimator, network)
        if network == "FCN":  # the best of all estimates counts for a patch
            found = found.reshape(patches, patches, dimension).max(0)
        simulated.append(found[:, 0].mean())
    exact = drawn_alignments(rng, estimator, network, patches, dimension, noise, samples, 4000)
    error = math.hypot(np.std(simulated) / 20, exact.mean(1).std() / math.sqrt(4000))
    assert abs(np.mean(simulated) - exact.mean()) < 4 * error


def test_expectation_maximisation_finds_the_directions_of_a_full_network():
    aligned = estimator_alignment("em", "FCN", 6, 5, 0.3, samples=2000, seed=1)
    assert aligned.shape == (6,)
    assert aligned.min() > 0.9
    # One average cannot tell six patches apart: the cosine with each is at most 1/√6.
    average = estimator_alignment("average", "FCN", 6, 5, 0.3, samples=2000, seed=1)
    assert average.mean() <= 1 / math.sqrt(6) + 1e-6


def test_no_full_estimator_passes_the_floor():
    patches, dimension, noise, samples = 6, 5, 0.4, 150
    for estimator in ("genie", "em"):
        aligned = [
            estimator_alignment(estimator, "FCN", patches, dimension, noise, samples, seed).mean()
            for seed in range(60)
        ]
        genie = float(floor_alignment("FCN", patches, dimension, noise, samples, genie=True))
        assert np.mean(aligned) < genie + 4 * np.std(aligned) / math.sqrt(60)


def test_the_lsa_step_improves_on_the_average():
    means = {
        name: np.mean(
            [estimator_alignment(name, "CNN", 20, 20, 0.3, 40, seed)[0] for seed in range(40)]
        )
        for name in ("average", "lsa", "em")
    }
    assert means["average"] < means["lsa"] < means["em"]


def test_the_risk_of_a_shared_filter_is_that_of_its_alignment():
    aligned = estimator_alignment("genie", "CNN", 5, 6, 0.4, 20, seed=3)[0]
    risk = estimator_risk("genie", "CNN", 5, 6, 0.4, 0.5, 20, seed=3)
    assert risk == pytest.approx(true_signal_risk(5, 0.4, 0.5, strength=float(aligned)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"estimator": "oracle"}, "estimator"),
        ({"network": "RNN"}, "network"),
        ({"patches": 0}, "patches"),
        ({"noise": 0.0}, "noise"),
        ({"samples": 0}, "samples"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, words):
    sizes = {"patches": 4, "dimension": 3, "noise": 0.3, "samples": 9, "seed": 0}
    with pytest.raises(SeparatrixError, match=f"`?{words}`?"):
        estimator_alignment(**{"estimator": "em", "network": "CNN", **sizes, **changes})
