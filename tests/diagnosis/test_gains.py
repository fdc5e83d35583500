"""Intervals of gains keep their level, also where splits overlap."""

import numpy as np
import pytest

from separatrix.diagnosis.gains import Gain, common_share, gain_of


def test_without_overlap_the_interval_is_students():
    first = {s: np.full(10, d) for s, d in enumerate((0.1, 0.2, 0.3))}
    gain = gain_of(first, {s: np.zeros(10) for s in range(3)}, 0.0, 0.0)
    interval = gain.interval(0.95)
    assert interval.low == pytest.approx(-0.04841, abs=1e-4)
    assert gain.splits == 3


def test_coverage_where_tests_overlap():
    # Splits test on rows of one small pool; each training adds luck of its own.
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        pool = 0.05 + rng.normal(size=400)
        parts = [rng.permutation(400)[:200] for _ in range(6)]
        luck = 0.03 * rng.normal(size=6)
        first = {s: pool[part] + luck[s] for s, part in enumerate(parts)}
        second = {s: np.zeros(200) for s in range(6)}
        interval = gain_of(first, second, common_share(parts), 0.0).interval(0.95)
        inside += interval.low <= 0.05 <= interval.high
    assert inside >= 0.92 * 300


def test_a_lucky_arrangement_is_no_gain():
    steady = {s: np.full(50, 0.8) for s in range(4)}
    mixed = {s: np.full(50, level) for s, level in enumerate((0.5, 0.85, 0.6, 0.8))}
    plain, careful = (gain_of(steady, mixed, 0.0, 0.0, random) for random in (False, True))
    assert careful.low(0.95) < plain.low(0.95)
    assert not careful.pays(0.01, 0.9)


def test_pays_and_fails():
    gain = Gain(0.02, 1e-6, 6)
    assert gain.pays(0.01, 0.99)
    assert not gain.pays(0.03, 0.99)
    assert gain.fails(0.03, 0.99)
    assert gain_of({0: np.ones(3)}, {0: np.ones(3)}, 0, 0) is None
