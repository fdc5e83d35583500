"""Theorem 4, Corollary 5, Lemmas 8 and 9 and Theorem 10, against their formulas and a real run."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.errors import ParameterError
from separatrix.theory.patterns import bounds, hardness, readout


def test_theorem4_matches_the_printed_formula_and_broadcasts():
    n, k, q, t, c = 16, 4, np.array([1000, 2000]), 300, 1.5
    bound = bounds.theorem4(n, k, q, t, ceiling=c)
    np.testing.assert_allclose(bound.drift, 2 * c * n**2 * k**2 * 2**k / q)
    np.testing.assert_allclose(bound.comparator, 2 * (2**k * k) ** 2 / np.sqrt(q * n))
    np.testing.assert_allclose(bound.descent, c**2 * n**1.5 * np.sqrt(q) / t)
    np.testing.assert_allclose(bound.total, bound.drift + bound.comparator + bound.descent)
    assert np.all(bound.vacuous)
    assert bound.conditions[0].met.tolist() == [bool(v > 2**7 * math.log(2**4 / 0.05)) for v in q]


def test_theorem4_at_the_calibrated_point_and_at_sizes_that_overflow():
    assert bounds.theorem4(4, 2, 8192, 5000).total == pytest.approx(0.9144, abs=1e-4)
    huge = bounds.theorem4(2000, 1500, 10**6, 10**6)
    assert huge.total == np.inf
    assert huge.vacuous is True


@settings(max_examples=60, deadline=None)
@given(
    bits=st.integers(1, 64),
    data=st.data(),
    epsilon=st.floats(0.01, 2.0),
    ceiling=st.floats(0.1, 3.0),
)
def test_smallest_sizes_keep_the_promise_and_fewer_filters_break_it(bits, data, epsilon, ceiling):
    window = data.draw(st.integers(1, min(bits, 10)))
    sizes = bounds.theorem4_sizes(bits, window, epsilon, ceiling=ceiling)
    bound = bounds.theorem4(
        bits, window, sizes.cheapest_filters, sizes.cheapest_steps, ceiling=ceiling
    )
    assert bound.total <= epsilon * (1 + 1e-9)
    assert bound.conditions[0].met
    needed = readout.needed_filters(window, 0.05)
    assert sizes.filters > needed
    if sizes.filters - 1 > needed and sizes.filters < 1e12:
        fewer = bounds.theorem4(
            bits, window, math.floor(sizes.filters * (1 - 1e-6)) - 1, 10**18, ceiling=ceiling
        )
        assert fewer.drift + fewer.comparator > epsilon * (1 - 1e-5)
    # The cheapest pair is no dearer than its neighbours.
    for factor in (0.9, 1.1):
        q = max(math.ceil(sizes.cheapest_filters * factor), math.floor(needed) + 1)
        rest = bounds.theorem4(bits, window, q, 1, ceiling=ceiling)
        room = epsilon - rest.drift - rest.comparator
        if room > 0:
            assert q * max(rest.descent / room, 1) >= sizes.cheapest_filters * (
                sizes.cheapest_steps - 1
            ) * (1 - 1e-6)


def test_corollary5_printed_sizes_do_not_make_theorem4_small_but_corrected_ones_do():
    # With q = n³log²n/ε² the comparator term is 2k²/(log n)·ε, which grows with n; log⁴ n brings it
    # down to a constant.
    n = 2.0 ** np.array([6, 12, 24])
    k = np.log2(n)
    sizes = bounds.corollary5(n, k, 0.1)
    printed = bounds.theorem4(n, k, np.ceil(sizes.filters), 10**9).comparator
    corrected = bounds.theorem4(n, k, np.ceil(sizes.filters_from_theorem4), 10**9).comparator
    assert np.all(np.diff(printed) > 0.1)
    np.testing.assert_allclose(corrected, corrected[0], rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: bounds.theorem4(4, 5, 10, 10),
            r"the `window` of theorem4 must be an integer in \[1, 4\], got 5",
        ),
        (
            lambda: bounds.theorem4(4, 2, 0, 10),
            "the `filters` of theorem4 must be an integer >= 1, got 0",
        ),
        (lambda: bounds.theorem4(4, 2, 10, 10, delta=0.0), "`delta`"),
        (lambda: hardness.theorem12(8, 9), "`window` of theorem12"),
        (
            lambda: readout.lemma6_readout(np.full((4, 2), 0.5), [1, 1, 1, 1], 3, 4),
            r"`start`.*\[0, 2\], got 3",
        ),
        (lambda: readout.lemma6_readout(np.full((4, 2), 0.4), [1, 1, 1, 1], 0, 4), "`filters`"),
        (lambda: readout.lemma6_readout(np.full((4, 2), 0.5), [1, 1], 0, 4), "`table`.*4 signs"),
        (lambda: bounds.theorem10([0.0, 0.0], 1.0, [1.0], 0.1), "`gradient_norms`"),
        (lambda: bounds.lemma8(4, 2, 8, 1, rate=0.0), "`rate`"),
    ],
)
def test_bad_values_get_one_sentence(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_lemma8_lemma9_and_theorem10_hold_along_a_run_of_gradient_descent():
    n, k, q, steps, start = 5, 2, 60, 25, 1
    rng = np.random.default_rng(0)
    w = rng.choice([-1 / k, 1 / k], (q, k))
    b, u, w0 = 1 / k - 1, np.zeros((n - k + 1, q)), w.copy()
    x = readout.cube(n)
    windows = np.stack([x[:, j : j + k] for j in range(n - k + 1)])
    table = readout.parity_table(k)
    f = table[readout.pattern_index(windows[start])]
    star = readout.lemma6_readout(w0, table, start, n).readout
    rate = bounds.theorem4_rate(n, q, steps) * 40  # larger than prescribed, so that the layers move

    def loss(readout, first):
        h = np.einsum("jxi,ji->x", np.clip(windows @ first.T + b, 0, 1), readout)
        return np.maximum(0, 1 - f * h).mean(), h

    losses, comparator, norms = [], [], []
    for t in range(1, steps + 1):
        value, h = loss(u, w)
        features = np.clip(windows @ w.T + b, 0, 1)
        slopes = (windows @ w.T + b > 0) & (windows @ w.T + b < 1)
        back = -f * (f * h < 1) / len(x)
        gu = np.einsum("x,jxi->ji", back, features)
        gw = np.einsum("x,ji,jxi,jxl->il", back, u, slopes.astype(float), windows)
        losses.append(value), comparator.append(loss(star, w)[0]), norms.append(np.linalg.norm(gu))
        u, w = u - rate * gu, w - rate * gw
        bound = bounds.lemma8(n, k, q, t, rate)
        assert np.linalg.norm(u, axis=1).max() <= bound.readout
        assert np.linalg.norm(w - w0) <= bound.first_layer
        change = abs(loss(star, w)[0] - loss(star, w0)[0])
        assert change <= bounds.lemma9(n, k, q, t, rate, np.linalg.norm(star, axis=1))
    regret = bounds.theorem10(comparator, float(np.linalg.norm(star)), norms, rate)
    assert np.mean(losses) <= regret.total
    assert np.linalg.norm(w - w0) > 0  # the first layer did move: the bounds were tested
