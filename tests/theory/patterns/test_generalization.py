"""Corollary 5's VC step: the dimension against the count of labellings that it comes from."""

import numpy as np
import pytest

import separatrix as sx
from separatrix.theory.patterns.generalization import (
    corollary5_promise,
    log_growth,
    vc_dimension,
    vc_gap,
    vc_samples,
)

SIZES = [
    (first, readout, units, activation)
    for first in (3, 40, 1e4, 1e9)
    for readout in (1, 30, 1e6)
    for units in (1, 7, 1e3, 1e8)
    for activation in ("relu", "clipped")
]


@pytest.mark.parametrize("first, readout, units, activation", SIZES)
def test_no_more_inputs_than_the_dimension_have_all_labellings(first, readout, units, activation):
    bound = vc_dimension(first, readout, units, activation)
    beyond = np.ceil(bound) * np.array([1 + 1e-9, 1.1, 2.0, 100.0]) + 1
    assert np.all(log_growth(beyond, first, readout, units, activation) < beyond)
    # At the weights themselves all labellings are still allowed: the bound is above their number.
    assert bound > first + readout


def test_the_lemma_behind_the_closed_form():
    # 2^m = 2^t (mr/w)^w at the largest m: found by bisection in logarithms.
    for r in (16.0, 50.0, 1e4, 1e12):
        for w in (2.0, 100.0, 1e7):
            low, high = w, 1e4 * w
            for _ in range(200):
                middle = (low + high) / 2
                fits = middle <= 2 + w * np.log2(middle * r / w)
                low, high = (middle, high) if fits else (low, middle)
            assert low <= 2 + w * np.log2(2 * r * np.log2(r))


def test_a_shattered_set_is_within_the_dimension():
    # One ReLU unit with a bias and a readout realises all 4 labellings of 2 points of a line.
    x = np.array([-1.0, 1.0])
    signs = set()
    for w, b, u, c in np.random.default_rng(0).normal(size=(2000, 4)):
        signs.add(tuple(np.sign(u * np.maximum(w * x + b, 0) + c)))
    assert len(signs) == 4
    assert vc_dimension(first_layer=2, readout=2, units=1) >= 2


def test_the_gap_falls_with_samples_and_vacuous_bounds_say_nothing():
    samples = np.array([10.0, 1e3, 1e5, 1e7])
    gaps = np.asarray(vc_gap(500, samples))
    assert np.all(np.diff(gaps) < 0)
    assert gaps[0] > 1 > gaps[-1]
    m = vc_samples(500, 0.05)
    assert vc_gap(500, m) <= 0.05 < vc_gap(500, m - 1)


def test_corollary_5_keeps_its_promises():
    promise = corollary5_promise(bits=4, window=2, epsilon=0.9)
    assert vc_gap(promise.dimension, promise.samples, 0.025) <= 0.45
    local = corollary5_promise(bits=4, window=2, epsilon=0.9, local=True)
    assert local.filters < promise.filters  # Theorem 4 loses a factor n for local networks
    beyond = corollary5_promise(bits=2**20, window=1000, epsilon=0.1)
    assert beyond.samples == np.inf
    with pytest.raises(
        sx.SeparatrixError, match="the `epsilon` of corollary5 must be a number > 0"
    ):
        corollary5_promise(bits=4, window=2, epsilon=0)
